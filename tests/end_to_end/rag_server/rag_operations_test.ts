import assert from "node:assert/strict";
import { join } from "node:path";
import { sleep } from "../../../src/core/async/deadline.ts";
import { pg } from "../../../src/postgres/connection.ts";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPgvectorServer } from "../../support/database.ts";
import { topicVector } from "../../support/handbook_documents.ts";
import { createLimitedRole } from "../../support/limited_role.ts";
import { createRagClient } from "../../support/rag_client.ts";
import {
  configText,
  handbookPipeline,
  keyFile,
  type RagConfig,
  vendorKey,
} from "../../support/rag_server.ts";
import { command, runProgram, startServer } from "../../support/server_process.ts";

const files = {
  "leave.md": "# Leave\n\n## Annual leave\n\nAll employees get 25 days of annual leave.\n\n" +
    "## Parental leave\n\nParents get 16 weeks of leave.\n",
  "travel/expenses.html": "<html><head><title>Expenses</title><script>alert('no')</script></head><body>" +
    "<h1>Expenses</h1><p>An expense above 500 euros needs a director &amp; a receipt.</p></body></html>",
  "parking.txt": "Parking is free behind building Quokka7.\n",
} as const;

const chunks = {
  table: "chunks",
  text_column: "content",
  vector_column: "embedding",
  id_column: "id",
} as const;

interface Summary {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  readonly removed: number;
}

function counts(text: string): number[] {
  const { added, changed, unchanged, removed }: Summary = JSON.parse(text);
  return [added, changed, unchanged, removed];
}

function assertOneLine(stderr: string, pattern: RegExp): void {
  assert.match(stderr, /^[^\n]+\n$/);
  assert.match(stderr, pattern);
}

