import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { handbookPipeline, startRagServer } from "../../support/rag_server.ts";
import { scrape } from "../../support/scrape.ts";
import { command, runProgram } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";

testWithPgvectorServer(
  "rows that an application writes are embedded, also after a worker was killed",
  async (t) => {
    await using database = await createHandbookDatabase();
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", { answer: "Quite so." });
    const pipelines = [handbookPipeline("handbook", { database, openai, anthropic })];
    await using running = await startRagServer({ pipelines, metrics: { address: "127.0.0.1:0" } });
    const config = join(running.folder.path, "config.yaml");
    const operate = (...flags: string[]) => runProgram(["-config", config, ...flags]);
    const watch = () =>
      command(["-config", config, "-watch-pipeline", "handbook"], { stdout: "null", stderr: "null" }).spawn();
    const waiting = async () =>
      Number(
        (await database.query("SELECT count(*) FROM postern.embedding_queue WHERE reason IS NULL"))[0]?.[0],
      );
    const sessions = async () =>
      (await database.query(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'postern'",
      )).length;
    const queue = async () => (await running.client.get("/v1/health")).body.pipelines?.[0]?.embedding_queue;

    await t.step("-watch-pipeline says what has to be done first", async () => {
      const { code, stderr } = await operate("-watch-pipeline", "handbook");
      assert.equal(code, 1);
      assert.match(stderr, /its tables have no queue; run the SQL that -setup-watch prints\n$/);
      assert.equal(await queue(), undefined);
    });

    await t.step("-setup-watch prints SQL that may be run again", async () => {
      const { code, stdout, stderr } = await operate("-setup-watch", "handbook", "-db-user", "postgres");
      assert.equal(code, 0, stderr);
      const sql = stdout.replace("\\set ON_ERROR_STOP on\n", "");
      await database.query(sql);
      await database.query(sql);
      assert.equal(await waiting(), 0);
    });

    await t.step("the server shows how many rows wait", async () => {
      await database.query(
        "INSERT INTO pages (id, content) SELECT 100 + n, 'Laptop laptop ' || n FROM generate_series(1, 50) n",
      );
      const { waiting = 0, set_aside } = await queue() ?? {};
      assert.deepEqual([waiting, set_aside], [50, 0]);
      await waitUntil("the metrics show it", async () => {
        const { value } = await scrape(running.process);
        return value("postern_embedding_rows", { pipeline: "handbook", state: "waiting" }) === 50;
      });
    });

    await t.step("a worker that is killed in the middle of a batch loses nothing", async () => {
      openai.fail("stall before the headers");
      const before = openai.requests.length;
      const worker = watch();
      await waitUntil("it embeds", () => openai.requests.length > before);
      worker.kill("SIGKILL");
      await worker.status;
      assert.equal(await waiting(), 50);
      openai.mend();
      // as it is 30 seconds later
      await database.query("UPDATE postern.embedding_queue SET not_before = now()");
      const others = await sessions();
      const workers = [watch(), watch()];
      await waitUntil("others go on", async () => await waiting() === 0);
      const [row] = await database.query(
        "SELECT count(*), count(DISTINCT embedding) FROM pages WHERE embedding IS NOT NULL AND id > 100",
      );
      assert.deepEqual(row, ["50", "1"]);
      await database.query("UPDATE pages SET content = 'Parking parking parking' WHERE id = 101");
      await waitUntil("they hear of a change", async () => await waiting() === 0);
      assert.deepEqual(await database.query("SELECT embedding FROM pages WHERE id = 101"), [
        [`[${topicVector("parking parking parking")}]`],
      ]);
      // before that, a signal ends it as any program
      await waitUntil("both have begun", async () => await sessions() >= others + 2);
      for (const worker of workers) worker.kill("SIGTERM");
      assert.deepEqual(await Promise.all(workers.map(async ({ status }) => (await status).code)), [0, 0]);
    });

    await t.step("-retry-failed puts back what was set aside", async () => {
      await database.query(
        "INSERT INTO postern.embedding_queue (name, key, reason) SELECT name, '102', 'too long' FROM postern.embedded_columns",
      );
      assert.deepEqual(await queue(), { waiting: 0, oldest_seconds: 0, set_aside: 1 });
      const { code, stdout } = await operate("-watch-pipeline", "handbook", "-retry-failed");
      assert.deepEqual([code, stdout], [0, "1 row put back\n"]);
      assert.equal(await waiting(), 1);
    });
  },
);
