import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { silentLogger } from "../../../src/core/logger.ts";
import { openGrantStore } from "../../../src/identity/authorization_server/grant_store.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";

const hour = 3_600_000;

async function setUp() {
  const folder = await temporaryFolder();
  const clock = { now: Date.UTC(2026, 0, 1) };
  const path = `${folder.path}/data/oauth.sqlite`;
  const open = () => openGrantStore({ path, now: () => clock.now, logger: silentLogger });
  const store = open();
  const grant = (id: string, clientId = "client") => {
    store.keep("Grant", id, { jti: id, accountId: "alice", clientId }, 365 * 24 * hour, { account: "mark" });
  };
  const give = (kind: "AccessToken" | "RefreshToken", id: string, grantId: string, lifetimeMs: number) =>
    store.keep(kind, id, { jti: id, accountId: "alice", clientId: "client", grantId }, lifetimeMs);
  /** Copies a record so many times, faster than the store would keep them. */
  const fill = (kind: string, id: string, copies: number) => {
    using file = new DatabaseSync(path);
    file.prepare(
      `WITH RECURSIVE counted (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < ?)
        INSERT INTO records
          SELECT kind, id || '-' || n, payload, grant_id || '-' || n, client_id, username, account, uid, user_code, created_at, used_at,
              expires_at
            FROM counted, records WHERE kind = ? AND id = ?`,
    ).run(copies, kind, id);
  };
  const count = (kind: string) => {
    using file = new DatabaseSync(path);
    return file.prepare("SELECT count(*) AS count FROM records WHERE kind = ?").get(kind)?.["count"];
  };
  return {
    path,
    fill,
    count,
    clock,
    open,
    store,
    grant,
    give,
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

Deno.test("openGrantStore() finds a token by its hash, and keeps none as it is", async () => {
  await using set = await setUp();
  set.grant("g");
  set.give("AccessToken", "the-secret", "g", hour);
  const found = set.store.token(sha256("the-secret"), set.clock.now);
  assert.deepEqual([found?.grantId, found?.username], ["g", "alice"]);
  assert.equal(set.store.token(sha256("the-secret"), set.clock.now + hour), undefined);
  assert.equal(set.store.token(sha256("another"), set.clock.now), undefined);
  assert.equal(set.store.find("AccessToken", "the-secret")?.["jti"], "the-secret");
  assert.equal(set.store.find("AccessToken", `#${sha256("the-secret")}`), undefined);
  set.store[Symbol.dispose]();
  assert.ok(!new TextDecoder("latin1").decode(await Deno.readFile(set.path)).includes("the-secret"));
});

Deno.test("openGrantStore() keeps a client as long as its refresh tokens", async () => {
  await using set = await setUp();
  set.store.keepClient("client", { client_name: "An application" });
  set.grant("g");
  set.give("RefreshToken", "r", "g", 180 * 24 * hour);
  set.clock.now += 179 * 24 * hour;
  set.store.sweep();
  assert.ok(set.store.find("Client", "client"));
  set.clock.now += 24 * hour;
  set.store.sweep();
  assert.equal(set.store.find("Client", "client"), undefined);
});

Deno.test("openGrantStore() gives nothing more for a grant that has ended", async () => {
  await using set = await setUp();
  set.grant("g");
  set.give("AccessToken", "a", "g", hour);
  assert.equal(set.store.endGrant("g"), true);
  assert.equal(set.store.token(sha256("a"), set.clock.now), undefined);
  for (const kind of ["AccessToken", "RefreshToken"] as const) {
    assert.throws(() => set.give(kind, "late", "g", hour), /the grant has ended/);
  }
  assert.equal(set.store.endGrant("g"), false);
});

Deno.test("openGrantStore() lets what is good for one use be used once, in all processes", async () => {
  await using set = await setUp();
  using other = set.open();
  set.grant("g");
  set.give("RefreshToken", "r", "g", hour);
  assert.deepEqual([set.store.use("RefreshToken", "r"), other.use("RefreshToken", "r")], [true, false]);
  assert.equal(typeof set.store.find("RefreshToken", "r")?.["consumed"], "number");
});

Deno.test("openGrantStore() keeps a grant as long as something of it is good, and no longer", async () => {
  await using set = await setUp();
  set.grant("unused");
  set.grant("used");
  set.give("RefreshToken", "r", "used", 24 * hour);
  set.clock.now += hour;
  set.store.sweep();
  assert.deepEqual(set.store.grants().map(({ id }) => id), ["used"]);
  set.clock.now += 23 * hour;
  set.store.sweep();
  assert.deepEqual(set.store.grants(), []);
});

Deno.test("openGrantStore() keeps clients that are used, and forgets the others", async () => {
  await using set = await setUp();
  const register = (id: string) =>
    set.store.keepClient(id, { client_id: id, redirect_uris: ["https://a.example/"] });
  register("client");
  register("idle");
  set.grant("g");
  set.give("RefreshToken", "r", "g", hour);
  set.clock.now += 25 * hour;
  set.store.sweep();
  assert.deepEqual(set.store.clients().map(({ id }) => id), ["client"]);
  for (let count = 0; count < 1_005; count++) register(`flood-${count}`);
  assert.equal(set.store.clients().length, 1_000);
  assert.ok(set.store.clients().some(({ id }) => id === "client"));
  assert.equal(set.store.endClient("client"), 0);
  assert.equal(set.store.endClient("client"), undefined);
});

Deno.test("openGrantStore() lets no account close registration: a client without a grant makes room", async () => {
  await using set = await setUp();
  set.store.keepClient("bob's", { client_id: "bob's" }, "192.0.2.1");
  set.store.keep("Grant", "of-bob", { accountId: "bob", clientId: "bob's" }, hour, { account: "mark" });
  const letIn = (id: string) => {
    set.store.keepClient(id, { client_id: id }, "192.0.2.1");
    set.grant("g", id);
    set.store.keep("RefreshToken", id, { accountId: "alice", clientId: id, grantId: "g" }, hour);
    set.store.endGrant("g");
  };
  letIn("first");
  set.fill("Client", "first", 1_000);
  for (let count = 0; count < 20; count++) letIn(`c${count}`);
  assert.equal(set.store.clients().length, 1_002);
  assert.notEqual(set.store.find("Client", "bob's"), undefined);
});

Deno.test("openGrantStore() lets no site push out another's clients, nor one whose first login is under way", async () => {
  await using set = await setUp();
  const register = (id: string, site: string) => set.store.keepClient(id, { client_id: id }, site);
  register("victim", "192.0.2.1");
  register("begun", "198.51.100.1");
  set.store.keep("Interaction", "login", { params: { client_id: "begun" } }, hour, { site: "198.51.100.1" });
  for (let count = 0; count < 30; count++) {
    set.clock.now += 1;
    register(`early-${count}`, "198.51.100.1");
  }
  for (let site = 0; site < 18; site++) {
    register(`flood-${site}`, `203.0.113.${site}`);
    set.fill("Client", `flood-${site}`, 59);
  }
  for (let count = 0; count < 100; count++) register(`more-${count}`, `203.0.113.${count % 18}`);
  assert.notEqual(set.store.find("Client", "victim"), undefined);
  assert.notEqual(set.store.find("Client", "begun"), undefined);
  // neither does one with many addresses, as far as logins are under way
  for (let count = 0; count < 1_000; count++) {
    register(`wide-${count}`, `2001:db8:${count.toString(16)}::/48`);
  }
  assert.notEqual(set.store.find("Client", "begun"), undefined);
});

for (const [kind, most] of [["DeviceCode", 2_000], ["Interaction", 10_000]] as const) {
  Deno.test(`openGrantStore() lets no site push out another's records of the kind ${kind}`, async () => {
    await using set = await setUp();
    const begin = (id: string, site: string, lifetimeMs: number) =>
      set.store.keep(kind, id, { clientId: "client" }, lifetimeMs, { site });
    begin("victim", "192.0.2.1", hour / 2);
    begin("flood", "203.0.113.1", hour);
    set.fill(kind, sha256("flood"), most);
    begin("last", "203.0.113.1", hour);
    assert.notEqual(set.store.find(kind, "victim"), undefined);
    assert.notEqual(set.store.find(kind, "last"), undefined);
    assert.equal(set.count(kind), most + 3 - most / 100);
  });
}

Deno.test("openGrantStore() bounds the grants of a user and the tokens of a grant", async () => {
  await using set = await setUp();
  for (let count = 0; count < 102; count++) {
    set.clock.now += 1;
    set.grant(`g${count}`);
  }
  assert.equal(set.store.grantCount(), 100);
  assert.equal(set.store.hasGrant("g0"), false);
  for (let count = 0; count < 21; count++) {
    set.clock.now += 1;
    set.give("AccessToken", `a${count}`, "g101", hour);
  }
  assert.equal(set.store.token(sha256("a0"), set.clock.now), undefined);
  assert.notEqual(set.store.token(sha256("a1"), set.clock.now), undefined);
});

Deno.test("openGrantStore() keeps the last refresh tokens of a grant, and never lets go of the one that is good", async () => {
  await using set = await setUp();
  set.grant("g");
  set.give("RefreshToken", "good", "g", hour);
  for (let count = 0; count < 20; count++) {
    set.clock.now += 1;
    set.give("RefreshToken", `r${count}`, "g", hour);
    set.store.use("RefreshToken", `r${count}`);
  }
  const kept = Array.from({ length: 20 }, (_, at) => `r${at}`).filter((id) =>
    set.store.find("RefreshToken", id)
  );
  assert.deepEqual(kept, ["r16", "r17", "r18", "r19"]);
  assert.notEqual(set.store.find("RefreshToken", "good"), undefined);
});

Deno.test("openGrantStore() makes room at the cost of whoever has the most", async () => {
  await using set = await setUp();
  set.grant("g");
  set.store.keep("Grant", "of-bob", { accountId: "bob", clientId: "client" }, hour, { account: "mark" });
  const bobs = { accountId: "bob", clientId: "client", grantId: "of-bob" };
  set.store.keep("RefreshToken", "bob's", bobs, hour);
  set.give("RefreshToken", "alice's", "g", 2 * hour);
  // they all end after bob's
  set.fill("RefreshToken", sha256("alice's"), 100_000);
  set.give("RefreshToken", "one more", "g", 3 * hour);
  assert.notEqual(set.store.find("RefreshToken", "bob's"), undefined);
  assert.notEqual(set.store.find("RefreshToken", "one more"), undefined);
  assert.equal(set.count("RefreshToken"), 99_003);
});
