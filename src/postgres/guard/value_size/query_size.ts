import { createExpressionMeter } from "./expression_size.ts";
import { measureRounds } from "./recursive_rounds.ts";
import {
  alignColumns,
  type Around,
  type Column,
  type Copies,
  createScope,
  type Query,
  type Relation,
  renameColumns,
  type Scope,
  tableColumns,
} from "./column_scope.ts";
import { eitherOf, nothing, type Shape, tableColumn } from "./value_shape.ts";
import { childrenOf, isRecord, listOf, nameParts, type SyntaxNode, textOf, unwrap } from "../syntax_tree.ts";

type Fields = SyntaxNode["fields"];

/** Nodes of expressions and relations that the planner may make of a statement, once subqueries are in their places. */
const maxNodes = 100_000;
const maxRelations = 1_000;
/** PostgreSQL's own limit on what a query puts out. */
const maxTargets = 1_664;
/** Nodes measured, columns copied and names looked up, which take a tenth of a microsecond each. */
const maxSteps = 1_000_000;

/** What the planner takes for a query, in nodes. */
const nodesOfQuery = 10;

const stepsOfRecursion = 3_000;

const tooWide =
  "the statement's subqueries multiply each other's expressions; use each value once, or group by it";
const tooManyColumns =
  `the statement has too many columns; name those that you need instead of *, ${maxTargets} at most`;
const tooLaborious = "the statement is too complex to be checked; make it simpler";
const clauses =
  "whereClause havingClause groupClause sortClause windowClause distinctClause limitCount limitOffset".split(
    " ",
  );

/** With these, the planner keeps a subquery apart, so what is around it sees plain columns. */
const barriers = ["groupClause", "havingClause", "distinctClause", "limitCount", "limitOffset"];

const noQuery: Query = { columns: [], relations: 0, readsTable: false };

/** Of one relation that is no stored table. */
const queryOf = (columns: readonly Column[]): Query => ({ columns, relations: 1, readsTable: false });

/**
 * Why a short statement would take gigabytes, or minutes that `statement_timeout` does not stop; undefined where it
 * would not. The planner computes constants and copies subqueries' expressions to the places of their columns without
 * checking the timeout, and the time of some functions grows with the product of two lengths. The tree must have passed
 * `visitNodes` and be of bounded depth: this recurses.
 */
