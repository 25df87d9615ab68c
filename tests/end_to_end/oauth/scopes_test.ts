import assert from "node:assert/strict";
import { password } from "../../support/accounts.ts";
import { createFormBrowser, createOauthClient, startOauthServer } from "../../support/oauth_server.ts";
import { createToolClient } from "../../support/tool_client.ts";

Deno.test("a token of the built-in authorization server is good for its scopes alone", async (t) => {
  await using oauth = await startOauthServer({
    config: "databases: [{ name: main, host: 127.0.0.1, port: 1, database: none }]\n" +
      "console: { administrators: [alice] }",
  });
  const { issuer } = oauth;
  const client = await createOauthClient(issuer);

  async function grantOf(scope: string | undefined) {
    const browser = createFormBrowser(issuer);
    const login = await browser.open(client.authorizeUrl({ scope }));
    const consent = await browser.submit(login, { username: "alice", password, action: "login" });
    const { url } = await browser.submit(consent, { action: "allow" });
    const { body } = await client.exchange(new URL(url).searchParams.get("code") ?? "");
    return { body, consent: consent.html, token: String(body["access_token"]) };
  }
  async function call(token: string, name: string) {
    const params = { name, arguments: {} };
    const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const response = await createToolClient({ url: issuer, token }).post(message);
    await response.body?.cancel();
    return [response.status, response.headers.get("www-authenticate")?.match(/scope="([^"]*)"/)?.[1]];
  }

  await t.step("a 401 and the metadata name what there is to ask for", async () => {
    assert.deepEqual(await call("pst_none", "usage"), [401, "db:read docs:ask"]);
    const metadata = await fetch(`${issuer}/.well-known/oauth-protected-resource/mcp/v1`);
    assert.deepEqual((await metadata.json()).scopes_supported, ["db:read", "docs:ask"]);
  });

  await t.step(
    "with too little, a call is refused with the scopes to ask for, which then suffice",
    async () => {
      const docs = await grantOf("docs:ask openid");
      assert.equal(docs.body["scope"], "docs:ask");
      assert.match(docs.consent, /<code>docs:ask<\/code>: ask for answers from the documents/);
      assert.doesNotMatch(docs.consent, /db:read|mcp/);
      assert.deepEqual(await call(docs.token, "list_databases"), [403, "docs:ask db:read"]);
      const more = await grantOf("docs:ask db:read");
      assert.equal((await call(more.token, "list_databases"))[0], 200);
      assert.deepEqual(await call(docs.token, "list_databases"), [403, "docs:ask db:read"]);
    },
  );

  await t.step("a scope that is written wrongly is good for nothing", async () => {
    const wrong = await grantOf("db:write");
    assert.equal(wrong.body["scope"], "none");
    assert.equal((await call(wrong.token, "list_databases"))[0], 403);
    const { body } = await client.refresh(String(wrong.body["refresh_token"]));
    assert.equal((await call(String(body["access_token"]), "list_databases"))[0], 403);
  });

  await t.step("an administrator's token with less than all sees no calls in the console", async () => {
    const statuses = async (token: string) =>
      await Promise.all(["calls", "calls?of=all", "server", "usage"].map(async (path) => {
        const response = await fetch(`${issuer}/console/${path}`, {
          headers: { authorization: `Bearer ${token}` },
        });
        await response.body?.cancel();
        return response.status;
      }));
    for (const scope of ["docs:ask", "db:write", "db:read", "tool:usage"]) {
      assert.deepEqual(await statuses((await grantOf(scope)).token), [403, 403, 403, 200], scope);
    }
    assert.deepEqual(await statuses((await grantOf(undefined)).token), [200, 200, 200, 200]);
  });

  await t.step("names are completed for tokens that may list them alone", async () => {
    const complete = async (token: string) => {
      const params = {
        ref: { type: "ref/prompt", name: "explore-database" },
        argument: { name: "database", value: "" },
      };
      const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "completion/complete", params });
      const response = await createToolClient({ url: issuer, token }).post(message);
      return (await response.json()).result.completion.values.length;
    };
    const named = async (token: string) => {
      const response = await fetch(`${issuer}/ready`, { headers: { authorization: `Bearer ${token}` } });
      return (await response.json()).databases.filter(({ name }: { name?: string }) => name !== undefined)
        .length;
    };
    for (const [scope, count] of [["docs:ask", 0], ["db:write", 0], ["db:read", 1]] as const) {
      const { token } = await grantOf(scope);
      assert.deepEqual([await complete(token), await named(token)], [count, count], scope);
    }
  });

  await t.step("a tool by its name, also after a refresh and a restart", async () => {
    const one = await grantOf("tool:list_databases");
    assert.match(
      one.consent,
      /<code>tool:list_databases<\/code>: call the tool list_databases, in your name/,
    );
    const { body } = await client.refresh(String(one.body["refresh_token"]));
    assert.equal(body["scope"], "tool:list_databases");
    await oauth.restart();
    for (const token of [one.token, String(body["access_token"])]) {
      assert.equal((await call(token, "list_databases"))[0], 200);
      assert.deepEqual(await call(token, "query_database"), [403, "tool:list_databases db:read"]);
    }
    const wider = await client.token({
      grant_type: "refresh_token",
      refresh_token: String(body["refresh_token"]),
      scope: "db:read mcp",
    });
    assert.equal(wider.body["scope"], "tool:list_databases");
  });

  await t.step("without a scope, or with others' alone, all that the user may do, as before", async () => {
    for (const scope of [undefined, "openid profile", "mcp db:read"]) {
      const { body, token } = await grantOf(scope);
      assert.equal(body["scope"], "mcp");
      assert.equal((await call(token, "list_databases"))[0], 200);
    }
  });
});
