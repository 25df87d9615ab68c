import assert from "node:assert/strict";
import { openPipelineProviders } from "../../../src/app/providers/open_providers.ts";
import { loadConfig } from "../../../src/config/mod.ts";
import { createFileWatch } from "../../../src/core/files/watch_files.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { createUsageLedger } from "../../../src/llm/usage.ts";
import { optionsFor } from "../../config/load_options.ts";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";

const request = () => ({
  messages: [{ role: "user" as const, content: "q" }],
  signal: new AbortController().signal,
});

async function open(ragLlm: string) {
  const { config } = await loadConfig(optionsFor(`
pipelines:
  - name: docs
    database: { database: docs }
    tables: [{ table: a, text_column: t, vector_column: v }]
    embedding_llm: { provider: local }
    rag_llm: ${ragLlm}
`));
  const [pipeline] = config.pipelines;
  assert.ok(pipeline);
  const files = createFileWatch();
  const { vendors } = config;
  const options = { vendors, files, logger: silentLogger, ledger: createUsageLedger() };
  const opened = await openPipelineProviders(pipeline, options);
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      files[Symbol.dispose]();
    },
  };
}

Deno.test("what follows no instructions is no pipeline's model, not as a fallback either", async () => {
  await using local = await open("{ provider: local }");
  assert.equal(local.model, undefined);
  await using ollama = createVendor("ollama");
  await using both = await open(
    `{ provider: ollama, model: m, base_url: "${ollama.url}", fallback: [{ provider: local }] }`,
  );
  assert.equal((await both.model?.complete(request()))?.text, "It is 42.");
  ollama.fail(401);
  assert.match((await both.completion.complete(request())).text, /local provider/);
  await assert.rejects(both.model?.complete(request()) ?? assert.fail(), { kind: "credentials" });
});
