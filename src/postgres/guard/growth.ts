import {
  type Columns,
  createColumns,
  noColumns,
  type OutputColumn,
  qualifyColumns,
  renameColumns,
} from "./growth_columns.ts";
import { createExpressionMeter } from "./growth_expressions.ts";
import { emptyScope, type Scope } from "./growth_scope.ts";
import { worseOf } from "./growth_collected.ts";
import { type Collected, eitherOf, nothing, type Shape, tableColumn } from "./growth_shape.ts";
import { childrenOf, isRecord, listOf, nameParts, type SyntaxNode, textOf, unwrap } from "./syntax_tree.ts";

type Fields = SyntaxNode["fields"];

/** Nodes of expressions and relations that the planner may make of a statement, once subqueries are in their places. */
const maxNodes = 100_000;
const maxRelations = 1_000;
/** PostgreSQL's own limit on what a query puts out. */
const maxTargets = 1_664;
/** Columns copied and names looked up while measuring, which take a tenth of a microsecond each. */
const maxSteps = 500_000;

const tooWide =
  "the statement's subqueries multiply each other's expressions; use each value once, or group by it";
const tooManyColumns =
  `the statement has more columns than fit; name those that you need in place of *, and ` +
  `${maxTargets} at most`;
const doubling = "a recursive query doubles a value in every round; add to it instead";

const clauses = [
  "whereClause",
  "havingClause",
  "groupClause",
  "sortClause",
  "windowClause",
  "distinctClause",
  "limitCount",
  "limitOffset",
];

/** With these, the planner keeps a subquery apart, so what is around it sees plain columns. */
const barriers = ["groupClause", "havingClause", "distinctClause", "limitCount", "limitOffset"];

/**
 * Why a short statement would take gigabytes or minutes where `statement_timeout` does not reach: the planner works
 * out constants, and puts subqueries' expressions in the places of their columns, without looking at the clock.
 * Undefined where it would not. The tree must have passed `visitNodes` and be of bounded depth: this recurses.
 */
