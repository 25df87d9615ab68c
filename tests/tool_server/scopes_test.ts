import assert from "node:assert/strict";
import { createSharedDeadline } from "../../src/core/async/deadline.ts";
import { silentLogger } from "../../src/core/logger.ts";
import type { Principal } from "../../src/core/principal.ts";
import { createEndpoint } from "../../src/tool_server/endpoint.ts";
import { recordCalls } from "../support/recorded_calls.ts";
import { createPromptRegistry } from "../../src/tool_server/prompts/prompt_registry.ts";
import { createResourceRegistry } from "../../src/tool_server/resources/resource_registry.ts";
import { createStreamableHttp } from "../../src/tool_server/mcp/streamable_http.ts";
import { createDatabaseDirectory } from "../../src/tool_server/tools/databases/database_directory.ts";
import { behindFront } from "../support/front.ts";
import { createRegistry } from "../../src/tool_server/tools/registry.ts";
import { listDatabases } from "../../src/tool_server/tools/databases/database_tools.ts";
import { logout } from "../../src/tool_server/tools/caller_tools.ts";

const issuer = "https://idp.example.com";
const alice = (...scopes: string[]): Principal => ({
  kind: "issuer",
  issuer,
  subject: "a",
  groups: [],
  scopes,
});
/** With a token of the built-in authorization server. */
const ownAlice = (...scopes: string[]): Principal => ({
  kind: "session",
  id: "s1",
  username: "alice",
  scopes,
});
const token: Principal = { kind: "token", id: "t1" };

/** An endpoint that takes whoever calls for `principal`, and what its registry was told of. */
function setUp(principal: Principal, requiredScopes: readonly string[] = []) {
  const { calls, counted: ended } = recordCalls();
  const served = {
    registry: createRegistry({
      tools: [
        listDatabases({ directory: createDatabaseDirectory([]) }),
        logout({ endSession: () => Promise.resolve() }),
      ],
      scopesByTool: { list_databases: ["read", "list"] },
    }),
    resources: createResourceRegistry(),
    prompts: createPromptRegistry(),
    calls,
    serverInfo: { name: "postern", title: "Postern", version: "1" },
    logger: silentLogger,
  };
  const streamableHttp = createStreamableHttp(served);
  const bodyTimeout = createSharedDeadline(10_000);
  const authentication = {
    authenticator: { authenticate: () => Promise.resolve(principal) },
    requiredScopes,
  };
  const endpoint = createEndpoint({
    ...served,
    authentication,
    streamableHttp,
    bodyTimeout,
    readiness: () => Promise.resolve({ status: "ready", databases: [], providers: [] }),
  });
  const fetch = behindFront({ served: endpoint, authentication });
  async function post(message: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(
      new Request("http://localhost/mcp/v1", {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(message),
      }),
    );
    const text = await response.text();
    const json = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text);
    return { status: response.status, challenge: response.headers.get("www-authenticate"), json };
  }
  return {
    post,
    ended,
    async [Symbol.asyncDispose]() {
      bodyTimeout.close();
      await streamableHttp.close();
    },
  };
}

const request = (method: string, params = {}) => ({ jsonrpc: "2.0", id: 1, method, params });
const call = (name: string) => request("tools/call", { name, arguments: {} });
const challenge = 'Bearer error="insufficient_scope", scope="read list"';

for (
  const [transport, headers] of [
    ["bare JSON-RPC", {}],
    ["Streamable HTTP", { accept: "application/json, text/event-stream" }],
  ] as const
) {
  Deno.test(`${transport}: a call without the tool's scopes is answered with 403 that names them`, async () => {
    await using endpoint = setUp(alice("read"));
    const refused = await endpoint.post(call("list_databases"), headers);
    assert.deepEqual([refused.status, refused.challenge], [403, challenge]);
    assert.deepEqual(refused.json.error, {
      code: -32009,
      message: 'Cannot call tool "list_databases": the access token does not have the scope list',
      data: { scopes: ["read", "list"] },
    });
    assert.deepEqual(endpoint.ended, ["list_databases forbidden"]);
    // a client asks for the scope once it knows of the tool
    const { json } = await endpoint.post(request("tools/list"), headers);
    assert.deepEqual(json.result.tools.map(({ name }: { name: string }) => name), ["list_databases"]);
    assert.equal((await endpoint.post(call("logout"), headers)).status, 200);
  });

  Deno.test(`${transport}: a call with the tool's scopes runs, and one of a caller without scopes`, async () => {
    for (const principal of [alice("list", "read"), token]) {
      await using endpoint = setUp(principal);
      const { status, json } = await endpoint.post(call("list_databases"), headers);
      assert.deepEqual([status, json.result.isError], [200, undefined]);
    }
  });
}

Deno.test("a token of Postern's own needs Postern's scopes, and not those that an issuer's needs", async () => {
  await using endpoint = setUp(ownAlice("docs:ask", "tool:query_database"), ["postern"]);
  const refused = await endpoint.post(call("list_databases"));
  assert.deepEqual([refused.status, refused.challenge], [
    403,
    'Bearer error="insufficient_scope", scope="docs:ask tool:query_database db:read"',
  ]);
  assert.match(refused.json.error.message, /the access token does not have the scope db:read$/);
  assert.equal((await endpoint.post(call("logout"))).status, 200);
  for (const scope of ["db:read", "tool:list_databases"]) {
    await using other = setUp(ownAlice(scope), ["postern"]);
    assert.equal((await other.post(call("list_databases"))).status, 200, scope);
  }
});

Deno.test("in a batch the call alone is refused", async () => {
  await using endpoint = setUp(alice());
  const { status, json } = await endpoint.post([request("ping"), { ...call("list_databases"), id: 2 }]);
  assert.equal(status, 200);
  assert.deepEqual(json[0].result, {});
  assert.equal(json[1].error.code, -32009);
});

Deno.test("a token without the scopes that every request needs is answered with 403", async () => {
  await using endpoint = setUp(alice("read"), ["postern"]);
  const refused = await endpoint.post(request("ping"));
  assert.equal(refused.status, 403);
  assert.equal(refused.challenge, 'Bearer error="insufficient_scope", scope="postern"');
  assert.deepEqual(refused.json, {
    error: "Forbidden",
    message: "the access token does not have the scope postern",
  });
  await using other = setUp(alice("postern"), ["postern"]);
  assert.equal((await other.post(request("ping"))).status, 200);
  await using unbound = setUp(token, ["postern"]);
  assert.equal((await unbound.post(request("ping"))).status, 200);
});
