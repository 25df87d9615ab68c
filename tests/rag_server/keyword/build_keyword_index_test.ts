import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { pg } from "../../../src/postgres/connection.ts";
import {
  buildKeywordIndex,
  type BuildProgress,
} from "../../../src/rag_server/keyword/build_keyword_index.ts";
import { dropKeywordIndex } from "../../../src/rag_server/keyword/drop_keyword_index.ts";
import { testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { assertInStep, createKeywordFixture } from "./fixture.ts";

const docs = `CREATE TABLE docs (id int PRIMARY KEY, body text);
  INSERT INTO docs SELECT i, 'word' || i || ' among word' || i % 10 FROM generate_series(1, 3000) i`;
const columns = { table: "docs", textColumn: "body", idColumn: "id" };
const signal = new AbortController().signal;

testWithPostgres("a build tells its progress in rows, also of a table that was never analysed", async () => {
  await using fixture = await createKeywordFixture(docs);
  const progress: BuildProgress[] = [];
  const built = await fixture.build({ batchRows: 1_000, onProgress: (step) => progress.push(step) });
  assert.deepEqual(built, { id: 1, documents: 3_000 });
  assert.deepEqual(progress.slice(0, 3), [
    { phase: "documents", done: 1_000, total: 3_000 },
    { phase: "documents", done: 2_000, total: 3_000 },
    { phase: "documents", done: 3_000, total: 3_000 },
  ]);
  assert.deepEqual(progress.at(-1), { phase: "lists", done: 3_000, total: 3_000 });
  await assertInStep(fixture);
});

testWithPostgres("a build that was stopped goes on where it was", async () => {
  await using fixture = await createKeywordFixture(docs);
  const stop = new AbortController();
  const onProgress = ({ done }: BuildProgress) => done === 1_200 && stop.abort(new Error("stopped"));
  const notes: string[] = [];
  const onNote = (note: string) => notes.push(note);
  await assert.rejects(fixture.build({ batchRows: 400, signal: stop.signal, onProgress, onNote }), /stopped/);
  assert.equal((await fixture.find()).kind, "tsvector", "an index that is not ready is not asked");
  await fixture.query(
    "DELETE FROM docs WHERE id = 7; UPDATE docs SET body = 'changed' WHERE id IN (8, 2008)",
  );
  const done: number[] = [];
  await fixture.build({ batchRows: 400, onProgress: (step) => done.push(step.done), onNote });
  assert.equal(done[0], 1_599, "1,199 of those before, and 400");
  const tables = "postern.keyword_1_documents, postern.keyword_1_lists, postern.keyword_1_recent";
  assert.deepEqual(notes, [
    `the keyword index is left as it is, in ${tables}: the next run goes on with it, -drop-index drops it`,
    `goes on with the keyword index that an earlier run left unfinished, in ${tables}`,
  ]);
  await assertInStep(fixture);
  assert.deepEqual(await fixture.idsOf("changed"), ["8", "2008"]);
});

testWithPostgres("a build loses and keeps nothing that writers change meanwhile", async () => {
  await using fixture = await createKeywordFixture(docs);
  const writer = new pg.Client({ connectionString: fixture.url });
  await writer.connect();
  let isBuilding = true;
  const writing = (async () => {
    for (let round = 0; isBuilding; round++) {
      const id = 1 + (round * 37) % 3_000;
      await writer.query("BEGIN");
      await writer.query("UPDATE docs SET body = body || ' again' WHERE id = $1", [id]);
      await writer.query("DELETE FROM docs WHERE id = $1", [id % 3_000 + 1]);
      await writer.query("INSERT INTO docs VALUES ($1, 'newcomer')", [10_000 + round]);
      await writer.query(round % 5 === 0 ? "ROLLBACK" : "COMMIT");
    }
  })();
  await fixture.build({ batchRows: 50 });
  isBuilding = false;
  await writing;
  await writer.end();
  await fixture.build();
  await assertInStep(fixture);
});

testWithPostgres(
  "a build waits for a writer that holds the table, and lets others pass meanwhile",
  async () => {
    await using fixture = await createKeywordFixture(docs);
    const holder = new pg.Client({ connectionString: fixture.url });
    await holder.connect();
    await holder.query("BEGIN; INSERT INTO docs VALUES (9001, 'held')");
    const building = fixture.build();
    for (let id = 9_100; id < 9_110; id++) await fixture.query(`INSERT INTO docs VALUES (${id}, 'passer')`);
    await holder.query("COMMIT");
    await holder.end();
    await building;
    await assertInStep(fixture);
  },
);

testWithPostgres("a second build adds what no trigger saw and takes out what is gone", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await fixture.query(`SET session_replication_role = replica;
    INSERT INTO docs VALUES (5000, 'unseen'); DELETE FROM docs WHERE id = 1`);
  assert.deepEqual(await fixture.idsOf("unseen"), []);
  assert.deepEqual(await fixture.build(), { id: 1, documents: 3_000 });
  assert.deepEqual(await fixture.idsOf("unseen"), ["5000"]);
  await assertInStep(fixture);
});