testWithPgvectorServer("from a folder of files to answers", async (t) => {
  await using database = await createTestDatabase();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", { answer: "Quite so." });
  const parts = { database, openai, anthropic };
  const config = (...pipelines: readonly RagConfig[]) => configText({ pipelines });
  const bothPipelines = config(
    handbookPipeline("handbook", parts, { tables: [chunks] }),
    handbookPipeline("unmade", parts, { tables: [{ ...chunks, table: "missing" }] }),
  );
  await using folder = await createConfigFolder(bothPipelines);
  await Deno.writeTextFile(join(folder.path, keyFile), vendorKey, { mode: 0o600 });
  const documents = join(folder.path, "documents");
  await Deno.mkdir(join(documents, "travel"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await Deno.writeTextFile(join(documents, name), text);
  const operate = (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]);
  const ingest = () => operate("-ingest", "handbook", documents, "-json");
  /** Files of a source. */
  const countOf = async (source: string) => {
    const [row] = await database.query(
      "SELECT count(*) FROM postern.ingested_files f JOIN postern.ingested_sources s ON s.id = f.source_id " +
        `WHERE s.name = '${source}'`,
    );
    return Number(row?.[0]);
  };

  await t.step("-ingest makes the table and reads Markdown, HTML and text", async () => {
    const { code, stdout, stderr } = await ingest();
    assert.equal(code, 0, stderr);
    assert.deepEqual(counts(stdout), [3, 0, 0, 0]);
    const rows = await database.query("SELECT source, content FROM chunks ORDER BY source, position");
    assert.deepEqual([...new Set(rows.map(([source]) => source))], [
      "leave.md",
      "parking.txt",
      "travel/expenses.html",
    ]);
    const texts = rows.map(([, content]) => content).join("\n");
    assert.match(texts, /needs a director & a receipt/);
    assert.doesNotMatch(texts, /alert/);
  });

  await t.step("a second run finds nothing to do and pays for nothing", async () => {
    const before = openai.requests.filter(({ path }) => path === "/v1/embeddings").length;
    const { code, stdout } = await operate("-ingest", "handbook", documents);
    assert.equal(code, 0);
    assert.match(stdout, /Files unchanged +3\n/);
    assert.match(stdout, /Chunks written +0\n/);
    const after = openai.requests.filter(({ path }) => path === "/v1/embeddings").length;
    assert.ok(after - before <= 1);
  });

  await t.step("a folder that moved costs nothing, and an empty one removes nothing", async () => {
    const embeddings = () => openai.requests.filter(({ path }) => path === "/v1/embeddings").length;
    const wiki = join(folder.path, "wiki");
    const moved = join(folder.path, "moved");
    await Deno.mkdir(wiki);
    for (let at = 0; at < 10; at++) await Deno.writeTextFile(join(wiki, `${at}.md`), `Page ${at}.\n`);
    const write = (path: string) =>
      folder.write(config(
        handbookPipeline("handbook", parts, { tables: [chunks], sources: [{ name: "wiki", path }] }),
      ));
    await write("wiki");
    const dry = await operate("-ingest", "handbook", "-dry-run", "-json");
    assert.deepEqual([dry.code, ...counts(dry.stdout)], [0, 10, 0, 0, 0], dry.stderr);
    assert.equal(await countOf("wiki"), 0);
    assert.deepEqual(counts((await operate("-ingest", "handbook", "-json")).stdout), [10, 0, 0, 0]);
    assert.equal(await countOf("wiki"), 10);

    const before = embeddings();
    await Deno.rename(wiki, moved);
    const unmounted = await operate("-ingest", "handbook");
    assert.equal(unmounted.code, 1);
    assertOneLine(unmounted.stderr, /^postern: Cannot ingest .*wiki: there is no such file or folder$/m);
    await write("moved");
    assert.deepEqual(counts((await operate("-ingest", "handbook", "-json")).stdout), [0, 0, 10, 0]);
    assert.equal(embeddings(), before);

    for (let at = 0; at < 10; at++) await Deno.remove(join(moved, `${at}.md`));
    const empty = await operate("-ingest", "handbook", moved);
    assert.equal(empty.code, 1);
    assertOneLine(
      empty.stderr,
      /^postern: Cannot remove 10 of the 10 known files of source "wiki" .*-confirm-removal$/m,
    );
    assert.equal(await countOf("wiki"), 10);
    const confirmed = await operate("-ingest", "handbook", moved, "-confirm-removal", "-json");
    assert.deepEqual([confirmed.code, ...counts(confirmed.stdout)], [0, 0, 0, 0, 10]);
    assert.equal(await countOf("wiki"), 0);
    assert.equal(await countOf("documents"), 3);
    await folder.write(bothPipelines);
  });

  await t.step("-index-pipeline makes the keyword index, and says so again", async () => {
    const made = await operate("-index-pipeline", "handbook");
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /^chunks: keyword index of \d+ documents$/m);
    const again = await operate("-index-pipeline", "handbook");
    assert.equal(again.code, 0, again.stderr);
  });

  await t.step("a server answers from it, with the sources", async () => {
    await using process = await startServer(["-rag", "-config", folder.configFile]);
    const client = createRagClient({ url: process.url });
    const ask = async (query: string) => {
      const { sources = [] } = await client.ask("handbook", { query, include_sources: true, top_n: 1 });
      return sources[0]?.content ?? "";
    };
    assert.match(await ask("How many days of annual leave are there?"), /25 days of annual leave/);
    assert.match(await ask("What does Quokka7 have?"), /Quokka7/);

    // what is ingested later is found by the server that runs
    await Deno.writeTextFile(join(documents, "parking.txt"), "Parking is free behind building Numbat9.\n");
    await Deno.remove(join(documents, "travel/expenses.html"));
    const { stdout } = await ingest();
    assert.deepEqual(counts(stdout), [0, 1, 1, 1]);
    assert.match(await ask("What does Numbat9 have?"), /Numbat9/);
    assert.doesNotMatch(await ask("What does Quokka7 have?"), /Quokka7/);
    assert.equal(await process.stop(), 0);
  });

  await t.step("-evaluate measures each search", async () => {
    const queries = join(folder.path, "queries.jsonl");
    const qrels = join(folder.path, "qrels.tsv");
    const [[leave] = [], [parking] = []] = await database.query(
      "SELECT id FROM chunks WHERE content LIKE '%25 days%' UNION ALL SELECT id FROM chunks WHERE content LIKE '%Numbat9%'",
    );
    await Deno.writeTextFile(
      queries,
      '{"id": "q1", "text": "annual leave days"}\n{"id": "q2", "text": "Numbat9 building"}\n',
    );
    await Deno.writeTextFile(qrels, `query_id\tdocument_id\tgain\nq1\t${leave}\t1\nq2\t${parking}\t1\n`);
    const flags = ["-evaluate", "handbook", "-queries", queries, "-qrels", qrels];
    const { code, stdout, stderr } = await operate(...flags, "-json");
    assert.equal(code, 0, stderr);
    const { queries: count, searches } = JSON.parse(stdout);
    assert.equal(count, 2);
    assert.deepEqual(searches.map(({ search }: { search: string }) => search).toSorted(), [
      "hybrid",
      "keyword",
      "vector",
    ]);
    for (const { search, mrr, recall_at_10 } of searches) {
      if (search === "keyword") assert.deepEqual([mrr, recall_at_10], [1, 1]);
    }
    assert.match((await operate(...flags)).stdout, /^SEARCH +NDCG@10 +RECALL@10/im);

    await Deno.writeTextFile(queries, '{"id": "q3", "text": "Qwertz?", "answerable": false}\n', {
      append: true,
    });
    const judged = JSON.parse((await operate(...flags, "-answers", "-json")).stdout);
    // the model of this test cites nothing
    assert.deepEqual(judged.answers, {
      answered: { part: 0, whole: 2 },
      refused: { part: 1, whole: 1 },
      relevant: { part: 0, whole: 0 },
      verified: { part: 0, whole: 0 },
    });

    const missing = await operate("-evaluate", "handbook", "-queries", "/nowhere/q.jsonl", "-qrels", qrels);
    assert.equal(missing.code, 1);
    assertOneLine(missing.stderr, /\/nowhere\/q\.jsonl/);
  });

  await t.step("-doctor tells the pipeline that is well from the one that is not", async () => {
    const { code, stdout } = await operate("-doctor", "-json");
    assert.equal(code, 1);
    const { errors, diagnoses } = JSON.parse(stdout);
    assert.ok(errors > 0);
    const faulty = diagnoses.filter(({ checks }: { checks: readonly { ok: boolean; severity?: string }[] }) =>
      checks.some(({ ok, severity }) => !ok && severity === "error")
    );
    assert.deepEqual(faulty.map(({ kind, name }: { kind: string; name: string }) => [kind, name]), [
      ["pipeline", "unmade"],
    ]);
    const text = await operate("-doctor");
    assert.equal(text.code, 1);
    assert.match(text.stdout, /ERROR.*missing/);

    await folder.write(config(handbookPipeline("handbook", parts, { tables: [chunks] })));
    const well = await operate("-doctor");
    assert.equal(well.code, 0, well.stdout);
    assert.match(well.stdout, /\nno errors, /);
  });

  await t.step(
    "what one table lacks keeps no other from its index, nor does a table that is gone",
    async () => {
      await database.query(`CREATE VIEW seen AS SELECT * FROM chunks;
      CREATE TABLE gone (LIKE chunks INCLUDING INDEXES); CREATE TABLE late (LIKE chunks INCLUDING INDEXES)`);
      const write = (...names: readonly string[]) =>
        folder.write(config(
          handbookPipeline("mixed", parts, { tables: names.map((table) => ({ ...chunks, table })) }),
        ));
      await write("gone");
      assert.equal((await operate("-index-pipeline", "mixed")).code, 0);
      await database.query("DROP TABLE gone");
      await write("seen", "gone", "late");
      const { code, stdout, stderr } = await operate("-index-pipeline", "mixed");
      assert.equal(code, 1);
      assertOneLine(stderr, /Cannot search table "gone": there is no such table or view$/m);
      assert.match(
        stdout,
        /^Keyword indexes dropped, as their tables no longer exist: postern\.keyword_\d+_documents\nseen: no keyword index/,
      );
      assert.match(stdout, /^late: keyword index of 0 documents$/m);
      const dropped = await operate("-drop-index", "mixed");
      assert.equal(dropped.code, 1);
      assert.match(dropped.stdout, /^late: keyword index dropped$/m);
      await folder.write(config(handbookPipeline("handbook", parts, { tables: [chunks] })));
    },
  );

  await t.step("-drop-index takes the keyword index away, once", async () => {
    assert.deepEqual(await operate("-drop-index", "handbook"), {
      code: 0,
      stdout: "chunks: keyword index dropped\n",
      stderr: "",
    });
    assert.deepEqual(await operate("-drop-index", "handbook"), {
      code: 0,
      stdout: "chunks: there is no keyword index\n",
      stderr: "",
    });
    const left = await database.query(
      "SELECT nspname FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema|public)'",
    );
    assert.deepEqual(left.filter(([name]) => String(name).includes("keyword")), []);
  });

  await t.step("what cannot be done is one line", async () => {
    for (const flag of ["-index-pipeline", "-drop-index"]) {
      const { code, stdout, stderr } = await operate(flag, "nobody");
      assert.deepEqual([code, stdout], [1, ""]);
      assertOneLine(stderr, /pipeline "nobody".*handbook/);
    }
    const noPath = await operate("-ingest", "handbook");
    assert.equal(noPath.code, 1);
    assertOneLine(
      noPath.stderr,
      /^postern: Cannot ingest: give a PATH, or list sources of the pipeline$/m,
    );
    const noFile = await operate("-ingest", "handbook", join(folder.path, "nothing"));
    assert.equal(noFile.code, 1);
    assertOneLine(noFile.stderr, /nothing/);
    const noQueries = await operate("-evaluate", "handbook", "-qrels", "q");
    assert.equal(noQueries.code, 2);
    assertOneLine(noQueries.stderr, /-queries/);
    openai.fail(401, { echo: `no ${vendorKey}` });
    await Deno.writeTextFile(join(documents, "new.txt"), "Training is free.\n");
    const refused = await operate("-ingest", "handbook", documents);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /the provider rejected the server's credentials\n$/);
    assert.ok(!(refused.stderr + refused.stdout).includes(vendorKey.slice(0, 12)));
  });

  await t.step("a database that is down is one line", async () => {
    await folder.write(
      config(
        handbookPipeline("handbook", parts, {
          tables: [chunks],
          database: { host: "127.0.0.1", port: 9, database: "x", ssl_mode: "disable" },
        }),
      ),
    );
    for (const flags of [["-index-pipeline", "handbook"], ["-ingest", "handbook", documents]]) {
      const { code, stderr } = await operate(...flags);
      assert.equal(code, 1);
      assertOneLine(stderr, /127\.0\.0\.1:9|handbook/);
    }
  });
});

