import { honestCatalogReads } from "./honest_catalog_reads.ts";
import { honestReports } from "./honest_reports.ts";
import { honestTrees } from "./honest_trees.ts";

/** A small shop, with what analysts meet: keys, JSON, arrays, full text, views and functions. */
export const honestFixture = `
CREATE EXTENSION pg_trgm; CREATE EXTENSION hstore; CREATE EXTENSION tablefunc;
CREATE EXTENSION "uuid-ossp"; CREATE EXTENSION tsm_system_rows; CREATE EXTENSION unaccent; CREATE EXTENSION citext;
CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL, email citext, country text, tags text[], joined date, extra hstore);
CREATE TABLE products (id int PRIMARY KEY, name text, category text, price numeric(10,2), attributes jsonb,
  search tsvector GENERATED ALWAYS AS (to_tsvector('english', name)) STORED);
CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers, status text, placed_at timestamptz, parent_id int);
CREATE TABLE order_lines (order_id int REFERENCES orders, product_id int REFERENCES products, quantity int, unit_price numeric(10,2));
CREATE TABLE reviews (product_id int, rating int, body text, created timestamp);
CREATE TABLE bookings (room int, during tstzrange);
CREATE TABLE categories (id int PRIMARY KEY, parent_id int REFERENCES categories, name text, position int);
INSERT INTO categories SELECT g, nullif(g / 3, 0), 'Category ' || g, g % 3 FROM generate_series(1, 20) g;
INSERT INTO customers SELECT g, 'Customer ' || g, 'c' || g || '@example.com', (ARRAY['DE','FR','US'])[1 + g % 3],
  ARRAY['a', 'b'], date '2024-01-01' + g, hstore('k', g::text) FROM generate_series(1, 50) g;
INSERT INTO products (id, name, category, price, attributes) SELECT g, 'Product ' || g, 'cat' || g % 4, g * 1.5,
  jsonb_build_object('color', (ARRAY['red','blue'])[1 + g % 2], 'sizes', jsonb_build_array(g, g + 1), 'dim', jsonb_build_object('w', g))
  FROM generate_series(1, 20) g;
INSERT INTO orders SELECT g, 1 + g % 50, (ARRAY['paid','shipped','open'])[1 + g % 3], now() - g * interval '6 hours', nullif(g / 2, 0)
  FROM generate_series(1, 200) g;
INSERT INTO order_lines SELECT g, 1 + g % 20, 1 + g % 5, 10 + g FROM generate_series(1, 200) g;
INSERT INTO reviews SELECT 1 + g % 20, 1 + g % 5, 'A fine product', timestamp '2025-01-01' + g * interval '1 hour' FROM generate_series(1, 60) g;
INSERT INTO bookings VALUES (1, '[2025-01-01,2025-01-02)'), (2, '[2025-01-03,2025-01-05)');
CREATE VIEW revenue AS SELECT o.id, o.customer_id, sum(l.quantity * l.unit_price) AS total
  FROM orders o JOIN order_lines l ON l.order_id = o.id GROUP BY o.id;
CREATE MATERIALIZED VIEW monthly AS SELECT date_trunc('month', placed_at) AS month, count(*) AS n FROM orders GROUP BY 1;
CREATE FUNCTION net_price(numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS 'SELECT round($1 / 1.19, 2)';
CREATE FUNCTION order_total(orders) RETURNS numeric LANGUAGE sql STABLE AS 'SELECT sum(quantity * unit_price) FROM order_lines WHERE order_id = $1.id';
CREATE FUNCTION stamp() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN 'allowed'; END $$;
-- what makes other statements refused must not make these so
CREATE FUNCTION careless() RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
CREATE FUNCTION is_email(text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN $1 LIKE '%@%'; END $$;
CREATE DOMAIN email AS text CHECK (is_email(VALUE));
CREATE TABLE contacts (address email);
INSERT INTO contacts VALUES ('a@b');
CREATE TYPE odd AS ENUM ('x');
CREATE FUNCTION odd_equal(odd, odd) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN true; END $$;
CREATE OPERATOR = (LEFTARG = odd, RIGHTARG = odd, FUNCTION = odd_equal);
CREATE FUNCTION odd_to_int(odd) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
CREATE CAST (odd AS int) WITH FUNCTION odd_to_int(odd) AS IMPLICIT;
CREATE FUNCTION count(odd, odd) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
CREATE FUNCTION odd_text(text) RETURNS odd LANGUAGE plpgsql AS $$ BEGIN RETURN 'x'; END $$;
CREATE CAST (text AS odd) WITH FUNCTION odd_text(text) AS ASSIGNMENT;
CREATE FUNCTION odd_name(customers) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN $1.name; END $$;
CREATE FUNCTION odd_sum(money, odd) RETURNS money LANGUAGE plpgsql AS $$ BEGIN RETURN $1; END $$;
CREATE OPERATOR + (LEFTARG = money, RIGHTARG = odd, FUNCTION = odd_sum);
`;

