import { quoteLiteral } from "../../postgres/sql_text.ts";

/**
 * SQL for whether the role may read a table; no row where there is none. It asks the catalog, since a name cannot be
 * resolved in a schema that the role may not use.
 *
 * @param table qualified, not quoted
 */
export function mayReadSql(table: string): string {
  const [schema = "", name = ""] = table.split(".");
  return `SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = ${quoteLiteral(schema)} AND c.relname = ${quoteLiteral(name)}`;
}
