import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { type CatalogCacheOptions, createCatalogCache } from "../../../src/postgres/catalog/catalog_cache.ts";
import type { Database, ReadRequest } from "../../../src/postgres/database.ts";
import { tableKey } from "../../../src/postgres/catalog/sample_values.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createCatalogFixture, request } from "./catalog_fixture.ts";

const user = (username: string): Principal => ({ kind: "session", id: `id of ${username}`, username });
const signal = request.signal;

/** A cache of the names of tables, under a clock that a test turns. */
function createNameCache(changes: Partial<CatalogCacheOptions<string>> = {}) {
  const clock = { now: 0 };
  let prepared = 0;
  const cache = createCatalogCache<string>({
    prepare: ({ catalog }) => {
      prepared++;
      return catalog.tables.map((table) => table.name).join();
    },
    now: () => clock.now,
    logger: silentLogger,
    ...changes,
  });
  return { cache, clock, prepared: () => prepared };
}

/** The database, and the statements that are asked of it: `check` or `read`. */
function watch(database: Database, before: (asked: ReadRequest) => Promise<void> = () => Promise.resolve()) {
  const asked: string[] = [];
  const watched: Database = {
    ...database,
    async read(readRequest) {
      asked.push(readRequest.parameters === undefined ? "check" : "read");
      await before(readRequest);
      return await database.read(readRequest);
    },
  };
  return { watched, asked };
}

testWithPostgres(
  "get() reads once, checks at most every checkEveryMs, and reads again after a change",
  async () => {
    await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
    const { watched, asked } = watch(fixture.database);
    const { cache, clock, prepared } = createNameCache();
    assert.equal(await cache.get(watched, request), "a");
    await fixture.admin.query("CREATE TABLE b (id int)");
    clock.now = 1_999;
    assert.equal(await cache.get(watched, request), "a");
    assert.deepEqual(asked.splice(0), ["check", "read"]);
    clock.now = 2_000;
    assert.equal(await cache.get(watched, request), "a,b");
    assert.deepEqual(asked.splice(0), ["check", "read"]);
    clock.now = 4_000;
    assert.equal(await cache.get(watched, request), "a,b");
    clock.now = 5_999;
    assert.equal(await cache.get(watched, request), "a,b");
    assert.deepEqual(asked, ["check"]);
    assert.equal(prepared(), 2);
  },
);

testWithPostgres("get() reads again after half an hour, since statistics change unseen", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  const { watched, asked } = watch(fixture.database);
  const { cache, clock } = createNameCache();
  await cache.get(watched, request);
  clock.now = 30 * 60_000;
  await cache.get(watched, request);
  assert.deepEqual(asked, ["check", "read", "check", "read"]);
});

testWithPostgres("recheck() finds a change at once, and callers at the same time share that", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  const { watched, asked } = watch(fixture.database);
  const { cache, prepared } = createNameCache();
  await cache.get(watched, request);
  await fixture.admin.query("CREATE TABLE b (id int)");
  const late = [cache.recheck(watched, request), cache.recheck(watched, request)];
  assert.deepEqual(await Promise.all(late), ["a,b", "a,b"]);
  assert.equal(prepared(), 2);
  assert.deepEqual(asked.filter((what) => what === "read").length, 2);
  assert.equal(await cache.get(watched, request), "a,b");
  await cache.recheck(watched, request);
  assert.equal(prepared(), 2);
});

testWithPostgres("callers share one read, and one that goes away leaves the others alone", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  const { watched, asked } = watch(fixture.database);
  const { cache } = createNameCache();
  const first = new AbortController();
  const leaving = cache.get(watched, { ...request, signal: first.signal });
  const staying = [1, 2, 3].map(() => cache.get(watched, request));
  first.abort(new Error("gone"));
  await assert.rejects(leaving, { message: "gone" });
  assert.deepEqual(await Promise.all(staying), ["a", "a", "a"]);
  assert.deepEqual(asked, ["check", "read"]);
});

testWithPostgres(
  "when the last caller goes away, the read stops, and the next one starts afresh",
  async () => {
    await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
    const signals: AbortSignal[] = [];
    const { watched } = watch(fixture.database, (asked) => {
      signals.push(asked.signal);
      return Promise.resolve();
    });
    const { cache } = createNameCache();
    const only = new AbortController();
    const leaving = cache.get(watched, { ...request, signal: only.signal });
    only.abort(new Error("gone"));
    await assert.rejects(leaving, { message: "gone" });
    assert.equal(signals[0]?.aborted, true);
    assert.equal(await cache.get(watched, request), "a");
  },
);

testWithPostgres("a read that fails with the connection of its caller is tried with another's", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  const { watched } = watch(fixture.database, (asked) => {
    if (asked.principal.kind === "local") return Promise.resolve();
    return Promise.reject(new Error("logged out"));
  });
  const { cache } = createNameCache();
  const leader = cache.get(watched, { principal: user("alice"), signal });
  const follower = cache.get(watched, request);
  await assert.rejects(leader, { message: "logged out" });
  assert.equal(await follower, "a");
});

