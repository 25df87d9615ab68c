import assert from "node:assert/strict";
import { readCatalog } from "../../../src/postgres/catalog/catalog.ts";
import type { Database } from "../../../src/postgres/database.ts";
import { readSampleValues, tableKey } from "../../../src/postgres/catalog/sample_values.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createCatalogFixture, request } from "./catalog_fixture.ts";

/** The samples as an object, tables by name. */
async function samplesOf(database: Database, excludedColumns: readonly string[] = []) {
  const catalog = await readCatalog(database, request);
  const samples = await readSampleValues(database, { ...request, catalog, excludedColumns });
  return Object.fromEntries(
    catalog.tables.flatMap((table) => {
      const columns = samples.get(tableKey(table.schema, table.name));
      return columns === undefined ? [] : [[table.name, Object.fromEntries(columns)]];
    }),
  );
}

const orders = `
  CREATE TYPE size AS ENUM ('s', 'm');
  CREATE DOMAIN label AS varchar(30);
  CREATE TABLE orders (
    id int PRIMARY KEY, status text, kind label, code char(3), size size, paid boolean,
    channel text CHECK (channel IN ('web', 'shop')), name text, essay text, many text, user_email text, region text);
  INSERT INTO orders SELECT n, CASE WHEN n % 3 = 0 THEN 'it''s "late", {so}' ELSE 'open' END, 'kind ' || n % 9, 'abc',
    's', true, 'web', 'name ' || n, repeat('essay ', 10) || n % 2, 'many ' || n % 200, 'mail@' || n % 2,
    CASE n % 2 WHEN 0 THEN 'north' ELSE '' END
  FROM generate_series(1, 2000) n`;

const sampled = {
  status: ["open", `it's "late", {so}`],
  code: ["abc"],
  region: ["north"],
};

for (
  const [how, analyze] of [["from statistics", "ANALYZE"], [
    "from the first rows of a new table",
    "",
  ]] as const
) {
  testWithPostgres(`sample values come ${how}, of columns that are lists`, async () => {
    await using fixture = await createCatalogFixture(`${orders}; ${analyze}`);
    const { orders: { kind, ...samples } = {} } = await samplesOf(fixture.database);
    assert.deepEqual(samples, sampled);
    assert.equal(kind?.length, 8);
    assert.equal(kind?.every((value) => /^kind \d$/.test(value)), true);
  });
}

testWithPostgres("sample values leave out the columns that an administrator names", async () => {
  const list = "a text, b text, c text";
  const fill = (table: string) => `INSERT INTO ${table} SELECT 'x', 'y', 'z' FROM generate_series(1, 10)`;
  await using fixture = await createCatalogFixture(`
    CREATE TABLE one (${list}); CREATE TABLE two (${list}); CREATE SCHEMA s; CREATE TABLE s.three (${list});
    ${fill("one")}; ${fill("two")}; ${fill("s.three")}; ANALYZE`);
  const columns = async (...excluded: string[]) =>
    Object.entries(await samplesOf(fixture.database, excluded))
      .flatMap(([table, found]) => Object.keys(found).map((column) => `${table}.${column}`));
  assert.deepEqual(await columns("a", "two.B", "public.one.c", "s.*.*"), ["one.b", "two.c"]);
  assert.deepEqual(
    await columns("t*.*", "s.three"),
    ["one.a", "one.b", "one.c"].concat(["three.a", "three.b", "three.c"])
      .filter((name) => !name.startsWith("t")),
  );
  assert.deepEqual(await columns("*"), []);
});

testWithPostgres(
  "sample values never pass row-level security, nor show what the role may not read",
  async () => {
    const table = (name: string) => `
    CREATE TABLE ${name} (owner text, kind text, hush text);
    INSERT INTO ${name} SELECT CASE n % 2 WHEN 0 THEN 'alice' ELSE 'bob' END, 'k' || n % 2, 'h' FROM
      generate_series(1, 100) n;`;
    await using fixture = await createCatalogFixture(`
    ${table("walled")} ${table("open")} ANALYZE; ${table("walled_new")} ${table("open_new")}
    ALTER TABLE walled ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON walled USING (owner = 'alice');
    ALTER TABLE walled_new ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON walled_new USING (owner = 'alice')`);
    const role = await fixture.createRole("reader");
    await fixture.admin.query(`GRANT SELECT (owner, kind) ON walled, walled_new, open, open_new TO ${role}`);
    const samples = await samplesOf(fixture.connect({ user: role }));
    const kinds = (found: Record<string, readonly string[]> | undefined) =>
      Object.entries(found ?? {}).map(([column, values]) => [column, values.toSorted()]);
    const expected = [["kind", ["k0", "k1"]], ["owner", ["alice", "bob"]]];
    assert.deepEqual(Object.keys(samples), ["open", "open_new"]);
    assert.deepEqual(kinds(samples["open"]).sort(), expected);
    assert.deepEqual(kinds(samples["open_new"]).sort(), expected);
  },
);

testWithPostgres("sample values of a partitioned table are those of its partitions", async () => {
  await using fixture = await createCatalogFixture(`
    CREATE TABLE events (day int, kind text) PARTITION BY RANGE (day);
    CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (100);
    INSERT INTO events SELECT n % 100, 'click' FROM generate_series(1, 500) n;`);
  assert.deepEqual(await samplesOf(fixture.database), { events: { kind: ["click"] } });
  await fixture.admin.query("ANALYZE events");
  assert.deepEqual(await samplesOf(fixture.database), { events: { kind: ["click"] } });
});

testWithPostgres("a table that cannot be looked at costs the samples of others nothing", async () => {
  await using fixture = await createCatalogFixture(`
    CREATE TABLE a_locked (kind text); INSERT INTO a_locked VALUES ('x'), ('x');
    CREATE TABLE b_free (kind text); INSERT INTO b_free VALUES ('y'), ('y')`);
  const holder = await fixture.open();
  await holder.query("BEGIN; LOCK TABLE a_locked");
  assert.deepEqual(await samplesOf(fixture.database), { b_free: { kind: ["y"] } });
});

testWithPostgres("no sample is taken by a cast that callers may not run", async () => {
  await using fixture = await createCatalogFixture(`
    CREATE TYPE state;
    CREATE FUNCTION state_in(cstring) RETURNS state LANGUAGE internal IMMUTABLE STRICT AS 'textin';
    CREATE FUNCTION state_out(state) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
    CREATE TYPE state (INPUT = state_in, OUTPUT = state_out, LIKE = text, CATEGORY = 'S');
    CREATE FUNCTION text(state) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT 'written'::text $$;
    CREATE CAST (state AS text) WITH FUNCTION text(state);
    CREATE TABLE plain (state text);
    CREATE TABLE cast_by_function (state state);
    INSERT INTO plain SELECT 'open' FROM generate_series(1, 10);
    INSERT INTO cast_by_function SELECT 'open' FROM generate_series(1, 10)`);
  assert.deepEqual(await samplesOf(fixture.database), { plain: { state: ["open"] } });
});
