import { defined } from "../../core/defined.ts";
import { isRecord, listOf, nameParts, type SyntaxNode, textConstant, textOf, unwrap } from "./syntax_tree.ts";

type NameKind =
  | "relation"
  | "function"
  | "operator"
  | "type"
  | "field"
  | "row_field"
  | "column"
  | "listed"
  | "row"
  | "perhaps_row"
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
 * - `operator`: those that are written, and those that the syntax stands for.
 * - `type`: what is cast to. `f(x)` and `x.f` may be casts.
 * - `field`: in `(x).f`, and in `x.f` where x is what a function in FROM gives, f, which is a call of f(x) for an x of
 *   whatever type that has no such column.
 * - `row_field`: the same in `x.f` where x is a table, a subquery or a join, and so a row.
 * - `column`: what may be a column whose values are worked with; `*` where any may. `listed`: one that the answer shows
 *   as it is.
 * - `row`: a relation whose rows are values as a whole, or a function whose result is one outside of FROM.
 *   `perhaps_row`: one that may be, where the server folds or cuts names in another way than the grammar here.
 * - `columns_of`: a relation whose columns alone are worked with, in a statement of ours.
 * - `use`: `array`, it makes arrays of values; `join`, it may join rows; `sort`, it sorts or groups.
 *
 * Empty where there are only constants.
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
export const fillsRow: ReadonlySet<string> = new Set(
  ("json_populate_record json_populate_recordset jsonb_populate_record jsonb_populate_record_valid " +
    "jsonb_populate_recordset populate_record #=").split(" "),
);

type Fields = SyntaxNode["fields"];

/** Nodes of a statement that shows constants only. */
const constants = new Set(["ResTarget", "A_Const", "VariableShowStmt"]);
const fieldsOfConstants = new Set(["targetList", "limitOption", "op"]);

