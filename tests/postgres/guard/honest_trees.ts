/** Trees, graphs and chains of every kind that analysts write with WITH RECURSIVE, over `categories` and `orders`. */

const tree = (start: string, round: string, rest = "SELECT * FROM t ORDER BY 1 LIMIT 20", head = "t") =>
  `WITH RECURSIVE ${head} AS (SELECT ${start} FROM categories WHERE parent_id IS NULL UNION ALL ` +
  `SELECT ${round} FROM categories c JOIN t ON c.parent_id = t.id) ${rest}`;

/** Columns that each row of a tree adds to, in all the ways of adding. */
const addingTo = [
  ["ARRAY[id] AS path", "path || c.id"],
  ["ARRAY[id] AS path", "t.path || c.id"],
  ["ARRAY[id] AS path", "t.path || ARRAY[c.id]"],
  ["ARRAY[id] AS path", "array_append(t.path, c.id)"],
  ["ARRAY[id] AS path", "array_cat(t.path, ARRAY[c.id])"],
  ["ARRAY[id] AS path", "ARRAY[c.id] || path"],
  ["ARRAY[id] AS path", "array_prepend(c.id, path)"],
  ["ARRAY[name] AS path", "path || c.name"],
  ["ARRAY[ROW(position, id)::text] AS path", "path || ROW(c.position, c.id)::text"],
  ["ARRAY[lpad(position::text, 4, '0')] AS path", "path || lpad(c.position::text, 4, '0')"],
  ["name AS path", "path || '/' || c.name"],
  ["name::text AS path", "t.path || ' > ' || c.name"],
  ["name AS path", "t.path || ' > ' || c.name || ' (' || c.id || ')'"],
  ["name AS path", "concat(path, '/', c.name)"],
  ["name AS path", "concat(t.path, ' / ', c.name, '#', c.id)"],
  ["name AS path", "concat_ws('/', path, c.name)"],
  ["name AS path", "format('%s/%s', path, c.name)"],
  ["name AS path", "format('%s/%s', c.name, t.path)"],
  ["name AS path", "c.name || '/' || t.path"],
  ["name AS path", "(path || '/' || c.name)::text"],
  ["CAST(name AS varchar(500)) AS path", "CAST(t.path || '/' || c.name AS varchar(500))"],
  ["'/' || id || '/' AS path", "path || c.id || '/'"],
  ["to_char(id, 'FM0000') AS path", "path || '.' || to_char(c.id, 'FM0000')"],
  ["jsonb_build_array(id) AS path", "path || to_jsonb(c.id)"],
  ["jsonb_build_array(name) AS path", "path || jsonb_build_array(c.name)"],
  ["jsonb_build_object(id, name) AS path", "path || jsonb_build_object(c.id, c.name)"],
  ["jsonb_build_object('id', id) AS path", "jsonb_build_object('id', c.id, 'parent', t.path)"],
  ["'{}'::jsonb AS path", "jsonb_set(t.path, ARRAY[c.name], to_jsonb(c.position))"],
  ["hstore(id::text, name) AS path", "path || hstore(c.id::text, c.name)"],
].map(([start, round]) => tree(`id, parent_id, ${start}`, `c.id, c.parent_id, ${round}`));

