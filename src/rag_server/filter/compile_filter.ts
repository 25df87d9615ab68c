import { AppError } from "../../core/app_error.ts";
import {
  arrayText,
  identifierSql,
  joinSql,
  sql,
  type SqlText,
  verbatim,
  verbatimSql,
} from "../../postgres/sql_text.ts";
import type { Condition, Filter } from "../query.ts";
import type { ColumnType } from "../search/column_type.ts";
import type { Operator } from "../query_limits.ts";
import { expectation, holdsNul, isNumberText, literalOf } from "./literal.ts";

/** A condition over a type that only PostgreSQL can judge a value of. */
export interface UncheckedCondition {
  /** The name that errors have for it. */
  readonly place: string;
  /** The column's name, not quoted. */
  readonly column: string;
  readonly type: ColumnType;
  readonly condition: SqlText;
}

interface CompiledFilter {
  /** In parentheses; refers to columns by their bare names. */
  readonly condition: SqlText;
  /** Where a statement fails, one of these may be the cause. */
  readonly unchecked: readonly UncheckedCondition[];
}

/**
 * A filter as SQL whose values are all parameters, with SQL's own meaning of NULL: a row whose column is NULL meets no
 * condition but IS NULL, not even `!=` and NOT IN (but NOT IN of an empty list, which every row meets). Comparisons are
 * of the column's type.
 *
 * @param columns those that it may name; any other is one that does not exist
 * @param path what errors call the filter
 * @throws {AppError} `invalid` with the place of what does not fit: `filter.conditions[2].value: expected …`
 */
export function compileFilter(
  filter: Filter,
  columns: ReadonlyMap<string, FilterColumn>,
  path = "filter",
): CompiledFilter {
  const unchecked: UncheckedCondition[] = [];
  const conditions = filter.conditions.map((given, index) => {
    const place = `${path}.conditions[${index}]`;
    const { condition, uncheckedType: type } = compileCondition(given, columns, place);
    if (type !== undefined) unchecked.push({ place, column: given.column, type, condition });
    return condition;
  });
  // as of nothing in general: AND of no conditions holds, OR of none does not
  if (conditions.length === 0) {
    return { condition: filter.logic === "AND" ? sql`(true)` : sql`(false)`, unchecked };
  }
  return { condition: sql`(${joinSql(conditions, ` ${filter.logic} `)})`, unchecked };
}

/** A condition whose column has been found, and that compares it with something. */
interface Comparison<O = Exclude<Operator, "IS NULL" | "IS NOT NULL">> {
  /** As SQL. */
  readonly column: SqlText;
  readonly type: ColumnType;
  readonly operator: O;
  readonly value: unknown;
  /** The error that names a field of the condition. */
  readonly fail: (field: "operator" | "value", reason: string) => AppError;
}

function compileCondition(
  { column: reference, operator, value }: Condition,
  columns: ReadonlyMap<string, FilterColumn>,
  place: string,
): { readonly condition: SqlText; readonly uncheckedType?: ColumnType } {
  const found = findColumn(reference, columns);
  if (found === undefined) {
    throw new AppError("invalid", `${place}.column: there is no column "${reference}"`);
  }
  const { type, keys } = found;
  const column = identifierSql(found.name);
  const fail = (field: "operator" | "value", reason: string) =>
    new AppError("invalid", `${place}.${field}: ${reason}`);
  if (keys.length > 0) return { condition: jsonPathSql({ column, type, operator, value, fail }, keys) };
  if (operator === "IS NULL" || operator === "IS NOT NULL") {
    return { condition: sql`(${column} ${verbatim(operator)})` };
  }
  const comparison = { column, type, operator, value, fail };
  if (type.kind === "json") return { condition: jsonSql(comparison) };
  const { element } = type;
  return {
    condition: element === undefined ? scalarSql(comparison) : arraySql(comparison, element),
    ...((element ?? type).kind === "other" && { uncheckedType: type }),
  };
}

/** A column that holds one value. */
function scalarSql(comparison: Comparison): SqlText {
  const { column, type, operator, fail } = comparison;
  if (isLike(operator)) {
    if (type.kind !== "text") throw fail("operator", `${operator} is for columns of text`);
    return compareSql(sql`${column}::text`, operator, [pattern(comparison)], "text");
  }
  const texts = isListed(operator) ? listOfValues(comparison, type) : [oneValue(comparison, type)];
  // PostgreSQL has no operators for varchar, so somebody's own would be taken; an index serves texts too
  if (type.sqlType === "character varying") return compareSql(sql`${column}::text`, operator, texts, "text");
  return compareSql(column, operator, texts, type.sqlType);
}

/**
 * A column of arrays: `=` a value asks whether the array has it, IN whether it has one of some, `=` a list whether it is
 * that list; `!=` and NOT IN ask the opposite. A GIN index on the column serves the first two.
 */
