import assert from "node:assert/strict";
import { password, writeUsers } from "../support/accounts.ts";
import { testWithPgvector } from "../support/database.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { createHandbookDatabase, topicVector } from "../support/handbook_documents.ts";
import { createVendor } from "../llm/wire/vendors/vendor.ts";
import { handbookPipeline, keyFile, startRagServer, vendorKey } from "../support/rag_server.ts";
import { startServer } from "../support/server_process.ts";
import { configText, type RagConfig } from "../support/rag_server.ts";
import { waitUntil } from "../support/wait_until.ts";
import { createDocumentFolder } from "../end_to_end/documents/document_servers.ts";
import { startTokenIssuer, testAudience } from "../support/token_issuer.ts";
import { createConsoleClient, fromPage } from "./console_client.ts";

const names = (pipelines: readonly { name: string }[]) => pipelines.map(({ name }) => name);

testWithPgvector("below /console/v1/ the tool server's callers ask the pipelines", async (t) => {
  await using documents = await createDocumentFolder({
    audit: { file: "audit.jsonl" },
    console: { administrators: ["bob"] },
    limits: { principals: { bob: { calls_per_minute: 2 } } },
  });
  const { folder } = documents;
  await writeUsers(folder, ["alice", "bob"]);
  const { token } = await folder.addToken();
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const [alice, bob] = [createConsoleClient(server.url), createConsoleClient(server.url)];
  await alice.post("session", { username: "alice", password });
  await bob.post("session", { username: "bob", password });
  const query = { query: "How long is annual leave?" };

  await t.step("each sees and asks those that they may use", async () => {
    assert.equal((await alice.send("session")).json().parts.documents, true);
    const seen = async ({ send }: typeof alice) => names((await send("v1/pipelines")).json().pipelines);
    assert.equal((await seen(alice)).includes("manuals"), true);
    assert.equal((await seen(bob)).includes("manuals"), false);
    const { status, json } = await alice.post("v1/pipelines/handbook", { ...query, include_sources: true });
    assert.equal(status, 200);
    assert.equal(json().answer, "25 days [1].");
    assert.equal(json().sources[0].id, "1");
    assert.equal((await bob.post("v1/pipelines/manuals", query)).status, 404);
    const byToken = createConsoleClient(server.url);
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await byToken.post("v1/pipelines/handbook", query, headers)).status, 200);
  });

  await t.step("as a stream too", async () => {
    const { headers, text } = await alice.post("v1/pipelines/handbook", { ...query, stream: true });
    assert.match(headers.get("content-type") ?? "", /^text\/event-stream/);
    assert.match(text, /"type":"done"/);
  });

  await t.step("nobody else does, nor another page with the cookie", async () => {
    const nobody = await createConsoleClient(server.url).send("v1/pipelines");
    assert.deepEqual([nobody.status, nobody.json().error], [401, "Log in first."]);
    assert.equal(
      (await alice.post("v1/pipelines/handbook", query, { "sec-fetch-site": "same-site" })).status,
      401,
    );
  });

  await t.step("limits and the audit trail hold, and the calls are told of", async () => {
    for (const status of [200, 200, 429]) {
      assert.equal((await bob.post("v1/pipelines/handbook", query)).status, status);
    }
    const trail = await Deno.readTextFile(`${folder.path}/audit.jsonl`);
    assert.match(trail, /"event":"query"[^\n]*"user":"bob"[^\n]*"pipeline":"handbook"/);
    const { calls, text } = await bob.send("calls").then((reply) => ({ ...reply.json(), text: reply.text }));
    const [refused, answered] = calls;
    assert.deepEqual([refused.result, answered.result], ["quota_exceeded", "ok"]);
    assert.deepEqual([answered.name, answered.of], ["handbook", "question"]);
    assert.doesNotMatch(text, /annual/);
  });

  await t.step("administrators see how pipelines and providers are", async () => {
    const { pipelines, providers } = (await bob.send("server")).json();
    assert.equal(names(pipelines).includes("manuals"), true);
    const handbook = pipelines.find(({ name }: { name: string }) => name === "handbook");
    assert.equal(handbook.database.reachable, true);
    const asked = providers.filter(({ pipeline }: { pipeline: string }) => pipeline === "handbook");
    const sum = (key: string) =>
      asked.reduce((total: number, each: Record<string, number>) => total + (each[key] ?? 0), 0);
    // five answers, each with an embedding
    assert.deepEqual([sum("calls"), sum("errors")], [10, 0]);
    assert.ok(sum("tokens") > 0);
  });
});

