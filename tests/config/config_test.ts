import assert from "node:assert/strict";
import { loadConfig, redactConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

Deno.test("redactConfig() keeps settings and hides passwords, keys, headers and URLs' passwords", async () => {
  const { config } = await loadConfig(optionsFor(`
databases:
  - { name: shop, password: hunter2, session_settings: { app.key: hunter2 } }
llm: { openai_api_key: hunter2, openai_base_url: "https://me:hunter2@gateway.example.com", openai_api_key_file: /key }
defaults: { llm_headers: { x-key: hunter2 }, embedding_llm: { provider: local }, rag_llm: { provider: openai, model: m, headers: { x-key: hunter2 } } }
pipelines:
  - name: docs
    database: { database: docs, password: hunter2 }
    tables: [{ table: t, text_column: c, vector_column: v }]
    llm_headers: { x-key: hunter2 }
`));
  const text = JSON.stringify(redactConfig(config));
  assert.ok(!text.includes("hunter2"), text);
  assert.match(text, /"password":"\[redacted\]"/);
  assert.match(text, /"x-key":"\[redacted\]"/);
  assert.match(text, /"openai_api_key_file":"\/key"/);
  assert.match(text, /"password_min_length":12/);
  assert.match(text, /"token_file":"\/etc\/postern\/tokens.yaml"/);
});
