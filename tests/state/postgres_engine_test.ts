import assert from "node:assert/strict";
import { AppError } from "../../src/core/app_error.ts";
import { createLogger } from "../../src/core/logger.ts";
import { openPostgresEngine, setUpSql } from "../../src/state/postgres_engine.ts";
import { sql } from "../../src/state/engine.ts";
import { runSql, testWithPostgres } from "../support/database.ts";
import { databaseOptions } from "../support/database_options.ts";
import { createStateDatabase } from "../support/state.ts";
import { startSeverableProxy } from "../support/network/severable_proxy.ts";
import { waitUntil } from "../support/wait_until.ts";

function recordingLogger() {
  const lines: string[] = [];
  return {
    lines,
    logger: createLogger({ level: "info", format: "text", write: (line) => lines.push(line) }),
  };
}

const isUnavailable = (error: unknown) =>
  error instanceof AppError && error.code === "unavailable" && error.data?.retryAfterSeconds === 1;

testWithPostgres("the SQL of -setup-state may be run again, and loses nothing", async () => {
  await using made = await createStateDatabase();
  {
    await using state = await made.open();
    await state.of("a").keep({ id: "x", value: 1, expiresAt: state.now() + 60_000 });
  }
  await made.database.query(setUpSql(made.role));
  await using state = await made.open();
  const known: unknown[] = [];
  state.of("a").follow((_id, record) => known.push(record?.value));
  await state.catchUp();
  assert.deepEqual(known, [1]);
});

testWithPostgres("the state's role may use its tables, and nothing else", async () => {
  await using made = await createStateDatabase();
  await made.database.query(
    "CREATE TABLE public.orders (id int); CREATE SCHEMA other; CREATE TABLE other.t (id int)",
  );
  const refused = [
    "SELECT * FROM public.orders",
    "SELECT * FROM other.t",
    "UPDATE postern_state.layout SET version = 9",
    "DROP TABLE postern_state.records",
    "CREATE TABLE postern_state.more (id int)",
    "CREATE SCHEMA mine",
    "CREATE ROLE mine",
  ];
  for (const statement of refused) {
    await assert.rejects(runSql(made.url, statement), /permission denied|must be owner/);
  }
  await runSql(made.url, "SELECT count(*) FROM postern_state.records");
});

