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
      "databases[0].host (line 3)",
      "databases[0].password (line 4)",
      "databases[1].user (line 6)",
      "databases[1].password (line 7)",
      "llm.anthropic_api_key (line 10)",
      "llm.headers.x-team (line 11)",
    ].map((place) =>
      `${place} is used as it is written: variables such as \${NAME} are not replaced here: write the value, or ` +
      "leave it out and set the setting's own variable; a secret may stand in a file, which the setting of its name " +
      "with _file names"
    ),
  );
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
