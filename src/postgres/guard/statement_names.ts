import { createUseCollector } from "./statement_uses.ts";
import { isRecord, listOf, nameParts, type SyntaxNode, textOf, unwrap } from "./syntax_tree.ts";

/** A name as PostgreSQL will look it up: folded to lower case unless it was quoted. */
export interface QualifiedName {
  readonly schema?: string;
  readonly name: string;
}

export type NameKind =
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

/** A name together with what the statement uses it for. */
export interface StatementName extends QualifiedName {
  readonly kind: NameKind;
  /** Where it stands, in bytes of the statement's UTF-8 from 0; absent where the parser does not say. */
  readonly offset?: number;
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

export interface NameCollector {
  add(node: SyntaxNode): void;
  names(): StatementNames;
}

/** Gathers names from the nodes of one statement, parents first. */
export function createNameCollector(): NameCollector {
  const found = new Map<string, StatementName>();
  const uses = createUseCollector((kind, name) => put(kind, [name]));

  function put(kind: NameKind, parts: readonly string[], location?: unknown): void {
    const name = parts.at(-1);
    if (name === undefined) return;
    const schema = parts.at(-2);
    // no name holds a NUL
    const key = `${kind}\0${schema ?? "\0"}\0${name}`;
    if (found.has(key)) return;
    found.set(key, {
      kind,
      name,
      ...(schema === undefined ? {} : { schema }),
      ...(typeof location === "number" && location >= 0 ? { offset: location } : {}),
    });
  }

  function add(node: SyntaxNode): void {
    const { type, fields } = node;
    const at = fields["location"];
    uses.add(node);
    switch (type) {
      case "RangeVar":
        return put("relation", relationParts(fields), at);
      case "FuncCall": {
        const parts = nameParts(fields["funcname"]);
        put("function", parts, at);
        put("type", parts, at);
        if (!uses.isInFrom(fields)) put("row", parts, at);
        return put("type", typeNamedByArgument(node) ?? [], at);
      }
      case "RangeTableSample":
        return put("function", nameParts(fields["method"]), at);
      case "ColumnRef": {
        const parts = nameParts(fields["fields"]);
        return parts.length > 1 ? put("type", parts.slice(-1), at) : undefined;
      }
      case "A_Indirection":
        for (const part of nameParts(fields["indirection"])) {
          put("field", [part], at);
          put("type", [part], at);
        }
        return;
      case "TypeName":
        return put("type", nameParts(fields["names"]), at);
      case "SortBy":
        return put("operator", nameParts(fields["useOp"]), at);
      case "SubLink":
        return put("operator", fields["operName"] === undefined ? ["="] : nameParts(fields["operName"]), at);
      case "JoinExpr":
        return fields["usingClause"] !== undefined || fields["isNatural"] === true
          ? put("operator", ["="])
          : undefined;
      case "CaseExpr":
        return fields["arg"] === undefined ? undefined : put("operator", ["="], at);
      case "A_Expr":
        return addOperators(fields);
      default:
        for (const name of functionsBySyntax[type] ?? []) put("function", [name], at);
        // the constructors of JSON cast what they are given to it
        if (type.startsWith("Json")) { for (const name of jsonTypes) put("type", ["pg_catalog", name]); }
    }
  }

  function addOperators(fields: SyntaxNode["fields"]): void {
    const kind = textOf(fields["kind"]);
    for (const name of impliedOperators[kind] ?? []) put("operator", [name], fields["location"]);
    if (!kind.includes("BETWEEN")) put("operator", nameParts(fields["name"]), fields["location"]);
  }

  return {
    add,
    names() {
      uses.finish(put);
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
  const literal = unwrap(listOf(fields["args"])[1])?.fields["sval"];
  const text = isRecord(literal) ? textOf(literal["sval"]) : "";
  if (typesOfSeveralWords.test(text)) return [];
  const match = plainType.exec(text);
  return match?.slice(1).filter((part) => part !== undefined).map((part) => part.toLowerCase());
}