testWithPostgres("only one process builds an index at a time", async () => {
  await using fixture = await createKeywordFixture(docs);
  const connection = await connect(databaseOptions(fixture.url), { signal, logger: silentLogger });
  const second = Promise.withResolvers<unknown>();
  let isAsked = false;
  const onProgress = () => {
    if (isAsked) return;
    isAsked = true;
    buildKeywordIndex({ connection, signal, ...columns, lockPatienceMs: 0 }).then(
      second.resolve,
      second.resolve,
    );
  };
  await fixture.build({ batchRows: 100, onProgress });
  assert.match(
    String(await second.promise),
    /Cannot index the keywords of "docs": another process is indexing them; try again when that has ended/,
  );
  await connection.close();
});

testWithPostgres("a build waits a little for one that was killed", async () => {
  await using fixture = await createKeywordFixture(docs);
  const killed = await connect(databaseOptions(fixture.url), { signal, logger: silentLogger });
  const entered = Promise.withResolvers<void>();
  const ended = assert.rejects(buildKeywordIndex({
    connection: killed,
    signal,
    ...columns,
    batchRows: 100,
    onProgress: () => entered.resolve(),
  }));
  await entered.promise;
  const next = fixture.build();
  await fixture.query(`SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
  await ended;
  assert.equal((await next).documents, 3_000);
});

testWithPostgres("a second build takes what is recent into the lists", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  await fixture.query("INSERT INTO docs SELECT i, 'fresh ' || i FROM generate_series(4001, 4100) i");
  const count = async (table: string) =>
    (await fixture.query(`SELECT count(*) FROM postern.keyword_1_${table}`))[0]?.[0];
  assert.equal(await count("recent"), "200");
  const before = await fixture.find();
  await fixture.build();
  assert.equal(await count("recent"), "0");
  await assertInStep(fixture);
  const after = await fixture.find();
  assert.deepEqual([before, after].map((index) => index.kind === "postern" && index.documents), [
    3_000,
    3_100,
  ]);
  assert.equal(after.kind === "postern" && after.staleness, 0);
});

testWithPostgres("a dropped index leaves nothing behind", async () => {
  await using fixture = await createKeywordFixture(docs);
  await fixture.build();
  const drop = () => dropKeywordIndex({ connection: fixture.connection, signal, ...columns });
  assert.equal(await drop(), true);
  assert.equal(await drop(), false);
  assert.deepEqual(await fixture.query("SELECT count(*) FROM pg_trigger WHERE tgrelid = 'docs'::regclass"), [[
    "0",
  ]]);
  assert.deepEqual(
    await fixture.query(
      "SELECT relname FROM pg_class WHERE relnamespace = 'postern'::regnamespace AND relkind = 'r'",
    ),
    [["keyword_indexes"]],
  );
  assert.equal((await fixture.build()).documents, 3_000);
});

testWithPostgres("what cannot be indexed is refused with the reason", async () => {
  await using fixture = await createKeywordFixture(
    `${docs}; CREATE VIEW seen AS SELECT * FROM docs; CREATE TABLE loose (id int, body text)`,
  );
  for (
    const [changes, reason] of [
      [{ table: "nowhere" }, "there is no such table"],
      [{ table: "seen" }, "it is not a table"],
      [{ textColumn: "text" }, 'it has no column "text"'],
      [{ table: "loose" }, 'no primary key or unique index begins with "id" alone'],
      [{ config: "klingon" }, 'there is no text search configuration "klingon"'],
    ] as const
  ) {
    const table = "table" in changes ? changes.table : "docs";
    await assert.rejects(fixture.build(changes), {
      code: "invalid",
      message: `Cannot index the keywords of "${table}": ${reason}`,
    });
  }
  await fixture.build();
  await assert.rejects(fixture.build({ config: "german" }), { code: "conflict" });
});

testWithPostgres("names of any kind and ids of any type will do", async () => {
  const table = `"It's a ""table"" ${"x".repeat(40)}"`;
  await using fixture = await createKeywordFixture(`CREATE SCHEMA "odd $1"; CREATE TABLE "odd $1".${table} (
    "the ""id""" uuid PRIMARY KEY, "bo'dy $1" varchar);
    INSERT INTO "odd $1".${table} VALUES ('00000000-0000-0000-0000-00000000000a', 'a whale')`);
  const odd = { table: `"odd $1".${table}`, textColumn: "bo'dy $1", idColumn: 'the "id"' };
  await fixture.build(odd);
  await fixture.query(
    `INSERT INTO "odd $1".${table} VALUES ('00000000-0000-0000-0000-00000000000b', 'two whales')`,
  );
  const hits = await fixture.ask(await fixture.find(odd), "whale");
  assert.deepEqual(hits.map(({ id }) => id).sort(), [
    "00000000-0000-0000-0000-00000000000a",
    "00000000-0000-0000-0000-00000000000b",
  ]);
});