export function whyTooLarge(root: SyntaxNode): string | undefined {
  let reason: string | undefined;
  let nodes = 0;
  let steps = 0;
  const named = new Set<Copies>();
  const measureExpression = createExpressionMeter({
    refuse,
    isRefused: () => reason !== undefined,
    spend,
    measureQuery(select, scope) {
      const { given: query, taken } = aside(() => measureSelect(select, scope));
      return { ...query, nodes: taken };
    },
  });

  function refuse(why: string | undefined): Shape {
    reason ??= why;
    return tableColumn;
  }

  function spend(more: number): void {
    steps += more;
    if (steps > maxSteps) refuse(tooLaborious);
  }

  function scopeOf(relations: readonly Relation[], around: Around): Scope {
    return createScope(relations, around, spend);
  }

  /** An expression that no other holds. */
  function measure(expression: unknown, scope: Scope): Shape {
    const shape = measureExpression(expression, scope);
    return count(shape.nodes) ? shape : tableColumn;
  }

  /** Whether there may be so many more. */
  function count(more: number): boolean {
    nodes += more;
    if (nodes > maxNodes) refuse(tooWide);
    return nodes <= maxNodes;
  }

  /** Counts the nodes for whoever holds what is measured. */
  function aside<T>(measured: () => T): { given: T; taken: number } {
    const before = nodes;
    const given = measured();
    const taken = nodes - before;
    nodes = before;
    return { given, taken };
  }

  function measureSelect(select: Fields, outer: Scope | undefined): Query {
    if (reason !== undefined) return noQuery;
    const ctes = measureWith(select["withClause"], outer);
    const around = { ctes, outer };
    const { larg, rarg } = select;
    if (isRecord(larg) && isRecord(rarg)) {
      const scope = scopeOf([], around);
      const [left, right] = [measureSelect(larg, scope), measureSelect(rarg, scope)];
      const others = alignColumns(left.columns, right.columns);
      return {
        columns: left.columns.map((column, at) => ({
          ...column,
          shape: eitherOf([column.shape, others[at] ?? tableColumn]),
        })),
        relations: left.relations + right.relations,
        readsTable: left.readsTable || right.readsTable,
      };
    }
    count(nodesOfQuery);
    const rows = listOf(select["valuesLists"]);
    if (rows.length > 0) return measureValues(rows, scopeOf([], around));
    const relations = measureFrom(listOf(select["fromClause"]), around);
    const scope = scopeOf(relations, around);
    for (const clause of clauses) {
      if (select[clause] !== undefined) measure(select[clause], scope);
    }
    const isApart = barriers.some((clause) => select[clause] !== undefined);
    return {
      columns: measureTargets(listOf(select["targetList"]), scope, isApart),
      relations: Math.max(1, countRelations(relations)),
      readsTable: scope.readsTable,
    };
  }

  function measureFrom(items: readonly unknown[], around: Around): Relation[] {
    const relations: Relation[] = [];
    for (const item of items) {
      relations.push(...measureFromItem(item, relations, around));
      if (countRelations(relations) > maxRelations) refuse(tooWide);
      if (reason !== undefined) break;
    }
    return relations;
  }

  function measureTargets(targets: readonly unknown[], scope: Scope, isApart: boolean): Column[] {
    const columns: Column[] = [];
    for (const target of targets) {
      const { name, val } = unwrap(target)?.fields ?? {};
      const node = unwrap(val);
      const added = node !== undefined && isStar(node)
        ? scope.all(nameParts(node.fields["fields"]).at(-1))
        : [{ name: textOf(name) || impliedName(node), shape: measure(val, scope) }];
      if (columns.length + added.length > maxTargets) refuse(tooManyColumns);
      if (reason !== undefined) return [];
      columns.push(...isApart ? withoutNodes(added) : added);
    }
    spend(columns.length);
    return columns;
  }

  function measureValues(rows: readonly unknown[], scope: Scope): Query {
    const shapes = rows.map((row) =>
      listOf(unwrap(row)?.fields["items"]).map((item) => measure(item, scope))
    );
    const columns = (shapes[0] ?? []).map((_, at) => ({
      name: `column${at + 1}`,
      shape: eitherOf(shapes.map((row) => row[at] ?? nothing)),
    }));
    return queryOf(columns);
  }

  function measureWith(clause: unknown, outer: Scope | undefined): Scope["ctes"] {
    if (!isRecord(clause)) return outer?.ctes ?? new Map();
    spend(outer?.ctes.size ?? 0);
    const ctes = new Map(outer?.ctes);
    for (const item of listOf(clause["ctes"])) {
      const cte = unwrap(item)?.fields ?? {};
      const { given: query, taken } = aside(() =>
        measureCte(cte, clause["recursive"] === true, scopeOf([], { ctes, outer }))
      );
      const isApart = cte["ctematerialized"] === "CTEMaterializeAlways";
      const isCopied = cte["ctematerialized"] === "CTEMaterializeNever";
      ctes.set(textOf(cte["ctename"]), {
        columns: isApart ? withoutNodes(query.columns) : query.columns,
        relations: isCopied ? query.relations : 1,
        readsTable: query.readsTable,
        copies: { nodes: taken, isEach: isCopied },
      });
    }
    return ctes;
  }

  function measureCte(cte: Fields, isRecursive: boolean, scope: Scope): Query {
    const select = unwrap(cte["ctequery"])?.fields ?? {};
    const names = nameParts(cte["aliascolnames"]);
    const { larg, rarg } = select;
    if (!isRecursive || !isRecord(larg) || !isRecord(rarg)) {
      const query = measureSelect(select, scope);
      return { ...query, columns: renameColumns(query.columns, names) };
    }
    const { outer } = scope;
    const ctes = measureWith(select["withClause"], scope);
    const start = measureSelect(larg, scopeOf([], { ctes, outer }));
    // those inside of others are measured twice for each time that these are
    spend(stepsOfRecursion);
    const measureRound = (columns: readonly Column[]) => {
      const known = new Map([...ctes, [textOf(cte["ctename"]), queryOf(columns)] as const]);
      return measureSelect(rarg, scopeOf([], { ctes: known, outer }));
    };
    return measureRounds(
      cte,
      { ...start, columns: renameColumns(start.columns, names) },
      measureRound,
      refuse,
    );
  }

  function measureFromItem(
    item: unknown,
    before: readonly Relation[],
    around: Around,
  ): Relation[] {
    const { type, fields } = unwrap(item) ?? noNode;
    const alias = isRecord(fields["alias"]) ? fields["alias"] : {};
    const aliasName = textOf(alias["aliasname"]) || undefined;
    const names = nameParts(alias["colnames"]);
    switch (type) {
      case "RangeVar": {
        const name = textOf(fields["relname"]);
        const cte = fields["schemaname"] === undefined ? around.ctes.get(name) : undefined;
        const query = cte ?? { columns: tableColumns, relations: 1, readsTable: true };
        spend(query.columns.length);
        countCopy(query);
        return [{ ...query, name: aliasName ?? name, columns: renameColumns(query.columns, names) }];
      }
      case "RangeSubselect": {
        const query = measureSelect(unwrap(fields["subquery"])?.fields ?? {}, scopeOf(before, around));
        return [{ ...query, name: aliasName, columns: renameColumns(query.columns, names) }];
      }
      case "RangeFunction":
        return [measureFunctions(fields, aliasName, names, scopeOf(before, around))];
      case "RangeTableSample":
        return measureFromItem(fields["relation"], before, around);
      case "JoinExpr": {
        const left = measureFromItem(fields["larg"], before, around);
        const right = measureFromItem(fields["rarg"], [...before, ...left], around);
        const relations = [...left, ...right];
        spend(before.length + relations.length);
        if (fields["quals"] !== undefined) {
          measure(fields["quals"], scopeOf([...before, ...relations], around));
        }
        if (aliasName === undefined) return relations;
        const columns = renameColumns(relations.flatMap((relation) => relation.columns), names);
        spend(columns.length);
        return [{
          name: aliasName,
          columns,
          relations: countRelations(relations),
          readsTable: relations.some((relation) => relation.readsTable),
        }];
      }
      default: {
        const shape = measure(childrenOf(type, fields), scopeOf(before, around));
        const columns = [{ name: undefined, shape: { ...shape, nodes: 1, data: true, bound: 0 } }];
        return [{ name: aliasName, ...queryOf(columns) }];
      }
    }
  }

  function countCopy({ copies }: Query): void {
    if (copies === undefined || named.has(copies)) return;
    if (!copies.isEach) named.add(copies);
    count(copies.nodes);
  }

  function measureFunctions(
    { functions, ordinality }: Fields,
    aliasName: string | undefined,
    names: readonly string[],
    scope: Scope,
  ): Relation {
    // WITH ORDINALITY, the last column counts
    const count = ordinality === true ? names.at(-1) : undefined;
    const columns = listOf(functions).flatMap((item): Column[] => {
      const call = listOf(unwrap(item)?.fields["items"])[0];
      const shape = { ...measure(call, scope), nodes: 1, data: true };
      const implied = impliedName(unwrap(call));
      // where not all columns are named, there may be some of any name
      const own = names.length > 0 ? [implied, ...names] : [aliasName ?? implied, undefined];
      return own.map((name) => ({ name, shape: name !== undefined && name === count ? tableColumn : shape }));
    });
    return { name: aliasName, ...queryOf(columns) };
  }

  const statement = root.type === "ExplainStmt" ? unwrap(root.fields["query"]) : root;
  if (statement?.type === "SelectStmt") measureSelect(statement.fields, undefined);
  return reason;
}

const noNode: SyntaxNode = { type: "", fields: {}, depth: 0 };

function countRelations(relations: readonly Relation[]): number {
  return relations.reduce((total, relation) => total + relation.relations, 0);
}

function withoutNodes(columns: readonly Column[]): Column[] {
  return columns.map((column) => ({ ...column, shape: { ...column.shape, nodes: 1 } }));
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
