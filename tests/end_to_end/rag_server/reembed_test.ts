import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { WireRefusal } from "../../llm/wire/vendors/vendor_wire.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import {
  createHandbookDatabase,
  insertPage,
  pagesTable,
  topicVector,
} from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { command, runProgram } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";

const parking = { query: "Where is parking?", disable_hybrid: true, top_n: 1, include_sources: true };

testWithPgvectorServer(
  "a new model serves beside the old, and no question meets the other's vectors",
  async (t) => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    // as long as the other's, so that nothing but the pairs keeps them apart
    await using ollama = createVendor("ollama", { embed: (text) => topicVector(text).toReversed() });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    const parts = { database, openai, anthropic };
    const next = { provider: "ollama", model: "n", base_url: ollama.url };
    const reembed = { embedding_llm: next, vector_column: "next" };
    const files = {
      "queries.jsonl": '{"id": "q1", "text": "parking"}\n',
      "qrels.tsv": "query_id\tdocument_id\tgain\nq1\t5\t1\n",
    };
    const start = (changes = {}) =>
      startRagServer({ pipelines: [handbookPipeline("handbook", parts, { reembed, ...changes })] }, {
        files,
      });
    await using first = await start();
    const { path } = first.folder;
    const flags = ["-config", join(path, "config.yaml"), "-reembed", "handbook"];
    const run = (...more: string[]) => runProgram([...flags, ...more]);
    /** The best document's id, and which vendor embedded the question. */
    const ask = async ({ client }: typeof first) => {
      const before = [openai, ollama].map(({ requests }) => requests.length);
      const { sources } = await client.ask("handbook", parking);
      const asked = [openai, ollama].findIndex(({ requests }, at) => requests.length > (before[at] ?? 0));
      return [sources?.[0]?.id, ["old", "new"][asked]];
    };
    assert.deepEqual(await ask(first), ["5", "old"]);

    await t.step("-reembed that was killed is gone on with", async () => {
      await database.query("ALTER TABLE pages ALTER COLUMN embedding SET NOT NULL");
      ollama.fail("stall before the headers");
      const child = command(flags, { stdout: "null", stderr: "null" }).spawn();
      await waitUntil("it embeds", () => ollama.requests.length > 0);
      child.kill("SIGKILL");
      await child.status;
      ollama.mend();
      await database.query(
        insertPage({ id: 8, content: "Training is on Mondays.", audience: "all", year: 2026 }),
      );
      const { code, stdout, stderr } = await run(
        "-queries",
        join(path, "queries.jsonl"),
        "-qrels",
        join(path, "qrels.tsv"),
      );
      assert.equal(code, 0, stderr);
      const notice =
        "Rows that change are queued for ollama/n from now on; restart workers of -watch-pipeline";
      assert.ok(stdout.includes(notice), stdout);
      const nullable =
        "SELECT attnotnull FROM pg_attribute WHERE attrelid = 'pages'::regclass AND attname = 'embedding'";
      assert.deepEqual(await database.query(nullable), [["f"]]);
      assert.match(stdout, /^handbook has its vectors of ollama\/n in column next$/m);
      assert.match(stdout, /openai\/e:\n[^]*vector +1\.0000[^]*ollama\/n:\n[^]*vector +1\.0000/);
      assert.deepEqual(await database.query("SELECT count(*) FROM pages WHERE next IS NULL"), [["0"]]);
      assert.deepEqual(await ask(first), ["5", "old"]);
    });

    await t.step("-watch-pipeline embeds what is written meanwhile, for both models", async () => {
      const operate = ["-config", join(path, "config.yaml")];
      const { stdout } = await runProgram([...operate, "-setup-watch", "handbook"]);
      await database.query(stdout.replace("\\set ON_ERROR_STOP on\n", ""));
      const worker = command([...operate, "-watch-pipeline", "handbook"], { stdout: "null", stderr: "null" })
        .spawn();
      await database.query("INSERT INTO pages (id, content) VALUES (9, 'Safety first.')");
      const vector = topicVector("safety");
      await waitUntil("both vectors are there", async () => {
        const [row] = await database.query("SELECT embedding, next FROM pages WHERE id = 9");
        return JSON.stringify(row) === JSON.stringify([`[${vector}]`, `[${vector.toReversed()}]`]);
      });
      worker.kill("SIGTERM");
      assert.equal((await worker.status).code, 0);
    });

    // what it reads of the tables is good for a minute
    await using early = await start();
    assert.deepEqual(await ask(early), ["5", "old"]);

    await t.step("a server that has heard of the switch and one that has not are both right", async () => {
      const switched = (await run("-switch-to", "new")).stdout;
      assert.match(switched, /searched by ollama\/n, within a minute/);
      assert.doesNotMatch(switched, /restart workers/);
      await using late = await start();
      assert.deepEqual(await ask(late), ["5", "new"]);
      assert.deepEqual(await ask(early), ["5", "old"]);
      const taken = /Questions are embedded by another model.*ollama\/n/;
      assert.match(late.process.stderr(), taken);
      assert.doesNotMatch(early.process.stderr(), taken);
      assert.match((await run("-switch-to", "old")).stdout, /by its own model again/);
      await using back = await start();
      assert.deepEqual(await ask(back), ["5", "old"]);
      assert.deepEqual(await ask(late), ["5", "new"]);
      await run("-switch-to", "new");
      const { stdout } = await runProgram([...flags.slice(0, 2), "-doctor"]);
      assert.match(stdout, /ollama\/n, in column next/);
    });

    await t.step("a server whose column goes embeds the question anew", async () => {
      assert.deepEqual(await ask(early), ["5", "old"]);
      await assert.rejects(
        database.query("ALTER TABLE pages DROP COLUMN embedding"),
        /other objects depend on it/,
      );
      const { stdout } = await runProgram([...flags.slice(0, 2), "-setup-watch", "handbook"]);
      await database.query(stdout.split("-- To take it away again:\n")[1]?.replaceAll("-- ", "") ?? "");
      await database.query("ALTER TABLE pages DROP COLUMN embedding");
      assert.equal((await ask(early))[0], "5");
      assert.deepEqual(await ask(early), ["5", "new"]);
    });

    await t.step("a model that is not the column's answers nothing", async () => {
      const tables = [{ ...pagesTable, vector_column: "next" }];
      await using right = await start({ tables, embedding_llm: next, reembed: undefined });
      assert.deepEqual(await ask(right), ["5", "new"]);
      await using wrong = await start({ tables, reembed: undefined });
      assert.equal((await wrong.client.post("handbook", parking)).status, 500);
      const health = (await wrong.client.get("/v1/health")).body;
      assert.equal(health.status, "degraded");
      assert.match(JSON.stringify(health), /the vectors are of another model/);
      const config = ["-config", join(wrong.folder.path, "config.yaml")];
      const judged = ["-queries", join(path, "queries.jsonl"), "-qrels", join(path, "qrels.tsv")];
      for (const operation of [["-ingest", "handbook", path], ["-evaluate", "handbook", ...judged]]) {
        assert.match(
          (await runProgram([...config, ...operation])).stderr,
          /^postern: Cannot use table "pages": .* vectors of ollama\/n/m,
        );
      }
      const { code, stdout } = await runProgram([...config, "-doctor"]);
      assert.equal(code, 1);
      assert.match(stdout, /vectors of ollama\/n, but embedding_llm is openai\/e/);
      assert.match(wrong.process.stderr(), /has vectors of ollama\/n, but embedding_llm is openai\/e/);
    });
  },
);

