import { type HostileStatement, named } from "./hostile_statement.ts";

export const explainOfWrites: readonly HostileStatement[] = [
  ...named([
    "EXPLAIN ANALYZE DELETE FROM orders",
    "EXPLAIN (ANALYZE) INSERT INTO orders (customer, total) VALUES ('x', 1)",
    "EXPLAIN (ANALYZE true, FORMAT json) UPDATE orders SET total = 0",
    "EXPLAIN (ANALYZE 1) DELETE FROM orders",
    "EXPLAIN DELETE FROM orders",
    "EXPLAIN ANALYZE CREATE TABLE loot2 AS SELECT 1",
    "EXPLAIN ANALYZE SELECT 1 INTO loot2",
    "EXPLAIN ANALYZE WITH d AS (DELETE FROM orders RETURNING *) SELECT * FROM d",
    "EXPLAIN ANALYZE EXECUTE p",
    "EXPLAIN EXECUTE p",
    "EXPLAIN ANALYZE CREATE MATERIALIZED VIEW loot2 AS SELECT 1",
    "EXPLAIN ANALYZE REFRESH MATERIALIZED VIEW totals",
    "EXPLAIN ANALYZE DECLARE c CURSOR FOR SELECT 1",
    "EXPLAIN ANALYZE MERGE INTO orders o USING orders s ON o.id = s.id WHEN MATCHED THEN DELETE",
    "EXPLAIN ANALYZE SELECT * FROM orders FOR UPDATE",
  ]),
  ...named([
    "EXPLAIN ANALYZE SELECT evil()",
    "EXPLAIN SELECT evil()",
    "EXPLAIN ANALYZE SELECT * FROM evil_view",
  ], "VOLATILE"),
  ...named(["EXPLAIN ANALYZE SELECT nextval('orders_id_seq')"], "nextval"),
];
