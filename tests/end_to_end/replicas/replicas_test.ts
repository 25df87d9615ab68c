import assert from "node:assert/strict";
import { join } from "node:path";
import { z } from "zod";
import { administer, logIn, password } from "../../support/accounts.ts";
import { testWithPostgres } from "../../support/database.ts";
import {
  type IdentityProvider,
  loginClient,
  startIdentityProvider,
} from "../../support/identity_provider.ts";
import { codeOf, dora } from "../../support/issuer_login.ts";
import { createFormBrowser, createOauthClient } from "../../support/oauth_server.ts";
import { type Replicas, startReplicas } from "../../support/replicas.ts";
import { freePort } from "../../support/token_issuer.ts";
import { runProgram } from "../../support/server_process.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

const oauthOf = (issuer: string) => `oauth: { issuer: "${issuer}" }`;

const at = (replicas: Replicas, index: number) => {
  const server = replicas.servers[index];
  assert.ok(server !== undefined);
  return server;
};

async function ping(url: string, token: string): Promise<number> {
  const response = await createToolClient({ url, token }).post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  await response.body?.cancel();
  return response.status;
}

async function current(url: string, token: string): Promise<string | undefined> {
  const { data } = await createToolClient({ url, token }).call("list_databases", {});
  const databases = z.array(z.object({ name: z.string(), current: z.boolean() })).parse(data["databases"]);
  return databases.find((each) => each.current)?.name;
}

testWithPostgres("a session that began at one replica is good at all, at once, and ends at all", async () => {
  await using replicas = await startReplicas();
  const { balancer } = replicas;
  for (let each = 0; each < 6; each++) {
    const { session: { session_token: session } } = await logIn({ url: balancer.url }, "alice");
    for (let call = 0; call < 3; call++) assert.equal(await ping(balancer.url, session), 200);
    await createToolClient({ url: balancer.url, token: session }).call("logout", {});
    await waitUntil(
      "it has ended at all",
      async () =>
        await ping(at(replicas, 0).url, session) === 401 && await ping(at(replicas, 1).url, session) === 401,
    );
  }
  const { session: { session_token: session } } = await logIn(at(replicas, 0), "bob");
  await at(replicas, 0).kill("SIGKILL");
  assert.equal(await ping(at(replicas, 1).url, session), 200);
  await replicas.restart(0);
  assert.equal(await ping(at(replicas, 0).url, session), 200);
});

testWithPostgres("a database that is chosen at one replica is the current one at all", async () => {
  await using replicas = await startReplicas();
  const { balancer, token } = replicas;
  await createToolClient({ url: at(replicas, 0).url, token }).call("select_database", { name: "staging" });
  await waitUntil("the other knows", async () => await current(at(replicas, 1).url, token) === "staging");
  for (let each = 0; each < 10; each++) assert.equal(await current(balancer.url, token), "staging");
});

testWithPostgres("failed logins of an address count together", async () => {
  await using replicas = await startReplicas({ auth: "rate_limit_max_attempts: 4" });
  const statuses: number[] = [];
  for (let each = 0; each < 6; each++) {
    statuses.push((await logIn({ url: replicas.balancer.url }, "nobody", "wrong")).status);
  }
  assert.deepEqual(statuses.map((status) => status === 429), [false, false, false, false, true, true]);
  // not even the right password is told of
  assert.equal((await logIn({ url: replicas.balancer.url }, "alice")).status, 429);
});

testWithPostgres(
  "attempts at both replicas at once do not tell more results than one server would",
  async () => {
    await using replicas = await startReplicas({ auth: "rate_limit_max_attempts: 3" });
    const replies = await Promise.all(
      Array.from({ length: 12 }, () => logIn({ url: replicas.balancer.url }, "alice", "wrong")),
    );
    const told = replies.filter(({ status }) => status !== 429 && status !== 503);
    assert.ok(told.length <= 3, `${told.length} were told`);
  },
);

