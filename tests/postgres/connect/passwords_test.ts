import assert from "node:assert/strict";
import { join } from "node:path";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { PasswordMissing, readPasswords } from "../../../src/postgres/connect/passwords.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

const wanted = { host: "db.example", port: 5432, database: "shop", user: "ann" };

const cases: [what: string, text: string, changes: Partial<typeof wanted>, password: string | undefined][] = [
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
/** The password for a server that asks for one; undefined where there is none. */
async function passwordFor(
  passFile: string,
  { host, port, ...login }: typeof wanted = wanted,
  logger = silentLogger,
): Promise<string | undefined> {
  const find = await readPasswords({ name: "shop", ...login, passFile }, logger);
  return await find({ host, port }).catch((error) => {
    assert.ok(error instanceof PasswordMissing);
    return undefined;
  });
}

for (const [what, text, changes, password] of cases) {
  Deno.test(`a pass file with ${what}`, async () => {
    await using folder = await temporaryFolder();
    const path = join(folder.path, "pgpass");
    await Deno.writeTextFile(path, text, { mode: 0o600 });
    assert.equal(await passwordFor(path, { ...wanted, ...changes }), password);
  });
}

Deno.test("a pass file that others can read is ignored, with a warning", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "pgpass");
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => void lines.push(line) });
  await Deno.writeTextFile(path, "*:*:*:*:secret");
  for (const [mode, password] of [[0o600, "secret"], [0o640, undefined], [0o604, undefined]] as const) {
    await Deno.chmod(path, mode);
    assert.equal(await passwordFor(path, wanted, logger), password);
  }
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? "", /password file ignored: others can read it; run chmod 0600/);
  assert.equal(lines.some((line) => line.includes("secret")), false);
});

Deno.test("a pass file that is no plain file is ignored, with a warning", async () => {
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => void lines.push(line) });
  assert.equal(await passwordFor("/dev/null", wanted, logger), undefined);
  assert.match(lines.join(""), /password file ignored: it is not a plain file/);
});

Deno.test("a pass file that does not exist has no password", async () => {
  assert.equal(await passwordFor("/nonexistent/pgpass"), undefined);
});

const forever = new AbortController().signal;

/** A server that asks for a clear password, remembers it and refuses it. */
function startPasswordCollector() {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const passwords: string[] = [];
  const answer = async (connection: Deno.Conn) => {
    using _closing = connection;
    const buffer = new Uint8Array(4096);
    await connection.read(buffer);
    // AuthenticationCleartextPassword
    await connection.write(new Uint8Array([0x52, 0, 0, 0, 8, 0, 0, 0, 3]));
    const length = await connection.read(buffer) ?? 0;
    passwords.push(new TextDecoder().decode(buffer.subarray(5, length - 1)));
    const fields = new TextEncoder().encode("SFATAL\0C28P01\0Mno\0\0");
    await connection.write(new Uint8Array([0x45, 0, 0, 0, fields.length + 4, ...fields]));
  };
  void (async () => {
    for await (const connection of listener) void answer(connection);
  })();
  return { passwords, port: listener.addr.port, [Symbol.dispose]: () => listener.close() };
}

Deno.test("password_file is read for each connection, without the line end after it", async () => {
  const folder = await Deno.makeTempDir();
  const passwordFile = join(folder, "password");
  using server = startPasswordCollector();
  const options = databaseOptions("postgres://reader@127.0.0.1:1/app", {
    hosts: [{ host: "127.0.0.1", port: server.port }],
    passwordFile,
  });
  for (const text of ["one two\n", "three\r\n", "four", "\tfive \n\n"]) {
    await Deno.writeTextFile(passwordFile, text);
    await assert.rejects(
      connect(options, { signal: forever, logger: silentLogger }),
      /refused the credentials/,
    );
  }
  assert.deepEqual(server.passwords, ["one two", "three", "four", "\tfive "]);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a password_file that cannot be used is named, without its path, before anything is connected to", async () => {
  const folder = await Deno.makeTempDir();
  const at = (name: string) => join(folder, name);
  await Deno.writeTextFile(at("empty"), "\n");
  await Deno.writeTextFile(at("lines"), "user: a\npassword: b\n");
  // more than memory should be asked for
  await Deno.writeTextFile(at("large"), "");
  await Deno.truncate(at("large"), 2 ** 40);
  await new Deno.Command("mkfifo", { args: [at("pipe")] }).output();
  const reasonFor = async (passwordFile: string) => {
    const options = databaseOptions("postgres://reader@127.0.0.1:1/app", { passwordFile });
    const error = await connect(options, { signal: forever, logger: silentLogger }).catch((error) => error);
    assert.equal(error.code, "unavailable");
    assert.ok(error.cause.message.startsWith(passwordFile));
    return error.message;
  };
  const prefix = 'Cannot reach database "shop": password_file: ';
  assert.equal(await reasonFor(at("absent")), `${prefix}there is no such file`);
  assert.equal(await reasonFor(at("empty")), `${prefix}the file is empty`);
  assert.equal(await reasonFor(at("lines")), `${prefix}expected one line that holds the password`);
  assert.equal(await reasonFor(at("large")), `${prefix}expected one line that holds the password`);
  assert.equal(await reasonFor(at("pipe")), `${prefix}it is not a regular file`);
  assert.equal(await reasonFor(folder), `${prefix}it is not a regular file`);
  await Deno.remove(folder, { recursive: true });
});
