import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { Duplex } from "node:stream";
import { silentLogger } from "../../../src/core/logger.ts";
// @ts-types="@types/pg-cursor"
import Cursor from "pg-cursor";
import { pg } from "../../../src/postgres/connection.ts";
import {
  createEmbeddedServer,
  type EmbeddedServer,
  type EmbeddedServerOptions,
} from "../../../src/postgres/embedded/embedded_server.ts";
import { createSnapshot } from "../../../src/postgres/embedded/pglite_instance.ts";

let sharedSnapshot: Promise<Uint8Array> | undefined;

async function startServer(options: Partial<EmbeddedServerOptions> = {}): Promise<EmbeddedServer> {
  sharedSnapshot ??= createSnapshot();
  return await createEmbeddedServer({
    dataDir: "memory",
    snapshot: await sharedSnapshot,
    statementTimeoutMs: 60_000,
    logger: silentLogger,
    ...options,
  });
}

async function connect(server: EmbeddedServer, config: pg.ClientConfig = {}): Promise<pg.Client> {
  const client = new pg.Client({
    user: "postgres",
    database: "postgres",
    ssl: false,
    stream: () => server.openStream(),
    ...config,
  });
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function value(client: pg.Client, sql: string, parameters: unknown[] = []): Promise<unknown> {
  const { rows } = await client.query({ text: sql, values: parameters, rowMode: "array" });
  return rows[0]?.[0];
}

/** What a cancelled or broken statement leaves a caller with. */
async function thrownBy(promise: Promise<unknown>): Promise<[code: unknown, message: string]> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Error) return ["code" in error ? error.code : undefined, error.message];
    throw error;
  }
  return assert.fail("it did not fail");
}

/** Bytes of a client that no driver would send in this way. */
function packet(...parts: (string | number)[]): Buffer {
  const body = Buffer.concat(
    parts.map((part) =>
      typeof part === "string" ? Buffer.from(part) : Buffer.from(Uint32Array.of(part).buffer).swap32()
    ),
  );
  return Buffer.concat([Buffer.from(Uint32Array.of(body.length + 4).buffer).swap32(), body]);
}

function typed(type: string, ...parts: (string | number)[]): Buffer {
  return Buffer.concat([Buffer.from(type), packet(...parts)]);
}

const startupPacket = packet(196608, "user\0postgres\0database\0postgres\0\0");

/** Reads until the bytes end as told; gives them as latin1 text, one character a byte. */
async function readUntil(stream: Duplex, end: string): Promise<string> {
  let text = "";
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    text += Buffer.from(chunk).toString("latin1");
    if (text.endsWith(end)) return text;
  }
  return text;
}

const readyIdle = "Z\0\0\0\x05I";
const endless = "SELECT count(*) FROM generate_series(1, 100000000000)";
/** Resolves once what the engine was asked before has begun: messages to the worker arrive in order. */
const tick = () => new Promise((resolve) => setTimeout(resolve, 100));

