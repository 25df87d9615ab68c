import assert from "node:assert/strict";
import { join } from "node:path";
import { startRagServer } from "../../../src/app/rag/rag_server.ts";
import { loadConfig } from "../../../src/config/mod.ts";
import { createFileWatch, type FileWatch } from "../../../src/core/files/watch_files.ts";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { optionsFor } from "../../config/load_options.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

/** A watch of files that counts those that are watched. */
function countingWatch(): FileWatch & { open(): number } {
  const files = createFileWatch();
  let open = 0;
  return {
    ...files,
    open: () => open,
    async watch(options) {
      const watched = await files.watch(options);
      open++;
      let isOpen = true;
      const end = async () => {
        if (isOpen) open--;
        isOpen = false;
        await watched.end();
      };
      return { end, [Symbol.asyncDispose]: end };
    },
  };
}

Deno.test("pipelines of a configuration that was not put in force are closed at the next reload or at the end", async () => {
  await using folder = await temporaryFolder();
  const keyFile = join(folder.path, "key");
  await Deno.writeTextFile(keyFile, "a-key-for-embeddings", { mode: 0o600 });
  const configOf = async (topN: number) =>
    (await loadConfig(optionsFor(`
server: { listen_address: 127.0.0.1, port: 0 }
pipelines:
  - name: docs
    database: { host: 127.0.0.1, port: 9, database: docs }
    top_n: ${topN}
    tables: [{ table: a, text_column: t, vector_column: v }]
    embedding_llm: { provider: openai, model: m, base_url: "http://127.0.0.1:9", api_key_file: ${keyFile} }
    rag_llm: { provider: ollama, model: m }
`))).config;
  using files = countingWatch();
  {
    await using server = await startRagServer({
      config: await configOf(1),
      files,
      version: "1.2.3",
      logger: silentLogger,
    });
    const perSet = files.open();
    assert.ok(perSet > 0);
    await server.prepare(await configOf(2));
    assert.equal(files.open(), 2 * perSet);
    const put = await server.prepare(await configOf(3));
    assert.equal(files.open(), 2 * perSet);
    put?.();
    await server.prepare(await configOf(4));
    await server.prepare(await configOf(3));
    assert.equal(files.open(), perSet);
    await server.prepare(await configOf(5));
  }
  assert.equal(files.open(), 0);
});

Deno.test("the start warns once of pipelines whose requests may filter by every column, and a reload does not", async () => {
  const configOf = async (topN: number, filterColumns: string) =>
    (await loadConfig(optionsFor(`
server: { listen_address: 127.0.0.1, port: 0 }
defaults: { embedding_llm: { provider: local }, rag_llm: { provider: local } }
pipelines:
${
      ["open", "wide", "closed"].map((name) =>
        `  - name: ${name}
    top_n: ${topN}
    database: { host: 127.0.0.1, port: 9, database: docs }
    tables:
      - { table: a, text_column: t, vector_column: v, filter_columns: [x] }
      - { table: b, text_column: t, vector_column: v, ${name === "closed" ? filterColumns : ""} }`
      ).join("\n")
    }
`))).config;
  const warnings = async (filterColumns: string) => {
    const lines: string[] = [];
    using files = createFileWatch();
    const logger = createLogger({ level: "warn", format: "text", write: (line) => lines.push(line) });
    await using server = await startRagServer({
      config: await configOf(1, filterColumns),
      files,
      version: "1.2.3",
      logger,
    });
    (await server.prepare(await configOf(2, filterColumns)))?.();
    return lines.filter((line) => line.includes("filter_columns"));
  };
  for (
    const [filterColumns, pipelines] of [["filter_columns: []", "open, wide"], ["", "open, wide, closed"]]
  ) {
    const [line, ...others] = await warnings(filterColumns ?? "");
    assert.match(line ?? "", /Requests may filter by every column of these pipelines' tables/);
    assert.ok(line?.includes(`pipelines="${pipelines}"`));
    assert.deepEqual(others, []);
  }
});
