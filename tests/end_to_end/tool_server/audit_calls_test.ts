import assert from "node:assert/strict";
import { join } from "node:path";
import { assertHas } from "../../support/assert_has.ts";
import { type ConfigFolder, databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { overEachTransport, type PostedCall } from "../../support/each_transport.ts";
import { scrape } from "../../support/scrape.ts";
import { command, runProgram } from "../../support/server_process.ts";
import type { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

const definitions = `
resources:
  - { uri: "custom://seven", name: Seven, type: sql, sql: "SELECT 7 AS seven" }
tools:
  - name: passport
    description: The passport of this number.
    type: sql
    sql: "SELECT $1 AS id, $2 AS uri"
    input_schema: { type: object, properties: { id: { type: string }, uri: { type: string } } }
`;

/** Each way to be shown data or to be refused, and the line that it leaves. */
const asked: readonly (readonly [method: string, params: Record<string, unknown>, line: unknown])[] = [
  ["tools/call", { name: "query_database", arguments: { query: "SELECT 7" } }, {
    event: "tool_call",
    outcome: "ok",
    tool: "query_database",
    rows: 1,
  }],
  ["tools/call", { name: "query_database", arguments: { query: 7 } }, {
    event: "tool_call",
    outcome: "refused",
    tool: "query_database",
    reason: "invalid",
  }],
  ["tools/call", { name: "no_such_tool", arguments: {} }, {
    event: "tool_call",
    outcome: "refused",
    tool: "no_such_tool",
    reason: "invalid",
  }],
  ["tools/call", { name: "read_resource", arguments: { uri: "custom://seven" } }, {
    event: "tool_call",
    outcome: "ok",
    tool: "read_resource",
    resource: "custom://seven",
  }],
  // no address, whatever its arguments are called
  ["tools/call", { name: "passport", arguments: { id: "C01X00T47", uri: "private" } }, {
    event: "tool_call",
    outcome: "ok",
    tool: "passport",
    rows: 1,
  }],
  ["resources/read", { uri: "custom://seven" }, {
    event: "call",
    outcome: "ok",
    method: "resources/read",
    resource: "custom://seven",
  }],
  ["resources/read", { uri: "custom://none" }, {
    event: "call",
    outcome: "refused",
    method: "resources/read",
    resource: "custom://none",
    reason: "not_found",
  }],
  ["prompts/get", { name: "explore-database" }, {
    event: "call",
    outcome: "ok",
    method: "prompts/get",
    prompt: "explore-database",
  }],
  ["prompts/get", { name: "no-such-prompt" }, {
    event: "call",
    outcome: "refused",
    method: "prompts/get",
    prompt: "no-such-prompt",
    reason: "invalid",
  }],
  ["completion/complete", {
    ref: { type: "ref/prompt", name: "design-schema" },
    argument: { name: "no_such", value: "secret" },
  }, {
    event: "call",
    outcome: "refused",
    method: "completion/complete",
    prompt: "design-schema",
    reason: "invalid",
  }],
  ["pgedge/listDatabases", {}, { event: "call", outcome: "ok", method: "pgedge/listDatabases" }],
  ["pgedge/selectDatabase", { name: "no_such" }, {
    event: "call",
    outcome: "refused",
    method: "pgedge/selectDatabase",
  }],
  // a list shows no data
  ["tools/list", {}, undefined],
  ["resources/list", {}, undefined],
];

const fields = ["event", "outcome", "tool", "method", "resource", "prompt", "rows", "reason"];

async function linesIn({ path }: ConfigFolder): Promise<Record<string, unknown>[]> {
  const text = await Deno.readTextFile(join(path, "audit.jsonl"));
  return text.split("\n").slice(0, -1).map((line) => JSON.parse(line));
}

async function shownIn(folder: ConfigFolder, from: number): Promise<unknown[]> {
  const lines = (await linesIn(folder)).slice(from);
  return lines.map((line) =>
    Object.fromEntries(fields.flatMap((name) => line[name] === undefined ? [] : [[name, line[name]]]))
  );
}

function post({ post }: ReturnType<typeof createToolClient>, { body, headers }: PostedCall) {
  return post(JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }), { headers });
}

