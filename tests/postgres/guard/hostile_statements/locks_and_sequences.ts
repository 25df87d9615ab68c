import { type HostileStatement, named } from "./hostile_statement.ts";

export const locksAndSequences: readonly HostileStatement[] = [
  ...named([
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_advisory_lock(1, 2)",
    "SELECT pg_advisory_lock_shared(1)",
    "SELECT pg_advisory_xact_lock(1)",
    "SELECT pg_advisory_xact_lock_shared(1)",
    "SELECT pg_try_advisory_lock(1)",
    "SELECT pg_try_advisory_lock_shared(1)",
    "SELECT pg_try_advisory_xact_lock(1)",
    "SELECT pg_advisory_unlock(1)",
    "SELECT pg_advisory_unlock_all()",
    "SELECT PG_ADVISORY_LOCK(id) FROM orders",
    `SELECT pg_catalog."pg_advisory_lock"(1)`,
    "SELECT sum(1) FILTER (WHERE pg_try_advisory_lock(7)) FROM orders",
  ], "locks"),
  ...named([
    "SELECT nextval('orders_id_seq')",
    "SELECT nextval('orders_id_seq'::regclass)",
    "SELECT setval('orders_id_seq', 1)",
    "SELECT setval('orders_id_seq', 1, false)",
    "SELECT pg_catalog.nextval('public.orders_id_seq')",
    "SELECT g, nextval('orders_id_seq') FROM generate_series(1, 10) g",
    "SELECT * FROM nextval('orders_id_seq')",
    "SELECT 1 WHERE nextval('orders_id_seq') > 0",
    "SELECT 1 OFFSET nextval('orders_id_seq')",
    "SELECT max(nextval('orders_id_seq')) OVER () FROM orders",
  ], "sequence"),
  { name: "a view that draws from a sequence", sql: "SELECT * FROM next_order", refusedWith: "nextval" },
];