export function findGrowth(root: SyntaxNode): string | undefined {
  let reason: string | undefined;
  let nodes = 0;
  let steps = 0;
  const measureExpression = createExpressionMeter({
    fault,
    spend,
    isFaulty: () => reason !== undefined,
    measureQuery: (select, scope) => measureSelect(select, scope).list.map((column) => column.shape),
  });

  function fault(text: string): Shape {
    reason ??= text;
    return tableColumn;
  }

  function spend(more: number): void {
    steps += more;
    if (steps > maxSteps) fault(tooManyColumns);
  }

  /** FROM puts them side by side; asked before they are, since the lists of few words may double without end. */
  function join(left: Columns, right: Columns): Columns {
    spend(left.list.length + right.list.length);
    return reason === undefined ? left.beside(right) : noColumns;
  }

  /** An expression that no other holds. */
  function measure(expression: unknown, scope: Scope): Shape {
    const shape = measureExpression(expression, scope);
    nodes += shape.nodes;
    return nodes > maxNodes ? fault(tooWide) : shape;
  }

  function measureSelect(select: Fields, outer: Scope): Columns {
    if (reason !== undefined) return noColumns;
    const ctes = measureWith(select["withClause"], outer);
    const around: Scope = { columns: noColumns, ctes, outer };
    const { larg, rarg } = select;
    if (isRecord(larg) && isRecord(rarg)) {
      return unite(measureSelect(larg, around), measureSelect(rarg, around));
    }
    const rows = listOf(select["valuesLists"]);
    if (rows.length > 0) return measureValues(rows, around);
    const columns = measureFrom(listOf(select["fromClause"]), around);
    const scope: Scope = { columns, ctes, outer };
    for (const clause of clauses) {
      if (select[clause] !== undefined) measure(select[clause], scope);
    }
    const isApart = barriers.some((clause) => select[clause] !== undefined);
    return measureTargets(listOf(select["targetList"]), scope, isApart);
  }

  function measureFrom(items: readonly unknown[], around: Scope): Columns {
    let columns = noColumns;
    for (const item of items) {
      columns = join(columns, measureFromItem(item, { ...around, columns }));
      if (columns.relations > maxRelations) fault(tooWide);
      if (reason !== undefined) break;
    }
    return columns;
  }

  function measureTargets(targets: readonly unknown[], scope: Scope, isApart: boolean): Columns {
    let open = false;
    const list: OutputColumn[] = [];
    for (const target of targets) {
      const { name, val } = unwrap(target)?.fields ?? {};
      const node = unwrap(val);
      const isAll = node !== undefined && isStar(node);
      if (list.length + (isAll ? scope.columns.list.length : 1) > maxTargets) fault(tooManyColumns);
      if (reason !== undefined) return noColumns;
      if (isAll) {
        open ||= scope.columns.open;
        list.push(...scope.columns.list.map(({ name, shape }) => ({ name, shape })));
      } else {
        const shape = measure(val, scope);
        list.push({
          name: textOf(name) || impliedName(node),
          shape: isApart ? { ...shape, nodes: 1 } : shape,
        });
      }
    }
    spend(list.length);
    return createColumns(list, open, Math.max(1, scope.columns.relations));
  }

  function measureValues(rows: readonly unknown[], scope: Scope): Columns {
    const shapes = rows.map((row) =>
      listOf(unwrap(row)?.fields["items"]).map((item) => measure(item, scope))
    );
    const list = (shapes[0] ?? []).map((_, at) => ({
      name: `column${at + 1}`,
      shape: eitherOf(shapes.map((row) => row[at] ?? nothing)),
    }));
    return createColumns(list, false, 1);
  }

  function measureWith(clause: unknown, outer: Scope): ReadonlyMap<string, Columns> {
    if (!isRecord(clause)) return outer.ctes;
    spend(outer.ctes.size);
    const ctes = new Map(outer.ctes);
    for (const item of listOf(clause["ctes"])) {
      const cte = unwrap(item)?.fields ?? {};
      const columns = measureCte(cte, clause["recursive"] === true, { columns: noColumns, ctes, outer });
      const isApart = cte["ctematerialized"] === "CTEMaterializeAlways";
      const isCopied = cte["ctematerialized"] === "CTEMaterializeNever";
      ctes.set(
        textOf(cte["ctename"]),
        createColumns(
          isApart ? withoutNodes(columns.list) : columns.list,
          columns.open,
          isCopied ? columns.relations : 1,
        ),
      );
    }
    return ctes;
  }

  function measureCte(cte: Fields, isRecursive: boolean, scope: Scope): Columns {
    const select = unwrap(cte["ctequery"])?.fields ?? {};
    const names = nameParts(cte["aliascolnames"]);
    const { larg, rarg } = select;
    if (!isRecursive || !isRecord(larg) || !isRecord(rarg)) {
      return renameColumns(measureSelect(select, scope), names);
    }
    const ctes = measureWith(select["withClause"], scope);
    const start = withUnlisted(renameColumns(measureSelect(larg, { ...scope, ctes }), names));
    const collected = checkRound(textOf(cte["ctename"]), start, rarg, { ...scope, ctes });
    const list = withoutNodes(start.list).map(({ shape, ...column }, at) => ({
      ...column,
      shape: { ...shape, data: true, collected: worseOf(shape.collected, collected[at] ?? "no") },
    }));
    return createColumns([...list, ...columnsOfSearch(cte)], start.open, 1);
  }

  /**
   * A round that makes a value of a known size nearly twice as long would fill the memory in thirty. What it makes
   * longer at all is as long as all rounds together; so is what a later round copies of it.
   */
  function checkRound(name: string, start: Columns, round: Fields, scope: Scope): Collected[] {
    const size = 10_000;
    const after = measureRound(start.list.map(() => ({ ...tableColumn, size })));
    if (after.some((shape) => shape.size >= 1.9 * size)) fault(doubling);
    let collected = start.list.map(({ shape }, at) =>
      worseOf(shape.collected, grows(after[at]) ? "value" : after[at]?.collected ?? "no")
    );
    for (let isSettled = collected.every((is) => is === "no"); !isSettled && reason === undefined;) {
      spend(1_000);
      const next = measureRound(collected.map((is) => ({ ...tableColumn, collected: is })))
        .map((shape, at) => worseOf(collected[at] ?? "no", shape.collected));
      isSettled = next.every((is, at) => is === collected[at]);
      collected = next;
    }
    return collected;

    function grows(shape: Shape | undefined): boolean {
      return shape !== undefined && shape.size > size;
    }

    function measureRound(shapes: readonly Shape[]): Shape[] {
      const list = start.list.map((column, at) => ({ ...column, shape: shapes[at] ?? tableColumn }));
      const ctes = new Map([...scope.ctes, [name, createColumns(list, start.open, 1)]]);
      const columns = measureSelect(round, { ...scope, ctes });
      // how many columns a stored table has is not known, nor which of these follow them
      const worst = eitherOf([tableColumn, ...columns.list.map((column) => column.shape)]);
      return start.list.map((_, at) => start.open ? worst : columns.worstAt(at));
    }
  }

  function measureFromItem(item: unknown, scope: Scope): Columns {
    const { type, fields } = unwrap(item) ?? noNode;
    const alias = isRecord(fields["alias"]) ? fields["alias"] : {};
    const aliasName = textOf(alias["aliasname"]) || undefined;
    const names = nameParts(alias["colnames"]);
    switch (type) {
      case "RangeVar": {
        const name = textOf(fields["relname"]);
        const cte = fields["schemaname"] === undefined ? scope.ctes.get(name) : undefined;
        if (cte === undefined) return createColumns([], true, 1);
        spend(cte.list.length);
        return qualifyColumns(renameColumns(cte, names), aliasName ?? name);
      }
      case "RangeSubselect": {
        const columns = measureSelect(unwrap(fields["subquery"])?.fields ?? {}, scope);
        return qualifyColumns(renameColumns(columns, names), aliasName);
      }
      case "RangeFunction":
        return measureFunctions(listOf(fields["functions"]), [aliasName, ...names], scope);
      case "RangeTableSample":
        return measureFromItem(fields["relation"], scope);
      case "JoinExpr": {
        const left = measureFromItem(fields["larg"], scope);
        const right = measureFromItem(fields["rarg"], { ...scope, columns: join(scope.columns, left) });
        const columns = join(left, right);
        if (fields["quals"] !== undefined) measure(fields["quals"], { ...scope, columns });
        return aliasName === undefined ? columns : qualifyColumns(renameColumns(columns, names), aliasName);
      }
      default: {
        const shape = measure(childrenOf(type, fields), scope);
        return createColumns(
          [{ name: undefined, shape: { ...shape, nodes: 1, data: true, bound: 0 } }],
          false,
          1,
        );
      }
    }
  }

  function measureFunctions(
    functions: readonly unknown[],
    names: readonly (string | undefined)[],
    scope: Scope,
  ) {
    const list = functions.flatMap((item): OutputColumn[] => {
      const call = listOf(unwrap(item)?.fields["items"])[0];
      const shape = { ...measure(call, scope), nodes: 1 };
      return [impliedName(unwrap(call)), undefined, ...names].map((name) => ({ name, shape }));
    });
    return createColumns(list, false, 1);
  }

  const statement = root.type === "ExplainStmt" ? unwrap(root.fields["query"]) : root;
  if (statement?.type === "SelectStmt") measureSelect(statement.fields, emptyScope);
  return reason;
}