testWithPgvectorServer(
  "-reembed ends beside texts that the provider fails at, and tells of them",
  async () => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    await using ollama = createVendor("ollama", {
      embed(text) {
        const [, fault] = /^poison (.+)/.exec(text) ?? [];
        if (fault === "short") return [1, 2];
        // so long a wait that it is not tried again at once
        if (fault !== undefined) {
          throw new WireRefusal(Number(fault), "", { error: text, retryDelay: "100s" });
        }
        return topicVector(text);
      },
    });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    await database.query(
      `INSERT INTO pages (id, content) SELECT n, 'Parking ' || n FROM generate_series(100, 140) n;
    UPDATE pages SET content = 'poison 500' WHERE id IN (101, 120); UPDATE pages SET content = 'poison 400' WHERE id = 121;
    UPDATE pages SET content = 'poison short' WHERE id = 140`,
    );
    const faqs = { table: "faqs", text_column: "body", vector_column: "embedding", id_column: "code" };
    const reembed = {
      embedding_llm: { provider: "ollama", model: "n", base_url: ollama.url },
      vector_column: "next",
    };
    const pipelines = [
      handbookPipeline("handbook", { database, openai, anthropic }, { reembed, tables: [pagesTable, faqs] }),
    ];
    await using running = await startRagServer({ pipelines });
    const config = join(running.folder.path, "config.yaml");
    const run = runProgram(["-config", config, "-reembed", "handbook"]);
    await waitUntil("they are set aside", async () => {
      // as it is some seconds later
      const hurry = "UPDATE postern.embedding_queue SET not_before = now() WHERE attempts > 0";
      const count = "SELECT count(reason) FROM postern.embedding_queue";
      const [row] = await database.query(`${hurry}; ${count}`).catch(() => []);
      return row?.[0] === "4";
    });
    const { code, stdout, stderr } = await run;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /^Rows set aside without a vector: 4; postern\.embedding_queue has the reasons$/m);
    assert.deepEqual(await database.query("SELECT id FROM pages WHERE next IS NULL ORDER BY id"), [
      ["101"],
      ["120"],
      ["121"],
      ["140"],
    ]);
  },
);
