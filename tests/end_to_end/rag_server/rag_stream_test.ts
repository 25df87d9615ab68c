import assert from "node:assert/strict";
import { createVendor, type Vendor } from "../../llm/wire/vendors/vendor.ts";
import { type TestDatabase, testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, pagesTable, topicVector } from "../../support/handbook_documents.ts";
import { type AnswerEvent, answerOf } from "../../support/rag_client.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

const leave = { query: "How many days of annual leave are there?" };

/** A gate in a vendor's stream, before its first piece of text. */
function createGate() {
  let closed = Promise.withResolvers<void>();
  closed.resolve();
  return {
    wait: () => closed.promise,
    close: () => void (closed = Promise.withResolvers()),
    open: () => closed.resolve(),
  };
}

const posts = ({ requests }: Vendor) => requests.filter(({ method }) => method === "POST").length;

async function sleepingStatements(database: TestDatabase): Promise<number> {
  const [[count] = []] = await database.query(
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'",
  );
  return Number(count);
}

testWithPgvectorServer("an answer is streamed as the provider makes it", async (t) => {
  await using database = await createHandbookDatabase();
  const embeds = createGate();
  const texts = createGate();
  await using openai = createVendor("openai", { embed: topicVector, beforePiece: embeds.wait });
  await using anthropic = createVendor("anthropic", {
    answer: ({ question }) => {
      const number = /number (\d+)/.exec(question)?.[1];
      return number === undefined ? ["One, ", "two, ", "three."] : storyOf(number);
    },
    // the pieces before the fourth are no text; the fifth is the second text
    beforePiece: (index) => index === 4 ? texts.wait() : Promise.resolve(),
  });
  const parts = { database, openai, anthropic };
  await using running = await startRagServer({
    pipelines: [
      handbookPipeline("handbook", parts),
      handbookPipeline("slow", parts, {
        tables: [{ ...pagesTable, filter: "(SELECT pg_sleep(60)) IS NOT NULL" }],
      }),
    ],
  });
  const { client, process } = running;

  /** Leaves a query as soon as `isThere`, and waits until nothing of it is left. */
  async function leaveWhen(what: string, name: string, isThere: () => boolean | Promise<boolean>) {
    const leaving = new AbortController();
    const left = client.open(name, leave, leaving.signal);
    left.catch(() => {});
    await waitUntil(what, isThere);
    leaving.abort();
    await assert.rejects(left);
  }

  await t.step("chunks in order, then one done with the sources", async () => {
    const response = await client.send("/v1/pipelines/handbook", {
      method: "POST",
      body: JSON.stringify({ ...leave, stream: true }),
    });
    assert.equal(response.headers.get("content-type"), "text/event-stream");
    assert.equal(response.headers.get("cache-control"), "no-cache");
    assert.equal(
      await response.text(),
      'data: {"type":"chunk","content":"One, "}\n\ndata: {"type":"chunk","content":"two, "}\n\n' +
        'data: {"type":"chunk","content":"three."}\n\ndata: {"type":"done"}\n\n',
    );
    const events = await client.stream("handbook", { ...leave, include_sources: true, top_n: 1 });
    assert.deepEqual(events.map(({ type }) => type), ["chunk", "chunk", "chunk", "done"]);
    const { sources, tokens_used } = events.at(-1) ?? {};
    assert.deepEqual(sources?.map(({ id, content }) => [id, content]), [
      ["1", "Annual leave is 25 days for all employees."],
    ]);
    assert.equal(tokens_used, 130);
  });

  await t.step("the first event arrives before the provider has finished", async () => {
    texts.close();
    const events = await client.open("handbook", leave);
    assert.deepEqual((await events.next()).value, { type: "chunk", content: "One, " });
    texts.open();
    assert.equal(answerOf(await Array.fromAsync(events)), "two, three.");
  });

  const breaks = [
    ["reset in the body", "the provider could not be reached"],
    ["error in the stream", "the provider returned an error"],
    ["no end mark", "the provider returned an error"],
  ] as const;
  for (const [fault, phrase] of breaks) {
    await t.step(`${fault}: one error event and no done`, async () => {
      texts.close();
      anthropic.fail(fault, { times: 1 });
      const events = await client.open("handbook", { query: "leave, number 7" });
      assert.deepEqual((await events.next()).value, { type: "chunk", content: "7.0 " });
      texts.open();
      assertFailed(await Array.fromAsync(events), phrase);
      assert.equal(answerOf(await client.stream("handbook", leave)), "One, two, three.");
    });
  }

  await t.step("a client that leaves before the embedding", async () => {
    embeds.close();
    const before = posts(openai);
    await leaveWhen("the embedding is asked for", "handbook", () => posts(openai) > before);
    await waitUntil("its connection closes", () => openai.openConnections() === 0);
    embeds.open();
  });

  await t.step("a client that leaves during the search", async () => {
    const before = posts(anthropic);
    await leaveWhen("the search runs", "slow", async () => await sleepingStatements(database) > 0);
    await waitUntil("the statement ends", async () => await sleepingStatements(database) === 0);
    assert.equal(posts(anthropic), before);
  });

  await t.step("a client that leaves before the first chunk", async () => {
    anthropic.fail("stall before the headers", { times: 1 });
    const before = posts(anthropic);
    await leaveWhen("the answer is asked for", "handbook", () => posts(anthropic) > before);
    await waitUntil("its connection closes", () => anthropic.openConnections() === 0);
  });

  await t.step("a client that leaves in the middle", async () => {
    texts.close();
    const leaving = new AbortController();
    const events = await client.open("handbook", leave, leaving.signal);
    assert.deepEqual((await events.next()).value, { type: "chunk", content: "One, " });
    leaving.abort();
    await assert.rejects(Array.fromAsync(events));
    await waitUntil("the provider's connection closes", () => anthropic.openConnections() === 0);
    texts.open();
    assert.equal(answerOf(await client.stream("handbook", leave)), "One, two, three.");
  });

  await t.step("64 streams at once: none has an event of another, or one out of order", async () => {
    const answers = await Promise.all(
      Array.from(
        { length: 64 },
        (_, number) => client.stream("handbook", { query: `leave, number ${number}` }),
      ),
    );
    for (const [number, events] of answers.entries()) {
      assert.deepEqual(events.slice(0, -1).map(({ content }) => content), storyOf(String(number)));
      assert.deepEqual(events.at(-1), { type: "done" });
    }
  });

  await t.step("only the provider's faults were logged as errors", () => {
    const errors = process.stderr().split("\n").filter((line) => line.includes(" ERROR "));
    assert.equal(errors.length, breaks.length, errors.join("\n"));
  });

  await t.step("a stream under way when the server is told to stop is finished", async () => {
    texts.close();
    const events = await client.open("handbook", leave);
    await events.next();
    const stopped = process.stop();
    await waitUntil("no new connection is taken", async () => {
      const isRefused = await client.send("/v1/live", {}).then(
        (response) => response.body?.cancel(),
        () => true,
      );
      return isRefused === true;
    });
    texts.open();
    assert.equal(answerOf(await Array.fromAsync(events)), "two, three.");
    assert.equal(await stopped, 0);
  });
});

