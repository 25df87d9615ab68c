import assert from "node:assert/strict";
import { createVendor } from "../llm/wire/vendors/vendor.ts";
import { logIn, password, writeUsers } from "../support/accounts.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { testWithPgvectorServer } from "../support/database.ts";
import { createHandbookDatabase, topicVector } from "../support/handbook_documents.ts";
import { createRagClient } from "../support/rag_client.ts";
import { configText, handbookPipeline, keyFile, vendorKey } from "../support/rag_server.ts";
import { startServer } from "../support/server_process.ts";
import { createToolClient } from "../support/tool_client.ts";
import { waitUntil } from "../support/wait_until.ts";

const question = { query: "How many days of annual leave are there?" };

interface Usage {
  readonly limit: string;
  readonly used: number;
}

testWithPgvectorServer(
  "what a caller uses of one server counts on the other server of the process",
  async () => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "25 days." });
    await using folder = await createConfigFolder(configText({
      server: { listen_address: "127.0.0.1", port: 0, auth: { enabled: true } },
      limits: { default: { provider_tokens_per_day: 1 } },
      databases: [],
      pipelines: [handbookPipeline("docs", { database, openai, anthropic })],
    }));
    await Deno.writeTextFile(`${folder.path}/${keyFile}`, vendorKey, { mode: 0o600 });
    await writeUsers(folder, ["alice", "bob"]);
    await using server = await startServer([
      "-http",
      "-rag",
      "-addr",
      "127.0.0.1:0",
      "-config",
      folder.configFile,
    ]);
    const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
    await waitUntil("both listen", () => urls().length === 2);
    const [rag = "", tools = ""] = urls();

    /** A user with a session of each server. */
    async function user(name: string) {
      const { body } = await createRagClient({ url: rag, token: "" }).request("/v1/login", {
        method: "POST",
        body: JSON.stringify({ username: name, password }),
      });
      const { session } = await logIn({ ...server, url: tools }, name);
      const asking = createRagClient({ url: rag, token: String(Object(body).session_token) });
      const calling = createToolClient({ url: tools, token: session.session_token });
      return {
        ask: () => asking.post("docs", question),
        call: () =>
          calling.request("tools/call", {
            name: "ask_pipeline",
            arguments: { question: question.query },
          }),
        async usage() {
          const { body } = await asking.get("/v1/usage");
          const { data } = await calling.call("usage", {});
          return [Object(body), data].map(({ limits }) =>
            limits.map(({ limit, used }: Usage) => [limit, used])
          );
        },
      };
    }

    const alice = await user("alice");
    const { status, body } = await alice.ask();
    assert.equal(status, 200);
    const { error } = await alice.call();
    assert.deepEqual([error?.code, error?.data.limit], [-32003, "provider_tokens_per_day"]);
    const ofAlice = [["provider_tokens_per_day", body.tokens_used]];
    assert.deepEqual(await alice.usage(), [ofAlice, ofAlice]);

    // the other way round, and for another caller
    const bob = await user("bob");
    const { result } = await bob.call();
    assert.equal(result?.isError ?? false, false, JSON.stringify(result));
    const refused = await bob.ask();
    assert.deepEqual([refused.status, refused.body.error?.code], [429, "QUOTA_EXCEEDED"]);
    const [onRag, onTools] = await bob.usage();
    assert.deepEqual(onRag, onTools);
    assert.ok(onRag[0][1] > 0);
  },
);

Deno.test("where nothing is left for anybody, whoever has no good token is told that, and nothing of limits", async () => {
  const none = { calls_per_minute: 0, statements_per_minute: 0 };
  await using folder = await createConfigFolder(JSON.stringify({
    server: { listen_address: "127.0.0.1", port: 0, auth: { enabled: true } },
    limits: { default: none, all: none },
    databases: [],
    pipelines: [{
      name: "docs",
      database: { host: "127.0.0.1", port: 1, database: "none" },
      tables: [{ table: "pages", text_column: "content", vector_column: "embedding" }],
      embedding_llm: { provider: "local" },
      rag_llm: { provider: "local" },
    }],
  }));
  const good = (await folder.addToken()).token;
  const flags = ["-http", "-rag", "-addr", "127.0.0.1:0", "-config", folder.configFile];
  await using server = await startServer(flags);
  const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
  await waitUntil("both listen", () => urls().length === 2);
  const [rag = "", tools = ""] = urls();
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "get_schema_info" } };
  const answers = async (token: string) => {
    const called = await createToolClient({ url: tools, token }).post(JSON.stringify(call));
    await called.body?.cancel();
    const asked = await createRagClient({ url: rag, token }).post("docs", question);
    return [called.status, asked.status];
  };
  assert.deepEqual(await answers(good), [429, 429]);
  for (const token of ["", "wrong", `${good}x`]) assert.deepEqual(await answers(token), [401, 401], token);
});
