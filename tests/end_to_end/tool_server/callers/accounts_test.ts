import assert from "node:assert/strict";
import { administer, logIn, password, serve, writeUsers } from "../../../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { startServer } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

Deno.test("a user logs in, works, logs out", async (t) => {
  await using folder = await createConfigFolder("databases: []\n");
  await administer(
    folder,
    "-add-user",
    "-username",
    "alice",
    "-password",
    password,
    "-user-note",
    "Developer",
  );
  await using server = await serve(folder);
  const ping = async (token: string) => {
    const response = await createToolClient({ url: server.url, token }).post(
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    );
    await response.body?.cancel();
    return response.status;
  };

  await t.step("the reply is the document's", async () => {
    const before = Date.now();
    const { status, body, session } = await logIn(server, "alice");
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(session), ["success", "session_token", "expires_at", "message"]);
    assert.equal(session.success, true);
    assert.match(session.session_token, /^[A-Za-z0-9+/]{43}=$/);
    assert.match(session.expires_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    const lifetimeMs = Date.parse(session.expires_at) - before;
    assert.ok(Math.abs(lifetimeMs - 24 * 3_600_000) < 60_000);
    assert.deepEqual([body.jsonrpc, body.id, body.result.content[0].type], ["2.0", 1, "text"]);
    assert.equal(await ping(session.session_token), 200);
  });

  await t.step("several sessions are open at once, and logout ends the one that calls it", async () => {
    const [one, other] = [await logIn(server, "alice"), await logIn(server, "alice")];
    const { call } = createToolClient({ url: server.url, token: one.session.session_token });
    assert.equal((await call("logout", {})).isError, false);
    assert.equal(await ping(one.session.session_token), 401);
    assert.equal(await ping(other.session.session_token), 200);
  });

  await t.step("what comes after a logout in its own batch is refused", async () => {
    const { session } = await logIn(server, "alice");
    const { post } = createToolClient({ url: server.url, token: session.session_token });
    const call = (id: number, name: string, args: unknown) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name, arguments: args },
    });
    const response = await post(JSON.stringify([
      call(1, "logout", {}),
      call(2, "query_database", { query: "SELECT 1" }),
    ]));
    const [first, second] = await response.json();
    assert.equal(first.result.isError, undefined);
    assert.match(second.result.content[0].text, /logged out/);
  });

  await t.step("neither tool is listed", async () => {
    const { session } = await logIn(server, "alice");
    const { request } = createToolClient({ url: server.url, token: session.session_token });
    const names = (await request("tools/list", {})).result.tools.map((tool: { name: string }) => tool.name);
    assert.ok(!names.includes("authenticate_user") && !names.includes("logout"));
  });

  await t.step("an expired token in the header does not stand in the way of a login", async () => {
    const { session } = await logIn(server, "alice", password, { authorization: "Bearer expired" });
    assert.equal(await ping(session.session_token), 200);
  });

  await t.step("arguments that are no credentials are named and cost no attempt", async () => {
    const { status, body } = await logIn(server, 7, null);
    assert.deepEqual([status, body.error.code], [200, -32602]);
    assert.match(body.error.message, /username: .*password: /);
  });

  await t.step("the file remembers the login, and no secret", async () => {
    const users = JSON.parse(await administer(folder, "-list-users", "-json"));
    assert.deepEqual(Object.keys(users[0]), [
      "username",
      "annotation",
      "created_at",
      "last_login",
      "enabled",
      "disabled_reason",
      "failed_attempts",
    ]);
    await waitUntil("the login is in the file", async () => {
      const [alice] = JSON.parse(await administer(folder, "-list-users", "-json"));
      return alice.last_login !== null;
    });
    assert.doesNotMatch(server.stderr() + await administer(folder, "-list-users"), /correct horse|\$2/);
  });

  await t.step("disabling ends the sessions, a new password does not", async () => {
    const { session } = await logIn(server, "alice");
    await administer(folder, "-update-user", "-username", "alice", "-password", "another horse battery");
    await waitUntil(
      "the new password counts",
      async () => (await logIn(server, "alice", "another horse battery")).session,
    );
    assert.equal(await ping(session.session_token), 200);
    await administer(folder, "-disable-user", "-username", "alice");
    await waitUntil("the session has ended", async () => await ping(session.session_token) === 401);
    assert.equal(await server.stop(), 0);
  });
});

