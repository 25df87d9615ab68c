import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

const question = { query: "How many days of annual leave are there?" };

testWithPgvectorServer(
  "a query without room is refused, whatever hangs in its pipeline, and no other's",
  async (t) => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    const held = Promise.withResolvers<void>();
    await using hanging = createVendor("anthropic", { answer: "25 days.", beforePiece: () => held.promise });
    await using anthropic = createVendor("anthropic", { answer: "25 days." });
    await using server = await startRagServer({
      server: { listen_address: "127.0.0.1", port: 0, max_queries: 2 },
      admission: { max_waiting: 1 },
      pipelines: [
        handbookPipeline("docs", { database, openai, anthropic: hanging }),
        handbookPipeline("other", { database, openai, anthropic }),
      ],
    });
    const { client, process } = server;
    const streams = [1, 2].map(() => client.open("docs", question));
    await waitUntil("both ask for an answer", () => hanging.requests.length === 2);
    const waits = client.open("docs", question);
    await new Promise((resolve) => setTimeout(resolve, 500));

    for (const stream of [false, true]) {
      await t.step(stream ? "asked for a stream" : "asked for one reply", async () => {
        const { status, headers, body } = await client.post("docs", { ...question, stream });
        assert.equal(status, 503);
        assert.match(headers.get("retry-after") ?? "", /^[1-9]\d*$/);
        assert.deepEqual(body.error, {
          code: "OVERLOADED",
          message: "the server has no room for the request now; retry later",
        });
      });
    }

    await t.step("another pipeline answers, and so do the other paths", async () => {
      assert.equal((await client.ask("other", question)).answer, "25 days.");
      assert.equal((await client.get("/v1/live")).status, 200);
    });

    await t.step("the log says so once", () => {
      const told = process.stderr().split("\n").filter((line) => line.includes("refused"));
      assert.equal(told.length, 1, process.stderr());
      assert.match(
        told[0] ?? "",
        /WARN .*Queries are refused: too many are under way or wait.* pipeline=docs/,
      );
    });

    await t.step("what waited is answered, and then the next", async () => {
      held.resolve();
      for (const events of [...streams, waits]) {
        assert.equal((await Array.fromAsync(await events)).at(-1)?.type, "done");
      }
      assert.equal((await client.ask("docs", question)).answer, "25 days.");
    });
  },
);