Deno.test("an embedded server and its clients", async (t) => {
  await using server = await startServer({
    prepare: () => ["CREATE TABLE t (n int)", "CREATE ROLE reader LOGIN", "CREATE EXTENSION vector"],
  });

  await t.step("the embedded server answers its opening packets as PostgreSQL does", async () => {
    const stream = server.openStream();
    stream.write(packet(80877103));
    assert.equal(await readUntil(stream, "N"), "N");
    stream.write(packet(80877104));
    assert.equal(await readUntil(stream, "N"), "N");
    stream.write(startupPacket);
    const opening = await readUntil(stream, readyIdle);
    assert.ok(opening.startsWith("R\0\0\0\x08\0\0\0\0S"));
    for (
      const part of [
        "server_version\x0018.",
        "client_encoding\0UTF8\0",
        "standard_conforming_strings\0on\0",
        "session_authorization\0postgres\0",
        "K\0\0\0\x0c",
      ]
    ) assert.ok(opening.includes(part), part);
    stream.write(typed("X"));
    assert.equal(await readUntil(stream, "never"), "");
  });

  await t.step(
    "the embedded server refuses an unknown database, an unknown role and bytes that are no message",
    async () => {
      assert.deepEqual(await thrownBy(connect(server, { database: "other" })), [
        "3D000",
        'database "other" does not exist',
      ]);
      const nobody = await connect(server, { user: "nobody" });
      assert.deepEqual(await thrownBy(nobody.query("SELECT 1")), ["22023", 'role "nobody" does not exist']);
      const stream = server.openStream();
      stream.write(Buffer.concat([startupPacket, Buffer.from("GET / HTTP/1.1\r\n\r\n")]));
      assert.match(await readUntil(stream, "never"), /SFATAL\0VFATAL\0C08P01\0Minvalid message length\0/);
      const client = await connect(server);
      assert.equal(await value(client, "SELECT 'still here'"), "still here");
    },
  );

  await t.step("many clients of the embedded server each get their own answers", async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect(server)));
    await Promise.all(clients.map(async (client, index) => {
      for (let round = 0; round < 5; round++) {
        await client.query("BEGIN READ ONLY");
        assert.equal(await value(client, "SELECT $1::int", [index * 100 + round]), index * 100 + round);
        await client.query("ROLLBACK");
      }
    }));
    await Promise.all(clients.map((client) => client.end()));
  });

  await t.step(
    "what one client sets, prepares or makes for its session reaches no other and outlives its turn",
    async () => {
      const first = await connect(server, { application_name: "one", options: "-c work_mem=7MB" });
      const second = await connect(server, { user: "reader" });
      await first.query("SET my.secret = 'hidden'");
      await first.query("SELECT set_config('my.other', $1, false)", ["too"]);
      await first.query("CREATE TEMP TABLE scratch (n int)");
      await first.query("PREPARE mine AS SELECT 1");
      assert.equal(await value(second, "SELECT current_setting('my.secret', true)") || null, null);
      assert.equal(await value(second, "SELECT to_regclass('scratch')"), null);
      assert.deepEqual((await thrownBy(second.query("EXECUTE mine")))[0], "26000");
      assert.equal(await value(second, "SELECT session_user"), "reader");
      const settings =
        "SELECT concat_ws(',', session_user, current_setting('my.secret'), current_setting('my.other'), " +
        "current_setting('application_name'), current_setting('work_mem'))";
      assert.equal(await value(first, settings), "postgres,hidden,too,one,7MB");
    },
  );

  await t.step(
    "a cursor reads a result of the embedded server in parts, and other clients wait for its end",
    async () => {
      const [client, other] = [await connect(server), await connect(server)];
      const cursor = client.query(
        new Cursor<{ n: number }>("SELECT n FROM generate_series(1, $1::int) n", [5]),
      );
      assert.deepEqual((await cursor.read(2)).map(({ n }) => n), [1, 2]);
      let otherDone = false;
      const waiting = other.query("SELECT 1").then(() => otherDone = true);
      assert.deepEqual((await cursor.read(2)).map(({ n }) => n), [3, 4]);
      assert.equal(otherDone, false);
      assert.deepEqual((await cursor.read(2)).map(({ n }) => n), [5]);
      await cursor.close();
      await waiting;
      const early = client.query(new Cursor("SELECT n FROM generate_series(1, 1000000) n"));
      assert.equal((await early.read(3)).length, 3);
      await early.close();
      assert.equal(await value(client, "SELECT 'next'"), "next");
    },
  );

  await t.step("after an error the embedded server skips to Sync and goes on", async () => {
    const client = await connect(server);
    assert.equal((await thrownBy(client.query("SELECT 1 / $1::int", [0])))[0], "22012");
    assert.equal((await thrownBy(client.query("SELEC 1")))[0], "42601");
    const cursor = client.query(new Cursor("SELECT 1 / (3 - n) FROM generate_series(1, 5) n"));
    assert.equal((await thrownBy(cursor.read(10)))[0], "22012");
    await cursor.close().catch(() => {});
    assert.equal(await value(client, "SELECT 7"), 7);
    const stream = server.openStream();
    const bad = typed("P", "\0SELEC 1\0", "\0\0");
    const good = typed("P", "\0SELECT 1\0", "\0\0");
    stream.write(Buffer.concat([startupPacket, bad, typed("H")]));
    assert.match(await readUntil(stream, "Rscanner_yyerror\0\0"), /C42601\0/);
    stream.write(Buffer.concat([good, typed("H"), good, typed("S")]));
    assert.equal(await readUntil(stream, readyIdle), readyIdle);
    stream.write(Buffer.concat([good, typed("S")]));
    assert.equal(await readUntil(stream, readyIdle), "1\0\0\0\x04" + readyIdle);
  });

  await t.step(
    "a CancelRequest stops what its client runs or waits for, and only with the right secret",
    async () => {
      const [running, waiting] = [server.openStream(), server.openStream()];
      const keys: string[] = [];
      for (const stream of [running, waiting]) {
        stream.write(startupPacket);
        keys.push((await readUntil(stream, readyIdle)).slice(-14, -6));
      }
      const [runningKey = "", waitingKey = ""] = keys;
      const cancel = async (key: string) => {
        const stream = server.openStream();
        stream.write(Buffer.concat([packet(80877102).fill(16, 3, 4), Buffer.from(key, "latin1")]));
        assert.equal(await readUntil(stream, "never"), "");
      };
      running.write(typed("Q", `${endless}\0`));
      waiting.write(typed("Q", "SELECT 1\0"));
      await tick();
      await cancel(waitingKey);
      const cancelled = /C57014\0Mcanceling statement due to user request\0/;
      assert.match(await readUntil(waiting, readyIdle), cancelled);
      waiting.write(typed("Q", "SELECT 2\0"));
      await tick();
      await cancel(runningKey.slice(0, 4) + "\0\0\0\0");
      await tick();
      assert.equal(running.readableLength, 0);
      await cancel(runningKey);
      assert.match(await readUntil(running, readyIdle), cancelled);
      assert.match(await readUntil(waiting, readyIdle), /C\0\0\0\rSELECT 1\0/);
      await cancel(runningKey);
      running.write(typed("Q", "SELECT 3\0"));
      assert.match(await readUntil(running, readyIdle), /C\0\0\0\rSELECT 1\0/);
    },
  );

  await t.step("COPY from the client is refused and the engine goes on", async () => {
    const client = await connect(server);
    for (
      const query of [{ text: "COPY t FROM STDIN" }, { text: "COPY t FROM STDIN", queryMode: "extended" }]
    ) {
      assert.match(
        (await thrownBy(client.query(query)))[1],
        /the embedded database does not accept data from the client/,
      );
    }
    assert.equal(await value(client, "SELECT count(*)::int FROM t"), 0);
  });

  await t.step("a client that disconnects inside of a transaction has it rolled back", async () => {
    const [gone, other] = [await connect(server), await connect(server)];
    await gone.query("BEGIN");
    await gone.query("INSERT INTO t VALUES (1)");
    const waiting = value(other, "SELECT count(*)::int FROM t");
    await gone.end();
    assert.equal(await waiting, 0);
    const stream = server.openStream();
    stream.write(Buffer.concat([startupPacket, typed("Q", "BEGIN; INSERT INTO t VALUES (2)\0")]));
    await readUntil(stream, "Z\0\0\0\x05T");
    stream.write(Buffer.concat([typed("P", "\0INSERT INTO t VALUES (3)\0", "\0\0"), typed("H")]));
    await readUntil(stream, "1\0\0\0\x04");
    stream.destroy();
    assert.equal(await value(other, "SELECT count(*)::int FROM t"), 0);
  });

  await t.step("a transaction of one client keeps the others' statements out until it ends", async () => {
    const [first, second, third] = [await connect(server), await connect(server), await connect(server)];
    const order: string[] = [];
    await first.query("BEGIN");
    const waiting = [
      value(second, "SELECT count(*)::int FROM t").then((count) => order.push(`second saw ${count}`)),
      value(third, "SELECT count(*)::int FROM t").then((count) => order.push(`third saw ${count}`)),
    ];
    await first.query("INSERT INTO t VALUES (1)");
    await first.query("INSERT INTO t VALUES (2)");
    order.push("first inserted");
    await first.query("COMMIT");
    await Promise.all(waiting);
    assert.deepEqual(order, ["first inserted", "second saw 2", "third saw 2"]);
  });

  await t.step("the embedded server has the vector extension", async () => {
    const client = await connect(server);
    assert.equal(await value(client, "SELECT '[0,3]'::vector <-> '[4,0]'::vector"), 5);
  });

  await t.step("a result that nobody reads waits in the engine, and ends with its reader", async () => {
    const stream = server.openStream();
    stream.write(startupPacket);
    await readUntil(stream, readyIdle);
    stream.write(typed("Q", "SELECT repeat('x', 10000), generate_series(1, 100000000)\0"));
    await new Promise((resolve) => stream.once("readable", resolve));
    const before = Deno.memoryUsage().external;
    for (let count = 0; count < 10; count++) await tick();
    const buffered = Deno.memoryUsage().external - before;
    assert.ok(buffered < 8 * 1024 * 1024, `${buffered} bytes are buffered`);
    stream.destroy();
    assert.equal(await value(await connect(server), "SELECT 'served'"), "served");
  });

  await t.step("a large result arrives whole", async () => {
    const client = await connect(server);
    const { rows } = await client.query("SELECT repeat('x', 1000) AS x FROM generate_series(1, 20000)");
    assert.equal(rows.length, 20_000);
    assert.ok(rows.every(({ x }) => x.length === 1000));
    assert.equal(await value(client, "SELECT length(repeat('y', 5000000))"), 5_000_000);
    assert.equal(String(await value(client, "SELECT repeat('y', 5000000)")).length, 5_000_000);
  });

  await t.step(
    "a statement that overflows the stack fails alone, whether the engine notices or breaks",
    async () => {
      const client = await connect(server);
      const noticed = `SELECT ${"1+".repeat(5000)}1`;
      const breaks = "SELECT repeat('[', 100000)::json";
      for (const sql of [noticed, breaks]) {
        assert.deepEqual(await thrownBy(client.query(sql)), ["54001", "stack depth limit exceeded"]);
        assert.equal(await value(client, "SELECT 1"), 1);
      }
    },
  );
});

