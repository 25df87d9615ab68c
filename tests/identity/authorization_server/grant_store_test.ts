import assert from "node:assert/strict";
import { createGrantStore } from "../../../src/identity/authorization_server/grant_store.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";
import { sql } from "../../../src/state/engine.ts";
import { currentVersion } from "../../../src/state/state.ts";
import { type OpenState, skipTime, testSharedStates, testStates } from "../../support/state.ts";
import { waitUntil } from "../../support/wait_until.ts";

const hour = 3_600_000;

async function setUp(openState: OpenState) {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now = () => clock.now;
  const state = await openState({ now });
  await state.catchUp();
  const store = createGrantStore(state);
  const grant = (id: string, clientId = "client") =>
    store.keep("Grant", id, { jti: id, accountId: "alice", clientId }, 365 * 24 * hour, { account: "mark" });
  const give = (kind: "AccessToken" | "RefreshToken", id: string, grantId: string, lifetimeMs: number) =>
    store.keep(kind, id, { jti: id, accountId: "alice", clientId: "client", grantId }, lifetimeMs);
  /** Copies a record so many times, faster than the store would keep them; for so long the store relies on what it counted. */
  const fill = async (kind: string, id: string, copies: number) => {
    await state.change([
      sql`INSERT INTO records
          (kind, id, alias, part_of, owner, client, value, created_at, used_at, expires_at, version)
        WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ${copies})
        SELECT kind, id || '-' || n, alias, part_of || '-' || n, owner, client, value, created_at, used_at,
            expires_at, ${currentVersion}
          FROM counted, records WHERE kind = ${`oauth ${kind}`} AND id = ${id}`,
    ]);
    clock.now += 10_001;
  };
  const countWhere = async (which: ReturnType<typeof sql>) => {
    const [rows] = await state.read([sql`SELECT count(*) AS count FROM records WHERE ${which}`]);
    return Number(rows?.[0]?.["count"]);
  };
  let skippedMs = 0;
  return {
    state,
    fill,
    count: (kind: string) => countWhere(sql`kind = ${`oauth ${kind}`}`),
    clock,
    async open() {
      const other = await openState({ now });
      await other.catchUp();
      return createGrantStore(other);
    },
    store,
    grant,
    give,
    /** Waits until what has expired was cleared, which happens by itself once a minute. */
    async sweep() {
      using _ = skipTime(skippedMs += 61_000);
      await waitUntil("it is cleared", async () => await countWhere(sql`expires_at <= ${clock.now}`) === 0);
    },
  };
}

testStates("createGrantStore() finds a token by its hash, and keeps none as it is", async (openState) => {
  const set = await setUp(openState);
  await set.grant("g");
  await set.give("AccessToken", "the-secret", "g", hour);
  const found = (await set.store.tokens([sha256("the-secret")], set.clock.now)).get(sha256("the-secret"));
  assert.deepEqual([found?.grantId, found?.username], ["g", "alice"]);
  assert.equal(
    (await set.store.tokens([sha256("the-secret")], set.clock.now + hour)).get(sha256("the-secret")),
    undefined,
  );
  assert.equal(
    (await set.store.tokens([sha256("another")], set.clock.now)).get(sha256("another")),
    undefined,
  );
  assert.equal((await set.store.find("AccessToken", "the-secret"))?.["jti"], "the-secret");
  assert.equal(await set.store.find("AccessToken", `#${sha256("the-secret")}`), undefined);
  const [records] = await set.state.read([sql`SELECT id, alias, value FROM records`]);
  assert.ok(records !== undefined && !JSON.stringify(records).includes("the-secret"));
});

testStates("createGrantStore() keeps a client as long as its refresh tokens", async (openState) => {
  const set = await setUp(openState);
  await set.store.keepClient("client", { client_name: "An application" });
  await set.grant("g");
  await set.give("RefreshToken", "r", "g", 180 * 24 * hour);
  set.clock.now += 179 * 24 * hour;
  await set.sweep();
  assert.ok(await set.store.find("Client", "client"));
  set.clock.now += 24 * hour;
  await set.sweep();
  assert.equal(await set.store.find("Client", "client"), undefined);
});

testStates("createGrantStore() gives nothing more for a grant that has ended", async (openState) => {
  const set = await setUp(openState);
  await set.grant("g");
  await set.give("AccessToken", "a", "g", hour);
  assert.equal(await set.store.endGrant("g"), true);
  assert.equal((await set.store.tokens([sha256("a")], set.clock.now)).get(sha256("a")), undefined);
  for (const kind of ["AccessToken", "RefreshToken"] as const) {
    await assert.rejects(set.give(kind, "late", "g", hour), /the grant has ended/);
  }
  assert.equal(await set.store.endGrant("g"), false);
});

