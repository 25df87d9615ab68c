import { isRecord, listOf, nameParts, type SyntaxNode, textOf, unwrap } from "./syntax_tree.ts";

type Fields = SyntaxNode["fields"];
type Put = (kind: "field" | "row_field" | "row", parts: readonly string[], location?: unknown) => void;

/** What of a FROM clause a name may stand for. */
interface Source {
  readonly name: string;
  /** Schema and name of a table; a function's name; absent of what is a row without a name. */
  readonly relation?: readonly string[];
}

export interface UseCollector {
  add(node: SyntaxNode): void;
  /** Whether a call stands in FROM, where a row that it gives is columns. */
  isInFrom(call: Fields): boolean;
  /** Once all nodes have been added: what only all of them together tell. */
  finish(put: Put): void;
}

/**
 * Gathers what a statement does to values without naming it: what PostgreSQL sorts, compares or turns into another type
 * of its own accord, and of which columns. In doubt of all columns.
 */
export function createUseCollector(put: (kind: "column" | "use", name: string) => void): UseCollector {
  const inFrom = new Set<Fields>();
  /** Stars that only list what the statement gives. */
  const plainStars = new Set<Fields>();
  const sources: Source[] = [];
  /** Names of what a function in FROM gives, which need not be a row. */
  const scalars = new Set<string>();
  const bareNames = new Set<string>();
  const starred = new Set<string>();
  const qualified: { readonly source: string; readonly field: string; readonly at: unknown }[] = [];
  let top: SyntaxNode["type"] | undefined;

  const use = (...names: readonly string[]) => names.forEach((name) => put("use", name));

  function add(node: SyntaxNode): void {
    const { type, fields } = node;
    const isTop = top === undefined || (top === "ExplainStmt" && node.depth === 1);
    top ??= type;
    switch (type) {
      case "SelectStmt":
        return addSelect(fields, isTop);
      case "WindowDef":
        return use("sort", "compare");
      case "A_Const":
        return fields["sval"] === undefined ? undefined : use("coerce");
      case "A_ArrayExpr":
        return use("coerce", "compare", "array");
      case "RowExpr":
      case "CoalesceExpr":
        return use("coerce", "compare");
      case "MinMaxExpr":
        return use("coerce", "compare", "sort");
      case "CaseExpr":
        return use("coerce", ...(fields["arg"] === undefined ? [] : ["compare"]));
      case "A_Expr":
        return use("compare", ...(nameParts(fields["name"]).at(-1) === "||" ? ["coerce"] : []));
      case "SubLink":
        return use("compare", ...(fields["subLinkType"] === "ARRAY_SUBLINK" ? ["array"] : []));
      case "FuncCall":
        if (listOf(fields["args"]).length > 1) use("coerce");
        return use("compare", ...(fields["agg_order"] ?? fields["agg_distinct"] ? ["sort"] : []));
      case "CommonTableExpr":
        return fields["aliascolnames"] === undefined ? undefined : put("column", "*");
      case "CTESearchClause":
      case "CTECycleClause":
        use("sort", "compare");
        for (const list of ["search_col_list", "cycle_col_list"]) {
          for (const name of nameParts(fields[list])) put("column", name);
        }
        return;
      case "RangeVar": {
        const relation = [textOf(fields["schemaname"]), textOf(fields["relname"])].filter((part) =>
          part !== ""
        );
        return addSource({ name: aliasOf(fields) ?? relation.at(-1) ?? "", relation }, fields);
      }
      case "RangeSubselect":
        return addSource({ name: aliasOf(fields) ?? "" }, fields);
      case "JoinExpr":
        return addJoin(fields);
      case "RangeFunction":
        return addRangeFunction(fields);
      case "ColumnRef":
        return addColumn(fields);
      case "A_Indirection":
        for (const item of listOf(fields["indirection"])) {
          if (unwrap(item)?.type === "A_Star") put("column", "*");
        }
        for (const name of nameParts(fields["indirection"])) put("column", name);
    }
  }

  function addSelect(fields: Fields, isTop: boolean): void {
    const isSet = textOf(fields["op"]) !== "SETOP_NONE" && fields["op"] !== undefined;
    const sorted = [...listOf(fields["sortClause"]), ...listOf(fields["groupClause"])];
    if (isSet || fields["distinctClause"] !== undefined || sorted.length > 0) use("sort", "compare");
    if (isSet || fields["valuesLists"] !== undefined) use("coerce");
    // a place in the list, `ORDER BY 1`, may be a column of a star
    const isByPlace = [...sorted, ...listOf(fields["distinctClause"])].some(isPlace);
    if (!isTop || isSet || isByPlace || fields["distinctClause"] !== undefined) return;
    for (const target of listOf(fields["targetList"])) {
      const value = unwrap(unwrap(target)?.fields["val"]);
      if (value?.type === "ColumnRef" && hasStar(value.fields)) plainStars.add(value.fields);
    }
  }

  function addSource(source: Source, fields: Fields): void {
    sources.push(source);
    if (isRecord(fields["alias"]) && fields["alias"]["colnames"] !== undefined) put("column", "*");
  }

  function addJoin(fields: Fields): void {
    if (fields["isNatural"] === true) put("column", "*");
    for (const name of nameParts(fields["usingClause"])) put("column", name);
    if (fields["isNatural"] === true || fields["usingClause"] !== undefined) use("coerce", "compare", "sort");
    addSource({ name: aliasOf(fields) ?? "" }, fields);
  }

  function addRangeFunction(fields: Fields): void {
    const alias = aliasOf(fields);
    for (const item of listOf(fields["functions"])) {
      const call = unwrap(listOf(unwrap(item)?.fields["items"])[0]);
      if (call?.type !== "FuncCall") continue;
      inFrom.add(call.fields);
      const relation = nameParts(call.fields["funcname"]);
      const name = alias ?? relation.at(-1) ?? "";
      sources.push({ name, relation });
      scalars.add(name);
    }
    if (alias !== undefined) scalars.add(alias);
  }

  function addColumn(fields: Fields): void {
    const parts = nameParts(fields["fields"]);
    const [first = "", second] = parts;
    if (hasStar(fields)) {
      if (plainStars.has(fields)) return;
      put("column", "*");
      const last = parts.at(-1);
      if (last !== undefined) starred.add(last);
      return;
    }
    for (const part of parts) put("column", part);
    if (second === undefined) bareNames.add(first);
    else qualified.push({ source: parts.at(-2) ?? "", field: parts.at(-1) ?? "", at: fields["location"] });
  }

  return {
    add,
    isInFrom: (call) => inFrom.has(call),
    finish(putAt) {
      for (const { source, field, at } of qualified) {
        putAt(scalars.has(source) ? "field" : "row_field", [field], at);
      }
      for (const { name, relation } of sources) {
        if (relation !== undefined && (bareNames.has(name) || starred.has(name))) putAt("row", relation);
      }
    },
  };
}

function aliasOf({ alias }: Fields): string | undefined {
  return isRecord(alias) ? textOf(alias["aliasname"]) : undefined;
}

function hasStar(fields: Fields): boolean {
  return listOf(fields["fields"]).some((item) => unwrap(item)?.type === "A_Star");
}

function isPlace(item: unknown): boolean {
  const node = unwrap(item);
  if (node?.type === "SortBy") return isPlace(node.fields["node"]);
  if (node?.type === "GroupingSet") return listOf(node.fields["content"]).some(isPlace);
  if (node?.type === "RowExpr") return listOf(node.fields["args"]).some(isPlace);
  if (node?.type === "List") return listOf(node.fields["items"]).some(isPlace);
  return node?.type === "A_Const";
}
