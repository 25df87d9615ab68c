import assert from "node:assert/strict";
import { openPipelineProviders } from "../../../src/app/providers/open_providers.ts";
import { loadConfig } from "../../../src/config/mod.ts";
import { createFileWatch } from "../../../src/core/files/watch_files.ts";
import { createUsageLedger } from "../../../src/llm/usage.ts";
import { optionsFor } from "../../config/load_options.ts";
import { capturedLogger } from "../../llm/raw_server.ts";

Deno.test("a start says that embeddings of the kind local are for demonstrations, and of no other", async () => {
  for (
    const [provider, isTold] of [["local", true], ["ollama, model: m", false]] as const
  ) {
    const { config } = await loadConfig(optionsFor(`
      pipelines:
        - name: handbook
          database: { database: handbook }
          tables: [{ table: pages, text_column: content, vector_column: embedding }]
          embedding_llm: { provider: ${provider} }
          rag_llm: { provider: local }`));
    const [pipeline] = config.pipelines;
    assert.ok(pipeline);
    using files = createFileWatch();
    const { logger, lines } = capturedLogger();
    await using _providers = await openPipelineProviders(pipeline, {
      vendors: config.vendors,
      ledger: createUsageLedger(),
      files,
      logger,
    });
    assert.equal(lines.some((line) => JSON.stringify(line).includes("for demonstrations and tests")), isTold);
  }
});