testWithPgvector("below /console/v1/ nobody asks who may not call the tool that asks", async () => {
  await using issuer = await startTokenIssuer();
  const auth = {
    identity_provider: {
      issuer: issuer.issuer,
      audience: testAudience,
      required_scopes: ["base"],
      scopes_by_tool: { ask_pipeline: ["docs:ask"], fetch: ["docs:read"] },
    },
  };
  await using documents = await createDocumentFolder({ http: { auth } });
  const { folder, config } = documents;
  {
    await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    const { post, send } = createConsoleClient(server.url);
    const headersFor = async (scope: string) => ({
      authorization: `Bearer ${await issuer.token({ claims: { scope } })}`,
    });
    const ask = async (scope: string, path = "") => {
      const headers = await headersFor(scope);
      const reply = await post(`v1/pipelines/handbook${path}`, { query: "How long is leave?" }, headers);
      return [reply.status, reply.json().error];
    };
    await waitUntil("the issuer's keys are known", async () => {
      const { caller, parts } = (await send("session", { headers: await headersFor("base") })).json();
      return caller !== undefined && parts.documents;
    });
    const missing = "the access token does not have the scope docs:ask";
    for (const path of ["", "/search"]) assert.deepEqual(await ask("base", path), [403, missing]);
    assert.deepEqual(await ask("base docs:ask"), [200, undefined]);
    // a search gives whole passages
    for (const path of ["/search", "/searc%68"]) {
      const [status, error] = await ask("base docs:ask", path);
      assert.deepEqual([status, error.message], [403, "the token may not call fetch"]);
      assert.equal((await ask("base docs:ask docs:read", path))[0], 200);
    }
    const { token } = await folder.addToken({ limits: { tools: ["search", "fetch"] } });
    await waitUntil("the token is known", async () => {
      const { status } = await post("v1/pipelines/handbook", {}, { authorization: `Bearer ${token}` });
      return status === 403;
    });
  }
  await folder.write(configText({ ...config, http: {}, builtins: { tools: { ask_pipeline: false } } }));
  const { token } = await folder.addToken();
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const { send, post } = createConsoleClient(server.url);
  const headers = { authorization: `Bearer ${token}` };
  assert.equal((await send("session", { headers })).json().parts.documents, false);
  assert.equal((await post("v1/pipelines/handbook", { query: "How long?" }, headers)).status, 404);
});

