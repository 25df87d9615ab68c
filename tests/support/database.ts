import { randomBytes } from "node:crypto";
import { pg } from "../../src/postgres/connection.ts";

/** A superuser's URL of a real PostgreSQL server; tests that need one are ignored without it. */
export const testDatabaseUrl: string | undefined = Deno.env.get("TEST_DATABASE_URL");

/** A database of a test file's own. */
export interface TestDatabase extends AsyncDisposable {
  readonly url: string;
  readonly name: string;
  /** Runs one or more statements as superuser on a connection of its own; rows of text, those of the last statement. */
  query(sql: string): Promise<unknown[][]>;
}

/**
 * A new database, dropped with all that is connected to it when disposed of. It is empty, or a copy of another one, to
 * which nothing may be connected.
 */
export async function createTestDatabase(original?: TestDatabase): Promise<TestDatabase> {
  const serverUrl = requireTestDatabaseUrl();
  const name = `postern_test_${randomBytes(6).toString("hex")}`;
  await runSql(
    serverUrl,
    `CREATE DATABASE ${name} TEMPLATE ${original?.name ?? "template0"} ENCODING 'UTF8'`,
  );
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    query: (sql) => runSql(url.href, sql),
    async [Symbol.asyncDispose]() {
      await runSql(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Registers a test that needs a real PostgreSQL; it is ignored, and its name says why, where there is none. */
export function testWithPostgres(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  const ignore = testDatabaseUrl === undefined;
  Deno.test({ name: ignore ? `${name} (needs TEST_DATABASE_URL)` : name, ignore, fn });
}

/** Registers a test that needs pgvector on the real PostgreSQL; it is ignored, and its name says why, where that has none. */
export function testWithPgvector(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  if (Deno.env.get("TEST_WITHOUT_PGVECTOR") === undefined) testWithPostgres(name, fn);
  else Deno.test({ name: `${name} (needs pgvector)`, ignore: true, fn });
}

/** The URL, for code that runs only inside of a test that `testWithPostgres` registered. */
export function requireTestDatabaseUrl(): string {
  if (testDatabaseUrl === undefined) throw new Error("TEST_DATABASE_URL is not set");
  return testDatabaseUrl;
}

/** Runs SQL on a connection opened for it; values come as PostgreSQL's text, null for NULL. */
export async function runSql(url: string, sql: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser: () => String } });
  client.on("error", () => {});
  await client.connect();
  try {
    const result: unknown = await client.query({ text: sql, rowMode: "array" });
    const last: unknown = Array.isArray(result) ? result.at(-1) : result;
    return rowsOf(last);
  } finally {
    await client.end();
  }
}

function rowsOf(result: unknown): unknown[][] {
  if (typeof result !== "object" || result === null || !("rows" in result)) return [];
  return Array.isArray(result.rows) ? result.rows : [];
}
