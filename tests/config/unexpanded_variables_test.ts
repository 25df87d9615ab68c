import assert from "node:assert/strict";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

const warningsOf = async (text: string, args: string[] = []) =>
  (await loadConfig(optionsFor(text, { flags: parseFlags(args) }))).warnings;

Deno.test("a value with ${…} gets a hint that says what to write in its place, and does not show it", async () => {
  assert.deepEqual(
    await warningsOf([
      "databases:",
      "  - name: a",
      "    host: ${DB_HOST:-db}",
      "    password: x${DB_PASS}y",
      "  - name: b",
      "    user: ${DB_USER}",
      "    password: ${DB_PASS}",
      "llm:",
      "  provider: anthropic",
      "  anthropic_api_key: ${KEY}",
      "  headers: { x-team: '${TEAM}' }",
    ].join("\n")),
    [
      "databases[0].host (line 3) is used as it is written: variables such as ${NAME} are not replaced here: " +
      "leave it out and set POSTERN_DB_HOST or PGHOST",
      "databases[0].password (line 4) is used as it is written: variables such as ${NAME} are not replaced here: " +
      "set password_file to a file that holds the value, or leave it out and set POSTERN_DB_PASSWORD or PGPASSWORD",
      "databases[1].user (line 6) is used as it is written: variables such as ${NAME} are not replaced here: " +
      "leave it out and set PGUSER",
      "databases[1].password (line 7) is used as it is written: variables such as ${NAME} are not replaced here: " +
      "set password_file to a file that holds the value, or leave it out and set POSTERN_DB_PASSWORD or PGPASSWORD",
      "llm.anthropic_api_key (line 10) is used as it is written: variables such as ${NAME} are not replaced here: " +
      "set anthropic_api_key_file to a file that holds the value, or leave it out and set " +
      "POSTERN_LLM_ANTHROPIC_API_KEY",
      "llm.headers.x-team (line 11) is used as it is written: variables such as ${NAME} are not replaced here: " +
      "write the value itself",
    ],
  );
});

Deno.test("a pipeline's password with ${…} is pointed to password_file", async () => {
  const [warning = ""] = await warningsOf([
    "pipelines:",
    "  - name: h",
    "    database: { database: d, password: '${DB_PASS}' }",
    "    tables: [{ table: t, text_column: a, vector_column: b }]",
    "    embedding_llm: { provider: local }",
    "    rag_llm: { provider: local }",
  ].join("\n"));
  assert.match(warning, /^pipelines\[0\]\.database\.password \(line 3\) .*: set password_file to a file/);
});

Deno.test("a value with ${…} that does not fit is a fault with the hint", async () => {
  const error = await loadConfig(optionsFor("databases: [{ name: a, port: '${PORT}' }]")).catch((error) =>
    error
  );
  assert.match(
    error.message,
    /databases\[0\]\.port: .*; variables such as \$\{NAME\} are not replaced here: /,
  );
});

Deno.test("no hint is given for a dollar without braces, nor for a value that something else takes the place of", async () => {
  assert.deepEqual(await warningsOf("databases: [{ name: a, password: 'pa$$word$HOME{}' }]"), []);
  assert.deepEqual(await warningsOf("databases: [{ name: a, host: '${HOST}' }]", ["-db-host", "db"]), []);
});