/** Gathers names from the nodes of one statement, parents first. */
export function createNameCollector() {
  const found = new Map<string, StatementName>();
  const inFrom = new Set<Fields>();
  /** Columns and stars that the answer shows as they are. */
  const listed = new Set<Fields>();
  /** Names in FROM, each with the table or function that it stands for. */
  const sources: { readonly name: string; readonly relation: readonly string[] }[] = [];
  /** Names of what a function in FROM gives, which need not be a row. */
  const scalars = new Set<string>();
  const joins = new Set<string>();
  const bareNames = new Set<string>();
  const qualified: { readonly source: string; readonly field: string }[] = [];
  let top: SyntaxNode["type"] | undefined;
  let isConstant = true;

  function put(kind: NameKind, parts: readonly string[]): void {
    const name = parts.at(-1);
    if (name === undefined) return;
    const schema = parts.at(-2);
    // no name holds a NUL
    const key = `${kind}\0${schema ?? "\0"}\0${name}`;
    if (!found.has(key)) found.set(key, { kind, name, ...defined({ schema }) });
  }

  /** An array's own type has another name than that of its elements; PostgreSQL's types alone need it. */
  function putType(parts: readonly string[], isArray: boolean): void {
    put("type", parts);
    if (isArray) put("type", [...parts.slice(0, -1), `_${parts.at(-1)}`]);
  }

  function putEach(kind: NameKind, names: readonly string[]): void {
    for (const name of names) put(kind, [name]);
  }

  function add(node: SyntaxNode): void {
    const { type, fields } = node;
    const isTop = top === undefined || (top === "ExplainStmt" && node.depth === 1);
    top ??= type;
    // columns under other names
    const alias = isRecord(fields["alias"]) ? fields["alias"] : {};
    if (alias["colnames"] !== undefined || fields["aliascolnames"] !== undefined) put("column", ["*"]);
    isConstant &&= constants.has(type) ||
      type === "SelectStmt" && Object.keys(fields).every((field) => fieldsOfConstants.has(field));
    switch (type) {
      case "SelectStmt":
        return addSelect(fields, isTop);
      case "CTESearchClause":
      case "CTECycleClause":
        put("use", ["sort"]);
        return ["search_col_list", "cycle_col_list"].forEach((list) =>
          putEach("column", nameParts(fields[list]))
        );
      case "RangeVar": {
        const relation = relationParts(fields);
        put("relation", relation);
        return void sources.push({ name: aliasOf(fields) ?? relation.at(-1) ?? "", relation });
      }
      case "JoinExpr":
        return addJoin(fields);
      case "RangeFunction":
        return addRangeFunction(fields);
      case "RangeTableSample":
        return put("function", nameParts(fields["method"]));
      case "FuncCall": {
        const parts = nameParts(fields["funcname"]);
        put("function", parts);
        put("type", parts);
        if (fields["agg_distinct"] !== undefined) put("use", ["sort"]);
        // in FROM, a row that it gives is columns
        if (!inFrom.has(fields)) put("row", parts);
        return put("type", typeNamedByArgument(node) ?? []);
      }
      case "ColumnRef":
        return addColumn(fields);
      case "A_Indirection":
        if (hasStar(fields["indirection"])) put("column", ["*"]);
        for (const kind of ["field", "type", "column"] as const) {
          putEach(kind, nameParts(fields["indirection"]));
        }
        return;
      case "TypeName":
        return putType(nameParts(fields["names"]), listOf(fields["arrayBounds"]).length > 0);
      case "WindowDef":
        return put("use", ["sort"]);
      case "SortBy":
        put("use", ["sort"]);
        return put("operator", nameParts(fields["useOp"]));
      case "SubLink":
        put("use", [fields["subLinkType"] === "ARRAY_SUBLINK" ? "array" : "join"]);
        if (fields["testexpr"] === undefined) return;
        return put("operator", fields["operName"] === undefined ? ["="] : nameParts(fields["operName"]));
      case "A_ArrayExpr":
        return put("use", ["array"]);
      case "CaseExpr":
        return fields["arg"] === undefined ? undefined : put("operator", ["="]);
      case "A_Expr": {
        const kind = textOf(fields["kind"]);
        putEach("operator", impliedOperators[kind] ?? []);
        return kind.includes("BETWEEN") ? undefined : put("operator", nameParts(fields["name"]));
      }
      default:
        putEach("function", functionsBySyntax[type] ?? []);
        // the constructors of JSON cast what they are given to it
        if (type.startsWith("Json")) { for (const name of jsonTypes) put("type", ["pg_catalog", name]); }
    }
  }

  function addSelect(fields: Fields, isTop: boolean): void {
    const isSet = textOf(fields["op"]) !== "SETOP_NONE" && fields["op"] !== undefined;
    const sorted = [...listOf(fields["sortClause"]), ...listOf(fields["groupClause"])];
    const isDistinct = fields["distinctClause"] !== undefined;
    if (isSet || isDistinct || sorted.length > 0) put("use", ["sort"]);
    if (listOf(fields["fromClause"]).length > 1) put("use", ["join"]);
    // a place in the list, `ORDER BY 1`, may be any of its columns
    if (!isTop || isSet || isDistinct || sorted.some(isPlace)) return;
    for (const item of listOf(fields["targetList"])) {
      const target = unwrap(item)?.fields ?? {};
      const value = unwrap(target["val"]);
      // ORDER BY and GROUP BY know it by its alias too
      if (value?.type === "ColumnRef" && target["name"] === undefined) listed.add(value.fields);
    }
  }

  function addJoin(fields: Fields): void {
    put("use", ["join"]);
    const using = nameParts(fields["usingClause"]);
    if (fields["isNatural"] === true) put("column", ["*"]);
    if (fields["isNatural"] === true || using.length > 0) put("operator", ["="]);
    putEach("column", using);
    for (const alias of [aliasOf(fields), nameOf(fields["join_using_alias"])]) {
      if (alias !== undefined) joins.add(alias);
    }
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
    const [first = ""] = parts;
    const isListed = listed.has(fields);
    if (hasStar(fields["fields"])) {
      if (isListed) return;
      put("column", ["*"]);
      const last = parts.at(-1);
      if (last !== undefined) bareNames.add(last);
      return;
    }
    putEach(isListed ? "listed" : "column", parts);
    if (parts.length === 1) bareNames.add(first);
    else qualified.push({ source: parts.at(-2) ?? "", field: parts.at(-1) ?? "" });
  }

  /** What shows only once all nodes are known. */
  function addWhatNamesStandFor(): void {
    for (const { source, field } of qualified) {
      const isScalar = scalars.has(source) || isForeign(source);
      putEach(isScalar ? "field" : "row_field", [field]);
      if (isScalar) put("type", [field]);
    }
    for (const name of joins) if (bareNames.has(name)) put("column", ["*"]);
    const mayBeAny = [...bareNames].some(isForeign);
    for (const { name, relation } of sources) {
      if (bareNames.has(name)) put("row", relation);
      else if (mayBeAny) put("perhaps_row", relation);
    }
  }

  return {
    add,
    /** Once all nodes have been added. */
    names(): StatementNames {
      if (isConstant) return [];
      addWhatNamesStandFor();
      // a cast that PostgreSQL puts in needs no name
      if (found.size === 0) put("operator", ["="]);
      return [...found.values()];
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
  return nameOf(alias);
}

function isForeign(name: string): boolean {
  return /[^ -~]/.test(name);
}

function nameOf(alias: unknown): string | undefined {
  return isRecord(alias) ? textOf(alias["aliasname"]) : undefined;
}

function hasStar(parts: unknown): boolean {
  return listOf(parts).some((item) => unwrap(item)?.type === "A_Star");
}

function isPlace(item: unknown): boolean {
  const node = unwrap(item);
  if (node?.type === "SortBy") return isPlace(node.fields["node"]);
  if (node?.type === "GroupingSet") return listOf(node.fields["content"]).some(isPlace);
  if (node?.type === "RowExpr") return listOf(node.fields["args"]).some(isPlace);
  if (node?.type === "List") return listOf(node.fields["items"]).some(isPlace);
  return node?.type === "A_Const";
}
