import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { administer, logIn, password } from "../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { command, startServer } from "../support/server_process.ts";
import { type Exchange, recordExchange } from "./record_exchange.ts";
import {
  assertLinesSnapshot,
  assertSnapshot,
  mask,
  requestIdMask,
  timeMask,
  withoutProse,
} from "./snapshot.ts";

const tables = `
  CREATE TABLE customers (id int PRIMARY KEY, name text NOT NULL UNIQUE, city varchar(40) DEFAULT 'Graz');
  COMMENT ON TABLE customers IS 'Who buys';
  CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id int REFERENCES customers, total numeric(10,2), placed date);
  CREATE VIEW large_orders AS SELECT id, total FROM orders WHERE total > 100;
  INSERT INTO customers VALUES (1, 'Ada', 'Graz'), (2, 'Bo', NULL), (3, E'Cy\\tD', 'Linz');
  INSERT INTO orders (customer_id, total, placed) VALUES (1, 20.50, '2026-01-02'), (3, 120, '2026-01-03');
  ANALYZE`;

const calls: readonly (readonly [tool: string, args: unknown])[] = [
  ["list_databases", {}],
  ["select_database", { name: "spare" }],
  ["select_database", { name: "none" }],
  ["select_database", { name: "shop" }],
  ["get_schema_info", {}],
  ["get_schema_info", { schema_name: "public", table_name: "customers" }],
  ["get_schema_info", { compact: true }],
  ["get_schema_info", { vector_tables_only: true }],
  ["query_database", { query: "SELECT id, name, city FROM customers ORDER BY id", limit: 2 }],
  ["query_database", { query: "SELECT id, name, city FROM customers ORDER BY id", limit: 2, offset: 2 }],
  ["query_database", {
    query: "SELECT 1::bigint, 1.50, true, NULL, '[1]'::jsonb, ARRAY[1, 2], now() - now()",
  }],
  ["query_database", { query: "How many customers are there?" }],
  ["query_database", { query: "SELECT nothing FROM customers" }],
  ["query_database", { query: "SELEC 1" }],
  ["query_database", { query: "DELETE FROM customers" }],
  ["query_database", { query: "SELECT pg_read_file('x')" }],
  ["query_database", { query: "SELECT 1", database: "none" }],
  ["execute_explain", { query: "SELECT id FROM customers", analyze: false }],
  ["execute_explain", { query: "SELECT id FROM customers", analyze: false, format: "json" }],
  ["execute_explain", { query: "DROP TABLE customers" }],
  ["count_rows", { table: "customers" }],
  ["count_rows", { table: "orders", where: "total > 100" }],
  ["count_rows", { table: "none" }],
  ["no_such_tool", {}],
  ["count_rows", { table: 7, more: true }],
];

const request = (method: string, params?: unknown) =>
  JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
const call = (name: string, args: unknown) => request("tools/call", { name, arguments: args });
const mcp = "/mcp/v1";
const version = /(?<="version": ?")[\d.]+(?=")/g;
const eventStream = { accept: "application/json, text/event-stream" };
const initialize = request("initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
});

/** Sent with a token. */
const exchanges: readonly Exchange[] = [
  ...calls.map(([name, args]) => ({ path: mcp, body: call(name, args) })),
  { path: mcp, body: request("ping") },
  { path: mcp, body: request("no/such/method") },
  { path: mcp, body: request("tools/call", { arguments: {} }) },
  { path: mcp, body: '{"jsonrpc":"2.0","method":"notifications/initialized"}' },
  { path: mcp, body: `[${request("ping")},{"jsonrpc":"1.0"}]` },
  { path: mcp, body: "[]" },
  { path: mcp, body: "{" },
  { path: mcp, body: '{"jsonrpc":"2.0","id":1e99,"method":"ping"}' },
  { path: mcp, body: request("ping"), headers: { "content-type": "text/plain" } },
  { path: mcp, body: request("ping"), headers: { origin: "https://evil.example.com" } },
  { path: mcp, body: request("ping"), headers: eventStream },
  {
    path: mcp,
    body: call("list_databases", {}),
    headers: eventStream,
  },
  { path: mcp, body: call("no_such_tool", {}), headers: eventStream },
  { path: mcp, body: "{", headers: eventStream },
  { path: mcp, method: "GET" },
  { path: mcp, method: "DELETE" },
  { path: "/health", method: "GET" },
  { path: "/ready", method: "GET" },
  { path: "/health", method: "PUT" },
  { path: "/nowhere", method: "GET" },
];