testWithPostgres(
  "a database without the tables, one that only reads, and newer tables are refused by name",
  async () => {
    await using made = await createStateDatabase();
    const cases: [string, AppError["code"], RegExp][] = [
      [
        `REVOKE INSERT, UPDATE ON ALL TABLES IN SCHEMA postern_state FROM ${made.role}`,
        "forbidden",
        /its role may not read and write the tables; run -setup-state/,
      ],
      [
        `GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA postern_state TO ${made.role};
       ALTER ROLE ${made.role} SET default_transaction_read_only = on`,
        "forbidden",
        /its transactions only read/,
      ],
      [
        `ALTER ROLE ${made.role} RESET default_transaction_read_only;
       INSERT INTO postern_state.layout VALUES (2, 2)`,
        "conflict",
        /a newer version of Postern made its tables \(layout 2\); run that version/,
      ],
      ["DELETE FROM postern_state.layout", "invalid", /its tables are an older version's; run -setup-state/],
      [
        "INSERT INTO postern_state.layout VALUES (1, 1); ALTER TABLE postern_state.records DROP COLUMN owner",
        "forbidden",
        /not as this version needs them .*owner/,
      ],
      ["DROP SCHEMA postern_state CASCADE", "invalid", /the schema postern_state is missing or incomplete/],
    ];
    for (const [change, code, message] of cases) {
      await made.database.query(change);
      await assert.rejects(
        made.open(),
        (error) => error instanceof AppError && error.code === code && message.test(error.message),
        message.source,
      );
    }
  },
);

testWithPostgres("newer tables that this version can use are used", async () => {
  await using made = await createStateDatabase();
  await made.database.query(
    "INSERT INTO postern_state.layout VALUES (2, 1); ALTER TABLE postern_state.records ADD COLUMN note text",
  );
  await using state = await made.open();
  await state.of("a").keep({ id: "x", value: 1, expiresAt: state.now() + 60_000 });
});

testWithPostgres("a database that does not answer is waited for", async () => {
  await using made = await createStateDatabase();
  const target = new URL(made.url);
  await using proxy = await startSeverableProxy({ host: target.hostname, port: Number(target.port) });
  await proxy.stop();
  const { lines, logger } = recordingLogger();
  await using state = await made.open({ port: proxy.port, logger });
  const known = new Map<string, unknown>();
  state.of("a").follow((id, record) => known.set(id, record?.value));
  await assert.rejects(state.catchUp(), isUnavailable);
  assert.throws(() => state.requireCurrent(), isUnavailable);
  await assert.rejects(
    state.of("a").keep({ id: "x", value: 1, expiresAt: state.now() + 60_000 }),
    isUnavailable,
  );
  {
    await using other = await made.open();
    await other.of("a").keep({ id: "y", value: 2, expiresAt: state.now() + 60_000 });
  }
  await proxy.start();
  await waitUntil("the state is known", () => known.size > 0);
  assert.deepEqual([...known], [["y", 2]]);
  await state.catchUp();
  state.requireCurrent();
  assert.equal(
    lines.filter((line) => line.includes("cannot be used at the moment")).length,
    1,
    lines.join("\n"),
  );
  assert.equal(lines.filter((line) => line.includes("answers again")).length, 1, lines.join("\n"));
});

testWithPostgres("what is known is relied on for as long as the grace, and not longer", async () => {
  await using made = await createStateDatabase();
  const target = new URL(made.url);
  await using proxy = await startSeverableProxy({ host: target.hostname, port: Number(target.port) });
  await using state = await made.open({ port: proxy.port, graceMs: 1_500 });
  await state.catchUp();
  await proxy.stop();
  await assert.rejects(state.catchUp(), isUnavailable);
  state.requireCurrent();
  await waitUntil("the grace is over", () => {
    try {
      state.requireCurrent();
      return false;
    } catch (error) {
      return isUnavailable(error);
    }
  });
  await proxy.start();
  await waitUntil("it answers again", () => state.catchUp().then(() => true, () => false));
  state.requireCurrent();
});

testWithPostgres("a change is known within a second where no notification comes", async () => {
  await using made = await createStateDatabase();
  const target = new URL(made.url);
  await using engine = await openPostgresEngine({
    database: {
      ...databaseOptions(made.url),
      hosts: [{ host: target.hostname, port: Number(target.port) }],
      // nobody listens behind one
      pooler: "transaction",
    },
    logger: recordingLogger().logger,
  });
  let told = 0;
  engine.onChanged(() => told++);
  await using state = (await import("../../src/state/state.ts")).openState({
    engine,
    graceMs: 60_000,
    logger: recordingLogger().logger,
  });
  const known = new Map<string, unknown>();
  state.of("a").follow((id, record) => known.set(id, record?.value));
  await state.catchUp();
  await using other = await made.open();
  await other.of("a").keep({ id: "x", value: 1, expiresAt: other.now() + 60_000 });
  await waitUntil("it is known", () => known.get("x") === 1);
  assert.equal(told, 0);
});

testWithPostgres("a notification has others learn at once", async () => {
  await using made = await createStateDatabase();
  await using here = await made.open();
  await using there = await made.open();
  const known = new Map<string, number>();
  there.of("a").follow((id) => known.set(id, performance.now()));
  await there.catchUp();
  for (let each = 0; each < 5; each++) {
    await here.of("a").keep({ id: String(each), value: 1, expiresAt: here.now() + 60_000 });
  }
  // the other looks by itself once a second: five in a row would take longer
  await waitUntil("all are known", () => known.size === 5);
});

testWithPostgres("the state uses one connection, and takes another where it is lost", async () => {
  await using made = await createStateDatabase();
  await using state = await made.open();
  const connections = async () =>
    Number(
      (await made.database.query(`SELECT count(*) FROM pg_stat_activity WHERE usename = '${made.role}'`))[0]
        ?.[0],
    );
  await Promise.all(Array.from({ length: 20 }, () => state.read([sql`SELECT 1 AS one`])));
  assert.equal(await connections(), 1);
  await made.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${made.role}'`,
  );
  await waitUntil("it answers again", () => state.catchUp().then(() => true, () => false));
  assert.equal(await connections(), 1);
});