testWithPgvectorServer(
  "-index-pipeline names what it leaves when it is interrupted, and drops it later",
  async () => {
    await using database = await createTestDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    const pipeline = handbookPipeline("handbook", { database, openai, anthropic }, { tables: [chunks] });
    await using folder = await createConfigFolder(configText({ pipelines: [pipeline] }));
    await Deno.writeTextFile(join(folder.path, keyFile), vendorKey, { mode: 0o600 });
    await database.query(`CREATE EXTENSION vector;
    CREATE TABLE chunks (id int PRIMARY KEY, content text, embedding vector(8))`);
    await using owner = await createLimitedRole(database, 5);
    await database.query(
      `ALTER TABLE chunks OWNER TO ${owner.name}; GRANT CREATE ON SCHEMA public TO ${owner.name};
      GRANT CREATE ON DATABASE ${database.name} TO ${owner.name};
      ALTER ROLE ${owner.name} SET statement_timeout = '20ms'`,
    );
    const reader = new pg.Client({ connectionString: database.url });
    reader.on("error", () => {});
    await reader.connect();
    // before the role, whose table it holds
    await using _end = { [Symbol.asyncDispose]: () => reader.end() };
    // of the two builds, that of the vector index waits for readers
    await reader.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM chunks");
    const args = ["-config", folder.configFile, "-index-pipeline", "handbook", "-db-user", owner.name];
    const child = command(args, { stdout: "piped", stderr: "piped" }).spawn();
    const output = child.output();
    const isWaiting = `SELECT FROM pg_stat_progress_create_index WHERE datname = '${database.name}'
    AND phase LIKE 'waiting for %'`;
    let hasEnded = false;
    void output.then(() => hasEnded = true);
    while (!hasEnded && (await database.query(isWaiting)).length === 0) await sleep(50);
    if (!hasEnded) child.kill("SIGINT");
    const { code, stdout, stderr } = await output;
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.equal(code, 1);
    assert.match(text(stderr), /^postern: Cannot finish: interrupted$/m);
    assert.match(text(stdout), /^chunks: index public\.chunks_embedding_idx is left unfinished, /m);
    assert.deepEqual(await database.query(isWaiting), []);
    await reader.query("COMMIT");
    const again = await runProgram(args);
    assert.equal(again.code, 0, again.stderr);
    assert.match(
      again.stdout,
      /^chunks: dropped index public\.chunks_embedding_idx, which an earlier run left unfinished\nchunks: vector index$/m,
    );
  },
);
