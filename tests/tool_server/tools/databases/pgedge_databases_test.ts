import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { Principal } from "../../../../src/core/principal.ts";
import type { Database } from "../../../../src/postgres/database.ts";
import {
  databaseMethods,
  listDatabaseConnections,
  selectDatabaseConnection,
} from "../../../../src/tool_server/tools/databases/pgedge_databases.ts";
import {
  addressOf,
  createDatabaseDirectory,
} from "../../../../src/tool_server/tools/databases/database_directory.ts";
import { createRegistry } from "../../../../src/tool_server/tools/registry.ts";
import { databaseOptions } from "../../../support/database_options.ts";
import { serveMcp } from "../../../support/mcp_endpoint.ts";
import { callTool } from "../../../support/tool_fixture.ts";
import { listDatabases } from "../../../../src/tool_server/tools/databases/database_tools.ts";

const unused = () => Promise.reject(new Error("no statement is run here"));
const database = (name: string, ping: Database["ping"] = () => Promise.resolve()): Database => ({
  name,
  statementTimeoutMs: 30_000,
  rightsKey: () => "",
  checkCaller: () => {},
  read: unused,
  ping,
  hosts: () => [],
  tryIndexes: unused,
  warnings: unused,
  onceReached: unused,
});

const options = databaseOptions("postgres://reader:secret@db.example:5433/main");
const setUp = () =>
  createDatabaseDirectory([
    { kind: "database", name: "open", database: database("open"), address: addressOf(options) },
    {
      kind: "database",
      name: "team",
      available_to_users: ["alice"],
      database: database("team", () => Promise.reject(new Error("down"))),
      address: addressOf({
        ...options,
        hosts: [{ host: "a.example", port: 5432 }, { host: "b.example", port: 5434 }],
        targetSessionAttrs: "prefer-standby",
      }),
    },
  ]);
const token: Principal = { kind: "token", id: "t1" };
const alice: Principal = { kind: "session", id: "s1", username: "alice" };

Deno.test("list_database_connections answers as pgEdge's clients know it", async () => {
  const tool = listDatabaseConnections({ directory: setUp() });
  assert.equal(tool.hidden, true);
  const { text, data } = await callTool(tool, {}, alice);
  assert.deepEqual(data, {
    databases: [
      {
        name: "open",
        host: "db.example",
        port: 5433,
        database: "main",
        allow_writes: false,
        status: "connected",
      },
      {
        name: "team",
        host: "a.example",
        port: 5432,
        hosts: [{ host: "a.example", port: 5432 }, { host: "b.example", port: 5434 }],
        target_session_attrs: "prefer-standby",
        database: "main",
        allow_writes: false,
        status: "unavailable",
      },
    ],
    current: "open",
  });
  assert.deepEqual(JSON.parse(text), data);
  assert.doesNotMatch(text, /secret/);
  const others = await callTool(tool, {}, token);
  assert.doesNotMatch(others.text, /team|a\.example/);
});

Deno.test("select_database_connection makes a database the current one of all tools", async () => {
  const directory = setUp();
  const tool = selectDatabaseConnection({ directory });
  const { text, data } = await callTool(tool, { name: "team" }, alice);
  assert.equal(data["success"], true);
  assert.equal(data["message"], "Switched to database: team");
  assert.deepEqual(JSON.parse(text), data);
  assert.equal((await callTool(listDatabases({ directory }), {}, alice)).data["current"], "team");
  for (const name of ["team", "nope"]) {
    await assert.rejects(callTool(tool, { name }, token), {
      message: `Cannot use database "${name}": no database of that name is available to you; ` +
        "list_databases shows the available ones",
    });
  }
});

Deno.test("pgEdge's methods are for those who may call the tools", async () => {
  const methods = databaseMethods(setUp());
  const bound = (scopes: string[]): Principal => ({ kind: "session", id: "s", username: "alice", scopes });
  const token = (tools: string[]): Principal => ({ kind: "token", id: "t", limits: { tools } });
  for (const principal of [bound(["docs:ask"]), bound(["tool:query_database"]), token(["query_database"])]) {
    assert.throws(() => methods.listDatabases(principal), { code: "forbidden" });
    await assert.rejects(methods.selectDatabase({ name: "open" }, principal), { code: "forbidden" });
  }
  for (
    const principal of [bound(["db:read"]), token(["list_databases"]), token(["list_database_connections"])]
  ) {
    assert.ok(methods.listDatabases(principal).databases.length > 0);
  }
});

Deno.test("pgedge/listDatabases and pgedge/selectDatabase answer over both transports", async (t) => {
  const directory = setUp();
  await using served = serveMcp({
    registry: createRegistry({ tools: [listDatabases({ directory })] }),
    databaseChoice: databaseMethods(directory),
  });
  const request = async (method: string, params?: unknown) => {
    const response = await fetch(served.url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, ...(params !== undefined && { params }) }),
    });
    return await response.json();
  };
  const shared = { database: "main", user: "reader", sslmode: "disable", allow_writes: false };
  const listed = (current: string) => ({
    databases: [
      { name: "open", host: "db.example", port: 5433, ...shared },
      { name: "team", host: "a.example", port: 5432, ...shared },
    ],
    current,
  });

  await t.step("bare JSON-RPC", async () => {
    assert.deepEqual((await request("pgedge/listDatabases")).result, listed("open"));
    assert.deepEqual((await request("pgedge/selectDatabase", { name: "team" })).result, {
      success: true,
      current: "team",
      message: "Switched to database: team",
    });
    assert.deepEqual((await request("pgedge/listDatabases", {})).result, listed("team"));
    assert.deepEqual((await request("pgedge/selectDatabase", { name: "nope" })).result, {
      success: false,
      error:
        'Cannot use database "nope": no database of that name is available to you; list_databases shows ' +
        "the available ones",
    });
    const { error } = await request("pgedge/selectDatabase");
    assert.deepEqual([error.code, error.message], [
      -32602,
      "Cannot select a database: params.name must be a string",
    ]);
  });

  await t.step("Streamable HTTP", async () => {
    const client = new Client({ name: "test", version: "1" });
    await client.connect(new StreamableHTTPClientTransport(new URL(served.url)));
    const anything = z.looseObject({});
    const selected = await client.request(
      { method: "pgedge/selectDatabase", params: { name: "open" } },
      anything,
    );
    assert.deepEqual([selected["success"], selected["current"]], [true, "open"]);
    const { databases, current } = await client.request({ method: "pgedge/listDatabases" }, anything);
    assert.deepEqual({ databases, current }, listed("open"));
    await client.close();
  });

  await t.step("instructions ask for the database where there are several", async () => {
    const { result } = await request("initialize", { protocolVersion: "2025-06-18" });
    assert.equal(
      result.instructions,
      "Read-only access to PostgreSQL databases. Call list_databases to see which you may use. " +
        "Name `database` in each call. Nothing can be written.",
    );
  });
});