testWithPgvector("a stream ends with the session that asked for it", async () => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  const held = Promise.withResolvers<void>();
  await using anthropic = createVendor("anthropic", {
    answer: () => ["One, ", "two."],
    // the pieces before the fourth are no text; the fifth is the second text
    beforePiece: (index) => index === 4 ? held.promise : Promise.resolve(),
  });
  await using folder = await createConfigFolder(
    configText({ pipelines: [handbookPipeline("handbook", { database, openai, anthropic })] }),
  );
  await writeUsers(folder, ["alice"]);
  await Deno.writeTextFile(`${folder.path}/${keyFile}`, vendorKey, { mode: 0o600 });
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const client = createConsoleClient(server.url);
  await client.post("session", { username: "alice", password });
  const response = await fetch(`${server.url}/console/v1/pipelines/handbook`, {
    method: "POST",
    headers: { ...fromPage, cookie: `postern_console=${client.cookies.get("postern_console")}` },
    body: JSON.stringify({ query: "How long is annual leave?", stream: true }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("One, ")) text += (await reader?.read())?.value ?? assert.fail(text);
  assert.equal((await client.send("session", { method: "DELETE" })).status, 204);
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value;
  assert.match(text, /the token or session has ended/);
  held.resolve();
});

const pipeline: RagConfig = {
  name: "open",
  database: { host: "127.0.0.1", port: 1, database: "none" },
  tables: [{ table: "pages", text_column: "content", vector_column: "embedding" }],
  embedding_llm: { provider: "local" },
  rag_llm: { provider: "local" },
};

Deno.test("a RAG server that stands alone has the console, without tools", async (t) => {
  const cors = { enabled: true, allowed_origins: ["*"] };
  await using rag = await startRagServer({
    pipelines: [pipeline],
    server: { listen_address: "127.0.0.1", port: 0, cors },
  });
  const { send, post } = createConsoleClient(rag.process.url);
  await t.step("pages that may ask may not read who called", async () => {
    const headers = { origin: "https://chat.example.com", "sec-fetch-site": "cross-site" };
    assert.equal((await send("v1/pipelines", { headers })).status, 200);
    for (const path of ["session", "calls?of=all", "server"]) {
      assert.equal((await send(path, { headers })).status, 403, path);
    }
  });
  await t.step("everyone is let in where nobody is asked", async () => {
    const { parts, login, caller, addresses } = (await send("session")).json();
    assert.deepEqual(parts, { tools: false, documents: true, model: false });
    assert.deepEqual(login, { oauth: false, accounts: false, tokens: false });
    assert.deepEqual([caller.kind, caller.isAdministrator, addresses], ["local", true, {}]);
    assert.deepEqual(names((await send("v1/pipelines")).json().pipelines), ["open"]);
    assert.equal((await send("v1/live")).json().status, "ok");
    assert.equal((await post("mcp", {})).status, 404);
    const { ready, databases, pipelines } = (await send("server")).json();
    assert.deepEqual([ready, databases, names(pipelines)], ["unavailable", [], ["open"]]);
  });
});

testWithPgvector("a RAG server with accounts asks for a session", async () => {
  await using documents = await createDocumentFolder();
  const { folder } = documents;
  await folder.write(
    configText({
      pipelines: [pipeline],
      server: { listen_address: "127.0.0.1", port: 0, auth: { enabled: true } },
    }),
  );
  await writeUsers(folder, ["alice"]);
  await using server = await startServer(["-rag", "-config", folder.configFile]);
  const { send, post } = createConsoleClient(server.url);
  assert.equal((await send("v1/pipelines")).status, 401);
  assert.equal((await send("v1/health")).status, 200);
  assert.equal((await post("session", { username: "alice", password })).status, 204);
  assert.equal((await send("session")).json().caller.name, "alice");
  assert.deepEqual(names((await send("v1/pipelines")).json().pipelines), ["open"]);
  assert.equal((await send("server")).status, 403);
  assert.equal((await send("session", { method: "DELETE" })).status, 204);
  assert.equal((await send("v1/pipelines")).status, 401);
});

Deno.test("where a proxy says who asks, nobody else is let in, and nobody an administrator", async () => {
  await using rag = await startRagServer({
    pipelines: [pipeline],
    identity: { enabled: true, trusted_proxies: ["127.0.0.1"] },
  });
  const { send } = createConsoleClient(rag.process.url);
  const headers = { "x-forwarded-claims": JSON.stringify({ sub: "carol" }) };
  assert.equal((await send("session")).json().caller, undefined);
  assert.equal((await send("calls")).status, 401);
  assert.equal((await send("server")).status, 401);
  const { caller } = (await send("session", { headers })).json();
  assert.deepEqual([caller.kind, caller.isAdministrator], ["issuer", false]);
  assert.equal((await send("calls", { headers })).status, 200);
  assert.equal((await send("calls?of=all", { headers })).status, 403);
  assert.equal((await send("server", { headers })).status, 403);
});

Deno.test("with both servers the tool server has the console, the RAG server none", async () => {
  await using rag = await startRagServer({ pipelines: [pipeline] }, {
    flags: ["-http", "-no-auth", "-addr", "127.0.0.1:0"],
  });
  const urls = () => [...rag.process.stderr().matchAll(/listening on (http\S+)/g)].map(([, url = ""]) => url);
  await waitUntil("both listen", () => urls().length === 2);
  const [ofRag = "", ofTools = ""] = urls();
  assert.equal((await fetch(`${ofRag}/console/`).then((reply) => (reply.body?.cancel(), reply))).status, 404);
  const { send } = createConsoleClient(ofTools);
  const { parts, addresses } = (await send("session")).json();
  assert.deepEqual([parts, addresses], [{ tools: true, documents: true, model: false }, {
    rag: `${ofRag}/v1`,
  }]);
  assert.deepEqual(names((await send("v1/pipelines")).json().pipelines), ["open"]);
});
