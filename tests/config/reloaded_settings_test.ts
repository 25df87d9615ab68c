import assert from "node:assert/strict";
import { changedAtStartOnly, loadConfig, readWhen } from "../../src/config/mod.ts";
import { aliasRows, settingsRows } from "../../tools/settings_page.ts";
import { optionsFor } from "./load_options.ts";

Deno.test("docs/settings.md has every setting, as the schema and the server have it", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/settings.md", import.meta.url));
  const rows = page.split("\n").filter((line) => line.startsWith("| `")).map((line) =>
    line.slice(1, -1).split(/(?<!\\)\|/).map((cell) => cell.trim())
  );
  assert.deepEqual(
    rows,
    [...settingsRows(), ...aliasRows()],
    "run: deno run -A tools/build_settings_page.ts && deno fmt docs",
  );
});

const config = async (text: string) => (await loadConfig(optionsFor(text))).config;

Deno.test("changedAtStartOnly() names what a running server does not take in", async () => {
  const before = await config("databases: [{ name: main }]\n");
  const after = await config(
    "databases: [{ name: other }]\nhttp: { allowed_hosts: [a.example], address: ':9' }\nlog: { level: warn, format: json }\n" +
      "llm: { provider: ollama, model: x }\nserver: { port: 9, cors: { enabled: true } }\n",
  );
  assert.deepEqual(
    changedAtStartOnly(before, after).toSorted(),
    ["http.address", "llm.model", "llm.provider", "log.format", "server.address"],
  );
  assert.deepEqual(changedAtStartOnly(after, after), []);
});

Deno.test("readWhen() tells a setting from the contents of its file", () => {
  assert.deepEqual(
    ["log.level", "log.format", "pipelines[].name", "http.tls.key_file", "llm.fallback[].api_key_file"].map(
      readWhen,
    ),
    [
      "reloaded",
      "at the start",
      "reloaded",
      "at the start; its contents: reloaded",
      "at the start; its contents: reloaded",
    ],
  );
});
