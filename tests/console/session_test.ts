import assert from "node:assert/strict";
import { password, writeUsers } from "../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../support/database.ts";
import { rawExchange } from "../support/network/raw_exchange.ts";
import { startServer } from "../support/server_process.ts";
import { createConsoleClient, fromPage } from "./console_client.ts";

const alice = { username: "alice", password };

testWithPostgres("a session by cookie is its user's, below /console/ and from its page alone", async (t) => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(`
databases: [${databaseEntry("main", database.name)}]
audit: { file: audit.jsonl }
console: { administrators: [alice] }
http: { allowed_hosts: [tools.example.com], auth: { rate_limit_max_attempts: 3 } }
`);
  await writeUsers(folder, ["alice", "bob"]);
  const { token } = await folder.addToken();
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { url } = server;
  const logIn = async (username: string) => {
    const client = createConsoleClient(url);
    assert.equal((await client.post("session", { username, password })).status, 204);
    return client;
  };

  await t.step("who was not let in learns which ways in there are", async () => {
    const { status, headers, json } = await createConsoleClient(url).send("session");
    assert.equal(status, 200);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.deepEqual(json(), {
      server: { name: "postern", version: json().server.version },
      parts: { tools: true, documents: false, model: false },
      login: { oauth: false, accounts: true, tokens: true },
      addresses: {},
    });
  });

  await t.step("a login gives a cookie that no script reads", async () => {
    const { status, headers } = await createConsoleClient(url).post("session", alice);
    assert.equal(status, 204);
    const [line = "", ...others] = headers.getSetCookie();
    assert.match(
      line,
      /^postern_console=[A-Za-z0-9+/]{43}=; Max-Age=86(?:400|399); HttpOnly; SameSite=Strict$/,
    );
    assert.deepEqual(others, ["postern_console_refresh=; Max-Age=0; HttpOnly; SameSite=Strict"]);
    const away = await rawExchange(url, {
      method: "POST",
      path: "/console/session",
      headers: { host: "tools.example.com", ...fromPage },
      body: JSON.stringify(alice),
    });
    assert.match(away.headers.get("set-cookie") ?? "", /; Secure/);
  });

  await t.step("it lets its user in", async () => {
    const [{ send, query }, bob] = [await logIn("alice"), await logIn("bob")];
    assert.deepEqual((await send("session")).json().caller, {
      kind: "session",
      name: "alice",
      isAdministrator: true,
      hasSession: true,
    });
    assert.equal((await bob.send("session")).json().caller.isAdministrator, false);
    assert.equal((await query("SELECT 1")).json().result.structuredContent.row_count, 1);
  });

  await t.step("a header comes before it", async () => {
    const { send } = await logIn("alice");
    const { caller } = (await send("session", { headers: { authorization: `Bearer ${token}` } })).json();
    assert.deepEqual([caller.kind, caller.isAdministrator, caller.hasSession], ["token", false, false]);
    assert.equal(
      (await send("session", { headers: { authorization: "Bearer x" } })).json().caller,
      undefined,
    );
  });

  await t.step("elsewhere it counts for nothing", async () => {
    const { cookies } = await logIn("alice");
    const cookie = `postern_console=${cookies.get("postern_console")}`;
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });
    for (const path of ["/mcp/v1", "/mcp/v1?x=/console/mcp"]) {
      const headers = { cookie, "content-type": "application/json", ...fromPage };
      assert.equal((await rawExchange(url, { method: "POST", path, headers, body })).status, 401, path);
    }
  });

  await t.step("a request of another page that changes something is nobody's", async () => {
    const { send, query, post } = await logIn("alice");
    const host = new URL(url).host;
    for (
      const headers of [
        { "sec-fetch-site": "" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "cross-site", origin: url },
        { "sec-fetch-site": "none" },
      ]
    ) {
      assert.equal((await query("SELECT 1", headers)).status, 401, JSON.stringify(headers));
      for (
        const refused of [
          await send("session", { method: "DELETE", headers }),
          await post("session", alice, headers),
          await send("session/refresh", { method: "POST", headers }),
        ]
      ) {
        assert.equal(refused.status, 403, JSON.stringify(headers));
        assert.match(refused.json().error, /console's own page/);
        assert.deepEqual(refused.headers.getSetCookie(), []);
      }
    }
    // of a browser that says no more
    assert.equal((await query("SELECT 1", { "sec-fetch-site": "", origin: `http://${host}` })).status, 200);
  });

  await t.step("of two cookies with its name, none counts", async () => {
    const [one, other] = (await Promise.all(["alice", "bob"].map(logIn))).map(({ cookies }) =>
      `postern_console=${cookies.get("postern_console")}`
    );
    const statusOf = async (cookie: string) =>
      (await rawExchange(url, { path: "/console/calls", headers: { cookie } })).status;
    assert.equal(await statusOf(`a=b; ${one}; c=d`), 200);
    for (const cookie of [`${one}; ${other}`, `${other}; ${one}`, `postern_console=; ${one}`]) {
      assert.equal(await statusOf(cookie), 401);
    }
  });

  await t.step("a method is refused by what it is, whatever it is called", async () => {
    for (const path of ["session", "server", "mcp", "v1/pipelines"]) {
      for (const method of ["constructor", "toString", "TRACE", "get", "PUT"]) {
        const { status } = await rawExchange(url, { method, path: `/console/${path}` });
        assert.equal(status, path.startsWith("v1") ? 404 : 405, `${method} ${path}`);
      }
    }
    const { headers } = await rawExchange(url, { method: "TRACE", path: "/console/mcp" });
    assert.equal(headers.get("allow")?.trim(), "GET, POST, DELETE");
    assert.doesNotMatch(server.stderr(), /Request failed/);
  });

  await t.step("it ends at once, and its cookie with it", async () => {
    const { send, query, cookies } = await logIn("alice");
    const cookie = `postern_console=${cookies.get("postern_console")}`;
    const { status, headers } = await send("session", { method: "DELETE" });
    assert.equal(status, 204);
    assert.deepEqual(
      headers.getSetCookie().map((line) => line.split(";").slice(0, 2).join()),
      ["postern_console", "postern_console_refresh", "postern_console_login"].map((name) =>
        `${name}=, Max-Age=0`
      ),
    );
    assert.equal(cookies.size, 0);
    assert.equal((await query("SELECT 1", { cookie })).status, 401);
    assert.match(
      await Deno.readTextFile(`${folder.path}/audit.jsonl`),
      /"event":"logout"[^\n]*"user":"alice"/,
    );
    // without a session there is nothing to end
    assert.equal((await send("session", { method: "DELETE" })).status, 204);
  });

  await t.step("without a refresh token there is nothing to renew", async () => {
    const { send } = await logIn("bob");
    const { status, json } = await send("session/refresh", { method: "POST" });
    assert.deepEqual([status, json().error], [401, "Log in again."]);
  });

  await t.step("what is no login is refused", async () => {
    const { post, send } = createConsoleClient(url);
    for (const body of [{}, { username: "alice" }, [alice], "alice", { username: 1, password }]) {
      assert.equal((await post("session", body)).status, 400, JSON.stringify(body));
    }
    const twice = `{"username":"bob","username":"alice","password":"${password}"}`;
    assert.equal((await send("session", { method: "POST", body: twice })).status, 400);
    assert.equal((await send("session", { method: "POST", body: "[".repeat(1_000) })).status, 400);
    const large = JSON.stringify({ ...alice, more: "x".repeat(65_536) });
    assert.equal((await send("session", { method: "POST", body: large })).status, 413);
  });

  await t.step("wrong passwords are refused alike, and count by address", async () => {
    const { post, cookies } = createConsoleClient(url);
    for (const username of ["alice", "nobody", "bob"]) {
      const { status, json } = await post("session", { username, password: "wrong password" });
      assert.deepEqual(
        [status, json().error],
        [401, "User name or password is wrong, or the account is locked."],
      );
    }
    const { status, headers, json } = await post("session", alice);
    assert.equal(status, 429);
    assert.ok(Number(headers.get("retry-after")) > 0);
    assert.match(json().error, /Too many logins/);
    assert.equal(cookies.size, 0);
  });
});

Deno.test("accounts log in only where that is a way in", async () => {
  await using folder = await createConfigFolder("http: { auth: { methods: { password_login: false } } }");
  await writeUsers(folder, ["alice"]);
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { send, post } = createConsoleClient(server.url);
  assert.deepEqual((await send("session")).json().login, { oauth: false, accounts: false, tokens: true });
  assert.equal((await post("session", alice)).status, 404);
});

Deno.test("where nobody is asked, everyone is let in and an administrator", async () => {
  await using server = await startServer(["-http", "-no-auth", "-addr", "127.0.0.1:0"]);
  const { send } = createConsoleClient(server.url);
  const { login, caller } = (await send("session")).json();
  assert.deepEqual(login, { oauth: false, accounts: false, tokens: false });
  assert.deepEqual(caller, { kind: "local", name: "local", isAdministrator: true, hasSession: false });
  assert.deepEqual((await send("calls?of=all")).json(), { calls: [] });
});