testWithPgvectorServer("a stream that nothing more comes of ends with one error event", async (t) => {
  await using database = await createHandbookDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: storyOf("0") });
  const pipelines = [handbookPipeline("handbook", { database, openai, anthropic })];
  const server = { listen_address: "127.0.0.1", port: 0, request_timeout: "1s" };
  await using hasty = await startRagServer({ server, pipelines });
  await using patient = await startRagServer({ pipelines });
  anthropic.fail("stall in the body");

  await t.step("when the request's time is over", async () => {
    assertFailed(await hasty.client.stream("handbook", leave), "the request took too long");
    await waitUntil("the provider's connection closes", () => anthropic.openConnections() === 0);
  });

  await t.step("when the server stops and its grace is over", async () => {
    const events = await patient.client.open("handbook", leave);
    assert.deepEqual((await events.next()).value, { type: "chunk", content: "0.0 " });
    const stopped = patient.process.stop();
    assertFailed(await Array.fromAsync(events), "an internal error occurred");
    assert.equal(await stopped, 0);
    await waitUntil("the provider's connection closes", () => anthropic.openConnections() === 0);
  });
});

function storyOf(number: string): string[] {
  return Array.from({ length: 20 }, (_, place) => `${number}.${place} `);
}

function assertFailed(events: readonly AnswerEvent[], phrase: string): void {
  assert.ok(events.length > 1, JSON.stringify(events));
  assert.ok(events.slice(0, -1).every(({ type }) => type === "chunk"));
  assert.deepEqual(events.at(-1), { type: "error", error: phrase });
}