/** Sends each message over standard input once the one before is answered. */
async function askOverStdio(folder: ConfigFolder): Promise<void> {
  const child = command(["-config", folder.configFile], { stdin: "piped", stdout: "piped", stderr: "null" })
    .spawn();
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  async function ask(message: Readonly<Record<string, unknown>>, isAnswered = true): Promise<void> {
    await writer.write(new TextEncoder().encode(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
    while (isAnswered && !text.includes("\n")) {
      const { value, done } = await reader.read();
      assert.ok(!done, "the program has ended");
      text += value;
    }
    text = "";
  }
  const clientInfo = { name: "test", version: "1" };
  await ask({
    id: 0,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo },
  });
  await ask({ method: "notifications/initialized" }, false);
  for (const [id, [method, params]] of asked.entries()) await ask({ id: id + 1, method, params });
  // no time to write anything more
  child.kill("SIGKILL");
  await child.status;
  await reader.cancel();
  await writer.close().catch(() => {});
}

testWithPostgres(
  "whatever shows data or is refused has its line, whichever way it is asked for",
  async (t) => {
    await using database = await createTestDatabase();
    await using running = await startConfiguredServer(
      `audit: { file: audit.jsonl }\ncustom_definitions_path: own.yaml\n` +
        `databases: [${databaseEntry("main", database.name)}]`,
    );
    const { client, folder, server } = running;
    await Deno.writeTextFile(join(folder.path, "own.yaml"), definitions);
    await waitUntil("the resource is offered", async () => {
      const { result } = await client.request("resources/list", {});
      return JSON.stringify(result).includes("custom://seven");
    });
    const expected = asked.flatMap(([, , line]) => line ?? []);
    let before = 0;
    for (const transport of ["bare JSON-RPC", "an event stream", "an envelope of its own"]) {
      await t.step(`as ${transport}`, async () => {
        for (const [method, params] of asked) {
          const response = await post(
            client,
            overEachTransport({ method, params })[transport] ?? assert.fail(),
          );
          await response.text();
        }
        assert.deepEqual(await shownIn(folder, before), expected);
        before += expected.length;
      });
    }
    await t.step("in a batch", async () => {
      const batch = asked.map(([method, params], id) => ({ jsonrpc: "2.0", id, method, params }));
      await (await client.post(JSON.stringify(batch))).text();
      const shown = (await shownIn(folder, before)).map((line) => JSON.stringify(line)).toSorted();
      assert.deepEqual(shown, expected.map((line) => JSON.stringify(line)).toSorted());
      before += expected.length;
    });
    await t.step("over stdio, by another process", async () => {
      await askOverStdio(folder);
      assert.deepEqual(await shownIn(folder, before), expected);
      before += expected.length;
    });
    await server.kill("SIGKILL");
    const lines = await linesIn(folder);
    assert.equal(lines.length, before);
    assertHas(lines[0], { address: "127.0.0.1" });
    assert.doesNotMatch(JSON.stringify(lines), /secret/);
    const verified = await runProgram(["-verify-audit", join(folder.path, "audit.jsonl")]);
    assert.equal(verified.code, 0, verified.stderr);
  },
);

for (const required of [false, true]) {
  testWithPostgres(`SIGKILL loses no answered call, required: ${required}`, async () => {
    await using database = await createTestDatabase();
    await using running = await startConfiguredServer(
      `audit: { file: audit.jsonl, required: ${required} }\n` +
        `databases: [${databaseEntry("main", database.name)}]`,
    );
    const { client, folder, server } = running;
    let answered = 0;
    const params = { name: "query_database", arguments: { query: "SELECT 7" } };
    const posts = Object.values(overEachTransport({ method: "tools/call", params }));
    await Promise.all(posts.flatMap((call) =>
      [1, 2, 3, 4].map(async () => {
        for (let round = 0; round < 8; round++) {
          const text = await (await post(client, call)).text();
          assert.match(text, /"row_count":1/);
          answered++;
        }
      })
    ));
    await server.kill("SIGKILL");
    assert.equal(answered, 96);
    assert.equal((await linesIn(folder)).length, answered);
    const verified = await runProgram(["-verify-audit", join(folder.path, "audit.jsonl")]);
    assert.equal(verified.code, 0, verified.stderr);
  });
}

Deno.test("while another process holds the head, lines wait; with required, calls are refused with 503", async (t) => {
  for (const required of [false, true]) {
    await t.step(`required: ${required}`, async () => {
      await using running = await startConfiguredServer(
        `audit: { file: audit.jsonl, required: ${required} }\nmetrics: { address: "127.0.0.1:0" }\ndatabases: []`,
      );
      const { client, folder, server } = running;
      const calls = Object.entries({
        ...overEachTransport({ method: "tools/call", params: { name: "list_databases", arguments: {} } }),
        "a resource": { body: { method: "resources/read", params: { uri: "pg://none" } }, headers: {} },
      });
      {
        using head = await Deno.open(join(folder.path, "audit.jsonl.head"), { read: true, write: true });
        await head.lock(true);
        for (const [name, call] of calls) {
          const response = await post(client, call);
          const text = await response.text();
          assert.equal(response.status, required ? 503 : 200, `${name}: ${text}`);
          if (!required) continue;
          assert.equal(response.headers.get("retry-after"), "1", name);
          assert.equal(JSON.parse(text).error.code, -32004, name);
        }
        assert.deepEqual(await linesIn(folder), []);
        assert.match(
          server.stderr(),
          required
            ? /Cannot lock .*audit\.jsonl\.head: another process holds it; calls are refused waiting=1/
            : /Cannot lock .*audit\.jsonl\.head: another process holds it; audit events wait in memory waiting=1/,
        );
        const { value } = await scrape(server);
        assert.equal(value("postern_audit_waiting_lines"), required ? 1 : calls.length);
      }
      await waitUntil("lines can be written again", async () => {
        const { value } = await scrape(server);
        return value("postern_audit_waiting_lines") === 0;
      });
      await client.call("list_databases", {});
      // of the refused ones the first alone had begun, and found out
      assert.equal((await linesIn(folder)).length, required ? 2 : calls.length + 1);
      const { value } = await scrape(server);
      assert.equal(value("postern_audit_lines_total", { outcome: "lost" }), 0);
      assert.equal(
        value("postern_audit_lines_total", { outcome: "written" }),
        required ? 2 : calls.length + 1,
      );
    });
  }
});
