import type { Operator } from "./filter_kinds.ts";
import { joinSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { binarySql, type Comparison, listSql, parameterSql, pattern } from "./comparison.ts";
import { holdsNul, isNumberText } from "./literal.ts";

interface JsonPathComparison extends Omit<Comparison, "operator"> {
  readonly operator: Operator;
  /** From the column inwards; one at least. */
  readonly keys: readonly string[];
}

/** The kinds of JSON values that have an order. */
const kinds = {
  string: { name: "string", sqlType: "text" },
  number: { name: "number", sqlType: "numeric" },
  boolean: { name: "boolean", sqlType: "boolean" },
} as const;

/**
 * A condition over what a path finds in a JSON column. It is compared with text as its text, whatever it is; with a
 * number or a boolean only where it is one. IS NULL holds where there is nothing, or JSON's null.
 *
 * @throws {AppError} `invalid` for a value or an operator that does not fit
 */
export function jsonPathCondition(comparison: JsonPathComparison): SqlText {
  const { operator, value, fail } = comparison;
  const text = pathSql(comparison, true);
  if (operator === "IS NULL") return sql`(${text} IS NULL)`;
  if (operator === "IS NOT NULL") return sql`(${text} IS NOT NULL)`;
  if (operator === "LIKE" || operator === "ILIKE") {
    return binarySql(text, operator, parameterSql(pattern(comparison), "text"));
  }
  const isList = operator === "IN" || operator === "NOT IN";
  if (isList && !Array.isArray(value)) throw fail("value", "expected a list");
  const values: readonly unknown[] = isList && Array.isArray(value) ? value : [value];
  const kind = kindOf(values);
  const texts = values.map(textOf);
  if (kind === undefined || !texts.every((item) => item !== undefined)) {
    throw fail("value", isList ? "expected texts, numbers or booleans, all of one kind" : expected);
  }
  const found = typedSql(comparison, kind);
  if (operator === "IN") return sql`(${found} = ANY (${listSql(texts, kind.sqlType)}))`;
  if (operator === "NOT IN") return sql`(${found} <> ALL (${listSql(texts, kind.sqlType)}))`;
  return binarySql(found, operator, parameterSql(texts[0] ?? "", kind.sqlType));
}

const expected = "expected a text, a number, or true or false";

/** What JSON writes as an escape and PostgreSQL has no place for: NUL, and half of a surrogate pair. */
const unstorable = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/**
 * A condition over a whole JSON column: whether it is a value or not.
 *
 * @throws {AppError} `invalid` for another operator, or no value
 */
export function jsonValueCondition({ column, operator, value, fail }: Comparison): SqlText {
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

function kindOf(values: readonly unknown[]): typeof kinds[keyof typeof kinds] | undefined {
  const names = new Set(values.map((value) => typeof value));
  const [name] = names;
  if (values.length === 0) return kinds.string;
  if (names.size > 1) return undefined;
  return name === "string" || name === "number" || name === "boolean" ? kinds[name] : undefined;
}

function textOf(value: unknown): string | undefined {
  const text = String(value);
  if (typeof value === "number") return isNumberText(text) ? text : undefined;
  return holdsNul(text) ? undefined : text;
}

function typedSql(comparison: JsonPathComparison, kind: typeof kinds[keyof typeof kinds]): SqlText {
  const text = pathSql(comparison, true);
  if (kind === kinds.string) return text;
  const type = verbatim(kind.sqlType);
  const name = verbatim(`'${kind.name}'`);
  return sql`(CASE WHEN jsonb_typeof(${pathSql(comparison, false)}) = ${name} THEN ${text}::${type} END)`;
}

/** The form that an index on an expression would have, `column -> key ->> key`, but where a key may be a place. */
function pathSql({ column, type, keys }: JsonPathComparison, asText: boolean): SqlText {
  const json = type.sqlType === "json" && !asText ? sql`${column}::jsonb` : column;
  if (keys.some((key) => /^-?\d+$/.test(key))) {
    const path = listSql(keys, "text");
    return asText ? sql`(${json} #>> ${path})` : sql`(${json} #> ${path})`;
  }
  const steps = keys.map((key, at) =>
    asText && at === keys.length - 1 ? sql` ->> ${key}::text` : sql` -> ${key}::text`
  );
  return sql`(${json}${joinSql(steps, "")})`;
}
