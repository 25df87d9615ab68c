import assert from "node:assert/strict";
import { readCatalog, readCatalogState } from "../../../src/postgres/catalog/catalog.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createCatalogFixture, request } from "./catalog_fixture.ts";

testWithPostgres(
  "readCatalog() has foreign keys whole, several of a table, and to other schemas",
  async () => {
    await using fixture = await createCatalogFixture(`
    CREATE SCHEMA other;
    CREATE TABLE other.places (country text, code int, PRIMARY KEY (code, country));
    CREATE TABLE people (id int PRIMARY KEY, boss int REFERENCES people);
    CREATE TABLE visits (
      host int REFERENCES people, guest int REFERENCES people (id), place_country text, place_code int,
      FOREIGN KEY (place_country, place_code) REFERENCES other.places (country, code))`);
    const { tables } = await readCatalog(fixture.database, request);
    const keys = Object.fromEntries(tables.map((table) => [table.name, table.foreignKeys]));
    const toPeople = { targetSchema: "public", targetTable: "people", targetColumns: ["id"] };
    assert.deepEqual(keys, {
      places: [],
      people: [{ columns: ["boss"], ...toPeople }],
      visits: [
        { columns: ["host"], ...toPeople },
        { columns: ["guest"], ...toPeople },
        {
          columns: ["place_country", "place_code"],
          targetSchema: "other",
          targetTable: "places",
          targetColumns: ["country", "code"],
        },
      ],
    });
    const visits = tables.find((table) => table.name === "visits");
    assert.deepEqual(visits?.columns.map((column) => column.reference), [
      "public.people.id",
      "public.people.id",
      "other.places.country",
      "other.places.code",
    ]);
  },
);

testWithPostgres(
  "readCatalog() has a partitioned table's foreign keys once, and none of a partition",
  async () => {
    await using fixture = await createCatalogFixture(`
    CREATE TABLE days (day int PRIMARY KEY) PARTITION BY RANGE (day);
    CREATE TABLE days_1 PARTITION OF days FOR VALUES FROM (0) TO (100);
    CREATE TABLE days_2 PARTITION OF days FOR VALUES FROM (100) TO (200);
    CREATE TABLE kinds (id int PRIMARY KEY);
    CREATE TABLE events (day int REFERENCES days, kind int REFERENCES kinds) PARTITION BY RANGE (day);
    CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100);
    CREATE TABLE direct (day int REFERENCES days_1)`);
    const { tables } = await readCatalog(fixture.database, request);
    assert.deepEqual(
      tables.map((table) => [table.name, table.kind, table.foreignKeys.map((key) => key.targetTable)]),
      [
        ["days", "PARTITIONED TABLE", []],
        ["direct", "TABLE", []],
        ["events", "PARTITIONED TABLE", ["days", "kinds"]],
        ["kinds", "TABLE", []],
      ],
    );
  },
);

testWithPostgres("readCatalog() names no table or column that the role may not read", async () => {
  await using fixture = await createCatalogFixture(`
    CREATE SCHEMA vault;
    CREATE TABLE vault.gold (id int PRIMARY KEY);
    CREATE TABLE hidden (id int PRIMARY KEY);
    CREATE TABLE half (id int PRIMARY KEY, hush int UNIQUE);
    CREATE TABLE seen (
      id int PRIMARY KEY, a int REFERENCES hidden, b int REFERENCES vault.gold, c int REFERENCES half (hush),
      d int REFERENCES half);
    CREATE TABLE part (id int, whisper int REFERENCES seen, loud int REFERENCES seen);
    CREATE INDEX part_whisper ON part (id, whisper);
    CREATE INDEX part_where ON part (id) WHERE whisper > 0;
    CREATE INDEX part_loud ON part (loud)`);
  const role = await fixture.createRole("reader");
  await fixture.admin.query(`
    GRANT SELECT ON seen TO ${role};
    GRANT SELECT ON vault.gold TO ${role};
    GRANT SELECT (id) ON half TO ${role};
    GRANT SELECT (id, loud) ON part TO ${role}`);
  const { tables } = await readCatalog(fixture.connect({ user: role }), request);
  const shown = JSON.stringify(tables);
  assert.doesNotMatch(shown, /hidden|vault|gold|hush|whisper/);
  const summary = tables.map((table) => [
    table.name,
    table.columns.map((column) => column.reference),
    table.foreignKeys.map((key) => key.columns),
    table.indexes.map((index) => index.name),
  ]);
  assert.deepEqual(summary, [
    ["half", [""], [], ["half_pkey"]],
    ["part", ["", "public.seen.id"], [["loud"]], ["part_loud"]],
    ["seen", ["", "", "", "", "public.half.id"], [["d"]], ["seen_pkey"]],
  ]);
});

