import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { administer, logIn, password, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { createRagClient } from "../../support/rag_client.ts";
import { configText, handbookPipeline, type RagConfig } from "../../support/rag_server.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";

/** A pipeline whose database nobody can reach: enough to see who may ask it. */
const pipeline = (name: string, users: readonly string[] = []): RagConfig => ({
  name,
  database: { host: "127.0.0.1", port: 1, database: "none" },
  tables: [{ table: "pages", text_column: "content", vector_column: "embedding" }],
  embedding_llm: { provider: "local" },
  rag_llm: { provider: "local" },
  available_to_users: users,
});

const listener = { listen_address: "127.0.0.1", port: 0 };

/** A folder with a configuration and accounts. */
async function createFolder(config: RagConfig, users: readonly string[]) {
  const folder = await createConfigFolder(
    configText({ pipelines: [pipeline("open"), pipeline("team", ["alice"])], ...config }),
  );
  if (users.length > 0) await writeUsers(folder, users);
  return folder;
}

const clientOf = ({ url }: Pick<ServerProcess, "url">, token = "") => createRagClient({ url, token });

async function login(url: string, username: string, given = password, headers: HeadersInit = {}) {
  const { status, body, headers: replied } = await createRagClient({ url, token: "" }).request("/v1/login", {
    method: "POST",
    body: JSON.stringify({ username, password: given }),
    headers,
  });
  const { session_token: token, expires_at: expiresAt } = body as Record<string, string | undefined>;
  return { status, body, token, expiresAt, retryAfter: replied.get("retry-after") };
}

Deno.test("the RAG server knows API tokens and sessions, and what each may use", async (t) => {
  await using folder = await createFolder({
    server: { ...listener, auth: { enabled: true } },
    audit: { file: "audit.jsonl" },
    log: { access: true },
  }, ["alice", "bob"]);
  const { token, id } = await folder.addToken();
  const forTeam = await folder.addToken({ limits: { pipelines: ["team", "open"] } });
  const forNone = await folder.addToken({ limits: { tools: ["query_database"] } });
  const forOthers = await folder.addToken({ limits: { networks: ["192.0.2.0/24"] } });
  await using server = await startServer(["-rag", "-config", folder.configFile]);

  await t.step("a token uses what is open to all, and the rest does not exist for it", async () => {
    const client = clientOf(server, token);
    const { body } = await client.get("/v1/pipelines");
    assert.deepEqual(body.pipelines?.map(({ name }) => name), ["open"]);
    assert.equal((await client.post("open", { query: "q" })).body.error?.code, "UNAVAILABLE");
    const [hidden, absent] = [
      await client.post("team", { query: "q" }),
      await client.post("mate", { query: "q" }),
    ];
    assert.equal(hidden.status, 404);
    assert.equal(hidden.body.error?.message, absent.body.error?.message.replace("mate", "team"));
  });

  await t.step("a token that may do one thing asks what it names, of what is open to all", async () => {
    const pipelinesOf = async ({ token }: { token: string }) =>
      (await clientOf(server, token).get("/v1/pipelines")).body.pipelines?.map(({ name }) => name);
    assert.deepEqual([await pipelinesOf(forTeam), await pipelinesOf(forNone)], [["open"], []]);
    const { status, body } = await clientOf(server, forNone.token).post("open", { query: "q" });
    assert.deepEqual([status, body.error?.code], [404, "PIPELINE_NOT_FOUND"]);
    assert.equal((await clientOf(server, forOthers.token).get("/v1/pipelines")).status, 401);
  });

  await t.step("nobody gets the description, whether it lives, its status, and nothing else", async () => {
    const client = clientOf(server);
    assert.equal((await client.get("/v1/live")).status, 200);
    assert.deepEqual(Object.keys((await client.get("/v1/health")).body), ["status"]);
    const { body } = await client.get("/v1/openapi.json");
    assert.deepEqual(Object(body).security, [{ token: [] }]);
    for (const path of ["/v1/pipelines", "/v1/stats", "/v1/nothing"]) {
      assert.equal((await client.get(path)).status, 401, path);
    }
    assert.equal((await client.post("open", { query: "q" })).status, 401);
  });

  await t.step("a user logs in, and uses what names the user too", async () => {
    const before = Date.now();
    const { status, token: session, expiresAt = "" } = await login(server.url, "alice");
    assert.equal(status, 200);
    assert.match(session ?? "", /^[A-Za-z0-9+/]{43}=$/);
    assert.ok(Math.abs(Date.parse(expiresAt) - before - 24 * 3_600_000) < 60_000);
    const { body } = await clientOf(server, session).get("/v1/pipelines");
    assert.deepEqual(body.pipelines?.map(({ name }) => name), ["open", "team"]);
    const other = await login(server.url, "bob");
    assert.equal((await clientOf(server, other.token).post("team", { query: "q" })).status, 404);
  });

  await t.step("a user logs out, of one session alone", async () => {
    const logOut = async (token = "") => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${server.url}/v1/logout`, { method: "POST", headers });
      await response.body?.cancel();
      return response.status;
    };
    const [{ token: one }, { token: other }] = [
      await login(server.url, "alice"),
      await login(server.url, "alice"),
    ];
    assert.equal(await logOut(one), 204);
    assert.equal(await logOut(one), 401);
    assert.equal((await clientOf(server, one).get("/v1/pipelines")).status, 401);
    assert.equal((await clientOf(server, other).get("/v1/pipelines")).status, 200);
    assert.equal(await logOut(token), 400);
  });

  await t.step("an unknown user and a wrong password get the same answer", async () => {
    const replies = [await login(server.url, "nobody"), await login(server.url, "alice", "wrong password")];
    for (const { status, body } of replies) {
      assert.equal(status, 401);
      assert.deepEqual(body, { error: { code: "UNAUTHORIZED", message: "authentication failed" } });
    }
  });

  await t.step(
    "a token that is removed is refused, a disabled user's session too, and a new token counts",
    async () => {
      const { token: session } = await login(server.url, "bob");
      await administer(folder, "-remove-token", id);
      await administer(folder, "-disable-user", "-username", "bob");
      const status = async (token = "") => (await clientOf(server, token).get("/v1/pipelines")).status;
      await waitUntil("the token is refused", async () => await status(token) === 401);
      await waitUntil("the session is refused", async () => await status(session) === 401);
      const added = await folder.addToken();
      await waitUntil("the new token counts", async () => await status(added.token) === 200);
    },
  );

  await t.step("the access log and the audit trail name the callers, and no secret", async () => {
    assert.equal(await server.stop(), 0);
    const log = server.stderr();
    assert.match(log, new RegExp(`route=/v1/pipelines status=200 .*principal=token:${id}`));
    assert.match(log, /route=\/v1\/pipelines status=200 .*principal=session:\S+ user=alice/);
    assert.match(log, /route=\/v1\/pipelines status=401 bytes=\d+ ms=\S+ request=/);
    assert.match(log, /route=\/v1\/login status=200/);
    assert.match(log, /A request was refused: it has no valid token address=127\.0\.0\.1/);
    assert.doesNotMatch(log, /Everyone who reaches/);
    const trail = (await Deno.readTextFile(join(folder.path, "audit.jsonl"))).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    const events = trail.map((line) =>
      ["event", "outcome", "pipeline", "user"].map((name) => line[name] ?? "").join(" ").trim()
    );
    for (
      const expected of [
        "query unavailable open",
        "refusal unauthorized",
        "login ok  alice",
        "login failed  nobody",
        "logout ok  alice",
        "login failed  alice",
        "reload ok",
      ]
    ) assert.ok(events.includes(expected), `${expected}: ${events.join(", ")}`);
    const asked = trail.find(({ event }) => event === "query");
    assert.equal(asked?.principal, `token:${id}`);
    assert.match(asked.question_sha256, /^[0-9a-f]{64}$/);
    assert.equal(asked.question, undefined);
    assert.doesNotMatch(log + JSON.stringify(trail), /correct horse|wrong password|pst_/);
  });
});

Deno.test("failed logins of the RAG server are limited by address, and lock the account", async () => {
  await using folder = await createFolder({
    server: {
      ...listener,
      auth: {
        enabled: true,
        max_failed_attempts_before_lockout: 2,
        rate_limit_max_attempts: 3,
        user_file: "own.yaml",
      },
      client_ip: { header: "X-Forwarded-For", trusted_proxies: ["127.0.0.1"] },
    },
  }, ["alice", "bob"]);
  await Deno.rename(join(folder.path, "users.yaml"), join(folder.path, "own.yaml"));
  await using server = await startServer(["-rag", "-config", folder.configFile]);
  const from = (address: string) => ({ "x-forwarded-for": address });
  for (let attempt = 0; attempt < 2; attempt++) {
    assert.equal((await login(server.url, "alice", "wrong", from("192.0.2.1"))).status, 401);
  }
  const locked = await login(server.url, "alice", password, from("192.0.2.1"));
  assert.deepEqual([locked.status, locked.body.error?.message], [401, "authentication failed"]);
  const limited = await login(server.url, "bob", password, from("192.0.2.1"));
  assert.deepEqual([limited.status, limited.body.error?.code], [429, "RATE_LIMITED"]);
  assert.ok(Number(limited.retryAfter) > 0);
  assert.equal((await login(server.url, "bob", password, from("192.0.2.2"))).status, 200);
  const [alice] = JSON.parse(
    await administer(folder, "-list-users", "-json", "-user-file", join(folder.path, "own.yaml")),
  );
  assert.equal(alice.disabled_reason, "lockout");
});

Deno.test("both servers in one process share sessions, tokens and failed logins", async () => {
  await using folder = await createFolder({
    http: { auth: { rate_limit_max_attempts: 2 } },
    server: { ...listener, auth: { enabled: true } },
    databases: [],
  }, ["alice"]);
  await using server = await startServer([
    "-http",
    "-rag",
    "-addr",
    "127.0.0.1:0",
    "-config",
    folder.configFile,
  ]);
  await waitUntil("both listen", () => [...server.stderr().matchAll(/listening on/g)].length === 2);
  const [rag = "", tools = ""] = [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url]) => url);
  const toolServer = { ...server, url: tools };

  const { token } = await login(rag, "alice");
  const ping = await fetch(`${tools}/mcp/v1`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logout","arguments":{}}}',
  });
  assert.equal((await ping.json()).result.isError, undefined);
  assert.equal((await clientOf({ url: rag }, token).get("/v1/pipelines")).status, 401);
  const { session } = await logIn(toolServer, "alice");
  const { body } = await clientOf({ url: rag }, session.session_token).get("/v1/pipelines");
  assert.deepEqual(body.pipelines?.map(({ name }) => name), ["open", "team"]);

  assert.equal((await logIn(toolServer, "alice", "wrong")).status, 200);
  assert.equal((await login(rag, "alice", "wrong")).status, 401);
  assert.equal((await login(rag, "alice")).status, 429);
  assert.equal((await logIn(toolServer, "alice")).status, 429);
  assert.equal([...server.stderr().matchAll(/\[AUTH\] Rate limiting enabled/g)].length, 1);
});

Deno.test("without authentication the RAG server warns where other machines reach it, or its lists are in vain", async () => {
  for (
    const [address, enabled, users, expected] of [
      ["0.0.0.0", false, [], ["may ask every pipeline: set server.auth.enabled, "]],
      ["0.0.0.0", false, ["alice"], ["may ask every pipeline; available_to_users has no effect (open): "]],
      ["127.0.0.1", false, ["alice"], ["may ask every pipeline; available_to_users has no effect (open): "]],
      ["0.0.0.0", true, ["alice"], []],
      ["127.0.0.1", false, [], []],
    ] as const
  ) {
    await using folder = await createFolder({
      server: { listen_address: address, port: 0, auth: { enabled } },
      pipelines: [pipeline("open", users)],
    }, []);
    await using server = await startServer(["-rag", "-config", folder.configFile]);
    assert.equal(await server.stop(), 0);
    const warnings = server.stderr().split("\n").filter((line) => line.includes("Everyone who reaches"));
    assert.equal(warnings.length, expected.length, `${address} ${enabled} ${users.join()}`);
    for (const [at, part] of expected.entries()) assert.ok(warnings[at]?.includes(part), part);
  }
});

testWithPgvector("a stream ends soon after its token was removed", async () => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  const held = Promise.withResolvers<void>();
  await using anthropic = createVendor("anthropic", {
    answer: () => ["One, ", "two."],
    // the pieces before the fourth are no text; the fifth is the second text
    beforePiece: (index) => index === 4 ? held.promise : Promise.resolve(),
  });
  await using folder = await createFolder({
    server: { ...listener, auth: { enabled: true } },
    pipelines: [handbookPipeline("handbook", { database, openai, anthropic })],
  }, []);
  await Deno.writeTextFile(join(folder.path, "vendor.key"), "key", { mode: 0o600 });
  const [removed, kept] = [await folder.addToken(), await folder.addToken()];
  await using server = await startServer(["-rag", "-config", folder.configFile]);
  const question = { query: "How many days of annual leave are there?" };
  const streams = await Promise.all(
    [removed, kept].map(({ token }) => clientOf(server, token).open("handbook", question)),
  );
  const firsts = await Promise.all(streams.map((events) => events.next()));
  assert.deepEqual(firsts.map(({ value }) => value?.content), ["One, ", "One, "]);
  await administer(folder, "-remove-token", removed.id);
  const [ended, other] = streams;
  assert.deepEqual((await ended?.next())?.value, { type: "error", error: "the token or session has ended" });
  assert.equal((await ended?.next())?.done, true);
  held.resolve();
  assert.deepEqual((await other?.next())?.value, { type: "chunk", content: "two." });
});
