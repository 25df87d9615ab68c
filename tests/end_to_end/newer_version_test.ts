import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteEngine, stateFile } from "../../src/state/sqlite_engine.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { createTestDatabase, requireTestDatabaseUrl, testWithPgvectorServer } from "../support/database.ts";
import { runProgram } from "../support/server_process.ts";

/** A folder, a database and a state that the program has written. */
async function createWritten() {
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
  const state = stateFile(join(path, "data"));
  await openSqliteEngine(state, Date.now)[Symbol.asyncDispose]();
  const run = (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]);
  for (const flag of ["-ingest", "-index-pipeline"]) {
    const { code, stderr } = await run(flag, "docs");
    assert.equal(code, 0, stderr);
  }
  return {
    database,
    state,
    run,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

testWithPgvectorServer(
  "what a newer version wrote is refused with what to do, and stays as it is",
  async () => {
    await using written = await createWritten();
    const { database, run, state } = written;
    await database.query(`COMMENT ON TABLE postern.ingested_files IS 'Postern. Layout 2';
    UPDATE postern.keyword_indexes SET format = 3`);
    const file = new DatabaseSync(state);
    file.exec("PRAGMA user_version = 2");
    file.close();
    const cases: [flags: string[], says: RegExp][] = [
      [
        ["-ingest", "docs"],
        /postern\.ingested_files: a newer version of Postern made it \(layout 2; .*ingest with/,
      ],
      [["-ingest", "docs", "-dry-run"], /postern\.ingested_files: a newer version of Postern made it/],
      [
        ["-index-pipeline", "docs"],
        /newer version of Postern made it \(format 3 in postern\.keyword_indexes; .*that version/,
      ],
      [["-drop-index", "docs"], /newer version of Postern made it \(format 3 in/],
      [
        ["-http", "-no-auth", "-addr", "127.0.0.1:0"],
        /state\.sqlite: a newer version of Postern wrote it \(layout 2; /,
      ],
    ];
    for (const [flags, says] of cases) {
      const { code, stderr } = await run(...flags);
      assert.equal(code, 1, flags.join(" "));
      assert.match(stderr, says);
    }
    assert.deepEqual(await database.query("SELECT format, state FROM postern.keyword_indexes"), [[
      "3",
      "ready",
    ]]);
  },
);