Deno.test("failed logins cannot be told apart, are limited by address, and lock the account", async (t) => {
  await using folder = await createConfigFolder(`
http:
  auth: { max_failed_attempts_before_lockout: 3, rate_limit_max_attempts: 8 }
  client_ip: { header: X-Forwarded-For, trusted_proxies: [127.0.0.1] }
databases: []
`);
  await writeUsers(folder, ["alice", "bob", "carol"]);
  await administer(folder, "-disable-user", "-username", "carol");
  await using server = await serve(folder);
  const from = (address: string) => ({ "x-forwarded-for": address });

  await t.step("unknown, wrong, disabled: the same body and status, without a result", async () => {
    const replies = [
      await logIn(server, "nobody", password, from("192.0.2.1")),
      await logIn(server, "alice", "wrong password", from("192.0.2.1")),
      await logIn(server, "carol", password, from("192.0.2.1")),
    ];
    for (const { status, body } of replies) {
      assert.equal(status, 200);
      assert.deepEqual(body, {
        jsonrpc: "2.0",
        id: 1,
        error: { code: -32001, message: "Authentication failed" },
      });
    }
  });

  await t.step("the third failure in a row locks the account, in the file too", async () => {
    await logIn(server, "bob", "wrong password", from("192.0.2.2"));
    await logIn(server, "bob", "wrong password", from("192.0.2.2"));
    assert.ok(
      (await logIn(server, "bob", password, from("192.0.2.2"))).session,
      "a success clears the count",
    );
    for (let n = 0; n < 3; n++) await logIn(server, "bob", "wrong password", from("192.0.2.2"));
    assert.equal((await logIn(server, "bob", password, from("192.0.2.2"))).session, undefined);
    await waitUntil("the lock is in the file", async () => {
      const users = JSON.parse(await administer(folder, "-list-users", "-json"));
      const bob = users.find((user: { username: string }) => user.username === "bob");
      return bob.enabled === false && bob.disabled_reason === "lockout" && bob.failed_attempts === 3;
    });
  });

  await t.step("-enable-user ends the lockout while the server runs", async () => {
    await administer(folder, "-enable-user", "-username", "bob");
    await waitUntil(
      "bob is let in",
      async () => (await logIn(server, "bob", password, from("192.0.2.3"))).session,
    );
  });

  await t.step("past the limit an address gets 429 with Retry-After, and others do not", async () => {
    for (let n = 0; n < 8; n++) await logIn(server, "nobody", "x", from("192.0.2.4"));
    const { status, retryAfter, body } = await logIn(server, "alice", password, from("192.0.2.4"));
    assert.deepEqual([status, body.error.code], [429, -32002]);
    assert.ok(Number(retryAfter) > 0 && Number(retryAfter) <= 900);
    const spoofed = await logIn(server, "alice", password, from("198.51.100.7, 192.0.2.4"));
    assert.equal(spoofed.status, 429);
    assert.ok((await logIn(server, "alice", password, from("192.0.2.5"))).session);
  });

  await t.step("a client that goes on sending an expired token does not shut out a login", async () => {
    const stale = createToolClient({ url: server.url, token: "stale" });
    for (let n = 0; n < 20; n++) {
      const response = await stale.post("{}", { headers: from("192.0.2.6") });
      assert.equal(response.status, 401);
      await response.body?.cancel();
    }
    assert.ok((await logIn(server, "alice", password, from("192.0.2.6"))).session);
    assert.match(server.stderr(), /\[AUTH\] Rate limiting enabled/);
  });
});

