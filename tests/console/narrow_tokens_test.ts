import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { startServer } from "../support/server_process.ts";
import { startTokenIssuer, testAudience, type TokenIssuer } from "../support/token_issuer.ts";

const paths = ["calls", "calls?of=all", "server", "usage"];

/** A server whose console a group looks after, and what the console answers a token with. */
async function start({ issuer }: TokenIssuer, provider: object = {}) {
  const folder = await createConfigFolder(JSON.stringify({
    databases: [],
    console: { administrators: ["group:ops"] },
    http: {
      auth: { identity_provider: { issuer, audience: testAudience, groups_claim: "groups", ...provider } },
    },
  }));
  const limited = await folder.addToken({ limits: { tools: ["list_databases"] } });
  const meant = await folder.addToken({ limits: { tools: ["usage"] } });
  const server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  return {
    limited: limited.token,
    meant: meant.token,
    statuses: (token: string) =>
      Promise.all(paths.map(async (path) => {
        const headers = { authorization: `Bearer ${token}` };
        const response = await fetch(`${server.url}/console/${path}`, { headers });
        await response.body?.cancel();
        return response.status;
      })),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

Deno.test("an administrator by an issuer's token with less than all scopes is none in the console", async (t) => {
  await using issuer = await startTokenIssuer();
  const tokenOf = (scope: string | undefined) => issuer.token({ claims: { groups: ["ops"], scope } });

  await t.step("where the configuration asks for none, as the names of Postern's say", async () => {
    await using server = await start(issuer);
    for (const scope of ["docs:ask", "openid db:read", "tool:usage", "db:write"]) {
      assert.deepEqual(await server.statuses(await tokenOf(scope)), [403, 403, 403, 200], scope);
    }
    for (const scope of [undefined, "openid profile", "mcp docs:ask"]) {
      assert.deepEqual(
        await server.statuses(await tokenOf(scope)),
        [200, 200, 200, 200],
        scope ?? "no scope",
      );
    }
    // an API token sees its own calls, and its use where it may call the tool that tells it
    assert.deepEqual(await server.statuses(server.limited), [200, 403, 403, 403]);
    assert.deepEqual(await server.statuses(server.meant), [200, 403, 403, 200]);
  });

  await t.step("with all that it asks for, of every tool, it is one", async () => {
    await using server = await start(issuer, {
      required_scopes: ["db:read"],
      scopes_by_tool: { execute_explain: ["db:plan"], usage: ["use"] },
    });
    assert.deepEqual(await server.statuses(await tokenOf("db:read use")), [403, 403, 403, 200]);
    assert.deepEqual(await server.statuses(await tokenOf("db:read db:plan")), [403, 403, 403, 403]);
    assert.deepEqual(await server.statuses(await tokenOf("db:read db:plan use")), [200, 200, 200, 200]);
  });
});