export const honestTrees: readonly string[] = [
  ...addingTo,
  tree("id, name, 0 AS depth", "c.id, c.name, depth + 1"),
  tree("id, name, 0 AS depth", "c.id, repeat('  ', depth + 1) || c.name, depth + 1"),
  tree(
    "id, 0 AS depth, name AS label",
    "c.id, t.depth + 1, c.name",
    "SELECT lpad('', 2 * depth) || label, repeat('  ', depth) || label FROM t",
  ),
  tree("*, ARRAY[id] AS path", "c.*, path || c.id", "SELECT * FROM t ORDER BY path"),
  tree(
    "*, 1 AS level, name AS trail, ARRAY[id] AS path",
    "c.*, level + 1, trail || '/' || c.name, path || c.id",
  ),
  tree(
    "*, name AS trail, name AS label, ARRAY[id] AS path",
    "c.*, trail || '/' || c.name, label || c.id, path || c.id",
  ),
  tree(
    "id, name AS trail, ARRAY[id] AS path",
    "c.id, t.trail || '/' || c.name, t.path || c.id",
    "SELECT trail, array_length(path, 1), path[1] AS root FROM t ORDER BY path",
  ),
  tree(
    "id, ARRAY[id] AS path, false AS is_cycle",
    "c.id, path || c.id, c.id = ANY (path)",
    "SELECT * FROM t WHERE NOT is_cycle",
  ),
  tree("id, ARRAY[id]", "c.id, path || c.id", "SELECT * FROM t WHERE NOT path @> ARRAY[-1]", "t (id, path)"),
  tree(
    "*, ARRAY[id]",
    "c.*, path || c.id",
    "SELECT * FROM t ORDER BY path",
    "t (id, parent_id, name, position, path)",
  ),
  tree(
    "id, id AS root, name AS root_name, name AS path",
    "c.id, t.root, t.root_name, t.root_name || ' ... ' || c.name",
    "SELECT root_name, count(*), max(path) FROM t GROUP BY root, root_name",
  ),
  tree(
    "id, ARRAY[id] AS path, name AS trail",
    "c.id, t.path || c.id, t.trail || '/' || array_length(t.path, 1) || c.name",
  ),
  tree(
    "id, ARRAY[id] AS path",
    "c.id, t.path || c.id",
    "SELECT a.id, b.id FROM t a JOIN t b ON b.path @> a.path AND a.id <> b.id",
  ),
  tree(
    "id, ARRAY[id] AS path",
    "c.id, t.path || c.id",
    "SELECT a.id, b.id, a.path && b.path FROM t a, t b WHERE a.id < b.id",
  ),
  tree(
    "id, name AS path",
    "c.id, path || '/' || c.name",
    "SELECT a.path, count(b.id) FROM t a LEFT JOIN t b ON b.path LIKE a.path || '/%' GROUP BY a.path",
  ),
  tree(
    "id, name AS path",
    "c.id, path || '/' || c.name",
    "SELECT split_part(path, '/', 1), reverse(split_part(reverse(path), '/', 1)), replace(path, '/', ' > '), string_to_array(path, '/') FROM t",
  ),
  tree(
    "id, name AS path",
    "c.id, path || '/' || c.name",
    "SELECT json_agg(json_build_object('id', id, 'path', path) ORDER BY path) FROM t",
  ),
  tree(
    "id, parent_id, name",
    "c.id, c.parent_id, c.name",
    "SELECT parent_id, jsonb_agg(jsonb_build_object('id', id, 'name', name)) FROM t GROUP BY parent_id",
  ),
  tree(
    "id, parent_id, name, 1::numeric AS share",
    "c.id, c.parent_id, c.name, t.share / 2",
    "SELECT name, round(share * 100, 1) FROM t",
  ),
  // up to the root, and with cycles watched
  "WITH RECURSIVE up AS (SELECT id, parent_id, name, 1 AS n FROM categories WHERE id = 7 UNION ALL SELECT c.id, c.parent_id, c.name, n + 1 FROM categories c, up WHERE c.id = up.parent_id) SELECT string_agg(name, ' > ' ORDER BY n DESC) FROM up",
  "WITH RECURSIVE up AS (SELECT id, parent_id, ARRAY[id] AS ancestors FROM categories WHERE id = 7 UNION ALL SELECT up.id, c.parent_id, ancestors || c.id FROM categories c JOIN up ON c.id = up.parent_id WHERE NOT c.id = ANY (ancestors)) SELECT * FROM up",
  "WITH RECURSIVE up AS (SELECT id, parent_id, name AS crumbs FROM categories UNION ALL SELECT up.id, c.parent_id, c.name || ' / ' || crumbs FROM up JOIN categories c ON c.id = up.parent_id) SELECT id, crumbs FROM up WHERE parent_id IS NULL",
  "WITH RECURSIVE search_graph(id, link, depth, path, cycle) AS (SELECT g.id, g.parent_id, 0, ARRAY[g.id], false FROM orders g WHERE g.id = 9 UNION ALL SELECT g.id, g.parent_id, sg.depth + 1, path || g.id, g.id = ANY(path) FROM orders g, search_graph sg WHERE g.id = sg.link AND NOT cycle) SELECT * FROM search_graph",
  "WITH RECURSIVE g AS (SELECT id, parent_id, ARRAY[ROW(id, parent_id)] AS path FROM orders WHERE id = 9 UNION ALL SELECT o.id, o.parent_id, path || ROW(o.id, o.parent_id) FROM orders o JOIN g ON o.id = g.parent_id) SELECT count(*) FROM g",
  "WITH RECURSIVE t AS (SELECT id, parent_id, name FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, c.parent_id, c.name FROM categories c JOIN t ON t.id = c.parent_id) SEARCH DEPTH FIRST BY name, id SET ordering CYCLE id SET is_cycle USING path SELECT repeat('  ', cardinality(ordering) - 1) || name, is_cycle, path FROM t ORDER BY ordering",
  "WITH RECURSIVE t AS (SELECT id, parent_id FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, c.parent_id FROM categories c JOIN t ON t.id = c.parent_id) SEARCH BREADTH FIRST BY id SET ordering SELECT * FROM t ORDER BY ordering",
  "WITH RECURSIVE t AS (SELECT id, parent_id FROM categories WHERE id = 1 UNION ALL SELECT c.id, c.parent_id FROM categories c JOIN t ON t.id = c.parent_id) CYCLE id SET looped TO 'yes' DEFAULT 'no' USING trail SELECT id, looped, array_length(trail, 1) FROM t WHERE looped = 'no'",
  // shortest ways and prices on the way
  "WITH RECURSIVE way (at, cost, path) AS (SELECT 1, 0::numeric, ARRAY[1] UNION ALL SELECT l.product_id, cost + l.unit_price, path || l.product_id FROM way JOIN order_lines l ON l.order_id = way.at WHERE NOT l.product_id = ANY (path) AND cardinality(path) < 4) SELECT * FROM way ORDER BY cost LIMIT 3",
  "WITH RECURSIVE way AS (SELECT id AS a, parent_id AS b, 1 AS hops, id || '->' || parent_id AS route FROM orders WHERE parent_id = 1 UNION ALL SELECT w.a, o.parent_id, w.hops + 1, w.route || '->' || o.parent_id FROM way w JOIN orders o ON o.id = w.b WHERE w.hops < 5 AND w.route NOT LIKE '%->' || o.parent_id || '->%') SELECT DISTINCT ON (a, b) * FROM way ORDER BY a, b, hops",
  "WITH RECURSIVE parts AS (SELECT product_id, quantity, ARRAY[product_id] AS used, 1::numeric AS factor FROM order_lines WHERE order_id = 1 UNION ALL SELECT l.product_id, l.quantity, used || l.product_id, factor * l.quantity FROM parts p JOIN order_lines l ON l.order_id = p.product_id WHERE NOT l.product_id = ANY (used)) SELECT product_id, sum(factor * quantity) FROM parts GROUP BY 1",
  // without a table
  "WITH RECURSIVE r (n, s) AS (SELECT 1, '1' UNION ALL SELECT n + 1, s || ',' || n FROM r WHERE n < 10) SELECT * FROM r",
  "WITH RECURSIVE r (n, s) AS (SELECT 1, '1' UNION ALL SELECT n + 1, s || ',' || (n + 1)::text FROM r WHERE n < 10) SELECT * FROM r",
  "WITH RECURSIVE r (n, s) AS (SELECT 1, '1' UNION ALL SELECT n + 1, concat(s, ',', n) FROM r WHERE n < 10) SELECT * FROM r",
  "WITH RECURSIVE r (n, s) AS (SELECT 1, ARRAY[1] UNION ALL SELECT n + 1, s || (n + 1) FROM r WHERE n < 10) SELECT s, s[n], cardinality(s) FROM r",
  "WITH RECURSIVE days AS (SELECT date '2025-01-01' AS day UNION ALL SELECT (day + 1)::date FROM days WHERE day < date '2025-01-31') SELECT to_char(day, 'Dy DD Mon'), extract(isodow FROM day) FROM days",
  "WITH RECURSIVE months AS (SELECT date_trunc('month', min(placed_at)) AS m FROM orders UNION ALL SELECT m + interval '1 month' FROM months WHERE m < now()) SELECT m, count(o.id) FROM months LEFT JOIN orders o ON date_trunc('month', o.placed_at) = m GROUP BY m ORDER BY m",
  "WITH RECURSIVE fib AS (SELECT 0 AS a, 1 AS b, 1 AS n UNION ALL SELECT b, a + b, n + 1 FROM fib WHERE n < 20) SELECT n, a FROM fib",
  "WITH RECURSIVE c (n, x, steps) AS (SELECT n, n, 0 FROM generate_series(1, 30) n UNION ALL SELECT n, CASE WHEN x % 2 = 0 THEN x / 2 ELSE 3 * x + 1 END, steps + 1 FROM c WHERE x <> 1) SELECT n, max(steps) FROM c GROUP BY n",
  "WITH RECURSIVE balance (n, amount) AS (SELECT 0, 1000.00 UNION ALL SELECT n + 1, round(amount * 1.005 - 20, 2) FROM balance WHERE n < 12) SELECT * FROM balance",
  "WITH RECURSIVE gcd (a, b) AS (SELECT 48, 36 UNION ALL SELECT b, a % b FROM gcd WHERE b <> 0) SELECT a FROM gcd WHERE b = 0",
  "WITH RECURSIVE bits (n, s) AS (SELECT 37, '' UNION ALL SELECT n / 2, (n % 2)::text || s FROM bits WHERE n > 0) SELECT s FROM bits WHERE n = 0",
  "WITH RECURSIVE perm (s, rest) AS (SELECT '', 'abcd' UNION ALL SELECT s || substr(rest, g, 1), left(rest, g - 1) || substr(rest, g + 1) FROM perm, generate_series(1, length(rest)) g) SELECT s FROM perm WHERE rest = ''",
  "WITH RECURSIVE rev (s, r) AS (SELECT 'postgres', '' UNION ALL SELECT substr(s, 2), left(s, 1) || r FROM rev WHERE s <> '') SELECT r FROM rev WHERE s = ''",
  // splitters
  "WITH RECURSIVE split (part, rest) AS (SELECT split_part('a,b,c', ',', 1), substr('a,b,c,', strpos('a,b,c', ',') + 1) UNION ALL SELECT left(rest, strpos(rest, ',') - 1), substr(rest, strpos(rest, ',') + 1) FROM split WHERE rest <> '') SELECT part FROM split",
  "WITH RECURSIVE split (id, part, rest) AS (SELECT id, NULL::text, array_to_string(tags, ',') || ',' FROM customers UNION ALL SELECT id, substring(rest FROM 1 FOR position(',' IN rest) - 1), substring(rest FROM position(',' IN rest) + 1) FROM split WHERE rest <> '') SELECT id, trim(part) FROM split WHERE part IS NOT NULL LIMIT 5",
  "WITH RECURSIVE split (n, part, all_of) AS (SELECT 1, split_part('x;y;z', ';', 1), 'x;y;z' UNION ALL SELECT n + 1, split_part(all_of, ';', n + 1), all_of FROM split WHERE split_part(all_of, ';', n + 1) <> '') SELECT part FROM split",
  "WITH RECURSIVE words AS (SELECT body, regexp_replace(body, '^(\\w+).*$', '\\1') AS word, regexp_replace(body, '^\\w+\\s*', '') AS rest FROM reviews WHERE rating = 5 UNION ALL SELECT body, regexp_replace(rest, '^(\\w+).*$', '\\1'), regexp_replace(rest, '^\\w+\\s*', '') FROM words WHERE rest <> '') SELECT word, count(*) FROM words GROUP BY 1",
  // a mail merge, one field in each round
  "WITH RECURSIVE fields (n, key, value) AS (VALUES (1, '{name}', 'Ann'), (2, '{city}', 'Rome')), merged (n, letter) AS (SELECT 0, 'Dear {name} from {city}' UNION ALL SELECT f.n, replace(m.letter, f.key, f.value) FROM merged m JOIN fields f ON f.n = m.n + 1) SELECT letter FROM merged ORDER BY n DESC LIMIT 1",
  "WITH RECURSIVE clean (s) AS (SELECT 'a    b      c' UNION ALL SELECT replace(s, '  ', ' ') FROM clean WHERE s LIKE '%  %') SELECT s FROM clean WHERE s NOT LIKE '%  %'",
  // two in one statement, and one inside of another
  "WITH RECURSIVE down AS (SELECT id, ARRAY[id] AS path FROM categories WHERE parent_id IS NULL UNION ALL SELECT c.id, path || c.id FROM categories c JOIN down d ON c.parent_id = d.id), counted AS (SELECT path[1] AS root, count(*) AS n FROM down GROUP BY 1) SELECT c.name, n FROM counted JOIN categories c ON c.id = root",
  "SELECT c.name, (WITH RECURSIVE t AS (SELECT c.id AS id, 1 AS depth UNION ALL SELECT k.id, t.depth + 1 FROM categories k JOIN t ON k.parent_id = t.id) SELECT max(depth) FROM t) FROM categories c",
  "WITH RECURSIVE q (board, n) AS (SELECT ARRAY[]::int[], 0 UNION ALL SELECT board || c, n + 1 FROM q, generate_series(1, 6) c WHERE n < 6 AND NOT c = ANY (board) AND NOT EXISTS (SELECT 1 FROM unnest(board) WITH ORDINALITY u (v, i) WHERE abs(v - c) = n + 1 - i)) SELECT board FROM q WHERE n = 6",
  "WITH RECURSIVE r (s, at) AS (SELECT '1..4', 2 UNION ALL SELECT overlay(s PLACING z FROM at FOR 1), position('.' IN overlay(s PLACING z FROM at FOR 1)) FROM r, (VALUES ('2'), ('3')) d (z) WHERE at > 0) SELECT s FROM r WHERE at = 0",
  "WITH RECURSIVE r AS (SELECT id, tags AS rest FROM customers UNION ALL SELECT id, rest[2:] FROM r WHERE cardinality(rest) > 1) SELECT id, rest[1] FROM r LIMIT 5",
  "WITH RECURSIVE cal AS (SELECT date '2024-01-30' AS d, '' AS line UNION ALL SELECT d + 1, CASE WHEN extract(day FROM d + 1) = 1 THEN '' ELSE line || ' ' || extract(day FROM d + 1) END FROM cal WHERE d < '2024-02-05') SELECT * FROM cal",
  // a value taken apart and put together again, a few of its characters, and a pattern's groups in another order
  ...[
    "substr(s, 1, n) || upper(substr(s, n + 1, 1)) || substr(s, n + 2)",
    "left(s, strpos(s, ' ') - 1) || substr(s, strpos(s, ' ') + 1)",
    "left(s, n) || upper(substr(s, n + 1, 1)) || substr(s, n + 2)",
    "substr(s, 2) || left(s, 1)",
    "right(s, -2) || left(s, 2)",
    "upper(left(s, -3)) || right(s, 3)",
    "split_part(s, ' ', 2) || ' ' || split_part(s, ' ', 1)",
    "substr(s, 1, n - 1) || substr(s, n + 1, 1) || substr(s, n, 1) || substr(s, n + 2)",
    "substring(s FROM 2) || substring(s FROM 1 FOR 1)",
    "s || right(s, 1)",
    "left(s, 3) || '-' || s",
    "repeat(left(s, 1), 2) || s",
    "regexp_replace(s, '^(-?\\d+)(\\d{3})', '\\1,\\2')",
    "regexp_replace(s, '(\\w+) (\\w+)', '\\2 \\1')",
    "regexp_replace(s, '\\((\\w)\\)([()])', '\\2\\1')",
    "regexp_replace(s, '\\s+', ' ', 'g')",
  ].map((round) =>
    `WITH RECURSIVE r (n, s) AS (SELECT 1, '12345 67 (a))' UNION ALL SELECT n + 1, ${round} FROM r WHERE n < 6) SELECT * FROM r`
  ),
  ...[
    "a[:n - 1] || a[n + 1:]",
    "a[:n - 1] || 9 || a[n + 1:]",
    "a[:n - 1] || a[n + 1] || a[n] || a[n + 2:]",
    "a[2:] || a[1]",
    "a || a[1]",
    "a[2:] || ARRAY(SELECT parent_id FROM orders WHERE id = a[1])",
  ].map((round) =>
    `WITH RECURSIVE r (n, a) AS (SELECT 1, ARRAY[3, 1, 2, 5] UNION ALL SELECT n + 1, ${round} FROM r WHERE n < 4) SELECT * FROM r`
  ),
];
