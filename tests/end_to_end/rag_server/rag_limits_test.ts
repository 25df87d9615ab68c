import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvector } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { createRagClient } from "../../support/rag_client.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

const question = { query: "How many days of annual leave are there?" };

interface Usage {
  readonly limit: string;
  readonly maximum: number;
  readonly used: number;
  readonly remaining: number;
}

testWithPgvector("questions and their tokens count for each caller, and refusals have a code", async (t) => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: "25 days." });
  const parts = { database, openai, anthropic };
  const config = {
    server: { listen_address: "127.0.0.1", port: 0, auth: { enabled: true } },
    data_dir: "data",
    limits: { default: { provider_tokens_per_day: 1 } },
    pipelines: [handbookPipeline("docs", parts)],
  };
  await using server = await startRagServer(config);
  const { token } = await server.folder.addToken();
  const { token: limited } = await server.folder.addToken({ limits: { tools: ["ask_pipeline"] } });
  const { token: otherToken } = await server.folder.addToken();
  const { url } = server.process;
  const client = createRagClient({ url, token });
  const usageOf = async (asking = client) => {
    const { status, body } = await asking.get("/v1/usage");
    assert.equal(status, 200);
    return (body as { readonly limits?: readonly Usage[] }).limits ?? [];
  };
  await waitUntil("the tokens are let in", async () => {
    const replies = [token, otherToken].map((each) =>
      fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${each}`, connection: "close" } })
    );
    const statuses = await Promise.all(replies.map(async (reply) => {
      await (await reply).body?.cancel();
      return (await reply).status;
    }));
    return statuses.every((status) => status === 200);
  });

  await t.step(
    "nobody without a token learns of limits, nor by one without the tool that tells them",
    async () => {
      const refused = await createRagClient({ url, token: limited }).get("/v1/usage");
      assert.deepEqual([refused.status, refused.body.error?.code], [403, "FORBIDDEN"]);
      const nobody = createRagClient({ url, token: "" });
      assert.equal((await nobody.get("/v1/usage")).body.error?.code, "UNAUTHORIZED");
      assert.equal((await nobody.post("docs", question)).body.error?.code, "UNAUTHORIZED");
    },
  );

  let used = 0;
  await t.step("a question may go beyond what was left, and its tokens are counted", async () => {
    assert.deepEqual((await usageOf()).map(({ used }) => used), [0]);
    const { tokens_used: tokens = 0 } = await client.ask("docs", question);
    assert.ok(tokens > 1);
    used = tokens;
    assert.deepEqual(
      (await usageOf()).map(({ limit, maximum, used, remaining }) => [limit, maximum, used, remaining]),
      [
        ["provider_tokens_per_day", 1, tokens, 0],
      ],
    );
  });

  for (const stream of [false, true]) {
    await t.step(stream ? "a stream is refused" : "a reply is refused", async () => {
      const { status, headers, body } = await client.post("docs", { ...question, stream });
      assert.equal(status, 429);
      assert.match(headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      assert.equal(body.error?.code, "QUOTA_EXCEEDED");
      assert.match(
        body.error?.message ?? "",
        /^the limit provider_tokens_per_day \(1\) is used up; try again in \d+ s$/,
      );
      assert.equal(openai.requests.length, 1);
    });
  }

  await t.step("another caller has a quota of its own, and a stream counts too", async () => {
    const other = createRagClient({ url, token: otherToken });
    assert.equal((await other.stream("docs", question)).at(-1)?.type, "done");
    assert.deepEqual((await usageOf(other)).map(({ used }) => used), [used]);
  });

  await t.step("what a reload sets counts at once", async () => {
    const limits = { default: { calls_per_minute: 0 } };
    await server.configure({ ...config, limits });
    await waitUntil("the limit is another", async () => {
      return (await usageOf()).some(({ limit }) => limit === "calls_per_minute");
    });
    const { status, body } = await client.post("docs", question);
    assert.equal(status, 429);
    assert.match(body.error?.message ?? "", /^the limit calls_per_minute \(0\) is used up/);
    // what is no question costs nothing
    assert.equal((await client.post("docs", { query: "" })).status, 400);
    assert.equal((await client.get("/v1/pipelines")).status, 200);
    await server.configure({ ...config, limits: {} });
    await waitUntil("there is none", async () => (await usageOf()).length === 0);
    assert.equal((await client.ask("docs", question)).answer, "25 days.");
  });
});

testWithPgvector(
  "a question holds its caller's place until its stream has ended or its client has left",
  async () => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    const held = Promise.withResolvers<void>();
    await using anthropic = createVendor("anthropic", {
      answer: "25 days.",
      beforePiece: () => held.promise,
    });
    await using server = await startRagServer({
      limits: { default: { calls_at_once: 1, provider_tokens_per_day: 1_000_000 } },
      pipelines: [handbookPipeline("docs", { database, openai, anthropic })],
    });
    const { client } = server;
    const usedOf = async (wanted: string) => {
      const { body } = await client.get("/v1/usage");
      const { limits = [] } = body as { readonly limits?: readonly Usage[] };
      return limits.find(({ limit }) => limit === wanted)?.used ?? NaN;
    };
    const underWay = () => usedOf("calls_at_once");
    const gone = new AbortController();
    const left = client.post("docs", question, gone.signal).catch(() => {});
    await waitUntil("it has its place", async () => await underWay() === 1);
    await waitUntil("its answer is under way", () => anthropic.requests.length === 1);
    const ofEmbedding = await usedOf("provider_tokens_per_day");
    gone.abort();
    await left;
    await waitUntil("the place is free", async () => await underWay() === 0);
    // the model reads the prompt whether or not anyone reads the answer
    assert.ok(await usedOf("provider_tokens_per_day") - ofEmbedding > 50);
    held.resolve();
    assert.equal((await client.stream("docs", question)).at(-1)?.type, "done");
    await waitUntil("the place is free again", async () => await underWay() === 0);
  },
);
