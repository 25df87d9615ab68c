import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../llm/wire/vendors/vendor.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { createTestDatabase, testWithPgvectorServer } from "../support/database.ts";
import { pagesTable, topicVector } from "../support/handbook_documents.ts";
import { configText, handbookPipeline, keyFile, vendorKey } from "../support/rag_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { describeSchemas } from "./describe_schemas.ts";
import { type Exchange, recordExchange } from "./record_exchange.ts";
import {
  assertLinesSnapshot,
  assertSnapshot,
  mask,
  requestIdMask,
  timeMask,
  withoutProse,
} from "./snapshot.ts";

const documents = {
  "leave.md": "# Leave\n\n## Annual leave\n\nAll employees get 25 days of annual leave.\n",
  "parking.txt": "Parking is free behind building Quokka7.\n",
};
/** With all that an index has of its own for: an id of text, a configuration for each row, row-level security, readers. */
const rules = `
  CREATE EXTENSION vector;
  CREATE TABLE rules (code text PRIMARY KEY, body text, language text, embedding vector);
  ALTER TABLE rules ENABLE ROW LEVEL SECURITY;
  GRANT SELECT ON rules TO PUBLIC;
  INSERT INTO rules VALUES ('L1', 'Contractors have no paid leave.', 'english', '[${topicVector("leave")}]');
  ANALYZE rules`;
const rulesTable = {
  table: "rules",
  text_column: "body",
  vector_column: "embedding",
  id_column: "code",
  text_search_config: "language",
};
const queries = '{"id": "q1", "text": "annual leave"}\n';
const qrels = "query_id\tdocument_id\tgain\nq1\t1\t1\n";

/** Comes every five seconds, and so only on a slow machine. */
const progressLine =
  /^[\d,]+ (?:of [\d,]+ )?(?:files|chunks|removed files|documents|lists|questions)(?: \(\d+ %\).*)?\n/gm;

const docs = "/v1/pipelines/docs";
const ask = (path: string, body: unknown): Exchange => ({ path, body: JSON.stringify(body) });
const question = { query: "How many days of leave are there?" };

const exchanges: readonly Exchange[] = [
  ask(docs, question),
  ask(docs, { ...question, include_sources: true, top_n: 1 }),
  ask(docs, { ...question, stream: true, include_sources: true, top_n: 1 }),
  ask(docs, { ...question, stream: true }),
  ask(docs, {
    ...question,
    filter: { conditions: [{ column: "source", operator: "=", value: "parking.txt" }] },
  }),
  ask(docs, {
    ...question,
    messages: [{ role: "user", content: "Hello" }, { role: "assistant", content: "Yes?" }],
  }),
  ask(docs, { query: "" }),
  ask(docs, { ...question, top_n: -1, nothing: true }),
  ask(docs, { ...question, filter: { conditions: [{ column: "none", operator: "=", value: 1 }] } }),
  { path: docs, body: "{" },
  { path: docs, body: JSON.stringify({ query: "x".repeat(2_000_000) }) },
  { path: docs, body: JSON.stringify(question), headers: { "content-type": "text/plain" } },
  ask("/v1/pipelines/closed", { ...question, include_sources: true }),
  ask("/v1/pipelines/none", question),
  { path: docs, method: "GET" },
  { path: "/v1/pipelines", method: "GET" },
  { path: "/v1/pipelines", method: "DELETE" },
  { path: "/v1/live", method: "GET" },
  { path: "/v1/health", method: "GET" },
  { path: "/v1/stats", method: "GET" },
  { path: "/nowhere", method: "GET" },
];

/** While the completion's vendor fails. */
const whileFailing: readonly Exchange[] = [
  ask(docs, question),
  ask(docs, { ...question, stream: true }),
  { path: "/v1/health", method: "GET" },
];

testWithPgvectorServer("the RAG server, its operations and what they make in a database", async (t) => {
  await using database = await createTestDatabase();
  await database.query(rules);
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: ["25 ", "days."] });
  const parts = { database, openai, anthropic };
  const chunks = { ...pagesTable, table: "chunks" };
  await using folder = await createConfigFolder(configText({
    pipelines: [
      handbookPipeline("docs", parts, { tables: [chunks], description: "The handbook" }),
      handbookPipeline("closed", parts, { tables: [rulesTable], allow_include_sources: false }),
    ],
    log: { format: "json" },
  }));
  const path = (name: string) => join(folder.path, name);
  const files = { ...documents, "queries.jsonl": queries, "qrels.tsv": qrels, [keyFile]: vendorKey };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(path(name), text, { mode: 0o600 });
  }
  const masks = {
    folder: folder.path,
    database: database.name,
    port: /(?<=127\.0\.0\.1:)\d+/g,
    time: timeMask,
    request: requestIdMask,
    ms: /(?<="(?:p50|p95|p99|elapsedMs)": ?)[\d.]+/g,
    s: /(?<="seconds": |Seconds +)[\d.]+/g,
  };
  const operate = async (...flags: string[]) => {
    const { code, stdout, stderr } = await runProgram(["-config", folder.configFile, ...flags]);
    const text = flags.includes("-json") ? withoutProse(stdout) : stdout;
    const said = stderr.replaceAll(progressLine, "");
    return mask(`$ ${flags.join(" ")}\n${text}${said}= ${code}\n\n`, masks);
  };
  await t.step("what the operations print and make", async () => {
    const said = [
      await operate("-ingest", "docs", path("leave.md"), path("parking.txt"), "-source", "handbook", "-json"),
      await operate("-ingest", "docs", path("parking.txt")),
      await operate("-index-pipeline", "docs"),
      await operate("-index-pipeline", "closed"),
      await operate(
        "-evaluate",
        "docs",
        "-queries",
        path("queries.jsonl"),
        "-qrels",
        path("qrels.tsv"),
        "-json",
      ),
      await operate("-doctor", "-json"),
    ];
    await assertSnapshot("rag_operations.txt", said.join(""));
    await assertSnapshot("rag_schemas.sql", await describeSchemas(database));
    const rows = await database.query(`
      SELECT to_jsonb(c) - 'embedding' FROM chunks c UNION ALL SELECT to_jsonb(f) FROM postern.ingested_files f
      UNION ALL SELECT to_jsonb(c) FROM postern.ingested_chunks c
      UNION ALL SELECT to_jsonb(i) FROM postern.keyword_indexes i`);
    await assertSnapshot("rag_rows.jsonl", mask(rows.map(([row]) => `${row}\n`).join(""), masks));
  });

  await using server = await startServer(["-rag", "-config", folder.configFile]);
  const record = async (list: readonly Exchange[]) => {
    let text = "";
    for (const exchange of list) text += await recordExchange(server.url, exchange);
    return mask(text, masks);
  };

  await t.step("what is answered", async () => {
    await assertSnapshot("rag_replies.txt", await record(exchanges));
    anthropic.fail(401);
    await assertSnapshot("rag_failures.txt", await record(whileFailing));
  });

  await t.step("what is logged", async () => {
    assert.equal(await server.stop(), 0);
    await assertLinesSnapshot("rag_server_log.jsonl", mask(server.stderr(), masks));
  });

  await t.step("dropping the index takes all of it away", async () => {
    for (const name of ["docs", "closed"]) await operate("-drop-index", name);
    assert.doesNotMatch(await describeSchemas(database), /keyword_\d/);
  });
});
