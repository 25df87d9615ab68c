import { createConfigFolder, databaseEntry } from "../tests/support/configured_server.ts";
import { createTestDatabase, type TestDatabase } from "../tests/support/database.ts";
import { startServer } from "../tests/support/server_process.ts";
import { tokenFileText, tokenOf } from "./credential_texts.ts";
import type { LoadRequest } from "./http_load.ts";
import { itemsTable } from "./items_table.ts";
import { cpuMs, printMachine } from "./measure.ts";

/** Connections of a server to PostgreSQL, for each principal and database. */
export const poolSize = Number(Deno.env.get("POOL_SIZE") ?? 4);

/** A database with what the calls read: 10,000 items of 4 columns, and 1,000 rows of 40 columns of 40 characters. */
export async function createMeasuredDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  const columns = Array.from({ length: 40 }, (_, at) => `lpad(i || '.${at + 1}', 40, '0') AS c${at + 1}`);
  await database.query(`
    ${itemsTable};
    CREATE TABLE wide AS SELECT ${columns.join(", ")} FROM generate_series(1, 1000) i`);
  await database.query("VACUUM ANALYZE");
  const [[version] = []] = await database.query("SELECT split_part(version(), ' ', 2)");
  await printMachine(String(version));
  return database;
}

/** A server under measurement. */
export interface MeasuredServer extends AsyncDisposable {
  /** Of its MCP endpoint. */
  readonly url: string;
  readonly pid: number;
}

interface StartOptions {
  readonly database: TestDatabase;
  /** Under how many names the database is configured: main, main_2 and so on; one where absent. */
  readonly names?: number;
  /** How many tokens there are, of which `tokenOf` tells the texts; one where absent. */
  readonly tokens?: number;
  /** More lines of the configuration. */
  readonly settings?: string;
}

/** The tool server, with its default settings but for the size of pools; `stderr` tells what it has logged. */
export async function startToolServer(
  { database, names = 1, tokens = 1, settings = "" }: StartOptions,
): Promise<MeasuredServer & { stderr(): string }> {
  const entries = Array.from(
    { length: names },
    (_, at) => databaseEntry(databaseName(at), database.name, `pool_max_conns: ${poolSize}`),
  );
  const folder = await createConfigFolder(`databases: [${entries.join(", ")}]\n${settings}`);
  await Deno.writeTextFile(folder.tokenFile, tokenFileText(tokens, "plain"), { mode: 0o600 });
  const server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  return {
    url: `${server.url}/mcp/v1`,
    pid: server.pid,
    stderr: server.stderr,
    async [Symbol.asyncDispose]() {
      await server.kill("SIGKILL");
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The name under which a measured database is configured for the first, second, … time. */
export function databaseName(at: number): string {
  return at === 0 ? "main" : `main_${at + 1}`;
}

/** A call with a token, which `expect` tells the reply of from a refusal. */
export function call(
  method: string,
  params: unknown,
  expect: string,
  token: string = tokenOf(0),
): LoadRequest {
  return {
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    expect,
  };
}

interface QueryOptions {
  /** How many rows are asked for; the tool's default where absent. */
  readonly limit?: number;
  /** The first where absent. */
  readonly database?: string;
  readonly token?: string;
}

/** A call of `query_database`. */
export function query(sql: string, expect: string, { token, ...options }: QueryOptions = {}): LoadRequest {
  return call("tools/call", { name: "query_database", arguments: { query: sql, ...options } }, expect, token);
}

/** An answer of so many rows and columns of 40 characters. */
export function answer(rows: number, width: number): LoadRequest {
  const columns = Array.from({ length: width }, (_, at) => `c${at + 1}`).join(", ");
  return query(`SELECT ${columns} FROM wide LIMIT ${rows}`, `${rows}.${width}`, { limit: rows });
}

export const selectOne = query("SELECT 1", "?column?");

/** The same call as MCP's clients send it: with what they accept, and in 2026-07-28 in an envelope. */
export function asClient(request: LoadRequest, revision: "2025-06-18" | "2026-07-28"): LoadRequest {
  const message = JSON.parse(request.body);
  const headers = {
    ...request.headers,
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": revision,
  };
  if (revision === "2025-06-18") return { ...request, headers };
  const { method, params } = message;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  return {
    ...request,
    headers: { ...headers, "mcp-method": method, ...(params.name && { "mcp-name": params.name }) },
    body: JSON.stringify({ ...message, params: { ...params, _meta } }),
  };
}

/** The calls that are measured beside each other, by name. */
export const kinds: Readonly<Record<string, LoadRequest>> = {
  "tools/list": call("tools/list", {}, "query_database"),
  "SELECT 1": selectOne,
  "a row by key": query("SELECT * FROM items WHERE id = 4711", "item 4711"),
  "100 rows of 4 columns": query("SELECT * FROM items ORDER BY id LIMIT 100", "item 100"),
};

/** Runs `load` and tells what it brought, with the CPU time of the server for each of its calls, in milliseconds. */
export async function withCpu<T extends { readonly count: number }>(
  { pid }: Pick<MeasuredServer, "pid">,
  load: () => Promise<T>,
): Promise<T & { readonly cpuMs: number }> {
  const before = await cpuMs(pid);
  const result = await load();
  return { ...result, cpuMs: (await cpuMs(pid) - before) / result.count };
}
