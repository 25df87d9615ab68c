// PostgreSQL, appendix C: the reserved key words, with those that may not name a table
const reserved = new Set(
  ("all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation " +
    "column concurrently constraint create cross current_catalog current_date current_role current_schema current_time " +
    "current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze " +
    "from full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit " +
    "localtime localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references " +
    "returning right select session_user similar some symmetric system_user table tablesample then to trailing true union " +
    "unique user using variadic verbose when where window with").split(" "),
);

export function quotedName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** A name as SQL has it: with quotes where it needs them. */
export function sqlName(name: string): string {
  return /^[a-z_][a-z0-9_$]*$/.test(name) && !reserved.has(name) ? name : quotedName(name);
}

/** A statement that can be edited and run: `$1` and on are written out. */
export function withArguments(sql: string, values: readonly string[]): string {
  return sql.replace(/\$(\d+)/g, (parameter, number) => {
    const value = values[Number(number) - 1];
    // a literal of an unknown type is what its place needs
    return value === undefined ? parameter : `'${value.replaceAll("'", "''")}'`;
  });
}

/** A table as a statement has it; `public` is where names without a schema are looked up. */
export function sqlTable({ schema, name }: Readonly<Record<"schema" | "name", string>>): string {
  return schema === "public" ? sqlName(name) : `${sqlName(schema)}.${sqlName(name)}`;
}

const identifier = String.raw`"(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*`;
const path = new RegExp(
  `(?:(${identifier})\\.)?(${identifier})(?:\\s+(?:as\\s+)?(?=(${identifier})))?`,
  "giu",
);

/** What a name is without its quotes: lower case where it has none. */
export function nameOf(written: string): string {
  return written.startsWith('"') ? written.slice(1, -1).replaceAll('""', '"') : written.toLowerCase();
}

/**
 * The tables that a statement names, each with what may be another name for it there: the word after it may be a key word,
 * which nobody writes before a dot.
 */
export function mentionedTables<T>(
  text: string,
  find: (name: string, schema: string | undefined) => T | undefined,
) {
  return Array.from(text.matchAll(path), ([, schema, name = "", alias]) => {
    const table = find(nameOf(name), schema && nameOf(schema));
    return table === undefined ? [] : [{ table, alias: alias && nameOf(alias) }];
  }).flat();
}

/**
 * Words that are not SQL shall not be completed as such, "show me all customers" and "with how many" neither: of SHOW there is
 * nothing to complete, and of WITH no more than its own name before the first parenthesis.
 */
export const looksLikeSql =
  /^\s*(?:\(|--|\/\*|select\b|table\s+\S*$|(?:with|values)\b[^(]*\(|explain\s*(?:\(|(?:analy[sz]e|verbose|select|with|table|values)\b))/i;
