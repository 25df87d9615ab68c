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
      "databases[0].host (line 3) is taken as it is written: variables such as ${NAME} are not replaced here: " +
      "POSTERN_DB_HOST or PGHOST gives it where the file leaves it out",
      "databases[0].password (line 4) is taken as it is written: variables such as ${NAME} are not replaced here: " +
      "password_file names a file that holds the value, and POSTERN_DB_PASSWORD or PGPASSWORD gives it where the " +
      "file leaves it out",
      "databases[1].user (line 6) is taken as it is written: variables such as ${NAME} are not replaced here: " +
      "PGUSER gives it where the file leaves it out",
      "databases[1].password (line 7) is taken as it is written: variables such as ${NAME} are not replaced here: " +
      "password_file names a file that holds the value, and POSTERN_DB_PASSWORD or PGPASSWORD gives it where the " +
      "file leaves it out",
      "llm.anthropic_api_key (line 10) is taken as it is written: variables such as ${NAME} are not replaced here: " +
      "anthropic_api_key_file names a file that holds the value, and POSTERN_LLM_ANTHROPIC_API_KEY gives it where " +
      "the file leaves it out",
      "llm.headers.x-team (line 11) is taken as it is written: variables such as ${NAME} are not replaced here: " +
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
  assert.match(warning, /^pipelines\[0\]\.database\.password \(line 3\) .*: password_file names a file/);
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