Deno.test("a statement over the time limit is stopped alone, in a transaction and outside of one", async () => {
  await using server = await startServer({
    statementTimeoutMs: 1000,
    prepare: () => ["CREATE TABLE t AS SELECT 42 AS n"],
  });
  const [client, other] = [await connect(server), await connect(server)];
  const timeout = ["57014", "canceling statement due to statement timeout"];
  const stopped = thrownBy(client.query(endless));
  const waiting = value(other, "SELECT n FROM t");
  assert.deepEqual(await stopped, timeout);
  assert.equal(await waiting, 42);
  await client.query("BEGIN READ ONLY");
  assert.deepEqual(await thrownBy(client.query(endless)), timeout);
  assert.equal((await thrownBy(client.query("SELECT 1")))[0], "25P02");
  await client.query("ROLLBACK");
  await client.query("BEGIN READ ONLY");
  const cursor = client.query(new Cursor(endless));
  assert.deepEqual(await thrownBy(cursor.read(1)), timeout);
  await cursor.close().catch(() => {});
  await client.query("ROLLBACK");
  assert.equal(await value(client, "SELECT n FROM t"), 42);
});

Deno.test("a stopped statement costs the database nothing: what was committed in memory is still there", async () => {
  await using server = await startServer({ statementTimeoutMs: 1000 });
  const client = await connect(server);
  await client.query("CREATE TABLE t AS SELECT 1 AS n");
  assert.equal((await thrownBy(client.query(endless)))[0], "57014");
  assert.equal(await value(client, "SELECT n FROM t"), 1);
  const loop = "DO $$ BEGIN LOOP NULL; END LOOP; END $$";
  assert.equal((await thrownBy(client.query(loop)))[0], "57014");
  assert.equal(await value(client, "SELECT n FROM t"), 1);
  assert.equal(await value(client, "SELECT length(gen_random_uuid()::text)"), 36);
});

