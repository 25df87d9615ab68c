import assert from "node:assert/strict";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

Deno.test("loadConfig() takes a word of a choice in any case, from the file, a variable or a flag", async () => {
  const text = "llm: { provider: OpenAI, model: m }\ndatabases: [{ name: d, sslmode: Verify-Full }]";
  const { config } = await loadConfig(optionsFor(text, {
    env: { POSTERN_LOG_LEVEL: "DEBUG" },
    flags: parseFlags(["-db-sslmode", "Require"]),
  }));
  assert.deepEqual([config.llm.provider, config.log.level, config.databases[0]?.sslmode], [
    "openai",
    "debug",
    "require",
  ]);
});

Deno.test("loadConfig() keeps the demo's RAG server to this machine, where Host is checked", async () => {
  const flags = { ...parseFlags(["-demo", "-rag"]) };
  const { config } = await loadConfig(optionsFor("", { flags }));
  assert.deepEqual([config.server.listen_address, config.server.allowed_hosts], ["127.0.0.1", []]);
});