testWithPostgres(
  "failed logins of an account lock it at all, until an administrator enables it",
  async () => {
    await using replicas = await startReplicas({
      auth: "rate_limit_max_attempts: 100, max_failed_attempts_before_lockout: 4",
    });
    const { balancer, folders } = replicas;
    const [folder] = folders;
    assert.ok(folder !== undefined);
    for (let each = 0; each < 4; each++) await logIn({ url: balancer.url }, "alice", "wrong");
    for (const server of replicas.servers) {
      await waitUntil(
        "it is locked",
        async () => (await logIn(server, "alice")).session?.session_token === undefined,
      );
    }
    const listed = JSON.parse(await administer(folder, "-list-users", "-json"));
    const alice = listed.find(({ username }: { username: string }) => username === "alice");
    assert.deepEqual([alice.enabled, alice.disabled_reason, alice.failed_attempts >= 4], [
      false,
      "lockout",
      true,
    ]);
    await administer(folder, "-enable-user", "-username", "alice");
    for (const server of replicas.servers) {
      await waitUntil("it is enabled", async () => (await logIn(server, "alice")).status === 200);
    }
    const again = JSON.parse(await administer(folder, "-list-users", "-json"))
      .find(({ username }: { username: string }) => username === "alice");
    assert.deepEqual([again.enabled, again.failed_attempts], [true, 0]);
    assert.match(String(again.last_login), /^20/);
  },
);

testWithPostgres("what callers use counts together, within what one second lets through", async () => {
  // of a day: a minute may begin anew while the test runs
  await using replicas = await startReplicas({ config: "limits: { default: { rows_per_day: 20 } }" });
  const { balancer, token } = replicas;
  const client = createToolClient({ url: balancer.url, token });
  const isAnswered = async () => {
    const reply = await client.request("tools/call", {
      name: "query_database",
      arguments: { query: "SELECT 1" },
    });
    const refusal = reply.error?.message ?? (reply.result.isError ? reply.result.content[0].text : undefined);
    if (refusal !== undefined) assert.match(refusal, /the limit rows_per_day \(20\)/);
    return refusal === undefined;
  };
  const used = z.object({ limits: z.array(z.object({ used: z.number() })) });
  const allKnow = (least: number) =>
    waitUntil(`all know of ${least} rows`, async () => {
      const replies = await Promise.all(
        replicas.servers.map(({ url }) => createToolClient({ url, token }).call("usage", {})),
      );
      return replies.every(({ data }) => (used.parse(data).limits[0]?.used ?? 0) >= least);
    });
  for (let each = 0; each < 10; each++) assert.ok(await isAnswered());
  await allKnow(10);
  let answered = 10;
  for (let each = 0; each < 20; each++) if (await isAnswered()) answered++;
  // 10 more at each of two, as if neither had heard of the other
  assert.ok(answered >= 20 && answered <= 30, `${answered} were answered`);
  await allKnow(20);
  assert.deepEqual([await isAnswered(), await isAnswered()], [false, false]);
});

const slow = "SELECT count(*) FROM generate_series(1, 100000000000)";

testWithPostgres("a cancellation reaches the call at another replica, and no other call", async () => {
  await using replicas = await startReplicas();
  const { token, databases: [app] } = replicas;
  assert.ok(app !== undefined);
  const running = async () =>
    Number(
      (await app.query(
        `SELECT count(*) FROM pg_stat_activity WHERE datname = '${app.name}' AND state = 'active'
         AND query LIKE '%100000000000%' AND pid <> pg_backend_pid()`,
      ))[0]?.[0],
    );
  const here = createToolClient({ url: at(replicas, 0).url, token });
  const there = createToolClient({ url: at(replicas, 1).url, token });
  const begin = (id: string) =>
    here.post(JSON.stringify({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "query_database", arguments: { query: slow } },
    }));
  const first = begin("first");
  const second = begin("second");
  await waitUntil("both run", async () => await running() === 2);
  await there.post(
    '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "first"}}',
  );
  await waitUntil("one has ended", async () => await running() === 1);
  const reply = await (await first).json();
  assert.match(reply.result.content[0].text, /was cancelled because its caller cancelled it/);
  await there.post(
    '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "second"}}',
  );
  await waitUntil("none runs", async () => await running() === 0);
  await (await second).body?.cancel();
});

