import { isRecord, listOf, nameParts, type SyntaxNode, textConstant, textOf, unwrap } from "./syntax_tree.ts";

type NameKind =
  | "relation"
  | "function"
  | "operator"
  | "type"
  | "field"
  | "row_field"
  | "column"
  | "row"
  | "columns_of"
  | "use";

/** A name as PostgreSQL will look it up, folded to lower case unless it was quoted, and what it is used for. */
interface StatementName {
  readonly kind: NameKind;
  readonly schema?: string;
  readonly name: string;
}

/**
 * Every name that could make PostgreSQL run a function, each once.
 *
 * - `relation`: what FROM names, common table expressions among them, since a name may be either.
 * - `function`: what is written as a call, TABLESAMPLE methods too.
 * - `type`: what is cast to. `f(x)` and `x.f` may be casts; functions that fill a row cast to the types of its columns.
 * - `field`: in `(x).f`, and in `x.f` where x is what a function in FROM gives, f, which is a call of f(x) for an x of
 *   whatever type that has no such column.
 * - `row_field`: the same in `x.f` where x is a table, a subquery or a join, and so a row.
 * - `column`: what may be a column whose values are worked with; `*` where any may.
 * - `row`: a relation whose rows are values as a whole, or a function whose result is one outside of FROM.
 * - `columns_of`: a relation whose columns alone are worked with, in a statement of ours.
 * - `use`: what the statement does to values besides what it names: `coerce`, it may turn one into another's type;
 *   `compare`, it may look into one; `sort`, it compares whole ones; `array`, it makes arrays of them.
 *
 * Empty where no relation, function, operator, type or field is named, whatever else there is.
 */
export type StatementNames = readonly StatementName[];

/** Operators that the grammar itself brings in without their being written. */
const impliedOperators: Readonly<Record<string, readonly string[]>> = {
  AEXPR_BETWEEN: [">=", "<="],
  AEXPR_NOT_BETWEEN: ["<", ">"],
  AEXPR_BETWEEN_SYM: [">=", "<=", "<", ">"],
  AEXPR_NOT_BETWEEN_SYM: [">=", "<=", "<", ">"],
  AEXPR_DISTINCT: ["="],
  AEXPR_NOT_DISTINCT: ["="],
  AEXPR_NULLIF: ["="],
  AEXPR_IN: ["=", "<>"],
};

/** Functions of earlier servers' grammars that the newest one reads as syntax of its own. */
const functionsBySyntax: Readonly<Record<string, readonly string[]>> = {
  JsonFuncExpr: ["json_exists", "json_query", "json_value"],
  JsonTable: ["json_table"],
  JsonParseExpr: ["json"],
  JsonScalarExpr: ["json_scalar"],
  JsonSerializeExpr: ["json_serialize"],
  JsonObjectConstructor: ["json_object"],
  JsonArrayConstructor: ["json_array"],
  JsonArrayQueryConstructor: ["json_array"],
  JsonObjectAgg: ["json_objectagg"],
  JsonArrayAgg: ["json_arrayagg"],
};

const jsonTypes = ["json", "jsonb"];

/** Functions and an operator that make a row of the same table as their argument, so its columns' types are cast to. */
export const fillsRow: ReadonlySet<string> = new Set([
  "json_populate_record",
  "json_populate_recordset",
  "jsonb_populate_record",
  "jsonb_populate_record_valid",
  "jsonb_populate_recordset",
  "populate_record",
  "#=",
]);

type Fields = SyntaxNode["fields"];