testWithPostgres("roles with different rights never see each other's tables", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int); CREATE TABLE b (id int)");
  const [alice, bob] = [await fixture.createRole("alice"), await fixture.createRole("bob")];
  await fixture.admin.query(`GRANT SELECT ON a TO ${alice}; GRANT SELECT ON b TO ${bob}`);
  const database = fixture.connect({ roleFromUser: true });
  const { cache, prepared } = createNameCache();
  const asAlice = { principal: user(alice), signal };
  const asBob = { principal: user(bob), signal };
  const all = await Promise.all([
    cache.get(database, asAlice),
    cache.get(database, asBob),
    cache.get(database, request),
  ]);
  assert.deepEqual(all, ["a", "b", "a,b"]);
  assert.equal(
    await cache.get(database, { principal: { kind: "session", id: "other", username: alice }, signal }),
    "a",
  );
  assert.equal(prepared(), 3);
  const nobody = { principal: user("nobody at all"), signal };
  await assert.rejects(cache.get(database, nobody), {
    code: "upstream",
    message: /role "nobody at all" does not exist/,
  });
});

testWithPostgres("a right that is revoked is gone with the next check", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int); CREATE TABLE b (id int)");
  const role = await fixture.createRole("reader");
  await fixture.admin.query(`GRANT SELECT ON a, b TO ${role}`);
  const database = fixture.connect({ user: role });
  const { cache, clock } = createNameCache();
  assert.equal(await cache.get(database, request), "a,b");
  await fixture.admin.query(`REVOKE SELECT ON b FROM ${role}`);
  clock.now = 2_000;
  assert.equal(await cache.get(database, request), "a");
});

testWithPostgres("a catalog that cannot be checked is not served, and is again when it can", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  let isDown = false;
  const { watched, asked } = watch(
    fixture.database,
    () => isDown ? Promise.reject(new Error("down")) : Promise.resolve(),
  );
  const { cache, clock } = createNameCache();
  await cache.get(watched, request);
  isDown = true;
  clock.now = 1_000;
  assert.equal(await cache.get(watched, request), "a");
  clock.now = 2_000;
  await assert.rejects(cache.get(watched, request), { message: "down" });
  isDown = false;
  assert.equal(await cache.get(watched, request), "a");
  assert.deepEqual(asked, ["check", "read", "check", "check"]);
});

testWithPostgres("a change between the check and the read is seen by the next check", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  let isChanging = false;
  const { watched, asked } = watch(fixture.database, async ({ parameters }) => {
    if (parameters === undefined || !isChanging) return;
    isChanging = false;
    await fixture.admin.query("CREATE TABLE c (id int)");
  });
  const { cache, clock } = createNameCache();
  await cache.get(watched, request);
  await fixture.admin.query("CREATE TABLE b (id int)");
  isChanging = true;
  clock.now = 2_000;
  assert.equal(await cache.get(watched, request), "a,b,c");
  clock.now = 4_000;
  assert.equal(await cache.get(watched, request), "a,b,c");
  clock.now = 6_000;
  assert.equal(await cache.get(watched, request), "a,b,c");
  assert.deepEqual(asked, ["check", "read", "check", "read", "check", "read", "check"]);
});

testWithPostgres("the entry that was used longest ago makes room", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  const { watched, asked } = watch(fixture.connect({ sessionSettings: { "app.user": "{username}" } }));
  const { cache } = createNameCache({ maxEntries: 2 });
  const get = (name: string) => cache.get(watched, { principal: user(name), signal });
  const reads = () => asked.splice(0).filter((what) => what === "read").length;
  for (const name of ["one", "two", "one", "three"]) await get(name);
  assert.equal(reads(), 3);
  await get("one");
  assert.equal(reads(), 0);
  await get("two");
  assert.equal(reads(), 1);
});

testWithPostgres("samples are read only where they are asked for, for each user apart", async () => {
  await using fixture = await createCatalogFixture(`
    CREATE TABLE a (kind text); INSERT INTO a VALUES ('x'), ('x'), ('y'), ('y'); ANALYZE`);
  const settings = { now: () => 0, logger: silentLogger };
  using without = createCatalogCache({ ...settings, prepare: ({ samples }) => samples.size });
  assert.equal(await without.get(fixture.database, request), 0);
  using withSamples = createCatalogCache({
    ...settings,
    prepare: ({ samples }) => samples.get(tableKey("public", "a"))?.get("kind")?.toSorted(),
    samples: { excludedColumns: [] },
  });
  assert.deepEqual(await withSamples.get(fixture.database, request), ["x", "y"]);
});

testWithPostgres("a closed cache stops what it reads and answers no more", async () => {
  await using fixture = await createCatalogFixture("CREATE TABLE a (id int)");
  const { cache } = createNameCache();
  const reading = cache.get(fixture.database, request);
  cache[Symbol.dispose]();
  await assert.rejects(reading);
  await assert.rejects(cache.get(fixture.database, request), { code: "unavailable" });
});

testWithPostgres(
  "rightsKey() is equal for those who read as the same role with the same settings",
  async () => {
    await using fixture = await createCatalogFixture("");
    const keys = (database: Database) =>
      ([{ kind: "local" }, user("alice"), user("local"), { kind: "token", id: "alice" }] as const)
        .map((principal) => database.rightsKey(principal));
    assert.deepEqual(keys(fixture.connect({ sessionSettings: { "app.tenant": "1" } })), ["", "", "", ""]);
    for (const options of [{ roleFromUser: true }, { sessionSettings: { "app.user": "<{username}>" } }]) {
      const [local, alice, called, token] = keys(fixture.connect(options));
      assert.equal(alice, token);
      assert.equal(new Set([local, alice, called]).size, 3);
    }
  },
);