testWithPostgres("OAuth goes on where each step is another replica's", async () => {
  await using replicas = await startReplicas({ auth: oauthOf });
  const issuer = replicas.balancer.url;
  // both orders: whichever replica answers a step, the other answers the next
  for (let round = 0; round < 2; round++) {
    if (round === 1) await ping(issuer, "none");
    const client = await createOauthClient(issuer);
    const browser = createFormBrowser(issuer);
    const form = await browser.open(client.authorizeUrl());
    const consent = await browser.submit(form, { username: "alice", password, action: "login" });
    const done = await browser.submit(consent, { action: "allow" });
    const code = new URL(done.url).searchParams.get("code") ?? "";
    const given = await client.exchange(code);
    assert.equal(given.status, 200, JSON.stringify(given.body));
    const access = String(given.body["access_token"]);
    for (let each = 0; each < 4; each++) assert.equal(await ping(issuer, access), 200);
    const refreshed = await client.refresh(String(given.body["refresh_token"]));
    assert.equal(refreshed.status, 200, JSON.stringify(refreshed.body));
    const next = String(refreshed.body["access_token"]);
    for (let each = 0; each < 4; each++) assert.equal(await ping(issuer, next), 200);
    // a refresh token is good once, wherever it is used again, and its second use ends the grant everywhere
    assert.equal((await client.refresh(String(given.body["refresh_token"]))).status, 400);
    for (const server of replicas.servers) {
      await waitUntil("the grant has ended", async () => await ping(server.url, next) === 401);
    }
  }
  const [folder] = replicas.folders;
  assert.ok(folder !== undefined);
  const clients = JSON.parse(await administer(folder, "-list-clients", "-json"));
  assert.equal(clients.length, 2);
});

testWithPostgres("a login at the issuer goes on at the other replica", async () => {
  await using made = new AsyncDisposableStack();
  const folder = made.use(await temporaryFolder());
  const secret = join(folder.path, "secret");
  await Deno.writeTextFile(secret, loginClient.secret);
  let provider: IdentityProvider | undefined;
  await using replicas = await startReplicas({
    users: [],
    async auth(issuer) {
      provider = made.use(await startIdentityProvider({ redirectUri: `${issuer}/oauth/login/callback` }));
      provider.meet(dora);
      const login =
        `{ issuer: "${provider.issuer}", client_id: ${loginClient.id}, client_secret_file: "${secret}" }`;
      return `oauth: { issuer: "${issuer}", login: ${login} }`;
    },
  });
  assert.ok(provider !== undefined);
  const issuer = replicas.balancer.url;
  const client = await createOauthClient(issuer);
  for (let round = 0; round < 2; round++) {
    if (round === 1) await ping(issuer, "none");
    const browser = createFormBrowser(issuer, undefined, [provider.issuer]);
    const consent = await browser.open(client.authorizeUrl());
    const { status, body } = await client.exchange(
      codeOf(await browser.submit(consent, { action: "allow" })),
    );
    assert.equal(status, 200, JSON.stringify(body));
    for (const server of replicas.servers) {
      assert.equal(await ping(server.url, String(body["access_token"])), 200);
    }
  }
});

testWithPostgres(
  "while the state is away tokens and known sessions go on for the grace, and logins wait",
  async () => {
    await using replicas = await startReplicas();
    const { proxies, token } = replicas;
    const [proxy] = proxies;
    assert.ok(proxy !== undefined);
    const server = at(replicas, 0);
    const { session: { session_token: session } } = await logIn(server, "alice");
    await proxy.stop();
    const { session: { session_token: unknown } } = await logIn(at(replicas, 1), "bob");
    assert.equal(await ping(server.url, session), 200);
    assert.equal(await ping(server.url, token), 200);
    const refused = await logIn(server, "bob");
    assert.equal(refused.status, 503, JSON.stringify(refused));
    assert.ok(Number(refused.retryAfter) > 0);
    // whether it is good cannot be told
    assert.equal(await ping(server.url, unknown), 503);
    const ready = await fetch(`${server.url}/ready`);
    const { status, state } = await ready.json();
    assert.deepEqual([ready.status, status, state], [200, "degraded", { reachable: false }]);
    await waitUntil("the grace is over", async () => await ping(server.url, session) === 503);
    assert.equal(await ping(server.url, token), 200);
    // ended elsewhere meanwhile
    await createToolClient({ url: at(replicas, 1).url, token: session }).call("logout", {});
    await proxy.start();
    await waitUntil("it mends", async () => await ping(server.url, unknown) === 200);
    await waitUntil("the session has ended", async () => await ping(server.url, session) === 401);
    assert.equal((await logIn(server, "bob")).status, 200);
  },
);