function arraySql(comparison: Comparison, element: ColumnType): SqlText {
  const { column, operator, value, fail } = comparison;
  const list = (texts: readonly string[]) => listSql(texts, element.sqlType);
  const unless = (isNegative: boolean, condition: SqlText) =>
    isNegative ? sql`(NOT ${condition})` : condition;
  if (isListed(operator)) {
    return unless(
      operator === "NOT IN",
      sql`(${column} && ${list(listOfValues(comparison, element))})`,
    );
  }
  if (operator !== "=" && operator !== "!=") {
    throw fail("operator", `${operator} is not for columns of arrays`);
  }
  if (Array.isArray(value)) return binarySql(column, operator, list(listOfValues(comparison, element)));
  return unless(operator === "!=", sql`(${column} @> ${list([oneValue(comparison, element)])})`);
}

/** Characters that JSON writes as an escape and PostgreSQL has no place for: NUL, and half of a surrogate pair. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/** A whole JSON column: whether it is a value or not. */
function jsonSql({ column, operator, value, fail }: Comparison): SqlText {
  if (operator !== "=" && operator !== "!=") {
    throw fail(
      "operator",
      `${operator} is not for a column of JSON as a whole; name a path such as column.key`,
    );
  }
  const text = JSON.stringify(value);
  if (text === undefined || unstorable.test(text)) {
    throw fail("value", "expected a JSON value without NUL and halves of characters");
  }
  return binarySql(sql`${column}::jsonb`, operator, parameterSql(text, "jsonb"));
}

/** The kinds of JSON values that have an order, with the types that they are compared as. */
const jsonTypes = { string: "text", number: "numeric", boolean: "boolean" } as const;
type JsonKind = keyof typeof jsonTypes;

/**
 * What a path finds in a JSON column. It is compared with text as its text, whatever it is; with a number or a boolean
 * only where it is one. IS NULL holds where there is nothing, or JSON's null.
 *
 * @param keys from the column inwards; one at least
 */
function jsonPathSql(comparison: Comparison<Operator>, keys: readonly string[]): SqlText {
  const { column, type, operator, value, fail } = comparison;
  const text = pathSql(column, keys, true);
  if (operator === "IS NULL" || operator === "IS NOT NULL") return sql`(${text} ${verbatim(operator)})`;
  if (isLike(operator)) return compareSql(text, operator, [pattern(comparison)], "text");
  const isList = isListed(operator);
  if (isList && !Array.isArray(value)) throw fail("value", "expected a list");
  const values: readonly unknown[] = isList && Array.isArray(value) ? value : [value];
  const kind = jsonKindOf(values);
  const texts = values.map(String);
  if (kind === undefined || !texts.every(kind === "number" ? isNumberText : (item) => !holdsNul(item))) {
    const expected = isList
      ? "texts, numbers or booleans, all of one kind"
      : "a text, a number, or true or false";
    throw fail("value", `expected ${expected}`);
  }
  if (kind === "string") return compareSql(text, operator, texts, "text");
  const json = pathSql(type.sqlType === "json" ? sql`${column}::jsonb` : column, keys, false);
  const sqlType = jsonTypes[kind];
  const typed = verbatimSql`(CASE WHEN jsonb_typeof(${json}) = '${kind}' THEN ${text}::${sqlType} END)`;
  return compareSql(typed, operator, texts, sqlType);
}

/** The one kind that values are of; an empty list's is text. */
function jsonKindOf(values: readonly unknown[]): JsonKind | undefined {
  const [kind = "string", ...others] = new Set(values.map((value) => typeof value));
  const isOne = others.length === 0 && (kind === "string" || kind === "number" || kind === "boolean");
  return isOne ? kind : undefined;
}

/** The form that an index on an expression would have, `column -> key ->> key`, but where a key may be a place. */
function pathSql(json: SqlText, keys: readonly string[], asText: boolean): SqlText {
  if (keys.some((key) => /^-?\d+$/.test(key))) {
    return sql`(${json} ${verbatim(asText ? "#>>" : "#>")} ${listSql(keys, "text")})`;
  }
  const steps = keys.map((key, at) =>
    asText && at === keys.length - 1 ? sql` ->> ${key}::text` : sql` -> ${key}::text`
  );
  return sql`(${json}${joinSql(steps, "")})`;
}

function isLike(operator: Operator): operator is "LIKE" | "ILIKE" {
  return operator === "LIKE" || operator === "ILIKE";
}

function isListed(operator: Operator): operator is "IN" | "NOT IN" {
  return operator === "IN" || operator === "NOT IN";
}

