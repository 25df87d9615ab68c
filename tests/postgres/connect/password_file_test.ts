import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { databaseOptions } from "../../support/database_options.ts";

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
