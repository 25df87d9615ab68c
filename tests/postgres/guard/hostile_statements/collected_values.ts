import { type HostileStatement, named } from "./hostile_statement.ts";

const texts =
  "(SELECT string_agg('aaaa', '') AS s, string_agg('bbbb', '') AS t FROM generate_series(1, 20)) x";
const arrays = "(SELECT array_agg(1) AS a, array_agg(2) AS b FROM generate_series(1, 20)) x";

const overTexts = [
  "translate(s, t, '')",
  "btrim(s, t || 'a')",
  "ltrim(s, t)",
  "rtrim(s, t)",
  "trim(both t from s)",
  "replace(s, t, '')",
  "split_part(s, t, 1)",
  "string_to_array(s, t)",
  "strpos(lower(s), upper(t))",
  "strpos(concat(s, 'a'), left(t, -1))",
  "position('b' || substr(s, 1, 40) in s)",
  "textlike(s, t)",
  "s LIKE '%' || t",
  "s NOT ILIKE t",
  "s <-> t",
  "s LIKE ANY (ARRAY[t])",
  "s LIKE ANY (SELECT t)",
  "ROW(s) LIKE ROW(t)",
  "CASE WHEN true THEN s END LIKE coalesce(t, 'x')",
  's COLLATE "C" LIKE t::varchar',
  "s::jsonb @> t::jsonb",
  "s::jsonb - t::text[]",
  "s::path <-> t::path",
  "x::text LIKE x::text",
  "(x).s LIKE (x).t",
  "strpos(ROW(x.*)::text, ROW(x.*)::text)",
  "strpos((string_to_array(s, 'x'))[1], (ARRAY[t])[1])",
  "max(s) LIKE max(t)",
  "lag(s) OVER () LIKE t",
  "translate(s, repeat('b', 6000), '')",
];

const overArrays = [
  "a <@ b",
  "a @> b",
  "a && b",
  "a[1:5] <@ b",
  "a || 1 <@ b",
  "a::text[] && b::text[]",
  "array_cat(a, b) && a",
  "arraycontains(a, b)",
  "array_positions(a, b)",
  "array_remove(a, b)",
  "array_replace(a, b, a)",
  "strpos(array_to_string(a, ','), array_to_string(b, ','))",
  "strpos(a::text, b::text)",
];

const growing = (columns: string, round: string) =>
  `WITH RECURSIVE r (n, s, t, u) AS (SELECT 1, 'a', 'a', 'a' UNION ALL SELECT n + 1, ${round} FROM r WHERE n < 9) ` +
  `SELECT ${columns} FROM r`;

/** Values that are as long as there are rows, and each searched for another: the square of that, which no timeout ends. */
export const collectedValues: readonly HostileStatement[] = [
  ...named([
    ...overTexts.map((expression) => `SELECT ${expression} FROM ${texts}`),
    ...overArrays.map((expression) => `SELECT ${expression} FROM ${arrays}`),
    "SELECT array_agg(1) <@ array_agg(CASE WHEN id = 2 THEN 1 ELSE 2 END ORDER BY id) FROM orders",
    "SELECT ARRAY(SELECT 1 FROM orders) <@ ARRAY(SELECT 2 FROM orders)",
    "SELECT (SELECT string_agg('a', '') FROM orders) LIKE (SELECT string_agg('b', '') FROM orders)",
    "WITH c AS (SELECT string_agg('a', '') AS s FROM orders) SELECT strpos(c.s, d.s || 'b') FROM c, c AS d",
    "SELECT u FROM (SELECT string_agg('a', '') AS s FROM orders) q, LATERAL (SELECT q.s || 'b' AS t) w, LATERAL (SELECT strpos(s, t) AS u) z",
    "SELECT 1 FROM (SELECT string_agg('a', '') AS s FROM orders) a JOIN (SELECT string_agg('b', '') AS t FROM orders) b ON s LIKE t",
    "SELECT strpos(string_agg('a', '') OVER (), string_agg('a', '') OVER () || 'b') FROM orders",
    "SELECT strpos(s, t) FROM (VALUES ((SELECT string_agg('a', '') FROM orders), (SELECT string_agg('b', '') FROM orders))) v (s, t)",
    "SELECT strpos(min(s), min(t)) FROM (SELECT string_agg('a', '') AS s, string_agg('b', '') AS t FROM orders UNION ALL SELECT 'a', 'b') q",
    "SELECT strpos(u, v) FROM string_to_table((SELECT string_agg('a', '') FROM orders), 'x') u, string_to_table((SELECT string_agg('a', '') FROM orders), 'x') v",
    "SELECT json_agg(1)::jsonb @> jsonb_agg(2) FROM orders",
    "SELECT jsonb_object_agg(id, 1) ?| array_agg(id::text) FROM orders",
    "SELECT xmlagg(xmlelement(name a))::text LIKE xmlagg(xmlelement(name b))::text FROM orders",
    "SELECT json_arrayagg(id)::text LIKE json_arrayagg(id)::text FROM orders",
    "SELECT (array_agg(ARRAY[1]))[1:9][1] <@ (array_agg(ARRAY[2]))[1:9][1] FROM orders",
    `SELECT (SELECT strpos(s, t) FROM generate_series(1, 1) g) FROM ${texts}`,
    `SELECT (SELECT strpos(s, t) FROM (SELECT 1 AS k) s, (SELECT 2 AS k) t) FROM ${texts}`,
    `SELECT x::text LIKE x::text FROM ${texts}, generate_series(1, 1) g`,
    "SELECT (SELECT strpos(unnest, unnest || 'b') FROM unnest(ARRAY[1]) g) FROM (SELECT string_agg('a', '') AS unnest FROM orders) q",
    "WITH RECURSIVE r AS (SELECT name, setting FROM pg_settings UNION ALL SELECT name || 'aaaa', setting FROM r) SELECT strpos(name, name || 'b') FROM r",
    "WITH RECURSIVE r AS (SELECT * FROM orders UNION ALL SELECT id, status || 'aaaa', total FROM r) SELECT strpos(status, status || 'b') FROM r",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) CYCLE n SET c USING p SELECT p <@ p FROM r",
    "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 9) SEARCH DEPTH FIRST BY n SET p SELECT p && p FROM r",
    growing("strpos(s, s || 'b')", "s || 'aaaa', t, u"),
    growing("translate(u, u || 'b', '')", "s || 'aaaa', s, t"),
    growing("n", "s || repeat('a', CASE WHEN strpos(s, s || 'b') = 0 THEN 1 ELSE 2 END), t, u"),
  ], "collected from rows"),
  ...named([
    "SELECT normalize(s) FROM (SELECT string_agg(name, '') AS s FROM pg_settings) x",
    "SELECT s IS NORMALIZED FROM (SELECT string_agg(name, '') AS s FROM pg_settings) x",
  ], "before collecting"),
];
