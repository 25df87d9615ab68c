import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createServer, type Socket } from "node:net";
import { settlesWithin } from "../../src/core/async/deadline.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { connect } from "../../src/postgres/connect/connect.ts";
import { databaseOptions } from "../support/database_options.ts";

const forever = new AbortController().signal;

/** A message with the length that it says of itself, which is its own where absent. */
function message(kind: string, content: readonly number[], length = 4 + content.length): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeUInt32BE(length, 1);
  return Buffer.concat([head, Buffer.from(content)]);
}

const bytes = (text: string) => [...Buffer.from(text)];

const ready = message("Z", ["I".charCodeAt(0)]);
const loggedIn = [message("R", [0, 0, 0, 0]), message("K", [0, 0, 0, 1, 0, 0, 0, 2]), ready];

/** A server that lets everyone in, answers the first statements with `firstAnswers`, and each after them with `answer`. */
async function startServer(
  { greeting = Buffer.concat(loggedIn), firstAnswers = [], answer = ready }: {
    greeting?: Buffer;
    firstAnswers?: readonly Buffer[];
    answer?: Buffer;
  },
): Promise<AsyncDisposable & { readonly url: string }> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    clients.add(client);
    client.on("error", () => {});
    client.once("data", () => {
      client.write(greeting);
      const answers = [...firstAnswers];
      client.on("data", () => client.write(answers.shift() ?? answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return {
    url: `postgres://u@127.0.0.1:${address.port}/d`,
    async [Symbol.asyncDispose]() {
      for (const client of clients) client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const errorWithoutEnd = message("E", bytes("Mno end"));

const brokenAnswers: Readonly<Record<string, Buffer>> = {
  "a row of length 0": message("D", [], 0),
  "a row of length 4 GB": message("D", [0, 1], 0xffff_ffff),
  "a message of length 3": message("C", [], 3),
  "a message of 2 GB": message("C", [0], 0x7fff_ffff),
  "a row without a count": message("D", []),
  "a row of 65,535 columns": message("D", [0xff, 0xff]),
  "a row of fewer values than columns": message("D", [0, 2, 0, 0, 0, 0]),
  "a value longer than its row": message("D", [0, 1, 0, 0, 0, 9, 65]),
  "a value of a negative length": message("D", [0, 1, 0xff, 0xff, 0xff, 0xfe]),
  "a row with bytes after its values": message("D", [0, 0, 0]),
  "a description of a negative number of columns": message("T", [0xff, 0xff]),
  "a description that is cut off": message("T", [0x7f, 0xff]),
  "an error without an end": errorWithoutEnd,
  "a notice without an end": message("N", bytes("M")),
  "a login in the middle": message("R", [0, 0, 0, 99]),
  "an error without a byte": message("E", []),
};

const brokenGreetings: Readonly<Record<string, Buffer>> = {
  "an error without an end": errorWithoutEnd,
  "a row of 65,535 columns": message("D", [0xff, 0xff]),
  "a message of length 0": message("R", [], 0),
  "an unknown kind of login": message("R", [0, 0, 0, 99]),
};

const open = (url: string) =>
  connect(databaseOptions(url, { pooler: "transaction" }), { signal: forever, logger: silentLogger });

for (const [what, answer] of Object.entries(brokenAnswers)) {
  Deno.test(`a server that sends ${what} loses its connection, and no more`, async () => {
    await using server = await startServer({ answer });
    const connection = await open(server.url);
    const closed = new Promise<void>((resolve) => connection.onClosed(resolve));
    await assert.rejects(connection.client.query("SELECT 1"));
    await closed;
  });
}

for (const [what, greeting] of Object.entries(brokenGreetings)) {
  Deno.test(`a server that greets with ${what} cannot be reached`, async () => {
    await using server = await startServer({ greeting });
    await assert.rejects(open(server.url), {
      code: "unavailable",
      message: `Cannot reach database "shop": it does not keep to PostgreSQL's protocol`,
    });
  });
}

const mebibyte = 1_048_576;
const manyBytes = Buffer.concat([message("N", [], 2 ** 30), Buffer.alloc(20 * mebibyte)]);
const described = message("T", [0, 1, 0x63, 0, ...Array(18).fill(0)]);
/** One value of a mebibyte. */
const row = Buffer.concat([message("D", [0, 1, 0, 0x10, 0, 0], mebibyte + 10), Buffer.alloc(mebibyte, "x")]);

Deno.test("a server that begins a message of 1 GiB in a login is not listened to", async () => {
  await using server = await startServer({ greeting: manyBytes });
  const refused = assert.rejects(open(server.url), {
    message: `Cannot reach database "shop": it does not keep to PostgreSQL's protocol`,
  });
  assert.ok(await settlesWithin(5_000, refused));
  await refused;
});

for (
  const [what, answer] of Object.entries({
    "a message of 1 GiB": manyBytes,
    "row after row": Buffer.concat([described, ...Array(20).fill(row)]),
  })
) {
  Deno.test(`a server that answers a ping with ${what} loses its connection`, async () => {
    await using server = await startServer({ answer });
    const connection = await open(server.url);
    const failed = assert.rejects(connection.client.query("SELECT 1"), { code: "EPROTO" });
    assert.ok(await settlesWithin(5_000, failed));
    await failed;
  });
}

Deno.test("long answers are read, one after another", async () => {
  const complete = message("C", bytes("SELECT 1\0"));
  await using server = await startServer({ answer: Buffer.concat([described, row, complete, ready]) });
  const connection = await open(server.url);
  for (let n = 0; n < 20; n++) {
    const { rows } = await connection.client.query<[string]>({ text: "SELECT 1", rowMode: "array" });
    assert.equal(rows[0]?.[0].length, mebibyte);
  }
  await connection.close();
});

Deno.test("a password that a server quotes reaches no error", async () => {
  const asks = message("R", [0, 0, 0, 3]);
  const quotes = message("E", bytes("SFATAL\0CXX000\0Mno: hunter2hunter2\0\0"));
  await using server = await startServer({ greeting: asks, answer: quotes });
  const options = databaseOptions(server.url.replace("u@", "u:hunter2hunter2@"));
  await assert.rejects(connect(options, { signal: forever, logger: silentLogger }), (error: Error) => {
    assert.match(error.message, /no: \[password\]/);
    assert.doesNotMatch(Deno.inspect(error), /hunter2/);
    return true;
  });
});

Deno.test("a statement timeout that is too short for a session's first statement does not keep it out", async () => {
  const cancelled = Buffer.concat([message("E", bytes("SERROR\0C57014\0Mtoo slow\0\0")), ready]);
  const processId = message("D", [0, 1, 0, 0, 0, 1, ...bytes("1")]);
  const answer = Buffer.concat([described, processId, message("C", bytes("SELECT 1\0")), ready]);
  await using server = await startServer({ firstAnswers: [cancelled, cancelled], answer });
  const options = databaseOptions(server.url, { statementTimeoutMs: 1 });
  await using connection = await connect(options, { signal: forever, logger: silentLogger });
  assert.equal(connection.holdsSettings, true);
});
