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

/** An identifier as SQL: bare where PostgreSQL reads it back unchanged, else in doubled quotes. */
export function quoteIdentifier(name: string): string {
  const bare = /^[a-z_][a-z0-9_]*$/.test(name) && !keywords.has(name);
  return bare ? name : `"${name.replaceAll('"', '""')}"`;
}

/** A string literal that means the same under any setting of `standard_conforming_strings`. */
export function quoteLiteral(value: string): string {
  const doubled = value.replaceAll("'", "''");
  return value.includes("\\") ? `E'${doubled.replaceAll("\\", "\\\\")}'` : `'${doubled}'`;
}

/** The value as a LIKE pattern's literal part. */
export function escapePattern(value: string): string {
  return value.replace(/[\\%_]/g, "\\$&");
}
