import assert from "node:assert/strict";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { pg } from "../../../src/postgres/connection.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { createLimitedRole } from "../../support/limited_role.ts";
import { handbookPipeline, pipelineDatabase, startRagServer } from "../../support/rag_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

const question = { query: "How many days of annual leave are there?", include_sources: true };

testWithPgvectorServer("eight clients of a role with three connections are all answered", async (t) => {
  await using database = await createHandbookDatabase();
  await using role = await createLimitedRole(database, 3);
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: "25 days." });
  const parts = { database, openai, anthropic };
  const own = { database: pipelineDatabase(database, { username: role.name }) };
  await using server = await startRagServer({
    server: { listen_address: "127.0.0.1", port: 0, request_timeout: "5s" },
    pipelines: [handbookPipeline("one", parts, own), handbookPipeline("two", parts, own)],
  });
  const { client, process } = server;

  await t.step("one pipeline", async () => {
    await Promise.all(Array.from({ length: 8 }, async () => {
      for (let n = 0; n < 10; n++) await client.ask("one", question);
    }));
    assert.equal(await role.count(), 3);
  });

  await t.step("two pipelines of the role", async () => {
    await Promise.all(Array.from({ length: 8 }, async (_, at) => {
      for (let n = 0; n < 10; n++) await client.ask(at % 2 === 0 ? "one" : "two", question);
    }));
    assert.ok(await role.count() <= 3);
  });

  await t.step("the log says once what to raise", () => {
    const told = process.stderr().split("\n").filter((line) => line.includes("takes no more connections"));
    assert.equal(told.length, 1, process.stderr());
    assert.match(told[0] ?? "", /Raise the role's CONNECTION LIMIT or PostgreSQL's max_connections/);
    assert.doesNotMatch(process.stderr(), /A query failed|cannot be reached/);
  });
});

testWithPgvectorServer(
  "a pipeline has at most pool_max_conns connections, and waits for them within its time",
  async () => {
    await using database = await createHandbookDatabase();
    await using role = await createLimitedRole(database, 10);
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "25 days." });
    const own = { database: pipelineDatabase(database, { username: role.name, pool_max_conns: 2 }) };
    await using server = await startRagServer({
      server: { listen_address: "127.0.0.1", port: 0, request_timeout: "2s" },
      pipelines: [handbookPipeline("docs", { database, openai, anthropic }, own)],
    });
    const { client, process } = server;
    await Promise.all(Array.from({ length: 8 }, () => client.ask("docs", question)));
    assert.equal(await role.count(), 2);

    const blocker = new pg.Client({ connectionString: database.url });
    await blocker.connect();
    await blocker.query("BEGIN; LOCK TABLE pages");
    try {
      const replies = await Promise.all(Array.from({ length: 4 }, () => client.post("docs", question)));
      assert.deepEqual(replies.map(({ status }) => status), [504, 504, 504, 504]);
    } finally {
      await blocker.end();
    }
    await waitUntil(
      "the log says what to raise",
      () =>
        /waited for a database connection; to serve more at once, raise pool_max_conns/.test(
          process.stderr(),
        ),
    );
    await client.ask("docs", question);
  },
);
