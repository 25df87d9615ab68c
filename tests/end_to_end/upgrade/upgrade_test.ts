import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentLogger } from "../../../src/core/logger.ts";
import { createSqliteHistory } from "../../../src/tool_server/questions/sqlite_history.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  testWithPgvectorServer,
} from "../../support/database.ts";
import { runProgram } from "../../support/server_process.ts";

const fixture = async (name: string) => await Deno.readTextFile(new URL(name, import.meta.url));

/** A folder, a database and a history as the program before left them, and today's program over them. */
async function createUpgrade() {
  const database = await createTestDatabase();
  const { hostname, port, username } = new URL(requireTestDatabaseUrl());
  const place =
    `host: ${hostname}, port: ${port}, database: ${database.name}, user: ${username}, sslmode: disable`;
  const folder = await createConfigFolder(`
data_dir: data
databases: [{ name: main, ${place} }]
pipelines:
  - name: docs
    database: { ${place} }
    tables: [{ table: docs, text_column: content, vector_column: embedding, id_column: id }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    sources: [{ name: handbook, path: handbook }]
`);
  const path = await Deno.realPath(folder.path);
  await Deno.mkdir(join(path, "handbook"));
  await Deno.writeTextFile(join(path, "handbook", "leave.md"), "# Leave\n\nAll employees get 25 days.\n");
  await Deno.writeTextFile(
    join(path, "handbook", "parking.md"),
    "# Parking\n\nParking is free on level 2/3.\n",
  );
  await database.query((await fixture("database_of_0_1.sql")).replaceAll("FOLDER", path));
  const history = join(path, "data", "turns.sqlite");
  await Deno.mkdir(join(path, "data"));
  const file = new DatabaseSync(history);
  file.exec(await fixture("history_of_0_1.sql"));
  file.close();
  return {
    database,
    history,
    run: (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]),
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const commentSql = "SELECT obj_description('postern.ingested_files'::regclass, 'pg_class')";

testWithPgvectorServer("what the program before wrote is read, and marked with its version", async () => {
  await using upgrade = await createUpgrade();
  const { database, run, history } = upgrade;
  const ingested = await run("-ingest", "docs", "-json");
  assert.equal(ingested.code, 0, ingested.stderr);
  const { unchanged, added, changed, removed } = JSON.parse(ingested.stdout);
  // files are read anew, since what is text in them is told better now
  assert.deepEqual({ unchanged, added, changed, removed }, {
    unchanged: 0,
    added: 0,
    changed: 2,
    removed: 0,
  });
  assert.match(String((await database.query(commentSql))[0]?.[0]), /Layout 2$/);
  const { stdout } = await run("-doctor", "-json");
  const checks: { check: string; ok: boolean }[] = JSON.parse(stdout).diagnoses[0].checks;
  assert.equal(checks.find(({ check }) => check === "keyword index of docs")?.ok, true, stdout);
  const indexed = await run("-index-pipeline", "docs");
  assert.equal(indexed.code, 0, indexed.stderr);
  using opened = createSqliteHistory({ path: history, now: () => 1767322800001, logger: silentLogger });
  assert.deepEqual(opened.recent("local", "main").map(({ question }) => question), [
    "how many docs are there",
  ]);
});

testWithPgvectorServer(
  "what a newer version wrote is refused with what to do, and stays as it is",
  async () => {
    await using upgrade = await createUpgrade();
    const { database, run, history } = upgrade;
    await database.query(`COMMENT ON TABLE postern.ingested_files IS 'Postern. Layout 3';
    UPDATE postern.keyword_indexes SET format = 4`);
    const file = new DatabaseSync(history);
    file.exec("PRAGMA user_version = 2");
    file.close();
    const cases: [flags: string[], says: RegExp][] = [
      [
        ["-ingest", "docs"],
        /postern\.ingested_files: a newer version of Postern made it \(layout 3; .*ingest with/,
      ],
      [["-ingest", "docs", "-dry-run"], /postern\.ingested_files: a newer version of Postern made it/],
      [
        ["-index-pipeline", "docs"],
        /newer version of Postern made it \(format 4 in postern\.keyword_indexes; .*that version/,
      ],
      [["-drop-index", "docs"], /newer version of Postern made it \(format 4 in/],
      [
        ["-http", "-no-auth", "-addr", "127.0.0.1:0"],
        /turns\.sqlite: a newer version of Postern wrote it \(layout 2; /,
      ],
    ];
    for (const [flags, says] of cases) {
      const { code, stderr } = await run(...flags);
      assert.equal(code, 1, flags.join(" "));
      assert.match(stderr, says);
    }
    assert.deepEqual(await database.query("SELECT format, state FROM postern.keyword_indexes"), [[
      "4",
      "ready",
    ]]);
  },
);