/** An operand against one value, or those of IN and NOT IN. */
function compareSql(
  operand: SqlText,
  operator: Comparison["operator"],
  texts: readonly string[],
  sqlType: string,
): SqlText {
  if (operator === "IN") return sql`(${operand} = ANY (${listSql(texts, sqlType)}))`;
  if (operator === "NOT IN") return sql`(${operand} <> ALL (${listSql(texts, sqlType)}))`;
  return binarySql(operand, operator, parameterSql(texts[0] ?? "", sqlType));
}

function binarySql(
  left: SqlText,
  operator: Exclude<Comparison["operator"], "IN" | "NOT IN">,
  right: SqlText,
): SqlText {
  return sql`(${left} ${verbatim(operator === "!=" ? "<>" : operator)} ${right})`;
}

/** A value as a parameter of a type. */
function parameterSql(text: string, sqlType: string): SqlText {
  return sql`${text}::${verbatim(sqlType)}`;
}

/** Several values as one parameter. */
function listSql(texts: readonly string[], elementSqlType: string): SqlText {
  return parameterSql(arrayText(texts), `${elementSqlType}[]`);
}

type Given = Pick<Comparison, "value" | "fail">;

/** The one value of a condition, as PostgreSQL reads it. */
function oneValue({ value, fail }: Given, type: ColumnType): string {
  if (Array.isArray(value)) throw fail("value", "expected one value, not a list");
  const text = literalOf(value, type);
  if (text === undefined) throw fail("value", `expected ${expectation(type)}`);
  return text;
}

/** The values of a condition's list, as PostgreSQL reads them. */
function listOfValues({ value, fail }: Given, type: ColumnType): string[] {
  if (!Array.isArray(value)) throw fail("value", "expected a list");
  return value.map((item: unknown, index) => {
    const text = literalOf(item, type);
    if (text === undefined) throw fail("value", `item ${index}: expected ${expectation(type)}`);
    return text;
  });
}

/** A pattern of LIKE. */
function pattern(given: Given): string {
  const text = oneValue(given, { kind: "text", sqlType: "text" });
  const escapes = /\\*$/.exec(text)?.[0].length ?? 0;
  if (escapes % 2 === 1) {
    throw given.fail("value", "a pattern cannot end with a single backslash; double it");
  }
  return text;
}

/** A column that conditions may name. */
export interface FilterColumn extends ColumnType {
  /** The paths that may be named, each with all that is inside of it, of a JSON column that may not be named itself. */
  readonly paths?: readonly (readonly string[])[];
}

/** The column that a condition names, or a path into it. */
interface FoundColumn {
  /** Not quoted. */
  readonly name: string;
  readonly type: ColumnType;
  /** The keys of a path, from the column inwards; none for the column itself. */
  readonly keys: readonly string[];
}

/**
 * The column that a condition names: by its exact name, else as a path into a JSON column. A path is `meta.owner.name`
 * or `meta->'owner'->>'name'`, with or without the quotes; a number is a place in a JSON array. Only what is in
 * `columns` is ever found, so PostgreSQL's own columns (`ctid`) and whole rows are not.
 */
export function findColumn(
  reference: string,
  columns: ReadonlyMap<string, FilterColumn>,
): FoundColumn | undefined {
  const exact = columns.get(reference);
  if (exact !== undefined && exact.paths === undefined) return { name: reference, type: exact, keys: [] };
  const [name = "", ...keys] = reference.includes("->")
    ? reference.split(/->>?/).map((part) => part.trim().replace(/^'(.*)'$/, "$1"))
    : reference.split(".");
  const type = columns.get(name);
  const isPath = type?.kind === "json" && keys.length > 0 &&
    keys.every((key) => key !== "" && !holdsNul(key));
  if (!isPath) return undefined;
  const { paths = [[]] } = type;
  return paths.some((path) => path.every((key, at) => keys[at] === key)) ? { name, type, keys } : undefined;
}

/**
 * The columns of a table that requests may name: those in `names`, which are written as in conditions; all of them where
 * it is absent.
 *
 * @throws what `fail` makes of a name that the table does not have
 */
export function requestColumns(
  columns: ReadonlyMap<string, ColumnType>,
  names: readonly string[] | undefined,
  fail: (reason: string) => AppError,
): ReadonlyMap<string, FilterColumn> {
  if (names === undefined) return columns;
  const allowed = new Map<string, FilterColumn>();
  for (const reference of names) {
    const found = findColumn(reference, columns);
    if (found === undefined) throw fail(`it has no column "${reference}", which filter_columns names`);
    const { name, type, keys } = found;
    const known = allowed.get(name);
    if (keys.length === 0) allowed.set(name, type);
    else if (known === undefined) allowed.set(name, { ...type, paths: [keys] });
    else if (known.paths !== undefined) allowed.set(name, { ...type, paths: [...known.paths, keys] });
  }
  return allowed;
}
