import assert from "node:assert/strict";
import { loadConfig, writtenSetting } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

const pipeline = (name: string, more = "") => `
  - name: ${name}
    database: { database: app }
    tables: [{ table: t, text_column: a, vector_column: b }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    ${more}`;

const ownSettings = `role_from_claim: team
    allowed_roles: [a]
    session_settings: { app.x: "1" }`;

Deno.test("a setting is named where it is written: in its entry, or in identity", async () => {
  const { config } = await loadConfig(optionsFor(`
databases: [{ name: one }, { name: two }]
identity: { enabled: true, trusted_proxies: [10.0.0.1], allowed_roles: [reader] }
pipelines:${pipeline("shared")}${pipeline("own", ownSettings)}
`));
  const role = ["allowed_roles", 0];
  assert.equal(writtenSetting(config, "databases", "two", role), "databases[1].allowed_roles[0]");
  assert.equal(writtenSetting(config, "pipelines", "own", role), "pipelines[1].allowed_roles[0]");
  assert.equal(writtenSetting(config, "pipelines", "shared", role), "identity.allowed_roles[0]");
  for (const name of ["own", "shared"]) {
    const claims = ["session_settings", "request.jwt.claims"];
    assert.equal(writtenSetting(config, "pipelines", name, claims), "identity.claims_setting");
  }
  assert.equal(
    writtenSetting(config, "pipelines", "own", ["session_settings", "app.x"]),
    "pipelines[1].session_settings.app.x",
  );
});