const bigList = Array.from({ length: 10_000 }, (_, i) => i + 1_000_000).join(", ");

/** Ordinary reads; all must run. */
export const honestStatements: readonly string[] = [
  ...honestTrees,
  ...honestReports,
  ...honestCatalogReads,
  "SELECT 1",
  "SELECT 1;",
  "-- how many?\nSELECT count(*) FROM orders",
  "/* a /* nested */ comment */ SELECT count(*) FROM orders;",
  "SELECT * FROM customers LIMIT 5",
  "TABLE products",
  "VALUES (1, 'a'), (2, 'b')",
  "SHOW server_version",
  "SHOW ALL",
  "EXPLAIN SELECT * FROM orders WHERE id = 1",
  "EXPLAIN (ANALYZE, BUFFERS, FORMAT json) SELECT count(*) FROM orders",
  "SELECT",
  "SELECT name, email FROM customers WHERE country = 'DE' ORDER BY name DESC NULLS LAST LIMIT 10 OFFSET 5",
  "SELECT DISTINCT country FROM customers",
  "SELECT DISTINCT ON (customer_id) customer_id, id, placed_at FROM orders ORDER BY customer_id, placed_at DESC",
  "SELECT status, count(*) AS n FROM orders GROUP BY status HAVING count(*) > 1 ORDER BY n DESC",
  "SELECT date_trunc('month', placed_at) AS month, count(*) FROM orders GROUP BY 1 ORDER BY 1",
  "SELECT extract(dow FROM placed_at) AS day, count(*) FROM orders GROUP BY day",
  "SELECT c.name, sum(l.quantity * l.unit_price) AS total FROM customers c JOIN orders o ON o.customer_id = c.id JOIN order_lines l ON l.order_id = o.id GROUP BY c.id ORDER BY total DESC LIMIT 10",
  "SELECT c.name FROM customers c LEFT JOIN orders o ON o.customer_id = c.id WHERE o.id IS NULL",
  "SELECT * FROM orders JOIN customers ON customers.id = orders.customer_id FULL JOIN reviews r ON r.product_id = orders.id LIMIT 3",
  "SELECT * FROM orders NATURAL JOIN order_lines LIMIT 1",
  "SELECT product_id, quantity FROM order_lines l JOIN reviews r USING (product_id) LIMIT 3",
  "SELECT * FROM products CROSS JOIN generate_series(1, 3) AS g",
  "SELECT c.name, last.placed_at FROM customers c CROSS JOIN LATERAL (SELECT placed_at FROM orders o WHERE o.customer_id = c.id ORDER BY placed_at DESC LIMIT 1) last",
  "SELECT c.name, t.tag FROM customers c, unnest(c.tags) WITH ORDINALITY AS t(tag, n)",
  "SELECT name FROM customers WHERE id IN (SELECT customer_id FROM orders WHERE status = 'open')",
  "SELECT name FROM customers c WHERE EXISTS (SELECT 1 FROM orders o WHERE o.customer_id = c.id)",
  "SELECT name FROM customers WHERE id = ANY (ARRAY[1, 2, 3]) AND id <> ALL ('{4,5}'::int[])",
  "SELECT (SELECT count(*) FROM orders o WHERE o.customer_id = c.id) AS n FROM customers c",
  "WITH recent AS (SELECT * FROM orders WHERE placed_at > now() - interval '30 days') SELECT status, count(*) FROM recent GROUP BY 1",
  "WITH a AS MATERIALIZED (SELECT 1 AS x), b AS NOT MATERIALIZED (SELECT x + 1 AS y FROM a) SELECT * FROM a, b",
  "WITH RECURSIVE tree AS (SELECT id, parent_id, 1 AS depth FROM orders WHERE parent_id IS NULL UNION ALL SELECT o.id, o.parent_id, t.depth + 1 FROM orders o JOIN tree t ON o.parent_id = t.id) SELECT depth, count(*) FROM tree GROUP BY depth ORDER BY 1",
  "WITH RECURSIVE path (id, name) AS (SELECT id, id::text FROM orders WHERE id = 1 UNION ALL SELECT o.id, path.name || '/' || o.id FROM orders o JOIN path ON o.parent_id = path.id) SELECT * FROM path",
  "WITH RECURSIVE tree AS (SELECT id, name, ARRAY[id] AS trail FROM products WHERE id = 1 UNION ALL SELECT p.id, t.name || ' > ' || p.name, t.trail || p.id FROM products p JOIN tree t ON p.id = t.id + 1 WHERE p.id < 6) SELECT * FROM tree",
  "WITH RECURSIVE fib (a, b) AS (SELECT 0::bigint, 1::bigint UNION ALL SELECT b, a + b FROM fib WHERE b < 10000) SELECT a FROM fib",
  "WITH RECURSIVE f (n, x) AS (SELECT 1, 1::numeric UNION ALL SELECT n + 1, x * (n + 1) FROM f WHERE n < 20) SELECT * FROM f",
  "WITH RECURSIVE g (id, up) AS (SELECT id, parent_id FROM orders WHERE id = 1 UNION SELECT o.id, o.parent_id FROM orders o, g WHERE o.parent_id = g.id) CYCLE id SET is_cycle USING trail SELECT count(*) FROM g",
  "WITH RECURSIVE g (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM g WHERE id < 5) SEARCH DEPTH FIRST BY id SET ord SELECT * FROM g ORDER BY ord",
  "SELECT id, row_number() OVER (PARTITION BY customer_id ORDER BY placed_at) AS n FROM orders",
  "SELECT id, rank() OVER w, dense_rank() OVER w, ntile(4) OVER w, percent_rank() OVER w, cume_dist() OVER w FROM products WINDOW w AS (ORDER BY price DESC)",
  "SELECT month, n, n - lag(n) OVER (ORDER BY month) AS change, lead(n, 1, 0) OVER (ORDER BY month) FROM monthly",
  "SELECT id, sum(price) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM products",
  "SELECT id, avg(price) OVER (ORDER BY id RANGE BETWEEN 3 PRECEDING AND 3 FOLLOWING EXCLUDE CURRENT ROW) FROM products",
  "SELECT first_value(name) OVER w, last_value(name) OVER w, nth_value(name, 2) OVER w FROM products WINDOW w AS (PARTITION BY category ORDER BY price GROUPS 1 PRECEDING)",
  "SELECT category, count(*) FILTER (WHERE price > 10), sum(price) FILTER (WHERE price <= 10) FROM products GROUP BY category",
  "SELECT category, percentile_cont(0.5) WITHIN GROUP (ORDER BY price), mode() WITHIN GROUP (ORDER BY name) FROM products GROUP BY category",
  "SELECT percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY price) FROM products",
  "SELECT country, status, count(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY GROUPING SETS ((country), (status), ())",
  "SELECT country, status, grouping(country, status), count(*) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY ROLLUP (country, status)",
  "SELECT category, price > 10, count(*) FROM products GROUP BY CUBE (category, price > 10)",
  "SELECT string_agg(name, ', ' ORDER BY name) FROM products",
  "SELECT array_agg(DISTINCT country ORDER BY country) FROM customers",
  "SELECT array_agg(id) @> ARRAY[1, 2], 3 = ANY (array_agg(id)), array_agg(status) && ARRAY['open'], array_length(array_agg(id), 1) FROM orders",
  "SELECT replace(string_agg(name, ','), ',,', ','), left(string_agg(name, ','), 100), position('x' in string_agg(name, ',')) FROM customers",
  "SELECT string_agg(name, ',') || string_agg(country, ','), concat(string_agg(name, ','), ' / ', string_agg(country, ',')) FROM customers",
  "SELECT array_agg(id) = array_agg(customer_id), array_agg(id) IS DISTINCT FROM array_agg(customer_id), nullif(array_agg(id), array_agg(customer_id)) FROM orders",
  "SELECT (array_agg(placed_at ORDER BY placed_at))[2] - (array_agg(placed_at ORDER BY placed_at))[1] FROM orders",
  "SELECT at[2] - at[1], age(at[2], at[1]) FROM (SELECT array_agg(placed_at ORDER BY placed_at) AS at FROM orders GROUP BY customer_id) q",
  "WITH free AS (SELECT range_agg(during) AS r FROM bookings), taken AS (SELECT range_agg(during) AS r FROM bookings WHERE room = 1) SELECT free.r - taken.r, free.r * taken.r FROM free, taken",
  "WITH RECURSIVE tree AS (SELECT id, ARRAY[id] AS path, id::text AS label FROM orders WHERE parent_id IS NULL UNION ALL SELECT o.id, path || o.id, label || '/' || o.id FROM orders o JOIN tree ON o.parent_id = tree.id WHERE NOT o.id = ANY (path) AND NOT path @> ARRAY[o.id]) SELECT * FROM tree WHERE label LIKE '1/%' ORDER BY path LIMIT 5",
  "WITH RECURSIVE t AS (SELECT *, ARRAY[id] AS path FROM orders WHERE parent_id IS NULL UNION ALL SELECT o.*, path || o.id FROM orders o JOIN t ON o.parent_id = t.id) SELECT id, status, path FROM t ORDER BY path LIMIT 5",
  "WITH RECURSIVE t AS (SELECT * FROM orders WHERE parent_id IS NULL UNION ALL SELECT o.* FROM orders o JOIN t ON o.parent_id = t.id) CYCLE id SET looped USING path SELECT id, looped, path FROM t WHERE status LIKE 'o%' LIMIT 5",
  "WITH RECURSIVE f (a, b) AS (SELECT 0, 1 UNION ALL SELECT b, a + b FROM f WHERE b < 1000) SELECT gcd(a, b), atan2(a, b) FROM f",
  "SELECT u, strpos(u, v) FROM (SELECT array_agg(name) AS a, array_agg(country) AS b FROM customers) q, unnest(a) AS u, unnest(b) AS v LIMIT 3",
  "SELECT jsonb_object(array_agg(name), array_agg(country)), json_build_object('a', json_agg(name), 'b', array_agg(country)) FROM customers",
  "SELECT row_to_json(x), x::text, to_jsonb(x.*) FROM (SELECT country, array_agg(name) AS names FROM customers GROUP BY country) x",
  "SELECT array_remove(array_agg(id), NULL), cardinality(array_agg(id)) - cardinality(array_agg(parent_id)), (jsonb_agg(id) -> 0)::int FROM orders",
  "SELECT ts_headline('english', body, to_tsquery('fine & product'), 'StartSel=<b>, StopSel=</b>, MaxWords=35, MinWords=15') FROM reviews LIMIT 1",
  "SELECT corr(quantity, unit_price), regr_slope(quantity, unit_price), stddev(unit_price), variance(unit_price) FROM order_lines",
  "SELECT bool_and(price > 0), every(price > 0), bit_or(id) FROM products",
  "SELECT CASE WHEN price < 5 THEN 'low' WHEN price < 20 THEN 'mid' ELSE 'high' END AS band, count(*) FROM products GROUP BY band",
  "SELECT CASE status WHEN 'open' THEN 1 ELSE 0 END FROM orders LIMIT 1",
  "SELECT coalesce(parent_id, 0), nullif(status, 'open'), greatest(1, id), least(id, 5) FROM orders LIMIT 1",
  "SELECT id FROM orders WHERE placed_at BETWEEN now() - interval '1 week' AND now() AND status NOT IN ('open') AND status IS DISTINCT FROM 'x'",
  "SELECT name FROM products WHERE name ILIKE '%duct 1%' OR name SIMILAR TO '(a|b)%' OR name ~* '^product [0-9]$'",
  "SELECT name FROM customers WHERE (country, id) IN (('DE', 3), ('FR', 1)) OR (country, id) < ('AA', 0)",
  "SELECT id FROM products UNION SELECT id FROM orders EXCEPT SELECT 1 INTERSECT SELECT 2 ORDER BY 1 LIMIT 3",
  "(SELECT 1 AS a ORDER BY 1 LIMIT 1) UNION ALL (SELECT 2)",
  "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (id, label) WHERE id > 1",
  "SELECT attributes->>'color' AS color, count(*) FROM products GROUP BY 1",
  "SELECT attributes#>>'{dim,w}', attributes->'sizes'->0, attributes @> '{\"color\": \"red\"}', attributes ? 'color' FROM products",
  "SELECT p.name, s.value FROM products p, jsonb_array_elements_text(p.attributes->'sizes') AS s(value)",
  "SELECT key, value FROM products, jsonb_each(attributes) LIMIT 5",
  "SELECT jsonb_path_query(attributes, '$.sizes[*] ? (@ > 5)') FROM products",
  "SELECT jsonb_agg(jsonb_build_object('id', id, 'name', name, 'more', jsonb_build_object('price', price))) FROM products",
  "SELECT json_object_agg(id, name), row_to_json(p) FROM products p GROUP BY p.id",
  "SELECT jsonb_pretty(jsonb_set(attributes, '{color}', '\"green\"')) FROM products LIMIT 1",
  'SELECT * FROM jsonb_to_recordset(\'[{"a": 1, "b": "x"}]\') AS t (a int, b text)',
  'SELECT * FROM json_populate_record(NULL::products, \'{"id": 1, "name": "x"}\')',
  "SELECT r.* FROM reviews r, jsonb_populate_record(r, '{\"rating\": 5}') AS x LIMIT 1",
  "SELECT tags[1], tags[1:2], array_length(tags, 1), cardinality(tags), 'a' = ANY (tags), tags && ARRAY['b'], array_to_string(tags, ',') FROM customers",
  "SELECT array_append(tags, 'x'), tags || ARRAY['y'], array_position(tags, 'b'), array_remove(tags, 'a') FROM customers LIMIT 1",
  "SELECT ARRAY(SELECT id FROM orders ORDER BY id LIMIT 3), ARRAY[[1, 2], [3, 4]]",
  "SELECT extra->'k', extra ? 'k', akeys(extra) FROM customers LIMIT 1",
  "SELECT name, ts_rank(search, q) FROM products, to_tsquery('english', 'product & !other') q WHERE search @@ q ORDER BY 2 DESC",
  "SELECT ts_headline('english', body, websearch_to_tsquery('fine -bad')) FROM reviews LIMIT 1",
  "SELECT plainto_tsquery('english', 'a fine product'), phraseto_tsquery('fine product'), setweight(to_tsvector('x'), 'A'), numnode('a & b'::tsquery)",
  "SELECT ts_rewrite('a & b'::tsquery, 'a'::tsquery, 'c'::tsquery)",
  "SELECT name, similarity(name, 'prodct') FROM products WHERE name % 'product 1' ORDER BY name <-> 'product' LIMIT 5",
  "SELECT room FROM bookings WHERE during @> now() OR during && tstzrange('2025-01-01', '2025-01-04') OR lower(during) > '2025-01-02'",
  "SELECT generate_series('2025-01-01'::date, '2025-01-10', '1 day')::date AS day",
  "SELECT d::date, count(o.id) FROM generate_series(now() - interval '7 days', now(), '1 day') AS d LEFT JOIN orders o ON o.placed_at::date = d::date GROUP BY 1",
  "SELECT now(), current_date, localtimestamp, clock_timestamp(), age(joined), to_char(joined, 'YYYY-MM'), joined + interval '1 month' FROM customers LIMIT 1",
  "SELECT placed_at AT TIME ZONE 'UTC', date_part('hour', placed_at), date_bin('15 minutes', placed_at, '2001-01-01') FROM orders LIMIT 1",
  "SELECT upper(name), initcap(name), length(name), left(name, 3), split_part(name, ' ', 2), regexp_replace(name, '\\d+', '#', 'g'), translate(name, 'abc', 'xyz'), unaccent(name) FROM customers",
  "SELECT concat_ws('-', id, name), format('%s: %s', id, name), quote_literal(name), md5(name), trim(both ' ' from name), overlay(name placing 'X' from 1 for 2), position('o' in name), substring(name from 2 for 3) FROM customers",
  "SELECT repeat('#', count(*)::int / 10) AS bar, status FROM orders GROUP BY status",
  "SELECT status, rpad(repeat('█', (50 * count(*) / max(count(*)) OVER ())::int), 50) FROM orders GROUP BY status",
  "SELECT repeat('★', rating) || repeat('☆', least(5 - rating, 5)) FROM reviews",
  "SELECT lpad(id::text, 8, '0'), rpad(name, 20) FROM products",
  `SELECT json_agg(json_build_object(${
    Array.from({ length: 40 }, (_, at) => `'field ${at}', name || ' ' || to_char(joined, 'YYYY-MM-DD')`).join(
      ", ",
    )
  })) FROM customers`,
  "SELECT repeat('-', 80)",
  "SELECT round(avg(price), 2), ceil(3.2), power(1.05, 12), 2 ^ 10, sqrt(2), ln(10), mod(7, 3), width_bucket(5, 0, 10, 5), random() < 2 FROM products",
  "SELECT replace(replace(replace(name, 'P', 'p'), ' ', '_'), '1', 'one') FROM products",
  "SELECT price::int, CAST(price AS text), '5'::numeric(10,2), 'abc'::varchar(2), 'x'::char(10), '{1,2}'::int[], 'orders'::regclass::oid > 0, interval '1 day' FROM products LIMIT 1",
  "SELECT * FROM products TABLESAMPLE BERNOULLI (50) REPEATABLE (1)",
  "SELECT * FROM products TABLESAMPLE system_rows(5)",
  "SELECT normal_rand(3, 0, 1), gen_random_uuid(), uuid_generate_v4()",
  "SELECT * FROM revenue ORDER BY total DESC LIMIT 3",
  "SELECT avg(total) FROM revenue r JOIN customers c ON c.id = r.customer_id WHERE c.country = 'DE'",
  "SELECT month, n FROM monthly ORDER BY month",
  "SELECT name, net_price(price) FROM products",
  "SELECT o.id, o.order_total FROM orders o LIMIT 5",
  "SELECT id, order_total(o) FROM orders o LIMIT 5",
  "SELECT stamp()",
  "SELECT public.stamp() FROM orders LIMIT 1",
  "SELECT * FROM contacts WHERE address LIKE '%@b'",
  "SELECT id FROM orders WHERE id = 5 AND status = 'open'",
  "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, ordinal_position",
  "SELECT tc.table_name, kcu.column_name FROM information_schema.table_constraints tc JOIN information_schema.key_column_usage kcu USING (constraint_name) WHERE constraint_type = 'PRIMARY KEY'",
  "SELECT relname, n_live_tup, seq_scan FROM pg_stat_user_tables",
  "SELECT pg_size_pretty(pg_total_relation_size('orders')), pg_relation_size('orders'), pg_database_size(current_database()) > 0",
  "SELECT schemaname, viewname, definition FROM pg_views WHERE schemaname = 'public'",
  "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'orders'",
  "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'orders'::regclass",
  "SELECT p.proname, pg_get_functiondef(p.oid) FROM pg_proc p WHERE proname = 'net_price'",
  "SELECT state, count(*) FROM pg_stat_activity GROUP BY state",
  "SELECT locktype, mode FROM pg_locks",
  "SELECT name, setting FROM pg_settings WHERE name LIKE 'work%'",
  "SELECT current_user, session_user, current_database(), current_schema, version(), pg_backend_pid() > 0, current_setting('work_mem'), current_setting('app.none', true)",
  "SELECT has_table_privilege('orders', 'SELECT'), obj_description('orders'::regclass), col_description('orders'::regclass, 1)",
  "SELECT xmlelement(name a, xmlattributes(id AS b), name), xmlforest(name AS n) FROM products LIMIT 1",
  "SELECT * FROM ROWS FROM (generate_series(1, 2), generate_series(5, 7)) AS t (a, b)",
  "SELECT * FROM regexp_split_to_table('a,b', ',') AS part",
  "SELECT (o).id, (o.*)::text FROM orders o LIMIT 1",
  "SELECT ROW(1, 'a'), (ROW(1, 2)).f1",
  'SELECT name COLLATE "C" FROM customers ORDER BY name COLLATE "C" LIMIT 1',
  "SELECT 'it''s', E'a\\nb', $$dollar$$, $tag$ $$ $tag$, U&'\\0041', B'101', X'1F', 1e3, .5",
  "SELECT 'a;b', 'DROP TABLE orders', '--', '/* */', 'pg_read_file'",
  'SELECT id AS "order", id AS "select" FROM orders LIMIT 1',
  "SELECT pg_sleep(0.01)",
  "SELECT a + a AS a FROM (SELECT a + a AS a FROM (SELECT id AS a FROM orders) x) y",
  "SELECT coalesce(a, 0) + coalesce(b, 0) FROM (SELECT CASE WHEN x > 0 THEN x ELSE -x END AS a, x * 2 AS b FROM (SELECT sum(quantity) AS x FROM order_lines GROUP BY order_id) i) j",
  `SELECT count(*) FROM orders WHERE id IN (${bigList})`,
  `SELECT count(*) FROM (VALUES ${
    Array.from({ length: 2_000 }, (_, i) => `(${i}, 'v${i}')`).join(", ")
  }) v (a, b)`,
  `SELECT count(*) FROM orders WHERE ${
    Array.from({ length: 500 }, (_, i) => `(id = ${i} AND status <> 'x')`).join(" OR ")
  }`,
  `SELECT CASE ${
    Array.from({ length: 400 }, (_, i) => `WHEN id = ${i} THEN 'n${i}'`).join(" ")
  } END FROM orders`,
  `SELECT 1 AS a${" UNION ALL SELECT 1".repeat(100)}`,
];

/** What the statements over vectors need beside `honestFixture`: pgvector. */
export const honestVectorFixture = `
CREATE EXTENSION vector;
ALTER TABLE products ADD embedding vector(3);
UPDATE products SET embedding = ARRAY[id, id * 2, 1]::vector;
`;

export const honestVectorStatements: readonly string[] = [
  "SELECT id, embedding <-> '[1,2,3]' AS distance FROM products ORDER BY embedding <-> '[1,2,3]' LIMIT 5",
  "SELECT id, 1 - (embedding <=> '[1,2,3]'::vector) AS cosine, embedding <#> '[1,2,3]', l2_distance(embedding, '[1,1,1]'), vector_dims(embedding) FROM products",
  "SELECT category, avg(embedding) FROM products GROUP BY category",
];
