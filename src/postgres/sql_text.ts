import type { Buffer } from "node:buffer";
import { AppError } from "../core/app_error.ts";

/** A name as a quoted identifier of SQL, whatever is in it. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A name as SQL that people and models read: bare where PostgreSQL reads it back unchanged, else quoted. */
export function quoteIfNeeded(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !keywords.has(name) ? name : quoteIdentifier(name);
}

/** A name as it is configured, for messages: in quotes, unless some of it is quoted already. */
export function nameInMessage(name: string): string {
  return name.includes('"') ? name : `"${name}"`;
}

/** A name with dots in it, such as `public.Pages`, with each of its parts quoted. */
export function quoteParts(name: string): string {
  return name.split(".").map(quoteIdentifier).join(".");
}

/** The name that an identifier of SQL stands for: what is not quoted, in small letters. */
export function nameOf(identifier: string): string {
  return identifier.startsWith('"')
    ? identifier.slice(1, -1).replaceAll('""', '"')
    : identifier.toLowerCase();
}

/**
 * A text as a literal of SQL, whatever the server's `standard_conforming_strings`.
 *
 * @throws {AppError} `invalid` for a text with a NUL, which PostgreSQL has no place for
 */
export function quoteLiteral(text: string): string {
  if (text.includes("\0")) throw new AppError("invalid", "Cannot quote text: it holds a NUL character");
  const quoted = text.replaceAll("'", "''");
  return quoted.includes("\\") ? `E'${quoted.replaceAll("\\", "\\\\")}'` : `'${quoted}'`;
}

/** Texts as the value of an array, as PostgreSQL reads it from a parameter. */
export function arrayText(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

/** In PostgreSQL's text format, or in the binary one of the type that the SQL around it gives it. */
export type Parameter = string | Buffer | null;

/**
 * A piece of SQL with its parameters, put together from smaller pieces. Parameters get their numbers only when the whole
 * is rendered, so a piece fits anywhere in a statement.
 */
export interface SqlText {
  /** One more than there are parameters: each parameter stands between two parts. */
  readonly parts: readonly string[];
  /** The SQL around a parameter gives it a type. */
  readonly parameters: readonly Parameter[];
}

/** A template of SQL: a piece is put in as it is, anything else becomes a parameter. */
export function sql(
  strings: TemplateStringsArray,
  ...values: readonly (SqlText | Parameter | number)[]
): SqlText {
  const parts = [strings[0] ?? ""];
  const parameters: Parameter[] = [];
  const append = (text: string) => parts.push((parts.pop() ?? "") + text);
  values.forEach((value, at) => {
    if (typeof value === "object" && value !== null && "parts" in value) {
      append(value.parts[0] ?? "");
      parts.push(...value.parts.slice(1));
      parameters.push(...value.parameters);
      append(strings[at + 1] ?? "");
    } else {
      parameters.push(typeof value === "number" ? String(value) : value);
      parts.push(strings[at + 1] ?? "");
    }
  });
  return { parts, parameters };
}

/** SQL that is known to be safe: our own, or an administrator's. */
export function verbatim(text: string): SqlText {
  return { parts: [text], parameters: [] };
}

/** As {@linkcode sql}, but texts and numbers are put in as they are, by {@linkcode verbatim}. */
export function verbatimSql(
  strings: TemplateStringsArray,
  ...values: readonly (SqlText | string | number)[]
): SqlText {
  return sql(strings, ...values.map((value) => typeof value === "object" ? value : verbatim(String(value))));
}

/** {@linkcode quoteIdentifier} as a piece. */
export function identifierSql(name: string): SqlText {
  return verbatim(quoteIdentifier(name));
}

/** Pieces one after the other. */
export function joinSql(pieces: readonly SqlText[], separator: string): SqlText {
  return pieces.reduce(
    (joined, piece, at) => at === 0 ? piece : sql`${joined}${verbatim(separator)}${piece}`,
    verbatim(""),
  );
}

/** The statement as a driver takes it: its parameters are `$1`, `$2`, and so on. */
export function renderSql(
  { parts, parameters }: SqlText,
): { readonly sql: string; readonly parameters: SqlText["parameters"] } {
  const text = parts.reduce((rendered, part, at) => at === 0 ? part : `${rendered}$${at}${part}`, "");
  return { sql: text, parameters };
}

/** PostgreSQL 18's keywords that cannot stand bare as a column's, table's or alias's name everywhere. */
const keywords = new Set(
  `all analyse analyze and any array as asc asymmetric authorization between bigint binary bit boolean both case
  cast char character check coalesce collate collation column concurrently constraint create cross current_catalog
  current_date current_role current_schema current_time current_timestamp current_user dec decimal default deferrable
  desc distinct do else end except exists extract false fetch float for foreign freeze from full grant greatest group
  grouping having ilike in initially inner inout int integer intersect interval into is isnull join json json_array
  json_arrayagg json_exists json_object json_objectagg json_query json_scalar json_serialize json_table json_value
  lateral leading least left like limit localtime localtimestamp merge_action national natural nchar none normalize
  not notnull null nullif numeric offset on only or order out outer overlaps overlay placing position precision
  primary real references returning right row select session_user setof similar smallint some substring symmetric
  system_user table tablesample then time timestamp to trailing treat trim true union unique user using values
  varchar variadic verbose when where window with xmlattributes xmlconcat xmlelement xmlexists xmlforest
  xmlnamespaces xmlparse xmlpi xmlroot xmlserialize xmltable`.split(/\s+/),
);