Deno.test("an extended query that was stopped is skipped to Sync", async () => {
  await using server = await startServer({ statementTimeoutMs: 1000 });
  const stream = server.openStream();
  const run = (sql: string) =>
    Buffer.concat([
      typed("P", `\0${sql}\0`, "\0\0"),
      typed("B", "\0\0\0\0\0\0\0\0"),
      typed("E", "\0", 0),
      typed("H"),
    ]);
  stream.write(Buffer.concat([startupPacket, typed("Q", "BEGIN\0"), run(endless), run("SELECT 'skipped'")]));
  assert.match(await readUntil(stream, "timeout\0\0"), /C57014\0/);
  stream.write(Buffer.concat([run("SELECT 'skipped too'"), typed("S"), typed("Q", "ROLLBACK\0")]));
  const rest = await readUntil(stream, readyIdle);
  assert.equal(rest, "Z\0\0\0\x05E" + "C\0\0\0\rROLLBACK\0" + readyIdle);
});

Deno.test("a client's own statement_timeout counts, for its transaction or its session", async () => {
  await using server = await startServer({ statementTimeoutMs: 0 });
  const client = await connect(server);
  await client.query("BEGIN READ ONLY");
  await client.query("SET LOCAL statement_timeout = '200ms'");
  assert.equal((await thrownBy(client.query(endless)))[0], "57014");
  await client.query("ROLLBACK");
  const strict = await connect(server, { statement_timeout: 200 });
  assert.equal((await thrownBy(strict.query(endless)))[0], "57014");
  await client.query("SET statement_timeout TO 200");
  assert.equal((await thrownBy(client.query(endless)))[0], "57014");
});