Deno.test("a session ends at its lifetime, and a lockout outlives a restart", async () => {
  await using folder = await createConfigFolder(
    "http: { auth: { session_lifetime: 2s, max_failed_attempts_before_lockout: 2 } }\ndatabases: []\n",
  );
  await writeUsers(folder, ["alice", "bob"]);
  {
    await using server = await serve(folder);
    const { session } = await logIn(server, "alice");
    const { post } = createToolClient({ url: server.url, token: session.session_token });
    const ping = async () => {
      const response = await post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
      return [response.status, await response.text()] as const;
    };
    assert.equal((await ping())[0], 200);
    await waitUntil("the session has expired", async () => (await ping())[0] === 401);
    assert.equal((await ping())[1], '{"error": "Unauthorized"}');
    assert.ok((await logIn(server, "alice")).session, "the user logs in again");
    for (let n = 0; n < 2; n++) await logIn(server, "bob", "wrong password");
    assert.equal(await server.stop(), 0);
  }
  await using server = await serve(folder);
  assert.equal((await logIn(server, "bob")).session, undefined);
  assert.ok((await logIn(server, "alice")).session);
});

Deno.test("the limit on failed logins comes from the environment where it is set there", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  await writeUsers(folder, ["alice"]);
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile], {
    env: { POSTERN_AUTH_RATE_LIMIT_MAX_ATTEMPTS: "2", POSTERN_AUTH_RATE_LIMIT_WINDOW_MINUTES: "1" },
  });
  for (let n = 0; n < 2; n++) assert.equal((await logIn(server, "nobody")).status, 200);
  const { status, retryAfter } = await logIn(server, "alice");
  assert.equal(status, 429);
  assert.ok(Number(retryAfter) <= 60);
});

testWithPostgres("without authentication every database is open", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(
    `databases: [${databaseEntry("one", database.name, "available_to_users: [alice]")}]`,
  );
  await using server = await startServer([
    ...["-http", "-no-auth", "-addr", "127.0.0.1:0", "-config", folder.configFile],
  ]);
  const { call } = createToolClient({ url: server.url });
  assert.deepEqual((await call("list_databases", {})).data["current"], "one");
  assert.deepEqual((await call("query_database", { query: "SELECT 1" })).data["rows"], [[1]]);
});

testWithPostgres(
  "the access grid holds over HTTP, and a session that ends closes its connections",
  async () => {
    await using database = await createTestDatabase();
    await using folder = await createConfigFolder(`databases:
  - ${databaseEntry("open", database.name)}
  - ${databaseEntry("two", database.name, "available_to_users: [alice, bob]")}
  - ${databaseEntry("three", database.name, "available_to_users: [alice, bob, carol]")}
`);
    const grid: [string, string[]][] = [
      ["alice", ["open", "two", "three"]],
      ["carol", ["open", "three"]],
      ["dave", ["open"]],
    ];
    await writeUsers(folder, grid.map(([name]) => name));
    await using server = await serve(folder);
    for (const [name, allowed] of grid) {
      const { session } = await logIn(server, name);
      const { call } = createToolClient({ url: server.url, token: session.session_token });
      const { data } = await call("list_databases", {});
      assert.deepEqual((data["databases"] as { name: string }[]).map((entry) => entry.name), allowed);
      for (const target of ["open", "two", "three"]) {
        const reply = await call("query_database", { query: "SELECT 1", database: target });
        assert.equal(reply.isError, !allowed.includes(target), `${name} ${target}`);
      }
    }

    const { session } = await logIn(server, "alice");
    const { call } = createToolClient({ url: server.url, token: session.session_token });
    const connections = async () =>
      Number(
        (await database.query(
          `SELECT count(*) FROM pg_stat_activity WHERE datname = '${database.name}' AND application_name = 'postern'`,
        ))[0]?.[0],
      );
    await call("query_database", { query: "SELECT 1" });
    const before = await connections();
    await call("logout", {});
    await waitUntil("the connection is closed", async () => await connections() === before - 1);
  },
);