/** Gathers names from the nodes of one statement, parents first. */
export function createNameCollector() {
  const found = new Map<string, StatementName>();
  const inFrom = new Set<Fields>();
  /** Stars that only list what the statement gives. */
  const plainStars = new Set<Fields>();
  /** Names in FROM, each with the table or function that it stands for. */
  const sources: { readonly name: string; readonly relation: readonly string[] }[] = [];
  /** Names of what a function in FROM gives, which need not be a row. */
  const scalars = new Set<string>();
  const bareNames = new Set<string>();
  const starred = new Set<string>();
  const qualified: { readonly source: string; readonly field: string }[] = [];
  let top: SyntaxNode["type"] | undefined;

  function put(kind: NameKind, parts: readonly string[]): void {
    const name = parts.at(-1);
    if (name === undefined) return;
    const schema = parts.at(-2);
    // no name holds a NUL
    const key = `${kind}\0${schema ?? "\0"}\0${name}`;
    if (!found.has(key)) found.set(key, { kind, name, ...(schema === undefined ? {} : { schema }) });
  }

  function use(...names: readonly string[]): void {
    for (const name of names) put("use", [name]);
  }

  /** What the node names. */
  function addNames(node: SyntaxNode): void {
    const { type, fields } = node;
    switch (type) {
      case "RangeVar":
        return put("relation", relationParts(fields));
      case "FuncCall": {
        const parts = nameParts(fields["funcname"]);
        put("function", parts);
        put("type", parts);
        // in FROM, a row that it gives is columns
        if (!inFrom.has(fields)) put("row", parts);
        return put("type", typeNamedByArgument(node) ?? []);
      }
      case "RangeTableSample":
        return put("function", nameParts(fields["method"]));
      case "ColumnRef": {
        const parts = nameParts(fields["fields"]);
        return parts.length > 1 ? put("type", parts.slice(-1)) : undefined;
      }
      case "A_Indirection":
        for (const part of nameParts(fields["indirection"])) {
          put("field", [part]);
          put("type", [part]);
        }
        return;
      case "TypeName":
        return put("type", nameParts(fields["names"]));
      case "SortBy":
        return put("operator", nameParts(fields["useOp"]));
      case "SubLink":
        return put("operator", fields["operName"] === undefined ? ["="] : nameParts(fields["operName"]));
      case "JoinExpr":
        return fields["usingClause"] !== undefined || fields["isNatural"] === true
          ? put("operator", ["="])
          : undefined;
      case "CaseExpr":
        return fields["arg"] === undefined ? undefined : put("operator", ["="]);
      case "A_Expr": {
        const kind = textOf(fields["kind"]);
        for (const name of impliedOperators[kind] ?? []) put("operator", [name]);
        return kind.includes("BETWEEN") ? undefined : put("operator", nameParts(fields["name"]));
      }
      default:
        for (const name of functionsBySyntax[type] ?? []) put("function", [name]);
        // the constructors of JSON cast what they are given to it
        if (type.startsWith("Json")) { for (const name of jsonTypes) put("type", ["pg_catalog", name]); }
    }
  }

  /**
   * What the node does to values without a name: which columns PostgreSQL sorts, compares or casts on its own. In
   * doubt, all columns.
   */
  function addUses(node: SyntaxNode): void {
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
      case "ParamRef":
        return use("coerce");
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
        return fields["aliascolnames"] === undefined ? undefined : put("column", ["*"]);
      case "CTESearchClause":
      case "CTECycleClause":
        use("sort", "compare");
        for (const list of ["search_col_list", "cycle_col_list"]) {
          for (const name of nameParts(fields[list])) put("column", [name]);
        }
        return;
      case "RangeVar": {
        const relation = relationParts(fields);
        sources.push({ name: aliasOf(fields) ?? relation.at(-1) ?? "", relation });
        return addRenamedColumns(fields);
      }
      case "RangeSubselect":
        return addRenamedColumns(fields);
      case "JoinExpr":
        return addJoin(fields);
      case "RangeFunction":
        return addRangeFunction(fields);
      case "ColumnRef":
        return addColumn(fields);
      case "A_Indirection":
        for (const item of listOf(fields["indirection"])) {
          if (unwrap(item)?.type === "A_Star") put("column", ["*"]);
        }
        for (const name of nameParts(fields["indirection"])) put("column", [name]);
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

  function addRenamedColumns(fields: Fields): void {
    if (isRecord(fields["alias"]) && fields["alias"]["colnames"] !== undefined) put("column", ["*"]);
  }

  function addJoin(fields: Fields): void {
    if (fields["isNatural"] === true) put("column", ["*"]);
    for (const name of nameParts(fields["usingClause"])) put("column", [name]);
    if (fields["isNatural"] === true || fields["usingClause"] !== undefined) use("coerce", "compare", "sort");
    addRenamedColumns(fields);
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
      put("column", ["*"]);
      const last = parts.at(-1);
      if (last !== undefined) starred.add(last);
      return;
    }
    for (const part of parts) put("column", [part]);
    if (second === undefined) bareNames.add(first);
    else qualified.push({ source: parts.at(-2) ?? "", field: parts.at(-1) ?? "" });
  }

  /** What shows only once all nodes are known. */
  function addWhatNamesStandFor(): void {
    for (const { source, field } of qualified) put(scalars.has(source) ? "field" : "row_field", [field]);
    for (const { name, relation } of sources) {
      if (bareNames.has(name) || starred.has(name)) put("row", relation);
    }
  }

  return {
    add(node: SyntaxNode): void {
      addUses(node);
      addNames(node);
    },
    /** Once all nodes have been added. */
    names(): StatementNames {
      addWhatNamesStandFor();
      const names = [...found.values()];
      if (names.every(({ kind }) => kind === "column" || kind === "use")) return [];
      if (!names.some(({ name }) => fillsRow.has(name))) return names;
      const rows = names.filter(({ kind }) => kind === "relation").map((name) => ({
        ...name,
        kind: "type" as const,
      }));
      return [...names, ...rows];
    },
  };
}

function relationParts(fields: SyntaxNode["fields"]): string[] {
  return [textOf(fields["schemaname"]), textOf(fields["relname"])].filter((part) => part !== "");
}

/** A type as its name is written: one that needs quotes is not taken. */
const plainType = /^ *(?:([a-z_][a-z0-9_]*)\.)?([a-z_][a-z0-9_]*)(?: *\([0-9, ]*\))? *(?:\[\])*$/i;
const typesOfSeveralWords =
  /^(double precision|character varying|bit varying|time(stamp)? with(out)? time zone)\b[ ()0-9[\]]*$/i;

/**
 * The type that `pg_input_is_valid(text, type)` and its like cast to, by its second argument: empty for every other
 * function, undefined where the type cannot be told.
 */
export function typeNamedByArgument({ fields }: SyntaxNode): string[] | undefined {
  const name = nameParts(fields["funcname"]).at(-1);
  if (name !== "pg_input_is_valid" && name !== "pg_input_error_info") return [];
  const text = textConstant(unwrap(listOf(fields["args"])[1])) ?? "";
  if (typesOfSeveralWords.test(text)) return [];
  const match = plainType.exec(text);
  return match?.slice(1).filter((part) => part !== undefined).map((part) => part.toLowerCase());
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
