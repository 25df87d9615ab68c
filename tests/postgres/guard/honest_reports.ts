/** What analysts, dashboards and agents write over the shop: pivots, cohorts, series, texts and JSON put together. */

const list = (count: number, write: (n: number) => string, between = ", ") =>
  Array.from({ length: count }, (_, n) => write(n)).join(between);

const longText = "the quick brown fox jumps over the lazy dog ".repeat(1_150);

export const honestReports: readonly string[] = [
  // bars and padding
  "SELECT status, count(*), repeat('*', count(*)::int) FROM orders GROUP BY status",
  "SELECT status, repeat('█', (count(*) * 50 / max(count(*)) OVER ())::int) FROM orders GROUP BY status",
  "SELECT status, repeat('▇', (count(*) / 0.5)::int), rpad('|', (count(*) / .25)::int, '-') FROM orders GROUP BY status",
  "SELECT rating, repeat('★', rating) || repeat('☆', 5 - rating) FROM reviews LIMIT 5",
  "SELECT rpad(name, 20, '.') || lpad(price::text, 10) FROM products",
  "SELECT rpad(name, w) || '|' || lpad(country, w) FROM customers, (SELECT max(length(name)) AS w FROM customers) x",
  "SELECT repeat('x', id), repeat('y', id) FROM customers LIMIT 3",
  "SELECT width_bucket(price, 0, 30, 10) AS bucket, count(*), rpad('', count(*)::int, '#') AS bar FROM products GROUP BY 1 ORDER BY 1",
  "SELECT format('%*s', 10, name), format('%-*s|', 20, name), format('%2$*1$s', length(name) + 5, name) FROM customers LIMIT 3",
  "SELECT format('%-20s %8s', name, price), format('%I.%I = %L', 'a', name, price), format('%%') FROM products",
  "SELECT format(name || ': %s', id) FROM products LIMIT 3",
  "SELECT array_fill(0, ARRAY[n]), array_fill(NULL::text, '{3}'), array_fill(7, ARRAY[2, 3], ARRAY[0, 0]) FROM generate_series(1, 5) n",
  "SELECT array_fill(id, ARRAY[quantity]) FROM orders JOIN order_lines ON order_id = id LIMIT 5",
  "SELECT string_agg(repeat('-', quantity), ' ') FROM order_lines",
  // values collected and compared
  "SELECT array_agg(DISTINCT status) && array_agg(DISTINCT country) FROM orders o JOIN customers c ON c.id = customer_id",
  "SELECT customer_id, array_agg(DISTINCT status) @> ARRAY['open'], array_agg(DISTINCT status) <@ ARRAY['open', 'paid'] FROM orders GROUP BY 1",
  "SELECT a.customer_id FROM (SELECT customer_id, array_agg(DISTINCT status) AS s FROM orders GROUP BY 1) a JOIN (SELECT customer_id, array_agg(DISTINCT status) AS s FROM orders GROUP BY 1) b ON a.s @> b.s AND a.customer_id <> b.customer_id LIMIT 5",
  "SELECT array_agg(DISTINCT status ORDER BY status) = array_agg(DISTINCT country ORDER BY country) FROM orders, customers",
  "SELECT customer_id FROM orders GROUP BY 1 HAVING array_agg(DISTINCT status) @> (SELECT array_agg(DISTINCT status) FROM orders)",
  "SELECT country FROM customers GROUP BY 1 HAVING string_agg(name, ',') ILIKE '%customer 1%'",
  "SELECT string_agg(name, ', ') ILIKE '%x%', string_agg(name, ', ') ~* 'customer (1|2)' FROM customers",
  "SELECT name FROM customers WHERE (SELECT string_agg(body, ' ') FROM reviews) ILIKE '%' || name || '%'",
  "SELECT replace(replace(string_agg(name, ', '), 'Customer', 'C'), ', ', ';'), translate(string_agg(name, ''), 'aeiou', '') FROM customers",
  "SELECT regexp_replace(regexp_replace(string_agg(name, ' '), '\\s+', ' ', 'g'), '[^a-z]', '', 'gi') FROM products",
  "SELECT array_to_string(array_agg(name ORDER BY name), ', '), array_to_string(array_agg(DISTINCT country), '/', '-') FROM customers",
  "SELECT (array_agg(status ORDER BY placed_at DESC))[1], (array_agg(id ORDER BY placed_at))[1:3] FROM orders GROUP BY customer_id",
  "SELECT array_remove(array_agg(parent_id), NULL), array_position(array_agg(id), 3), cardinality(array_agg(DISTINCT status)) FROM orders",
  "SELECT string_agg(format('%s: %s', status, n), E'\\n' ORDER BY n DESC) FROM (SELECT status, count(*) AS n FROM orders GROUP BY 1) x",
  "SELECT split_part(string_agg(name, '|' ORDER BY id), '|', 2), left(string_agg(name, ','), 50) || '…' FROM customers",
  "SELECT levenshtein_limit FROM (SELECT similarity(string_agg(name, ''), string_agg(country, '')) AS levenshtein_limit FROM customers) x",
  "SELECT starts_with(string_agg(name, ','), string_agg(country, ',')), string_agg(name, ',') ~ string_agg(country, '|') FROM customers",
  "SELECT xmlagg(xmlelement(name customer, xmlattributes(id), name)) FROM customers",
  "SELECT xmlelement(name shop, xmlagg(xmlforest(name, price) ORDER BY price))::text FROM products",
  "SELECT ('<a b=\"' || id || '\"/>')::xml, xmlparse(CONTENT name), xmlserialize(CONTENT xmlagg(xmlelement(name a)) AS text) FROM products GROUP BY id, name",
  "SELECT '<a/>'::xml IS DOCUMENT, xml_is_well_formed(name) FROM products LIMIT 2",
  "SELECT polygon '((0,0),(1,1),(1,0))' ~= polygon '((1,0),(0,0),(1,1))', path '[(0,0),(1,1)]' ?# path '[(0,1),(1,0)]', @ (price - 5) FROM products LIMIT 2",
  "SELECT string_agg(DISTINCT category, ', ' ORDER BY category), count(DISTINCT category) FROM products",
  // JSON
  "SELECT json_agg(json_build_object('id', c.id, 'name', c.name, 'orders', (SELECT json_agg(json_build_object('id', o.id, 'status', o.status)) FROM orders o WHERE o.customer_id = c.id))) FROM customers c",
  `SELECT json_agg(json_build_object(${list(45, (n) => `'k${n}', price * ${n}`)})) FROM products`,
  `SELECT jsonb_pretty(jsonb_build_object(${
    list(45, (n) => `'k${n}', round(price * ${n}, 2)`)
  })) FROM products LIMIT 2`,
  "SELECT jsonb_pretty(jsonb_agg(to_jsonb(p))) FROM products p",
  "SELECT jsonb_pretty(jsonb_build_object('a', jsonb_build_object('b', jsonb_build_array(1, 2, attributes)))) FROM products",
  'SELECT jsonb_pretty(\'{"a": [1, {"b": null}]}\')',
  "SELECT jsonb_object_agg(status, n) FROM (SELECT status, count(*) AS n FROM orders GROUP BY 1) x",
  "SELECT (SELECT jsonb_agg(e ORDER BY e->>'k') FROM jsonb_array_elements(attributes->'sizes') e) FROM products",
  "SELECT row_to_json(x)::text, to_jsonb(x) - 'id' FROM (SELECT id, name, tags FROM customers) x LIMIT 3",
  "SELECT jsonb_agg(attributes) @> '[{\"color\": \"red\"}]', jsonb_agg(name) ? 'Product 1', jsonb_agg(DISTINCT category) ?| ARRAY['cat1'] FROM products",
  "SELECT jsonb_agg(attributes) @? '$[*].sizes[*] ? (@ > 3)', jsonb_path_query_array(jsonb_agg(attributes), '$[*].color') FROM products",
  "SELECT id FROM products WHERE attributes @? '$.sizes[*] ? (@ > $.dim.w)' OR jsonb_path_exists(attributes, '$.sizes ? (@[0] < @[1])')",
  "SELECT json_build_object('type', 'FeatureCollection', 'features', json_agg(json_build_object('type', 'Feature', 'properties', to_jsonb(p) - 'embedding'))) FROM products p",
  "SELECT key, count(*) FROM products, jsonb_object_keys(attributes) key GROUP BY key",
  // mail merges and texts
  "SELECT replace(replace(replace(replace(replace('Dear {name}, from {country}: {email}, since {joined}, tags {tags}', '{name}', name), '{country}', country), '{email}', email), '{joined}', joined::text), '{tags}', array_to_string(tags, ',')) FROM customers",
  `SELECT ${"replace(".repeat(9)}body${list(9, (n) => `, '${n}', 'word ${n}')`, "")} FROM reviews`,
  `SELECT ${"regexp_replace(".repeat(6)}name${
    list(6, (n) => `, '[${n}x]+', 'number ${n}', 'g')`, "")
  } FROM products`,
  `SELECT ${"translate(".repeat(4)}lower(name)${", 'äöü', 'aou')".repeat(4)} FROM customers`,
  "SELECT initcap(trim(both ' ' from regexp_replace(name, '\\s+', ' ', 'g'))), overlay(name placing '***' from 2 for 3), md5(name || email) FROM customers",
  "SELECT quote_ident(name), quote_literal(name), quote_nullable(country), encode(name::bytea, 'base64'), convert_from(decode(encode(name::bytea, 'hex'), 'hex'), 'UTF8') FROM customers",
  `SELECT concat_ws(', ', ${list(99, (n) => n % 2 ? "name" : `'${n}'`)}) FROM customers`,
  `SELECT concat(${list(100, (n) => `name || ${n}`)}) FROM customers LIMIT 2`,
  `SELECT count(*) FROM customers WHERE '${longText}' ILIKE '%' || name || '%' OR strpos('${
    longText.slice(0, 40_000)
  }', country) > 0`,
  `SELECT length('${longText}'), position('fox' in '${longText.slice(0, 40_000)}')`,
  "SELECT word, count(*) FROM reviews, regexp_split_to_table(lower(body), '\\W+') AS word GROUP BY word ORDER BY 2 DESC",
  "SELECT unnest(string_to_array(string_agg(body, ' '), ' ')) AS word, count(*) OVER () FROM reviews LIMIT 5",
  "SELECT to_tsvector('english', string_agg(body, ' ')) @@ to_tsquery('english', 'fine & product') FROM reviews",
  "SELECT name, ts_rank_cd(search, q, 32), ts_headline('english', name, q, 'StartSel=«, StopSel=»') FROM products, plainto_tsquery('english', 'product') q WHERE search @@ q",
  "SELECT c.name, similarity(c.name, p.name), word_similarity(p.name, c.name) FROM customers c, products p ORDER BY c.name <-> p.name LIMIT 3",
  // lists that programs write
  `SELECT count(*) FROM orders WHERE id IN (${list(5_000, (n) => `${n}`)})`,
  `SELECT count(*) FROM customers WHERE name IN (${list(4_000, (n) => `'Customer ${n}'`)})`,
  `SELECT count(*) FROM customers WHERE name = ANY (ARRAY[${list(4_000, (n) => `'Customer ${n}'`)}])`,
  `SELECT count(*) FROM customers WHERE name IN (${list(2_000, (n) => `'Customer ${n}'::text`)})`,
  `SELECT count(*) FROM customers WHERE joined IN (${list(2_000, (n) => `'2024-01-01'::date + ${n}`)})`,
  `SELECT count(*) FROM customers WHERE tags && ARRAY[${list(3_000, (n) => `'tag ${n}'`)}]`,
  `SELECT count(*) FROM orders WHERE id = ANY ('{${list(5_000, (n) => `${n}`)}}')`,
  `SELECT count(*) FROM orders WHERE id = ANY (string_to_array('${
    list(5_000, (n) => `${n}`, ",")
  }', ',')::int[])`,
  `SELECT count(*) FROM orders WHERE ${list(2_500, (n) => `(id = ${n} AND status = 's${n}')`, " OR ")}`,
  `SELECT count(*) FROM orders WHERE (id, status) IN (${list(2_000, (n) => `(${n}, 'open')`)})`,
  `SELECT count(*) FROM customers WHERE ${list(400, (n) => `name ILIKE '%customer ${n}%'`, " OR ")}`,
  `SELECT v.a, c.name FROM (VALUES ${
    list(1_500, (n) => `(${n}, 'label ${n}', ${n}.5)`)
  }) v (a, b, c) JOIN customers c ON c.id = v.a LIMIT 3`,
  list(200, (n) => `SELECT ${n} AS n, count(*) FROM orders WHERE customer_id = ${n}`, " UNION ALL "),
  `SELECT ${list(300, (n) => `sum(CASE WHEN customer_id = ${n} THEN 1 ELSE 0 END) AS c${n}`)} FROM orders`,
  `SELECT status, ${
    list(300, (n) => `count(*) FILTER (WHERE customer_id = ${n} AND status <> 'x') AS "Customer ${n}"`)
  } FROM orders GROUP BY status`,
  `SELECT ${"CASE WHEN id > 0 THEN ".repeat(60)}1${" ELSE 0 END".repeat(60)} FROM orders LIMIT 1`,
  `SELECT ${list(500, (n) => `coalesce(price, 0) * ${n} AS p${n}`)} FROM products`,
  `WITH ${
    list(60, (n) =>
      `c${n} AS (SELECT ${n === 0 ? "id, price AS x FROM products" : `id, x + ${n} AS x FROM c${n - 1}`})`)
  } SELECT * FROM c59 LIMIT 1`,
  // series and gaps
  "SELECT d::date, count(o.id) FROM generate_series(date '2025-01-01', date '2025-01-31', interval '1 day') d LEFT JOIN orders o ON o.placed_at::date = d GROUP BY d ORDER BY d",
  "SELECT h, count(*) FROM generate_series(0, 23) h LEFT JOIN orders ON extract(hour FROM placed_at) = h GROUP BY h",
  "SELECT min(day), max(day), count(*) FROM (SELECT day, day - (row_number() OVER (ORDER BY day))::int AS island FROM (SELECT DISTINCT placed_at::date AS day FROM orders) d) g GROUP BY island ORDER BY 1",
  "SELECT id, placed_at, sum(is_new) OVER (PARTITION BY customer_id ORDER BY placed_at) AS session FROM (SELECT *, CASE WHEN placed_at - lag(placed_at) OVER (PARTITION BY customer_id ORDER BY placed_at) < interval '30 minutes' THEN 0 ELSE 1 END AS is_new FROM orders) x",
  "SELECT g FROM generate_series(1, (SELECT max(id) FROM orders)) g EXCEPT SELECT id FROM orders ORDER BY 1",
  "WITH first AS (SELECT customer_id, date_trunc('month', min(placed_at)) AS cohort FROM orders GROUP BY 1), seen AS (SELECT o.customer_id, cohort, extract(month FROM age(date_trunc('month', placed_at), cohort)) AS n FROM orders o JOIN first USING (customer_id)) SELECT cohort, count(DISTINCT customer_id) FILTER (WHERE n = 0) AS m0, count(DISTINCT customer_id) FILTER (WHERE n = 1) AS m1 FROM seen GROUP BY 1",
  "WITH steps AS (SELECT customer_id, max((status = 'open')::int) AS a, max((status = 'paid')::int) AS b, max((status = 'shipped')::int) AS c FROM orders GROUP BY 1) SELECT sum(a), sum(a * b), sum(a * b * c), round(100.0 * sum(a * b) / nullif(sum(a), 0), 1) FROM steps",
  "SELECT day, n, avg(n) OVER (ORDER BY day ROWS 6 PRECEDING), n - lag(n, 7) OVER (ORDER BY day) FROM (SELECT placed_at::date AS day, count(*) AS n FROM orders GROUP BY 1) x",
  "SELECT category, sum(price), round(100 * sum(price) / sum(sum(price)) OVER (), 2) AS share, sum(sum(price)) OVER (ORDER BY sum(price) DESC) FROM products GROUP BY category",
  "SELECT customer_id, ntile(5) OVER (ORDER BY max(placed_at)) AS r, ntile(5) OVER (ORDER BY count(*)) AS f, ntile(5) OVER (ORDER BY sum(quantity * unit_price)) AS m FROM orders JOIN order_lines ON order_id = id GROUP BY 1",
  "SELECT percentile_cont(ARRAY[0.25, 0.5, 0.75, 0.95]) WITHIN GROUP (ORDER BY price), stddev_samp(price), mode() WITHIN GROUP (ORDER BY category) FROM products",
  "SELECT a.product_id, b.product_id, count(*) FROM order_lines a JOIN order_lines b ON a.order_id = b.order_id AND a.product_id < b.product_id GROUP BY 1, 2 ORDER BY 3 DESC LIMIT 5",
  "SELECT coalesce(country, 'all'), coalesce(status, 'all'), count(*), grouping(country, status) FROM customers c JOIN orders o ON o.customer_id = c.id GROUP BY CUBE (country, status) ORDER BY 1, 2",
  "SELECT c.name, l.id, l.total FROM customers c CROSS JOIN LATERAL (SELECT o.id, sum(quantity * unit_price) AS total FROM orders o JOIN order_lines ON order_id = o.id WHERE o.customer_id = c.id GROUP BY o.id ORDER BY 2 DESC LIMIT 2) l",
  "SELECT x.* FROM customers c, LATERAL (VALUES ('name', c.name), ('country', c.country)) AS x (key, value) LIMIT 4",
  "SELECT regr_slope(price, id), regr_r2(price, id), corr(price, id), covar_pop(price, id) FROM products",
  "SELECT power(1.05, 10), exp(1), ln(price), log(10, price), sqrt(price), price ^ 2, factorial(5), round(price * 1.19, 2), trunc(price, -1) FROM products",
  "SELECT id, bit_count(id::bit(32)), id::bit(8), lpad(to_hex(id), 8, '0'), to_char(price, 'FM999G990D00'), to_char(placed, 'YYYY-MM-DD\"T\"HH24:MI:SS') FROM products, (SELECT now() AS placed) n",
  "SELECT count(*) FROM products TABLESAMPLE SYSTEM (50)",
  "SELECT name || ' ' || name || ' ' || name || ' ' || name FROM customers",
  "SELECT a || a FROM (SELECT b || b AS a FROM (SELECT c || c AS b FROM (SELECT name || name AS c FROM customers) x) y) z",
  "SELECT p.path <-> q.path FROM (SELECT '[(0,0),(1,1)]'::path AS path) p, (SELECT '[(2,2),(3,1)]'::path AS path) q",
  "SELECT normalize(name), name IS NORMALIZED, unaccent(name) FROM customers LIMIT 2",
  "SELECT ARRAY(SELECT DISTINCT status FROM orders) && ARRAY(SELECT DISTINCT country FROM customers)",
  "SELECT repeat('#', (100000 * id / 200)::int / 10000), repeat('x', floor(random() * 100000)::int % 10), repeat('*', (x->>'n')::int) FROM orders, jsonb_array_elements('[{\"n\": 3}]') x LIMIT 3",
  "SELECT repeat('*', n::int) FROM string_to_table('1,2,3', ',') AS s (n)",
  "SELECT jsonb_path_query_array(jsonb_agg(attributes), '$[*] ? (@.dim.w > @.sizes[0])'), jsonb_path_exists(jsonb_agg(attributes), '$[*] ? (@.dim.w * 2 > $least)', '{\"least\": 5}') FROM products",
  "SELECT range_agg(during) && range_agg(during) FILTER (WHERE room = 1), range_agg(during) @> now() FROM bookings",
  "SELECT to_tsquery('simple', string_agg(DISTINCT country, ' | ')) FROM customers",
  "SELECT customer_id FROM orders GROUP BY 1 HAVING array_agg(status) @> ARRAY['open'] AND NOT array_agg(status) && ARRAY['lost']",
  "SELECT name FROM customers WHERE tags && (SELECT array_agg(status) FROM orders) OR tags <@ ARRAY(SELECT country FROM customers)",
  "SELECT md5(string_agg(o::text, '' ORDER BY id)), md5(array_agg(md5(o.*::text))::text) FROM orders o",
  "SELECT format(CASE WHEN id > 5 THEN 'Yes %s' ELSE 'No %s' END, name), format(concat('%s', '-', name), id) FROM customers LIMIT 3",
  // wide reports
  `SELECT id, ${
    list(60, (n) => `lag(id, ${n}) OVER (PARTITION BY customer_id ORDER BY id ROWS ${n} PRECEDING) AS l${n}`)
  } FROM orders`,
  `SELECT id, ${
    list(300, (n) => `sum(id + ${n}) OVER w AS s${n}`)
  } FROM orders WINDOW w AS (PARTITION BY status ORDER BY id)`,
  `SELECT id, ${
    list(300, (n) => `sum(id + ${n}) OVER (PARTITION BY status ORDER BY id) AS s${n}`)
  } FROM orders`,
  `SELECT ${
    list(100, (n) => `count(DISTINCT customer_id) FILTER (WHERE id % 100 = ${n}) AS c${n}`)
  } FROM orders`,
  "SELECT status, customer_id, count(*) FROM orders GROUP BY CUBE (status, customer_id, id % 2, id % 3, id % 5)",
  "SELECT status, customer_id, count(*) FROM orders GROUP BY ROLLUP (status, customer_id), CUBE ((id % 2), (id % 3))",
  `WITH s0 AS (SELECT id, status FROM orders)${
    list(
      40,
      (n) =>
        `, s${
          n + 1
        } AS (SELECT id, coalesce(status, 'x${n}') AS status FROM s${n} WHERE id NOT IN (SELECT id FROM s0 WHERE id < ${-n}))`,
      "",
    )
  } SELECT * FROM s40`,
  `WITH o AS NOT MATERIALIZED (SELECT * FROM orders WHERE id > 0) SELECT ${
    list(100, (n) => `(SELECT count(*) FROM o WHERE id > ${n}) AS c${n}`)
  }`,
  `SELECT ${
    list(100, (n) => `(SELECT count(*) FROM orders WHERE id > ${n} AND status <> 's${n}') AS c${n}`)
  }`,
];
