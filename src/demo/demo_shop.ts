import { commentStatements, insertStatement } from "./insert_statement.ts";
import { shopRows } from "./shop_rows.ts";
import { shopComments, shopTables, shopViewsAndIndexes } from "./shop_schema.ts";
import { dayNumber } from "./shop_values.ts";

/** The role of the demo's connections: it may read the shop and do nothing else. */
export const demoRole = "postern_demo";

/**
 * The SQL that makes the shop in an empty database, to be run by a superuser in this order. The same day gives the same
 * SQL everywhere: the newest orders are of the day before `now` (in UTC), the oldest of two years before.
 */
export function demoShopSql(now: Date): string[] {
  const tables = shopRows(dayNumber(now));
  return [
    shopTables,
    // checking each foreign key by a query of its own would take most of the start
    "SET session_replication_role = replica",
    ...tables.map(insertStatement),
    "RESET session_replication_role",
    shopViewsAndIndexes,
    ...commentStatements(shopComments),
    `CREATE ROLE ${demoRole} LOGIN;
     REVOKE TEMPORARY, CREATE ON DATABASE postgres FROM PUBLIC;
     REVOKE CREATE ON SCHEMA public FROM PUBLIC;
     GRANT USAGE ON SCHEMA public TO ${demoRole};
     GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${demoRole};`,
    `ANALYZE ${tables.map(({ table }) => table).join(", ")}`,
  ];
}
