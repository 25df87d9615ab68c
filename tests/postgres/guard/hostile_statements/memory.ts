import { type HostileStatement, named } from "./hostile_statement.ts";

const nest = (depth: number, expression: string, innermost = "SELECT 1 AS a") => {
  let sql = innermost;
  for (let level = 0; level < depth; level++) sql = `SELECT ${expression} AS a FROM (${sql}) t${level}`;
  return sql;
};

const chain = (depth: number, kind: string, first: string, next: (before: string) => string) => {
  const ctes = Array.from(
    { length: depth },
    (_, level) => `c${level} AS ${kind} (${level === 0 ? first : next(`c${level - 1}`)})`,
  );
  return `WITH ${ctes.join(", ")} SELECT length(a::text) FROM c${depth - 1}`;
};

/** What a round of a recursive query makes of a text, twice as long each time. */
const doublings = [
  "s || s",
  "concat(s, s)",
  "concat_ws(',', s, s)",
  "replace(s, 'x', 'xx')",
  "regexp_replace(s, '.', 'xx', 'g')",
  "regexp_replace(s, '(.*)', '\\1\\1')",
  "regexp_replace(s, '(.)', '\\1x', 'g')",
  "regexp_replace(s, '.', '\\&x', 'g')",
  "regexp_replace(s, '(.*)', '\\&\\1')",
  "regexp_replace(s, '((.*))', '\\1\\2')",
  "regexp_replace(s, '(?=(.*))(.*)', '\\1\\2')",
  "format('%s%s', s, s)",
  "format('%1$s%1$s', s)",
  "repeat(s, 2)",
  "lower(s) || upper(s)",
  "s || left(s, -1)",
  "s || left(s, 100000)",
  "s || substr(s, 1)",
  "substr(s, 1) || substr(s, 1)",
  "left(s, 100000) || substr(s, 1)",
  "left(s, length(s)) || right(s, length(s))",
  "substr(s, 1, 100000) || substr(s, 2)",
  "substr(s, 1, n) || substr(s, (SELECT 1))",
  "substr(s, 1, (random() * 9)::int) || substr(s, (random() * 9)::int)",
  "substr(s, 1, n) || (SELECT substr(s, n) FROM (VALUES (0)) v (n))",
  "(SELECT substr(s, 1, n) FROM (VALUES (9999)) v (n)) || (SELECT substr(s, n + 1) FROM (VALUES (0)) v (n))",
  "split_part(s, '~', 1) || split_part(s, '~', -1)",
  "split_part(s, '~', n) || split_part(s, '~', n + 2)",
  "split_part(s, '~', 1) || split_part(s, '!', 2) || split_part(s, ',', 1)",
  "quote_literal(s)",
  "ARRAY[s, s]::text",
  "ARRAY[s]::text",
  "ROW(s)::text",
  "to_json(s)::text",
  "json_build_array(s, s)::text",
  "s::bytea::text",
  "r::text || r::text",
  "(r).s || (r).s",
  "CASE WHEN true THEN s || s ELSE s END",
  "coalesce(s || s, s)",
  "(SELECT s || s)",
  "(SELECT string_agg(s, '') FROM generate_series(1, 2))",
  "array_to_string(ARRAY(SELECT s FROM generate_series(1, 2)), '')",
];

/** Chains of common table expressions that the planner copies, each of which names the one before it twice. */
const copies = (round: (before: string) => string) =>
  `WITH ${
    Array.from({ length: 26 }, (_, i) =>
      `c${i} AS NOT MATERIALIZED (${i === 0 ? "SELECT 1 a" : round(`c${i - 1}`)})`)
      .join(", ")
  } SELECT * FROM c25`;

const many = (count: number, write: (at: number) => string, separator = ", ") =>
  Array.from({ length: count }, (_, at) => write(at)).join(separator);

const conditions = many(100, (i) => `random() < ${i}`, " AND ");