Deno.test("what a whole transaction in one write sets or mentions holds for no other statement", async () => {
  await using server = await startServer({ statementTimeoutMs: 0 });
  const stream = server.openStream();
  const run = (sql: string) =>
    Buffer.concat([
      typed("P", `\0${sql}\0`, "\0\0"),
      typed("B", "\0\0\0\0\0\0\0\0"),
      typed("E", "\0", 0),
    ]);
  const write = (...statements: string[]) =>
    stream.write(Buffer.concat([...["BEGIN READ ONLY", ...statements, "ROLLBACK"].map(run), typed("S")]));
  stream.write(startupPacket);
  await readUntil(stream, readyIdle);
  const setTimeoutSql = "SELECT pg_catalog.set_config('jit', 'off', true), " +
    "pg_catalog.set_config('statement_timeout', '200', true)";
  write(setTimeoutSql, "SELECT count(*) FROM generate_series(1, 30000000)");
  stream.write(typed("Q", "ROLLBACK\0"));
  assert.match(await readUntil(stream, "ROLLBACK\0" + readyIdle), /C57014\0/);
  for (const sql of [setTimeoutSql, "SELECT 1 -- set statement_timeout = 1"]) {
    write(sql);
    assert.match(await readUntil(stream, readyIdle), /ROLLBACK\0/);
  }
  write("SELECT count(*) FROM generate_series(1, 3000000)");
  assert.match(await readUntil(stream, readyIdle), /3000000/);
});

Deno.test("a client that leaves its transaction idle too long loses its connection", async () => {
  await using server = await startServer({ statementTimeoutMs: 1000 });
  const [idle, other] = [await connect(server), await connect(server)];
  const lost = new Promise<Error>((resolve) => idle.once("error", resolve));
  await idle.query("BEGIN");
  assert.equal(await value(other, "SELECT 1"), 1);
  assert.match((await lost).message, /terminating connection due to idle-in-transaction timeout/);
});

Deno.test("a database in a directory outlives its server and a statement that was stopped", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    {
      await using server = await startServer({ dataDir: `${dataDir}/data`, statementTimeoutMs: 1000 });
      const client = await connect(server);
      await client.query("CREATE TABLE t (n int)");
      await client.query("INSERT INTO t VALUES (1)");
      assert.equal((await thrownBy(client.query(endless)))[0], "57014");
      assert.equal(await value(client, "SELECT sum(n)::int FROM t"), 1);
      await client.query("INSERT INTO t VALUES (2)");
    }
    await using server = await startServer({
      dataDir: `${dataDir}/data`,
      prepare: () => ["not run: it is not new"],
    });
    assert.equal(await value(await connect(server), "SELECT sum(n)::int FROM t"), 3);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a directory that another server has open is refused until that one is closed", async () => {
  const dataDir = await Deno.makeTempDir();
  try {
    const first = await startServer({ dataDir });
    assert.deepEqual(await thrownBy(startServer({ dataDir })), [
      "conflict",
      `Cannot open the embedded database ${dataDir}: another server has it open`,
    ]);
    await first.close();
    await first.close();
    await tick();
    await (await startServer({ dataDir })).close();
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a database that cannot be prepared does not start", async () => {
  assert.deepEqual(await thrownBy(startServer({ prepare: () => ["CREATE TABEL t ()"] })), [
    "unavailable",
    'Cannot start the embedded database: syntax error at or near "TABEL"',
  ]);
  const prepare = () => Promise.reject(new Error("no handbook"));
  assert.deepEqual(await thrownBy(startServer({ prepare })), [
    "unavailable",
    "Cannot start the embedded database: no handbook",
  ]);
});

Deno.test("close() tells the clients and stops a running statement", async () => {
  const server = await startServer();
  const [idle, busy] = [await connect(server), await connect(server)];
  const told = new Promise<Error>((resolve) => idle.once("error", resolve));
  const stopped = thrownBy(busy.query(endless));
  await tick();
  await server.close();
  assert.match((await told).message, /terminating connection due to administrator command/);
  assert.equal((await stopped)[0], "57P01");
});
