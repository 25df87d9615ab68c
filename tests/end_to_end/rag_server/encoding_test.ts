import assert from "node:assert/strict";
import { createConfigFolder } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPgvectorServer } from "../../support/database.ts";
import { configText, pipelineDatabase } from "../../support/rag_server.ts";
import { runProgram, startServer } from "../../support/server_process.ts";
import { join } from "node:path";

for (const encoding of ["LATIN1", "SQL_ASCII"]) {
  testWithPgvectorServer(
    `words of a database in ${encoding} are not searched, which says what to do`,
    async () => {
      await using database = await createTestDatabase(
        undefined,
        `ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C'`,
      );
      await database.query("CREATE EXTENSION vector");
      const pipelines = [{
        name: "p",
        database: pipelineDatabase(database),
        tables: [{ table: "chunks", text_column: "content", vector_column: "embedding", id_column: "id" }],
        embedding_llm: { provider: "local" },
        rag_llm: { provider: "local" },
        allow_include_sources: true,
      }];
      await using folder = await createConfigFolder(configText({ pipelines }));
      const document = join(folder.path, "a.txt");
      await Deno.writeTextFile(document, "The café serves tea.\n");
      const operate = (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]);
      const ingested = await operate("-ingest", "p", document);
      assert.equal(ingested.code, 0, ingested.stderr);
      const fault = new RegExp(
        `Cannot search the words of "chunks": its database has the encoding ${encoding}; expected UTF8: restore a dump`,
      );
      const indexed = await operate("-index-pipeline", "p");
      assert.equal(indexed.code, 1);
      assert.match(indexed.stderr, fault);
      assert.match((await operate("-doctor")).stdout, fault);
      await using server = await startServer(["-rag", "-config", folder.configFile]);
      const reply = await fetch(`${server.url}/v1/pipelines/p/search`, {
        method: "POST",
        body: JSON.stringify({ query: 'the "café" of 東京 -coffee' }),
      });
      assert.equal(reply.status, 200);
      assert.match(await reply.text(), /The café serves tea/);
      assert.match(server.stderr(), fault);
    },
  );
}