/** Short statements that would take gigabytes, or minutes in which no timeout counts. */
export const memory: readonly HostileStatement[] = [
  ...named([
    "select repeat(repeat(repeat('x',1000),1000),1000)",
    "SELECT length(repeat(repeat('x', 100000), 10000))",
    "SELECT repeat('x', 1000000000)",
    "SELECT repeat('x', 1e9::int)",
    "SELECT repeat('x', 1000 * 1000 * 1000)",
    "SELECT repeat('x', '1000000000')",
    "SELECT repeat('x', n) FROM (VALUES (1000000000)) v (n)",
    "SELECT repeat('x', n) FROM (SELECT 1000000000 AS n) v",
    "SELECT repeat('x', n * n) FROM (SELECT 30000 AS n) v",
    "SELECT repeat('x', column1) FROM (VALUES (1000000000)) v",
    "SELECT repeat('x', (SELECT 1000000000))",
    "SELECT repeat('x', abs(hashtext('abc')))",
    "SELECT repeat('x', CASE WHEN true THEN 1000000000 ELSE id END) FROM orders",
    "SELECT repeat('x', coalesce(1000000000, id::int)) FROM orders",
    "SELECT repeat('x', g) FROM generate_series(1000000000, 1000000001) g",
    "SELECT repeat('x', unnest) FROM unnest(ARRAY[1000000000])",
    "SELECT repeat(repeat('x', id::int), 1000) FROM orders",
    "SELECT lpad('x', 1000000000)",
    "SELECT rpad(lpad('x', 1000000), 1000000000, 'y')",
    "SELECT format('%1000000000s', 'x')",
    "SELECT format('%*s', 1000000000, 'x')",
    "SELECT format('%' || '1000000000s', 'x')",
    "SELECT array_fill(0, ARRAY[100000000])",
    "SELECT array_fill('x'::text, ARRAY[10000, 10000])",
    "SELECT array_fill(0, ARRAY[n]) FROM (VALUES (100000000)) v (n)",
    "SELECT 'x'::char(10000000)",
    "SELECT bpchar('x'::bpchar, 1000000000, true)",
    "SELECT polygon(60000000, circle '((0,0),1)')",
    "SELECT overlay(repeat('x', 1000000000) PLACING 'y' FROM 1)",
    "SELECT array_fill(0, ARRAY[n, n]) FROM generate_series(60000, 60001) n",
    "SELECT array_fill(0, '{60000,60000}')",
    "SELECT format('%*s', id * 1000000, 'x') FROM orders",
    "SELECT rpad(name, (SELECT 1000000000)) FROM pg_settings",
    "SELECT repeat('x', (id / 0.0000001)::int) FROM orders",
    "SELECT repeat('x', (id / (0.5 - 0.4999999))::int) FROM orders",
    "SELECT repeat('x', (id / d)::int) FROM orders, (VALUES (0.5), (0.0000001)) v (d)",
  ]),
  ...named([
    ...doublings.map((round) =>
      `WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT ${round} FROM r) SELECT max(length(s)) FROM r`
    ),
    "WITH RECURSIVE r (s) AS (SELECT ARRAY[1] UNION ALL SELECT s || s FROM r) SELECT max(cardinality(s)) FROM r",
    "WITH RECURSIVE r (s) AS (SELECT ARRAY[1] UNION ALL SELECT array_cat(s, s) FROM r) SELECT max(cardinality(s)) FROM r",
    ...[
      "s || s[:100000]",
      "s[1:] || s",
      "s[1:] || s[1:]",
      "s[:2] || s[1:] || s[2:]",
      "s[1] || s[1]",
      "ARRAY[s[1] || s[1]]",
      "s[1:] || s[1:] || s[1:]",
      "s[2:] || array_to_string(s[1:], '')",
      "ARRAY[array_to_string(s, '')] || s[1]",
    ].map((round) =>
      `WITH RECURSIVE r (s) AS (SELECT ARRAY['x', 'y'] UNION ALL SELECT ${round} FROM r) SELECT max(length(s[1])) FROM r`
    ),
    "WITH RECURSIVE r (s, t) AS (SELECT ARRAY['x'], 'y' UNION ALL SELECT t || s, t || s[1] FROM r) SELECT max(length(t)) FROM r",
    "WITH RECURSIVE r (s, t) AS (SELECT 'x', 'y' UNION ALL SELECT t, s || t FROM r) SELECT max(length(s)) FROM r",
    "WITH RECURSIVE r (s, t) AS (SELECT 'x', 'y' UNION ALL SELECT t || t, s FROM r) SELECT max(length(s)) FROM r",
    "WITH RECURSIVE r (a, b, c, d, e) AS (SELECT 'a', 'b', 'c', 'd', 'e' UNION ALL SELECT a || b, b || c, c || d, d || e, e || 'x' FROM r) SELECT max(length(a)) FROM r",
    "WITH RECURSIVE r AS (SELECT name, setting FROM pg_settings UNION ALL SELECT name || name, setting FROM r) SELECT max(length(name)) FROM r",
    "WITH RECURSIVE r AS (SELECT * FROM orders UNION ALL SELECT id, status || status, total FROM r) SELECT 1 FROM r",
    "WITH RECURSIVE r AS (SELECT id, status AS s FROM orders UNION ALL SELECT o.id, r.s || o.status || r.s FROM r JOIN orders o ON o.id = r.id) SELECT 1 FROM r",
    "WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT t || t FROM (SELECT s AS t FROM r) x) SELECT max(length(s)) FROM r",
    "WITH RECURSIVE r (s) AS (SELECT 'x' UNION ALL SELECT a.s || b.s FROM r AS a, LATERAL (SELECT a.s) b) SELECT max(length(s)) FROM r",
  ], "doubles a value"),
  ...named([
    copies((c) => `SELECT 1 a WHERE (SELECT a FROM ${c}) = (SELECT a FROM ${c})`),
    copies((c) => `SELECT 1 a WHERE EXISTS (SELECT FROM ${c} LIMIT 1) AND EXISTS (SELECT FROM ${c} LIMIT 1)`),
    copies((c) => `SELECT 1 a ORDER BY (SELECT a FROM ${c}), (SELECT a FROM ${c})`),
    copies((c) => `SELECT 1 a LIMIT (SELECT a FROM ${c}) + (SELECT a FROM ${c})`),
    copies((c) =>
      `SELECT 1 a FROM pg_class x JOIN pg_class y ON (SELECT a FROM ${c}) = (SELECT a FROM ${c})`
    ),
    copies((c) => `SELECT (SELECT a FROM ${c}) + (SELECT a FROM ${c}) a LIMIT 1`),
    copies((c) => `SELECT 1 a FROM generate_series((SELECT a FROM ${c}), (SELECT a FROM ${c}))`),
    copies((c) =>
      `(SELECT 1 a WHERE 1 = (SELECT a FROM ${c})) UNION ALL SELECT 1 WHERE 1 = (SELECT a FROM ${c})`
    ),
    copies((c) => `SELECT 1 a, (SELECT a FROM ${c}) b, (SELECT a FROM ${c}) c`),
    copies((c) => `SELECT a FROM (SELECT a FROM ${c} WHERE EXISTS (SELECT FROM ${c}) OFFSET 0) x`),
    nest(14, "a + a", `SELECT (SELECT 1 WHERE ${conditions}) AS a`),
    `WITH c AS (SELECT 1 a WHERE ${conditions}) ${nest(14, "a + a", "SELECT (SELECT a FROM c) AS a")}`,
  ], "multiply each other's expressions"),
  ...named([
    `SELECT ${many(129, (i) => `sum(id) OVER (PARTITION BY id % ${i + 1})`)} FROM orders`,
    `SELECT ${many(129, (i) => `sum(id) OVER (ORDER BY id ROWS ${i} PRECEDING)`)} FROM orders`,
    `SELECT ${many(129, (i) => `sum(id) OVER w${i}`)} FROM orders WINDOW ${
      many(129, (i) => `w${i} AS (PARTITION BY id % ${i + 1})`)
    }`,
    `SELECT id FROM orders ORDER BY ${many(129, (i) => `sum(id) OVER (PARTITION BY id % ${i + 1})`)}`,
  ], "different windows"),
  ...named([
    `SELECT ${many(257, (i) => `count(DISTINCT id % ${i + 1})`)} FROM orders`,
    `SELECT ${many(257, (i) => `percentile_cont(0.5) WITHIN GROUP (ORDER BY id % ${i + 1})`)} FROM orders`,
  ], "aggregates with DISTINCT or ORDER BY"),
  ...named([
    `SELECT 1 FROM orders GROUP BY CUBE (${many(10, (i) => `(id % ${i + 1})`)})`,
    `SELECT 1 FROM orders GROUP BY CUBE (${many(5, (i) => `(id % ${i + 1})`)}), CUBE (${
      many(5, (i) => `(id % ${i + 9})`)
    })`,
    `SELECT 1 FROM orders GROUP BY ROLLUP (${many(600, (i) => `(id % ${i + 1})`)})`,
    `SELECT 1 FROM orders GROUP BY GROUPING SETS (CUBE (${many(9, (i) => `(id % ${i + 1})`)}), id)`,
    many(3, () => `SELECT 1 FROM orders GROUP BY CUBE (${many(8, (i) => `(id % ${i + 1})`)})`, " UNION ALL "),
  ], "groupings"),
  ...named([
    "SELECT strpos(repeat('a', 200000), 'b' || repeat('a', 100000))",
    "SELECT repeat('a', 200000) LIKE '%' || repeat('_a', 50000) || 'b'",
    "SELECT array_to_string(array_fill(1, ARRAY[10000]), repeat('x', 10000))",
    "SELECT length(array_replace(array_fill(1, ARRAY[7000])::text[], '1', repeat('x', 10000))::text)",
    "SELECT length(jsonb_pretty((repeat('[', 5000) || repeat(']', 5000))::jsonb))",
    "SELECT length(jsonb_path_query_array((repeat('[', 5000) || repeat(']', 5000))::jsonb, '$.**')::text)",
    "SELECT strpos(jsonb_pretty(repeat('[', 3000)::jsonb), jsonb_pretty(repeat('[', 3001)::jsonb))",
    "SELECT string_agg(repeat('x', 60000), '') FROM generate_series(1, 1000)",
    "SELECT string_agg('x', repeat('x', 60000)) FROM generate_series(1, 1000)",
    "SELECT length(repeat('1e131071'::numeric::text, 8000))",
    "SELECT ts_headline(repeat('a ', 5000), 'a', 'StartSel=' || repeat('x', 5000))",
    "SELECT regexp_match(repeat('x', 30000), repeat('(', 500) || '.*' || repeat(')', 500))",
    "SELECT repeat('a', 60000) || repeat('a', 60000)",
    "SELECT length(s || s || s || s) FROM (SELECT repeat('a', 60000) AS s) q",
    "SELECT length(xmltext(xmltext(repeat('&', 60000))::text)::text)",
    ...[
      "md5('a')",
      "version()",
      "sha512('a')::text",
      "to_bin(-1)",
      "(1 / 3.0)::text",
      "sqrt(2)::text",
      "'now'::timestamptz::text",
    ]
      .map((text) =>
        `SELECT length(${"regexp_replace(".repeat(5)}${text}${`, '.', ${text}, 'g')`.repeat(5)})`
      ),
  ], "longer than"),
  {
    name: "concat_ws() in itself",
    sql: `SELECT length(${"concat_ws(".repeat(3)}repeat('x',1000)${`${",''".repeat(99)})`.repeat(3)})`,
    refusedWith: "longer than",
  },
  {
    name: "bytes as text as bytes",
    sql: `SELECT length(${"('a'||".repeat(20)}repeat('x',100)${")::bytea::text".repeat(20)})`,
    refusedWith: "longer than",
  },
  {
    name: "columns that double",
    sql: `WITH c0 AS (SELECT 1 a)${
      Array.from({ length: 22 }, (_, i) => `, c${i + 1} AS (SELECT * FROM c${i} x, c${i} y)`).join("")
    } SELECT 1 FROM c22`,
    refusedWith: "too many columns",
  },
  {
    name: "columns that double in joins",
    sql: `WITH c0 AS (SELECT 1 a)${
      Array.from({ length: 22 }, (_, i) => `, c${i + 1} AS (SELECT * FROM c${i} x JOIN c${i} y ON true)`)
        .join("")
    } SELECT 1 FROM c22`,
    refusedWith: "too many columns",
  },
  ...named([
    "SELECT xpath('count(//*[count(//*[count(//*)>0])>0])', ('<a>' || repeat('<b/>', 10000) || '</a>')::xml)",
    "SELECT xpath_exists('//a', '<a/>')",
    "SELECT xmlexists('//a' PASSING '<a/>')",
    "SELECT x.a FROM xmltable('/r/a' PASSING ('<r><a>1</a></r>'::xml) COLUMNS a int PATH '.') x",
  ], "XPath"),
  {
    name: "replace() in itself",
    sql: `SELECT length(${"replace(".repeat(9)}'xxxxxxxxxx'${",'x','xxxxxxxxxx')".repeat(9)})`,
  },
  {
    name: "format() with one argument many times",
    sql: `SELECT ${"format('%1$s%1$s%1$s%1$s', ".repeat(15)}'x'${")".repeat(15)}`,
  },
  {
    name: "quote_literal() in itself",
    sql: `SELECT length(${"quote_literal(".repeat(28)}''''${")".repeat(28)})`,
  },
  { name: "rows in rows as text", sql: `SELECT ${"(ROW(".repeat(30)}'"'${")::text)".repeat(30)}` },
  { name: "forty wide bit strings", sql: `SELECT ${Array(40).fill("B'1'::bit(83886080)").join(", ")}` },
  {
    name: "500 long powers",
    sql: `SELECT ${Array(500).fill("length(power(7::numeric, 150000)::text)").join("+")}`,
  },
  { name: "subqueries that double an expression", sql: nest(24, "a + a") },
  { name: "the same with CASE", sql: nest(20, "CASE WHEN a > 1 THEN a ELSE a END") },
  { name: "the same with text", sql: nest(27, "a || a", "SELECT 'x' AS a") },
  {
    name: "the same with an unnamed column",
    sql: 'SELECT "?column?" + "?column?" FROM ('.repeat(24) + "SELECT 1 + 1" + ") t".repeat(24),
  },
  {
    name: "the same through common table expressions",
    sql: chain(24, "", "SELECT 1 AS a", (c) => `SELECT a + a AS a FROM ${c}`),
  },
  {
    name: "materialized, the values double",
    sql: chain(28, "MATERIALIZED", "SELECT 'xxxxxxxxxx' AS a", (c) => `SELECT a || a AS a FROM ${c}`),
  },
  {
    name: "not materialized, the tables double",
    sql: chain(
      14,
      "NOT MATERIALIZED",
      "SELECT 1 AS a FROM pg_class",
      (c) => `SELECT x.a FROM ${c} x, ${c} y`,
    ),
  },
];
