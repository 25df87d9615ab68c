import { dayNumber, insertStatement, shopRows } from "./shop_rows.ts";

/** What can be asked of the shop in words: a definitions file. */
export function readShopQuestions(): Promise<string> {
  return Deno.readTextFile(new URL("./shop_questions.yaml", import.meta.url));
}

const tablesFile = new URL("./shop_tables.sql", import.meta.url);
const viewsFile = new URL("./shop_views.sql", import.meta.url);

/** The role of the demo's connections: it may read the shop and do nothing else. */
export const demoRole = "postern_demo";

/**
 * The SQL that makes the shop in an empty database, to be run by a superuser in this order. The same day gives the same
 * SQL everywhere: the newest orders are of the day before `now` (in UTC), the oldest of two years before.
 */
export async function demoShopSql(now: Date): Promise<string[]> {
  const tables = shopRows(dayNumber(now));
  return [
    await Deno.readTextFile(tablesFile),
    // checking each foreign key by a query of its own would take most of the start
    "SET session_replication_role = replica",
    ...tables.map(insertStatement),
    "RESET session_replication_role",
    await Deno.readTextFile(viewsFile),
    `CREATE ROLE ${demoRole} LOGIN;
     REVOKE TEMPORARY, CREATE ON DATABASE postgres FROM PUBLIC;
     REVOKE CREATE ON SCHEMA public FROM PUBLIC;
     GRANT USAGE ON SCHEMA public TO ${demoRole};
     GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${demoRole};`,
    `ANALYZE ${tables.map(({ table }) => table).join(", ")}`,
  ];
}