testWithPostgres("readCatalog() is whole whatever the bounds for statements are", async () => {
  await using fixture = await createCatalogFixture(
    "DO $$ BEGIN FOR n IN 1..300 LOOP EXECUTE format('CREATE TABLE t%s (id int, name text)', n); END LOOP; END $$",
    { maxRows: 10, maxBytes: 1_000, statementTimeoutMs: 20 },
  );
  const { tables } = await readCatalog(fixture.database, request);
  assert.equal(tables.length, 300);
});

testWithPostgres("readCatalog() is whole with 2,000 tables", async () => {
  await using fixture = await createCatalogFixture("");
  for (const from of [1, 501, 1_001, 1_501]) {
    await fixture.admin.query(
      `DO $$ BEGIN FOR n IN ${from}..${from + 499} LOOP
        EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, ref int%s)', n,
          CASE WHEN n > 1 THEN format(' REFERENCES t%s', n - 1) ELSE '' END);
      END LOOP; END $$`,
    );
  }
  const { tables } = await readCatalog(fixture.database, request);
  assert.equal(tables.length, 2_000);
  assert.equal(tables.flatMap((table) => table.foreignKeys).length, 1_999);
  assert.equal(tables.every((table) => table.columns.length === 2 && table.indexes.length === 1), true);
});

testWithPostgres("readCatalog() fails where it would be cut", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int); CREATE TABLE b (id int)");
  const { database } = fixture;
  const cut = {
    ...database,
    read: (asked: Parameters<typeof database.read>[0]) => database.read({ ...asked, maxRows: 1 }),
  };
  await assert.rejects(readCatalog(cut, request), {
    code: "upstream",
    message: 'Cannot read the catalog of database "shop": it has more rows than can be read',
  });
});

testWithPostgres("readCatalog() leaves the period out of what a foreign key is joined on", async () => {
  await using fixture = await createCatalogFixture("CREATE EXTENSION btree_gist");
  const version = await fixture.admin.query("SELECT current_setting('server_version_num')::int >= 180000");
  if (version[0]?.[0] !== "t") return;
  await fixture.admin.query(`
    CREATE TABLE rooms (id int, valid daterange, PRIMARY KEY (id, valid WITHOUT OVERLAPS));
    CREATE TABLE stays (room int, valid daterange, FOREIGN KEY (room, PERIOD valid) REFERENCES rooms (id, PERIOD valid))`);
  const [, stays] = (await readCatalog(fixture.database, request)).tables;
  assert.deepEqual(stays?.columns.map((column) => column.reference), ["public.rooms.id", ""]);
  assert.deepEqual(stays?.foreignKeys.map(({ columns, targetColumns }) => [columns, targetColumns]), [[[
    "room",
  ], [
    "id",
  ]]]);
});

testWithPostgres("readCatalog() does not wait for a table that another transaction has locked", async () => {
  await using fixture = await createCatalogFixture(`
    CREATE TABLE busy (id int PRIMARY KEY DEFAULT 1, state text CHECK (state IN ('a', 'b')));
    CREATE TABLE free (id int PRIMARY KEY DEFAULT 1, state text CHECK (state IN ('a', 'b')))`);
  const client = await fixture.open();
  await client.query("BEGIN; LOCK TABLE busy");
  const { catalog, isWhole } = await readCatalogState(fixture.database, request);
  assert.equal(isWhole, false);
  const [busy, free] = catalog.tables;
  assert.deepEqual([busy?.name, busy?.columns.map((column) => column.name)], ["busy", ["id", "state"]]);
  assert.deepEqual([busy?.indexes, busy?.columns[0]?.default], [[], ""]);
  assert.deepEqual([free?.indexes.length, free?.columns[0]?.default], [1, "1"]);
  assert.deepEqual(free?.columns[1]?.allowedValues, ["a", "b"]);
  await client.query("ROLLBACK");
  assert.equal((await readCatalogState(fixture.database, request)).isWhole, true);
});

testWithPostgres(
  "readCatalogState() tells the server's version and the time zone of the caller's session",
  async () => {
    await using fixture = await createCatalogFixture("", { sessionSettings: { TimeZone: "Asia/Kathmandu" } });
    const { session } = await readCatalogState(fixture.database, request);
    const [[version] = []] = await fixture.admin.query("SHOW server_version_num");
    assert.deepEqual(session, {
      version: String(Math.floor(Number(version) / 10_000)),
      timeZone: "Asia/Kathmandu",
      utcOffsetSeconds: 20_700,
    });
  },
);