const noNode: SyntaxNode = { type: "", fields: {}, depth: 0 };

/** UNION and its like name their columns by the first query. */
function unite(left: Columns, right: Columns): Columns {
  const list = left.list.map(({ name, shape }, at) => ({
    name,
    shape: eitherOf([shape, right.worstAt(at)]),
  }));
  return createColumns(list, left.open || right.open, left.relations + right.relations);
}

/** The columns with one more, in place of all those of stored tables. */
function withUnlisted(columns: Columns): Columns {
  if (!columns.open) return columns;
  return createColumns([...columns.list, { name: undefined, shape: tableColumn }], true, columns.relations);
}

/** What SEARCH and CYCLE add to a recursive query: the way to each row, which is as long as there are rounds. */
function columnsOfSearch(cte: Fields): OutputColumn[] {
  const search = isRecord(cte["search_clause"]) ? cte["search_clause"] : {};
  const cycle = isRecord(cte["cycle_clause"]) ? cte["cycle_clause"] : {};
  return [
    { name: textOf(search["search_seq_column"]), shape: { ...tableColumn, collected: "value" as const } },
    { name: textOf(cycle["cycle_mark_column"]), shape: tableColumn },
    { name: textOf(cycle["cycle_path_column"]), shape: { ...tableColumn, collected: "value" as const } },
  ].filter(({ name }) => name !== "");
}

function withoutNodes(list: readonly OutputColumn[]): OutputColumn[] {
  return list.map((column) => ({ ...column, shape: { ...column.shape, nodes: 1 } }));
}

function isStar({ type, fields }: SyntaxNode): boolean {
  return type === "ColumnRef" && listOf(fields["fields"]).some((part) => unwrap(part)?.type === "A_Star");
}

/** The name that an unnamed output column gets, where it is easily told; undefined: it may have any name. */
function impliedName(node: SyntaxNode | undefined): string | undefined {
  if (node?.type === "ColumnRef") return nameParts(node.fields["fields"]).at(-1);
  if (node?.type === "FuncCall") return nameParts(node.fields["funcname"]).at(-1);
  return undefined;
}
