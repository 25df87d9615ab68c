import assert from "node:assert/strict";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { findPassword, passwordIn } from "../../../src/postgres/connect/pass_file.ts";

const query = { host: "db.example", port: 5432, database: "shop", user: "ann" };

const cases: [what: string, text: string, changes: Partial<typeof query>, password: string | undefined][] = [
  ["a line that matches in full", "db.example:5432:shop:ann:secret", {}, "secret"],
  ["another host", "other:5432:shop:ann:secret", {}, undefined],
  ["another port", "db.example:5433:shop:ann:secret", {}, undefined],
  ["another database", "db.example:5432:other:ann:secret", {}, undefined],
  ["another user", "db.example:5432:shop:bob:secret", {}, undefined],
  ["wildcards", "*:*:*:*:secret", {}, "secret"],
  ["an escaped asterisk, which is one", "*:*:\\*:*:secret", {}, undefined],
  ["a database named asterisk", "*:*:\\*:*:secret", { database: "*" }, "secret"],
  ["the first of two lines", "*:*:*:ann:one\n*:*:*:*:two", {}, "one"],
  ["a later line", "*:*:*:bob:one\n*:*:*:*:two", {}, "two"],
  ["comments and empty lines", "# *:*:*:*:no\n\n*:*:*:*:yes", {}, "yes"],
  ["a hash inside of a password", "*:*:*:*:a#b", {}, "a#b"],
  ["escaped colons and backslashes", "*:*:*:*:a\\:b\\\\c", {}, "a:b\\c"],
  ["a password up to an unescaped colon", "*:*:*:*:a:b", {}, "a"],
  ["an address of version 6, escaped", "\\:\\:1:*:*:*:six", { host: "::1" }, "six"],
  ["line ends of Windows", "*:*:*:*:a\r\n", {}, "a"],
  ["spaces, which count", "*:*:*:*: a ", {}, " a "],
  ["a line that is too short", "*:*:*:ann", {}, undefined],
  ["a socket's folder as localhost", "localhost:*:*:*:local", { host: "/run/pg" }, "local"],
  ["a socket's folder by its path", "/run/pg:*:*:*:path", { host: "/run/pg" }, "path"],
  ["localhost, which is no other host", "localhost:*:*:*:local", {}, undefined],
];
for (const [what, text, changes, password] of cases) {
  Deno.test(`passwordIn() with ${what}`, () => {
    assert.equal(passwordIn(text, { ...query, ...changes }), password);
  });
}

Deno.test("findPassword() ignores a file that others can read, with a warning", async () => {
  const path = await Deno.makeTempFile();
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => void lines.push(line) });
  try {
    await Deno.writeTextFile(path, "*:*:*:*:secret");
    for (const [mode, password] of [[0o600, "secret"], [0o640, undefined], [0o604, undefined]] as const) {
      await Deno.chmod(path, mode);
      assert.equal(await findPassword(path, query, logger), password);
    }
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? "", /password file ignored: others can read it; run chmod 0600/);
    assert.equal(lines.some((line) => line.includes("secret")), false);
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("findPassword() ignores what is no plain file, with a warning", async () => {
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => void lines.push(line) });
  assert.equal(await findPassword("/dev/null", query, logger), undefined);
  assert.match(lines.join(""), /password file ignored: it is not a plain file/);
});

Deno.test("findPassword() finds nothing in a file that does not exist", async () => {
  assert.equal(await findPassword("/nonexistent/pgpass", query, silentLogger), undefined);
});
