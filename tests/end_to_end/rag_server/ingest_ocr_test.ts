import assert from "node:assert/strict";
import { join } from "node:path";
import { examplePdf } from "../../rag_server/ingest/formats/example_pdf.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  testWithPgvectorServer,
} from "../../support/database.ts";
import { runProgram } from "../../support/server_process.ts";

testWithPgvectorServer(
  "-ingest reads pages without text by the program that the pipeline names",
  async () => {
    await using database = await createTestDatabase();
    const { hostname, port, username } = new URL(requireTestDatabaseUrl());
    await using folder = await createConfigFolder(`
pipelines:
  - name: docs
    database: { host: ${hostname}, port: ${port}, database: ${database.name}, user: ${username}, sslmode: disable }
    tables: [{ table: docs, text_column: content, vector_column: embedding, id_column: id }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    sources: [{ name: scans, path: scans }]
    ocr_command: [ocr-page, "{page}"]
`);
    const path = await Deno.realPath(folder.path);
    const program = join(path, "ocr-page");
    await Deno.writeTextFile(
      folder.configFile,
      (await Deno.readTextFile(folder.configFile)).replace("ocr-page", program),
    );
    await Deno.writeTextFile(
      program,
      `#!/bin/sh\nhead -c 4\necho " page $1 of a scan"\nenv | grep -c SECRET || true\n`,
    );
    await Deno.chmod(program, 0o755);
    await Deno.mkdir(join(path, "scans"));
    await Deno.writeFile(join(path, "scans", "scan.pdf"), examplePdf([[{ text: "Typed.", y: 700 }], []]));
    const { code, stdout, stderr } = await runProgram(["-config", folder.configFile, "-ingest", "docs"], {
      MY_SECRET: "x",
    });
    assert.equal(code, 0, stdout + stderr);
    const [[content] = []] = await database.query(
      "SELECT string_agg(content, ' ' ORDER BY position) FROM docs",
    );
    assert.equal(content, "scan\n\nTyped.\n\n%PDF page 2 of a scan 0");
  },
);