testStates(
  "createGrantStore() lets what is good for one use be used once, in all processes",
  async (openState) => {
    const set = await setUp(openState);
    const other = await set.open();
    await set.grant("g");
    await set.give("RefreshToken", "r", "g", hour);
    assert.deepEqual(
      [await set.store.use("RefreshToken", "r"), await other.use("RefreshToken", "r")],
      [true, false],
    );
    assert.equal(typeof (await set.store.find("RefreshToken", "r"))?.["consumed"], "number");
  },
);

testStates(
  "createGrantStore() keeps a grant as long as something of it is good, and no longer",
  async (openState) => {
    const set = await setUp(openState);
    await set.grant("unused");
    await set.grant("used");
    await set.give("RefreshToken", "r", "used", 24 * hour);
    set.clock.now += hour;
    await set.sweep();
    assert.deepEqual((await set.store.grants()).map(({ id }) => id), ["used"]);
    set.clock.now += 23 * hour;
    await set.sweep();
    assert.deepEqual(await set.store.grants(), []);
  },
);

testStates("createGrantStore() keeps clients that are used, and forgets the others", async (openState) => {
  const set = await setUp(openState);
  const register = (id: string) =>
    set.store.keepClient(id, { client_id: id, redirect_uris: ["https://a.example/"] });
  await register("client");
  await register("idle");
  await set.grant("g");
  await set.give("RefreshToken", "r", "g", hour);
  set.clock.now += 25 * hour;
  await set.sweep();
  assert.deepEqual((await set.store.clients()).map(({ id }) => id), ["client"]);
  for (let count = 0; count < 1_005; count++) await register(`flood-${count}`);
  assert.equal((await set.store.clients()).length, 1_000);
  assert.ok((await set.store.clients()).some(({ id }) => id === "client"));
  assert.equal(await set.store.endClient("client"), 0);
  assert.equal(await set.store.endClient("client"), undefined);
});

testStates(
  "createGrantStore() lets no account close registration: a client without a grant makes room",
  async (openState) => {
    const set = await setUp(openState);
    await set.store.keepClient("bob's", { client_id: "bob's" }, "192.0.2.1");
    await set.store.keep("Grant", "of-bob", { accountId: "bob", clientId: "bob's" }, hour, {
      account: "mark",
    });
    const letIn = async (id: string) => {
      await set.store.keepClient(id, { client_id: id }, "192.0.2.1");
      await set.grant("g", id);
      await set.store.keep("RefreshToken", id, { accountId: "alice", clientId: id, grantId: "g" }, hour);
      await set.store.endGrant("g");
    };
    await letIn("first");
    await set.fill("Client", "first", 998);
    for (let count = 0; count < 20; count++) await letIn(`c${count}`);
    assert.equal((await set.store.clients()).length, 1_000);
    assert.notEqual(await set.store.find("Client", "bob's"), undefined);
  },
);

testStates(
  "createGrantStore() lets no site push out another's clients, nor one whose first login is under way",
  async (openState) => {
    const set = await setUp(openState);
    const register = (id: string, site: string) => set.store.keepClient(id, { client_id: id }, site);
    await register("victim", "192.0.2.1");
    await register("begun", "198.51.100.1");
    await set.store.keep("Interaction", "login", { params: { client_id: "begun" } }, hour, {
      site: "198.51.100.1",
    });
    for (let count = 0; count < 30; count++) {
      set.clock.now += 1;
      await register(`early-${count}`, "198.51.100.1");
    }
    for (let site = 0; site < 18; site++) {
      await register(`flood-${site}`, `203.0.113.${site}`);
      await set.fill("Client", `flood-${site}`, 52);
    }
    for (let count = 0; count < 100; count++) await register(`more-${count}`, `203.0.113.${count % 18}`);
    assert.notEqual(await set.store.find("Client", "victim"), undefined);
    assert.notEqual(await set.store.find("Client", "begun"), undefined);
    // neither does one with many addresses, as far as logins are under way
    for (let count = 0; count < 1_000; count++) {
      await register(`wide-${count}`, `2001:db8:${count.toString(16)}::/48`);
    }
    assert.notEqual(await set.store.find("Client", "begun"), undefined);
  },
);

