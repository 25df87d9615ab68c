import { randomBytes } from "node:crypto";
import type { TestDatabase } from "./database.ts";

/** A role that may read, with as many connections as PostgreSQL's CONNECTION LIMIT allows it. */
export interface LimitedRole extends AsyncDisposable {
  readonly name: string;
  /** The database's URL as this role. */
  readonly url: string;
  /** How many connections it has. */
  count(): Promise<number>;
  setLimit(limit: number): Promise<void>;
}

export async function createLimitedRole(database: TestDatabase, limit: number): Promise<LimitedRole> {
  const name = `postern_test_few_${randomBytes(4).toString("hex")}`;
  await database.query(
    `CREATE ROLE ${name} LOGIN CONNECTION LIMIT ${limit}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${name}`,
  );
  const url = new URL(database.url);
  url.username = name;
  return {
    name,
    url: url.href,
    async count() {
      const rows = await database.query(`SELECT count(*) FROM pg_stat_activity WHERE usename = '${name}'`);
      return Number(rows[0]?.[0]);
    },
    setLimit: async (limit) => void await database.query(`ALTER ROLE ${name} CONNECTION LIMIT ${limit}`),
    async [Symbol.asyncDispose]() {
      await database.query(
        `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '${name}';
        DROP OWNED BY ${name}; DROP ROLE ${name}`,
      );
    },
  };
}
