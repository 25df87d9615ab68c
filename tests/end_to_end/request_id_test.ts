import assert from "node:assert/strict";
import { createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";

const made = /^[0-9a-f]{8}-[0-9a-z]+$/;

Deno.test("every reply of both servers names its request", async (t) => {
  await using folder = await createConfigFolder(
    "databases: []\nhttp: { allowed_origins: [https://chat.example] }\n" +
      "server: { listen_address: 127.0.0.1, port: 0, cors: { enabled: true, allowed_origins: [https://chat.example] } }\n",
  );
  await folder.addToken();
  await using server = await startServer(
    ["-http", "-rag", "-addr", "127.0.0.1:0", "-config", folder.configFile],
  );
  const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
  await waitUntil("both listen", () => urls().length === 2);
  const paths = ["/health", "/ready", "/mcp/v1", "/v1/live", "/v1/health", "/v1/pipelines/none", "/nowhere"];
  const seen = new Set<string>();
  for (const url of urls()) {
    for (const path of paths) {
      for (const method of ["GET", "HEAD", "POST", "DELETE", "OPTIONS"]) {
        for (const headers of [{}, { origin: "https://evil.example" }, { "x-request-id": "a b" }]) {
          const response = await fetch(url + path, { method, headers });
          await response.body?.cancel();
          const id = response.headers.get("x-request-id") ?? "";
          assert.match(id, made, `${method} ${path}: ${response.status}`);
          assert.ok(!seen.has(id));
          seen.add(id);
        }
      }
    }
  }

  await t.step("by the client's id where that is short and plain, and no secret", async () => {
    const taken = [
      "a",
      "0f8fad5b-d9cb-469f-a165-70867728950e",
      "Root=1-67891233-abcdef012345678912345678",
      "x".repeat(128),
    ];
    const refused = [
      "x".repeat(129),
      "a b",
      'a"b',
      "ä",
      "",
      "pst_0123456789012345678901234567890123456789012",
    ];
    for (const url of urls()) {
      for (const given of [...taken, ...refused]) {
        const headers = new Headers({ "x-request-id": encodeLatin(given) });
        const response = await fetch(`${url}/nowhere`, { headers });
        await response.body?.cancel();
        const id = response.headers.get("x-request-id") ?? "";
        if (taken.includes(given)) assert.equal(id, given);
        else assert.match(id, made, given);
      }
    }
  });
});

function encodeLatin(text: string): string {
  return text.replace("ä", "\xe4");
}

for (const format of ["json", "text"] as const) {
  testWithPostgres(
    `log.access: a line of ${format} for each request, and the same id in log and audit trail`,
    async () => {
      await using database = await createTestDatabase();
      await using folder = await createConfigFolder(
        `databases: [${databaseEntry("main", database.name)}]\n` +
          `log: { access: true, format: ${format}, level: info }\naudit: { file: audit.jsonl }\n`,
      );
      const { token, id: tokenId } = await folder.addToken();
      const user = ["-username", "alice", "-password", "correct horse battery"];
      assert.equal((await runProgram(["-config", folder.configFile, "-add-user", ...user])).code, 0);
      await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
      const call = (id: string, name: string, args: unknown, headers: Record<string, string> = {}) =>
        fetch(`${server.url}/mcp/v1?secret=${token}`, {
          method: "POST",
          headers: { "content-type": "application/json", "x-request-id": id, ...headers },
          body: JSON.stringify({
            jsonrpc: "2.0",
            id: 1,
            method: "tools/call",
            params: { name, arguments: args },
          }),
        });
      const bearer = { authorization: `Bearer ${token}` };
      const lengths: number[] = [];
      const read = async (response: Response) => void lengths.push((await response.arrayBuffer()).byteLength);
      await read(await call("first", "query_database", { query: "SELECT 'é'" }, bearer));
      await read(await call("second", "query_database", { query: "SELECT nothing_like_it" }, bearer));
      const streaming = { ...bearer, accept: "application/json, text/event-stream" };
      await read(await call("third", "query_database", { query: "SELECT 1" }, streaming));
      await read(await call("fourth", "query_database", { query: "SELECT 1" }));
      await read(
        await call("fifth", "authenticate_user", { username: "alice", password: "correct horse battery" }),
      );
      await read(await fetch(`${server.url}/secret-path/${token}`, { headers: { "x-request-id": "sixth" } }));
      const health = await fetch(`${server.url}/health`, {
        method: "HEAD",
        headers: { "x-request-id": "seventh" },
      });
      await health.body?.cancel();
      assert.equal(await server.stop(), 0);

      const lines = server.stderr().split("\n").filter((line) => line.includes("Request answered"));
      const fields = (line = "") =>
        format === "json" ? JSON.parse(line) : Object.fromEntries(
          [...line.matchAll(/ (\w+)=("[^"]*"|\S+)/g)].map(([, name, value]) => [name, value]),
        );
      const told = lines.map((line) => {
        const { method, route, status, bytes, principal, request } = fields(line);
        return [request, method, route, Number(status), Number(bytes), principal];
      });
      const mine = `token:${tokenId}`;
      assert.deepEqual(told.slice(0, 6), [
        ["first", "POST", "/mcp/v1", 200, lengths[0], mine],
        ["second", "POST", "/mcp/v1", 200, lengths[1], mine],
        ["third", "POST", "/mcp/v1", 200, lengths[2], mine],
        ["fourth", "POST", "/mcp/v1", 401, lengths[3], undefined],
        ["fifth", "POST", "/mcp/v1", 200, lengths[4], undefined],
        ["sixth", "GET", "other", 404, lengths[5], undefined],
      ]);
      assert.deepEqual(told[6]?.slice(0, 4), ["seventh", "HEAD", "/health", 200]);
      assert.equal(lines.length, 7);
      assert.ok(!server.stderr().includes(token));
      assert.match(
        server.stderr(),
        format === "json" ? /statement failed","request":"second"/ : /statement failed request=second/,
      );
      const audit = (await Deno.readTextFile(`${folder.path}/audit.jsonl`)).trim().split("\n").map((line) =>
        JSON.parse(line)
      );
      const inTrail = audit.filter(({ event }) => event === "tool_call" || event === "login");
      assert.deepEqual(inTrail.map(({ event, request }) => [event, request]), [
        ["tool_call", "first"],
        ["tool_call", "second"],
        ["tool_call", "third"],
        ["login", "fifth"],
      ]);
    },
  );
}
