import { randomBytes } from "node:crypto";
import { pg } from "../../src/postgres/connection.ts";

/** A superuser's URL of a real PostgreSQL server; tests that need one are ignored without it. */
export const testDatabaseUrl: string | undefined = Deno.env.get("TEST_DATABASE_URL");

/** `startVectorDatabases()`, where that server has no pgvector. */
const vectorDatabases = {
  url: Deno.env.get("TEST_VECTOR_DATABASES_URL"),
  controlUrl: Deno.env.get("TEST_VECTOR_DATABASES_CONTROL_URL"),
  /** Whether the test that runs needs them. */
  areUsed: false,
  /** The SQL of `createRoles()`, by the names of its roles: each database has roles of its own. */
  roles: new Map<string, string>(),
};

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
export async function createTestDatabase(
  original?: TestDatabase,
  encoding = "ENCODING 'UTF8'",
): Promise<TestDatabase> {
  const serverUrl = requireTestDatabaseUrl();
  const name = `postern_test_${randomBytes(6).toString("hex")}`;
  const { areUsed: isVectors, controlUrl } = vectorDatabases;
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  if (isVectors) {
    await control(`${controlUrl}/${name}`, "PUT");
    for (const sql of vectorDatabases.roles.values()) await runSql(url.href, sql);
  } else {
    await runSql(
      serverUrl,
      `CREATE DATABASE ${name} TEMPLATE ${original?.name ?? "template0"} ${encoding}`,
    );
  }
  return {
    url: url.href,
    name,
    query: (sql) => runSql(url.href, sql),
    async [Symbol.asyncDispose]() {
      if (isVectors) await control(`${controlUrl}/${name}`, "DELETE");
      else await runSql(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

/** Makes roles for databases that are made afterwards; they are dropped when disposed of, after the databases. */
export async function createRoles(names: readonly string[], sql: string): Promise<AsyncDisposable> {
  const list = names.join(", ");
  const { areUsed: isVectors, roles } = vectorDatabases;
  if (isVectors) roles.set(list, sql);
  else await runSql(requireTestDatabaseUrl(), sql);
  return {
    async [Symbol.asyncDispose]() {
      if (isVectors) roles.delete(list);
      else await runSql(requireTestDatabaseUrl(), `DROP ROLE IF EXISTS ${list}`);
    },
  };
}

/** Registers a test that needs a real PostgreSQL; it is ignored, and its name says why, where there is none. */
export function testWithPostgres(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  const ignore = testDatabaseUrl === undefined;
  Deno.test({ name: ignore ? `${name} (needs TEST_DATABASE_URL)` : name, ignore, fn });
}

/**
 * Registers a test that needs pgvector. Where the server has none, the test has databases of PGlite, whose clients take
 * turns, a transaction at a time. A test for which that is too little names what it needs besides, and is ignored then.
 */
export function testWithPgvector(
  name: string,
  fn: (t: Deno.TestContext) => Promise<void>,
  alsoNeeds?: string,
): void {
  if (vectorDatabases.url === undefined) return testWithPostgres(name, fn);
  const ignore = alsoNeeds !== undefined;
  Deno.test({
    name: ignore ? `${name} (needs pgvector and ${alsoNeeds})` : name,
    ignore,
    fn: async (t) => {
      vectorDatabases.areUsed = true;
      try {
        await fn(t);
      } finally {
        vectorDatabases.areUsed = false;
      }
    },
  });
}

/** Registers a test that needs pgvector on a server with several sessions at once. */
export function testWithPgvectorServer(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  testWithPgvector(name, fn, "several sessions at once");
}

/** The URL, for code that runs only inside of a test that needs a server. */
export function requireTestDatabaseUrl(): string {
  const url = vectorDatabases.areUsed ? vectorDatabases.url : testDatabaseUrl;
  if (url === undefined) throw new Error("TEST_DATABASE_URL is not set");
  return url;
}

async function control(url: string, method: "PUT" | "DELETE"): Promise<void> {
  const response = await fetch(url, { method });
  if (!response.ok) throw new Error(`${method} ${url}: ${await response.text()}`);
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

/** The rows of what the driver resolves with. */
export function rowsOf(result: unknown): unknown[][] {
  if (typeof result !== "object" || result === null || !("rows" in result)) return [];
  return Array.isArray(result.rows) ? result.rows : [];
}