for (const [kind, most] of [["DeviceCode", 2_000], ["Interaction", 10_000]] as const) {
  testStates(
    `createGrantStore() lets no site push out another's records of the kind ${kind}`,
    async (openState) => {
      const set = await setUp(openState);
      const begin = (id: string, site: string, lifetimeMs: number) =>
        set.store.keep(kind, id, { clientId: "client" }, lifetimeMs, { site });
      await begin("victim", "192.0.2.1", hour / 2);
      await begin("flood", "203.0.113.1", hour);
      await set.fill(kind, sha256("flood"), most);
      await begin("last", "203.0.113.1", hour);
      assert.notEqual(await set.store.find(kind, "victim"), undefined);
      assert.notEqual(await set.store.find(kind, "last"), undefined);
      assert.equal(await set.count(kind), most + 3 - most / 100);
    },
  );
}

testStates("createGrantStore() bounds the grants of a user and the tokens of a grant", async (openState) => {
  const set = await setUp(openState);
  for (let count = 0; count < 102; count++) {
    set.clock.now += 1;
    await set.grant(`g${count}`);
  }
  assert.equal(await set.store.grantCount(), 100);
  assert.deepEqual([...await set.store.present(["g0", "g101", "none"])], ["g101"]);
  for (let count = 0; count < 21; count++) {
    set.clock.now += 1;
    await set.give("AccessToken", `a${count}`, "g101", hour);
  }
  assert.equal((await set.store.tokens([sha256("a0")], set.clock.now)).get(sha256("a0")), undefined);
  assert.notEqual((await set.store.tokens([sha256("a1")], set.clock.now)).get(sha256("a1")), undefined);
});

testStates(
  "createGrantStore() keeps the last refresh tokens of a grant, and never lets go of the one that is good",
  async (openState) => {
    const set = await setUp(openState);
    await set.grant("g");
    await set.give("RefreshToken", "good", "g", hour);
    for (let count = 0; count < 20; count++) {
      set.clock.now += 1;
      await set.give("RefreshToken", `r${count}`, "g", hour);
      await set.store.use("RefreshToken", `r${count}`);
    }
    const kept: string[] = [];
    for (let at = 0; at < 20; at++) {
      if (await set.store.find("RefreshToken", `r${at}`) !== undefined) kept.push(`r${at}`);
    }
    assert.deepEqual(kept, ["r16", "r17", "r18", "r19"]);
    assert.notEqual(await set.store.find("RefreshToken", "good"), undefined);
  },
);

testStates("createGrantStore() makes room at the cost of whoever has the most", async (openState) => {
  const set = await setUp(openState);
  await set.grant("g");
  await set.store.keep("Grant", "of-bob", { accountId: "bob", clientId: "client" }, hour, {
    account: "mark",
  });
  const bobs = { accountId: "bob", clientId: "client", grantId: "of-bob" };
  await set.store.keep("RefreshToken", "bob's", bobs, hour);
  await set.give("RefreshToken", "alice's", "g", 2 * hour);
  // they all end after bob's
  await set.fill("RefreshToken", sha256("alice's"), 100_000);
  await set.give("RefreshToken", "one more", "g", 3 * hour);
  assert.notEqual(await set.store.find("RefreshToken", "bob's"), undefined);
  assert.notEqual(await set.store.find("RefreshToken", "one more"), undefined);
  assert.equal(await set.count("RefreshToken"), 99_003);
});

testSharedStates(
  "createGrantStore() lets two processes that use one token at once use it once",
  async (openState) => {
    const set = await setUp(openState);
    const other = await set.open();
    await set.grant("g");
    for (let count = 0; count < 10; count++) {
      await set.give("RefreshToken", `r${count}`, "g", hour);
      const used = await Promise.all(
        [set.store, other].map((store) => store.use("RefreshToken", `r${count}`)),
      );
      assert.deepEqual(used.toSorted(), [false, true]);
    }
  },
);

testSharedStates(
  "createGrantStore() tells at every process which grants and access tokens end",
  async (openState) => {
    const set = await setUp(openState);
    const other = await set.open();
    const ended: (string | undefined)[][] = [[], []];
    for (const [at, store] of [set.store, other].entries()) store.onEnded((id) => ended[at]?.push(id));
    await set.grant("g");
    await set.give("AccessToken", "a", "g", hour);
    await set.give("RefreshToken", "r", "g", hour);
    await other.end("AccessToken", "a");
    await waitUntil("it is told everywhere", () => ended.every((ids) => ids.includes(sha256("a"))));
    assert.equal((await set.store.tokens([sha256("a")], set.clock.now)).get(sha256("a")), undefined);
    assert.equal(await other.endGrant("g"), true);
    await waitUntil("it is told everywhere", () => ended.every((ids) => ids.includes("g")));
    await assert.rejects(set.give("AccessToken", "late", "g", hour), /the grant has ended/);
  },
);