testWithPostgres("a text that PostgreSQL takes none of is refused by name", async () => {
  await using made = await createStateDatabase();
  await using state = await made.open();
  await assert.rejects(
    state.read([sql`SELECT id FROM records WHERE id = ${"a\0b"}`]),
    /Cannot keep a text with the character U\+0000/,
  );
});

testWithPostgres(
  "what was lost with a database that others took over from is not taken for known",
  async () => {
    await using made = await createStateDatabase();
    await using state = await made.open();
    const known = new Map<string, unknown>();
    state.of("a").follow((id, record) =>
      record === undefined ? known.delete(id) : known.set(id, record.value)
    );
    for (let each = 0; each < 5; each++) {
      await state.of("a").keep({ id: String(each), value: each, expiresAt: state.now() + 60_000 });
    }
    assert.equal(known.size, 5);
    // a standby that did not have the last changes, whose own are counted from where it was
    await made.database.query(
      `DELETE FROM postern_state.records WHERE id IN ('3', '4');
     UPDATE postern_state.clock SET version = version - 2;
     UPDATE postern_state.records SET value = '"other"', version = (SELECT version FROM postern_state.clock) WHERE id = '0';
     SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${made.role}'`,
    );
    await waitUntil("it is known what there is", () => known.size === 3 && known.get("0") === "other");
  },
);

testWithPostgres("a state whose tables were gone for a moment is used again once they are back", async () => {
  await using made = await createStateDatabase();
  await using state = await made.open();
  await state.catchUp();
  await made.database.query("ALTER TABLE postern_state.clock RENAME TO gone");
  await assert.rejects(state.catchUp(), isUnavailable);
  await made.database.query("ALTER TABLE postern_state.gone RENAME TO clock");
  await waitUntil("it answers again", () => state.catchUp().then(() => true, () => false));
});

testWithPostgres("what a full disk refuses is told once, and others still read", async () => {
  await using made = await createStateDatabase();
  const { lines, logger } = recordingLogger();
  await using state = await made.open({ logger });
  const keep = (id: string) => state.of("a").keep({ id, value: 1, expiresAt: state.now() + 60_000 });
  await keep("before");
  await made.database.query(`
    CREATE FUNCTION postern_state.refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END $$;
    CREATE TRIGGER disk_is_full BEFORE INSERT ON postern_state.records EXECUTE FUNCTION postern_state.refuse()`);
  for (let each = 0; each < 3; each++) {
    await assert.rejects(keep("meanwhile"), isUnavailable);
    assert.deepEqual((await state.read([sql`SELECT id FROM records`]))[0]?.map(({ id }) => id), ["before"]);
    await state.catchUp();
    state.requireCurrent();
  }
  const told = lines.filter((line) => line.includes("no space left on device"));
  assert.equal(told.length, 1, lines.join("\n"));
  assert.ok(!lines.some((line) => line.includes("answers again")), lines.join("\n"));
  // nor is what is tried again every second
  await made.database.query(
    "CREATE TRIGGER disk_is_full BEFORE INSERT ON postern_state.ended EXECUTE FUNCTION postern_state.refuse()",
  );
  for (let each = 0; each < 3; each++) {
    await state.of("a").forget("before");
    await state.catchUp();
  }
  assert.equal(
    lines.filter((line) => line.includes("Cannot write to the state")).length,
    1,
    lines.join("\n"),
  );
  await made.database.query("DROP TRIGGER disk_is_full ON postern_state.ended");
  await made.database.query("DROP TRIGGER disk_is_full ON postern_state.records");
  await keep("after");
});
