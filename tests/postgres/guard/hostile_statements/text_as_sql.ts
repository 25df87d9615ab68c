import { type HostileStatement, named } from "./hostile_statement.ts";

export const textAsSql: readonly HostileStatement[] = [
  ...named([
    "SELECT query_to_xml('SELECT evil()', true, false, '')",
    "SELECT query_to_xml('SELECT pg_read_file(''@canary@'')', true, false, '')",
    "SELECT query_to_xmlschema('SELECT evil()', true, false, '')",
    "SELECT query_to_xml_and_xmlschema('SELECT evil()', true, false, '')",
    "SELECT xmlconcat(query_to_xml('SELECT evil() AS x', true, false, ''))",
    "SELECT table_to_xml('evil_view', true, false, '')",
    "SELECT table_to_xml(c.oid::regclass, true, false, '') FROM pg_class c WHERE relname = 'evil_view'",
    "SELECT schema_to_xml('public', true, false, '')",
    "SELECT database_to_xml(true, false, '')",
    "SELECT database_to_xml_and_xmlschema(true, false, '')",
    "SELECT cursor_to_xml('c', 1, true, false, '')",
    "SELECT * FROM ts_stat('SELECT evil()::text::tsvector')",
    "SELECT * FROM ts_stat('SELECT to_tsvector(pg_read_file(''@canary@''))')",
    "SELECT ts_rewrite('a'::tsquery, 'SELECT evil()::text::tsquery, ''b''::tsquery')",
    "SELECT ts_rewrite('a', $$SELECT 'a'::tsquery, pg_read_file('@canary@')::tsquery$$)",
    "SELECT * FROM crosstab('SELECT 1, 2, evil()') AS t (a int, b int)",
    "SELECT * FROM crosstab2('SELECT ''a'', ''b'', pg_read_file(''@canary@'')')",
    "SELECT * FROM connectby('(SELECT evil() AS a, 1 AS b) x', 'a', 'b', '1', 0) AS t (a int, b int, c int)",
    "SELECT * FROM xpath_table('id', 'x', 'evil_view', '/a', 'true') AS t (a int, b text)",
  ], "statement"),
];