testWithPostgres("the tool server, its files and its log", async (t) => {
  await using database = await createTestDatabase();
  await database.query(tables);
  await using folder = await createConfigFolder(`
databases:
  - ${databaseEntry("shop", database.name)}
  - ${databaseEntry("spare", database.name, "available_to_users: [alice]")}
data_dir: data
audit: { file: audit.jsonl }
log: { level: debug, format: json }
`);
  let printed = "";
  const administered = async (...flags: string[]) => {
    const output = await administer(folder, ...flags);
    printed += `$ ${flags.join(" ")}\n${output}\n`;
    return output;
  };
  await administered("-add-user", "-username", "alice", "-password", password, "-user-note", "Buyer");
  const { id, token } = JSON.parse(
    await administered("-add-token", "-token-note", "CI", "-token-database", "shop", "-json"),
  );
  const gone = JSON.parse(await administered("-add-token", "-token-expiry", "30d", "-json"));
  await administered("-list-tokens", "-json");
  await administered("-remove-token", gone.id, "-json");
  await administered("-add-user", "-username", "bob", "-password", password, "-json");
  await administered("-disable-user", "-username", "bob");
  await administered("-list-users", "-json");
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { session } = await logIn(server, "alice");
  const masks = {
    token,
    session: /[A-Za-z0-9+/]{43}=/g,
    uuid: /(?<=session:)[0-9a-f-]{36}/g,
    bcrypt: /(?<=\$2b\$12\$)[./A-Za-z0-9]{53}/g,
    ms: /(?<="elapsed_ms":)[\d.]+/g,
    request: requestIdMask,
    id,
    hash: /\b[0-9a-f]{64}\b/g,
    mark: /(?<=<\/?data-)[0-9a-f]{32}/g,
    version,
    folder: folder.path,
    database: database.name,
    port: /(?<=127\.0\.0\.1:)\d+/g,
    time: timeMask,
  };
  const ofAlice = { authorization: `Bearer ${session.session_token}` };
  const record = async (list: readonly Exchange[], headers: Readonly<Record<string, string>>) => {
    let text = "";
    for (const exchange of list) {
      text += await recordExchange(server.url, { ...exchange, headers: { ...headers, ...exchange.headers } });
    }
    return mask(text, masks).replaceAll(/^> authorization: .*\n/gm, "");
  };

  await t.step("what the administrator's operations print", async () => {
    const others = { gone: gone.token, gone_id: gone.id, prefix: /(?<="hash_prefix": ")\w+/g };
    await assertSnapshot("administration.txt", mask(printed, { ...others, ...masks }));
  });

  await t.step("what is listed", async () => {
    for (const [name, body] of Object.entries({ initialize, tools: request("tools/list") })) {
      const headers = { ...ofAlice, "content-type": "application/json" };
      const response = await fetch(`${server.url}${mcp}`, { method: "POST", headers, body });
      await assertSnapshot(`${name}.json`, mask(withoutProse(await response.text()), { version }));
    }
  });

  await t.step("what is answered", async () => {
    const replies = await record(exchanges, ofAlice);
    // releases of PostgreSQL differ in costs, and in whether they say of a node that it is not disabled
    const plansAlike = replies.replaceAll(/(cost=|Cost\W+)[\d.]+/g, "$1<cost>")
      .replaceAll(/,(\\n +)?\\?"Disabled\\?": ?false/g, "");
    await assertSnapshot("tool_replies.txt", plansAlike);
  });

  await t.step("what is refused", async () => {
    const login = (args: unknown) => call("authenticate_user", args);
    await assertSnapshot(
      "tool_refusals.txt",
      await record([
        { path: mcp, body: login({ username: "alice", password: "wrong" }) },
        { path: mcp, body: login({ username: "bob", password }) },
        { path: mcp, body: login({ username: "alice" }) },
        { path: mcp, body: login({ username: "alice", password }) },
        {
          path: mcp,
          body: call("select_database", { name: "spare" }),
          headers: { authorization: `Bearer ${token}` },
        },
        // one after another: the log counts those of a minute, and logins take long where the machine is busy
        { path: mcp, body: request("ping") },
        { path: mcp, body: request("ping"), headers: { authorization: "Bearer none" } },
        { path: mcp, body: call("logout", {}), headers: ofAlice },
        { path: mcp, body: request("ping"), headers: ofAlice },
      ], {}),
    );
  });

  await t.step("what is answered over standard input and output", async () => {
    const child = command(["-config", folder.configFile], { stdin: "piped", stdout: "piped", stderr: "null" })
      .spawn();
    const writer = child.stdin.getWriter();
    const said = [initialize, request("ping"), call("list_databases", {}), call("no_such_tool", {}), "{"];
    await writer.write(new TextEncoder().encode(said.map((line) => `${line}\n`).join("")));
    await writer.close();
    const { stdout, code } = await child.output();
    const text = mask(new TextDecoder().decode(stdout), { ...masks, prose: /(?<="instructions":")[^"]*/g });
    // replies come as they are ready
    await assertSnapshot("stdio.jsonl", text.trimEnd().split("\n").toSorted().join("\n") + "\n");
    assert.equal(code, 0);
  });

  await t.step("what is logged", async () => {
    assert.equal(await server.stop(), 0);
    await assertLinesSnapshot("tool_server_log.jsonl", mask(server.stderr(), masks));
  });

  await t.step("what is in its files", async () => {
    for (const name of ["tokens.yaml", "users.yaml", "audit.jsonl"]) {
      const text = await Deno.readTextFile(join(folder.path, name));
      await assertSnapshot(name, mask(text, masks));
    }
    await assertSnapshot("files.txt", await listFiles(folder.path));
    const state = new DatabaseSync(join(folder.path, "data/state.sqlite"), { readOnly: true });
    const statements = state.prepare("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name")
      .all();
    const layout = statements.map(({ sql }) => `${String(sql).replaceAll(/\s+/g, " ")};\n`).join("");
    const { user_version } = state.prepare("PRAGMA user_version").get() ?? {};
    await assertSnapshot("state.sql", `${layout}PRAGMA user_version = ${user_version};\n`);
    state.close();
  });
});

/** Mode and path of each file and folder. */
async function listFiles(folder: string, prefix = ""): Promise<string> {
  const entries = await Array.fromAsync(Deno.readDir(join(folder, prefix)));
  const lines = await Promise.all(entries.map(async ({ name, isDirectory }) => {
    const path = `${prefix}${name}${isDirectory ? "/" : ""}`;
    const { mode } = await Deno.stat(join(folder, path));
    const below = isDirectory ? await listFiles(folder, path) : "";
    return `${((mode ?? 0) & 0o777).toString(8)} ${path}\n${below}`;
  }));
  return lines.toSorted((a, b) => a.slice(4) < b.slice(4) ? -1 : 1).join("");
}