testWithPostgres("a logout is told once the state has it, and ends no process where it cannot", async () => {
  await using replicas = await startReplicas({ auth: oauthOf });
  const [proxy] = replicas.proxies;
  assert.ok(proxy !== undefined);
  const [cut, other] = [at(replicas, 0), at(replicas, 1)];
  const { session: { session_token: session } } = await logIn(cut, "alice");
  assert.equal(await ping(cut.url, session), 200);
  await proxy.stop();
  const logOut = (url: string) => createToolClient({ url, token: session }).call("logout", {});
  const refused = await logOut(cut.url);
  assert.deepEqual([refused.isError, refused.data], [true, {}]);
  assert.match(refused.text, /what the servers share cannot be reached/);
  // it has ended here already; what a token that is not known may be, cannot be told
  assert.equal(await ping(cut.url, session), 503);
  assert.equal((await logOut(other.url)).isError, false);
  // whatever becomes of the first
  await cut.kill("SIGKILL");
  await proxy.start();
  await replicas.restart(0);
  for (const server of replicas.servers) assert.equal(await ping(server.url, session), 401);
});

testWithPostgres("a server that starts while the state is away waits, and says for what", async () => {
  await using replicas = await startReplicas({ auth: oauthOf, isStateAway: true });
  const server = at(replicas, 0);
  const ready = await fetch(`${server.url}/ready`);
  const { status, state } = await ready.json();
  assert.deepEqual([ready.status, status, state], [503, "unavailable", { reachable: false }]);
  assert.equal((await logIn(server, "alice")).status, 503);
  const refused = await fetch(`${server.url}/oauth/authorize?client_id=x&response_type=code`);
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.headers.get("retry-after")) > 0);
  await refused.body?.cancel();
  assert.equal(await ping(server.url, replicas.token), 200);
  for (const proxy of replicas.proxies) await proxy.start();
  await waitUntil("it is ready", async () => (await fetch(`${server.url}/ready`)).status === 200);
  assert.equal((await logIn(server, "alice")).status, 200);
  await createOauthClient(replicas.balancer.url);
});

testWithPostgres("metrics tell which settings and tokens each replica runs with", async () => {
  const port = freePort();
  await using replicas = await startReplicas({
    count: 1,
    config: `metrics: { address: "127.0.0.1:${port}" }`,
  });
  const [folder] = replicas.folders;
  assert.ok(folder !== undefined);
  const generation = async (of: string) => {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return new RegExp(`postern_generation_info\\{of="${of}",generation="([0-9a-f]{12})"\\} 1`).exec(text)
      ?.[1];
  };
  const isReachable = async () =>
    /^postern_state_reachable ([01])$/m.exec(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
      ?.[1];
  assert.equal(await isReachable(), "1");
  const before = { tokens: await generation("tokens"), configuration: await generation("configuration") };
  assert.ok(before.tokens !== undefined && before.configuration !== undefined);
  await folder.addToken();
  await waitUntil("the tokens are others", async () => await generation("tokens") !== before.tokens);
  assert.equal(await generation("configuration"), before.configuration);
  await folder.write(
    (await Deno.readTextFile(folder.configFile)).replace(
      "databases: [",
      "log: { level: debug }\ndatabases: [",
    ),
  );
  await waitUntil(
    "the settings are others",
    async () => await generation("configuration") !== before.configuration,
  );
  await replicas.proxies[0]?.stop();
  await waitUntil("the metric tells", async () => await isReachable() === "0");
});

testWithPostgres("-doctor and a start name a role that may not use the state, and what to do", async () => {
  await using replicas = await startReplicas({ count: 1 });
  const [folder] = replicas.folders;
  assert.ok(folder !== undefined);
  const doctor = () => runProgram(["-config", folder.configFile, "-doctor", "-json"]);
  const ofState = async () => {
    const { diagnoses } = JSON.parse((await doctor()).stdout);
    return [diagnoses].flat().flatMap(({ checks }) => checks).filter(({ check }) => check === "state");
  };
  assert.deepEqual((await ofState()).map(({ ok }) => ok), [true]);
  await replicas.state.database.query(`REVOKE USAGE ON SCHEMA postern_state FROM ${replicas.state.role}`);
  const [told] = await ofState();
  assert.match(
    told.finding,
    /^Cannot use database .* for the state: its role may not read and write the tables; run -setup-state/,
  );
  const { code, stderr } = await runProgram(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /postern: Cannot use database .* for the state: its role may not read and write the tables/,
  );
  await replicas.state.database.query(
    `GRANT USAGE ON SCHEMA postern_state TO ${replicas.state.role}; ALTER ROLE ${replicas.state.role} PASSWORD 'another'`,
  );
  // a server that trusts everybody asks for no password
  if ((await ofState())[0].ok) return;
  const refused = await runProgram(["-config", folder.configFile, "-list-users"]);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /Cannot use database .* for the state, see state in the configuration: .*(password|refuse)/i,
  );
});
