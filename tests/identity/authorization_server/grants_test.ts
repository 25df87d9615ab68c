import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";
import { createGrantStore, type GrantStore } from "../../../src/identity/authorization_server/grant_store.ts";
import { accountMark, createGrants } from "../../../src/identity/authorization_server/grants.ts";
import { type PresentedToken, presentToken } from "../../../src/identity/presented_token.ts";
import type { UserRecord } from "../../../src/identity/users/user_file.ts";
import { sql } from "../../../src/state/engine.ts";
import type { State } from "../../../src/state/state.ts";
import { testSharedStates, testStates } from "../../support/state.ts";
import { grantOf } from "./grant_of.ts";

const hour = 3_600_000;
const resource = "https://postern.test/mcp/v1";
const alice: UserRecord = {
  username: "alice",
  passwordHash: "$2b$12$of-alice",
  annotation: null,
  createdAt: 1_000,
  lastLogin: null,
  enabled: true,
  failedAttempts: 0,
  disabledReason: null,
};

function presented(token: string): PresentedToken {
  const found = presentToken(token);
  assert.ok(found);
  return found;
}

/** A process with a store whose lookups are counted, and that may be held up. */
function start(state: State, requireCurrent?: () => void, othersDecide = false) {
  const whole = createGrantStore(state);
  const set = {
    lookups: 0,
    ended: [] as string[],
    accounts: new Map([["alice", alice]]),
    meanwhile: () => Promise.resolve(),
  };
  const store: GrantStore = {
    ...whole,
    async tokens(hashes, nowMs) {
      set.lookups++;
      const found = await whole.tokens(hashes, nowMs);
      await set.meanwhile();
      return found;
    },
  };
  const grants = createGrants({
    store,
    accounts: { find: (name) => set.accounts.get(name) },
    othersDecide,
    ...(requireCurrent === undefined ? {} : { requireCurrent }),
    onEnded: (caller) => set.ended.push(grantOf(caller) ?? ""),
  });
  return Object.assign(set, {
    store: whole,
    grants,
    grant: (id: string, account = accountMark(alice)) =>
      whole.keep("Grant", id, { jti: id, accountId: "alice", clientId: "client" }, 365 * 24 * hour, {
        account,
      }),
    give: (id: string, grantId: string, lifetimeMs = hour, aud = resource) =>
      whole.keep(
        "AccessToken",
        id,
        { jti: id, accountId: "alice", clientId: "client", grantId, aud },
        lifetimeMs,
      ),
    find: async (token: string, of = resource) => await grants.of(of).find(presented(token), state.now()),
    [Symbol.dispose]: () => grants[Symbol.dispose](),
  });
}

testStates("an access token is looked up once, and stands for its grant's session", async (open) => {
  using here = start(await open());
  await here.grant("g");
  await here.give("a", "g");
  await here.give("b", "g");
  const session = await here.find("a");
  assert.deepEqual(session, { id: "g", username: "alice", accountSince: 1_000 });
  assert.equal(await here.find("a"), session);
  assert.equal(here.lookups, 1);
  // what is kept for a caller is looked up by the session: it is one for all tokens of a grant
  assert.equal(await here.find("b"), session);
  assert.equal(here.lookups, 2);
  assert.equal(await here.find("none"), undefined);
  assert.equal(here.grants.of(resource).find(undefined, Date.now()), undefined);
});

testStates("an access token is for its resource alone, also once it is remembered", async (open) => {
  using here = start(await open());
  await here.grant("g");
  await here.give("a", "g");
  const other = "https://postern.test/v1";
  assert.equal(await here.find("a", other), undefined);
  assert.equal(grantOf(await here.find("a")), "g");
  assert.equal(await here.find("a", other), undefined);
  assert.equal(here.lookups, 1);
});

testStates("a remembered access token expires", async (open) => {
  let now = Date.UTC(2026, 0, 1);
  using here = start(await open({ now: () => now }));
  await here.grant("g");
  await here.give("a", "g");
  now += hour - 1;
  assert.equal(grantOf(await here.find("a")), "g");
  now += 1;
  assert.equal(await here.find("a"), undefined);
  assert.equal(await here.find("a"), undefined);
});

testStates("a grant that ends is refused at once, with all of its tokens, and told", async (open) => {
  using here = start(await open());
  for (const id of ["g", "other", "unused"]) await here.grant(id);
  for (const [token, id] of [["a", "g"], ["b", "g"], ["c", "other"]] as const) await here.give(token, id);
  for (const token of ["a", "b", "c"]) assert.ok(await here.find(token));
  assert.equal(await here.grants.end("g"), true);
  assert.deepEqual(here.ended, ["g"]);
  for (const token of ["a", "b"]) assert.equal(await here.find(token), undefined);
  assert.equal(grantOf(await here.find("c")), "other");
  // no call used it
  await here.grants.end("unused");
  assert.deepEqual(here.ended, ["g"]);
  assert.equal(await here.grants.end("g"), false);
});

testStates("a grant whose token was remembered at another resource is refused at once too", async (open) => {
  using here = start(await open());
  await here.grant("g");
  await here.give("a", "g");
  assert.equal(await here.find("a", "https://postern.test/v1"), undefined);
  await here.grants.end("g");
  assert.equal(await here.find("a"), undefined);
});

testStates("an access token that is revoked alone is refused, and its grant goes on", async (open) => {
  using here = start(await open());
  await here.grant("g");
  await here.give("a", "g");
  await here.give("b", "g");
  for (const token of ["a", "b"]) assert.ok(await here.find(token));
  assert.equal(await here.store.end("AccessToken", "a"), true);
  assert.equal(await here.find("a"), undefined);
  assert.equal(grantOf(await here.find("b")), "g");
  assert.deepEqual(here.ended, []);
});

testStates("a grant that ends while its token is first looked up is refused", async (open) => {
  using here = start(await open());
  for (const [grant, token] of [["g", "a"], ["h", "b"]] as const) {
    await here.grant(grant);
    await here.give(token, grant);
  }
  here.meanwhile = async () => void await here.store.endGrant("g");
  assert.equal(await here.find("a"), undefined);
  here.meanwhile = async () => void await here.store.end("AccessToken", "b");
  assert.equal(await here.find("b"), undefined);
  here.meanwhile = () => Promise.resolve();
  for (const token of ["a", "b"]) assert.equal(await here.find(token), undefined);
});

testSharedStates("a grant that ends at another process is refused here once that is known", async (open) => {
  const [mine, theirs] = [await open(), await open()];
  using here = start(mine);
  using there = start(theirs);
  for (const id of ["g", "h"]) await here.grant(id);
  for (const [token, id] of [["a", "g"], ["b", "h"], ["c", "h"]] as const) await here.give(token, id);
  for (const token of ["a", "b", "c"]) assert.ok(await here.find(token));
  await mine.catchUp();
  await there.grants.end("g");
  await there.store.end("AccessToken", "b");
  await mine.catchUp();
  assert.deepEqual(here.ended, ["g"]);
  for (const token of ["a", "b"]) assert.equal(await here.find(token), undefined);
  assert.equal(grantOf(await here.find("c")), "h");
});

testSharedStates("a grant that ends at another process during the first lookup is refused", async (open) => {
  const [mine, theirs] = [await open(), await open()];
  using here = start(mine);
  using there = start(theirs);
  await here.grant("g");
  await here.give("a", "g");
  await mine.catchUp();
  let isHeldUp = true;
  here.meanwhile = async () => {
    if (!isHeldUp) return;
    isHeldUp = false;
    await there.grants.end("g");
    await mine.catchUp();
  };
  assert.equal(await here.find("a"), undefined);
  assert.equal(await here.find("a"), undefined);
});

testStates("where what is known may not be relied on, a remembered token is refused", async (open) => {
  let isCurrent = true;
  using here = start(await open(), () => {
    if (!isCurrent) throw new AppError("unavailable", "Cannot tell", { data: { retryAfterSeconds: 1 } });
  });
  await here.grant("g");
  await here.give("a", "g");
  await here.find("a");
  isCurrent = false;
  await assert.rejects(here.find("a"), { code: "unavailable", data: { retryAfterSeconds: 1 } });
  isCurrent = true;
  assert.equal(grantOf(await here.find("a")), "g");
});

testStates("a state that cannot be asked says so of a token that is new", async (open) => {
  const whole = await open();
  const gone = new AppError("unavailable", "away");
  let isAway = false;
  using here = start({
    ...whole,
    read: (statements) => isAway ? Promise.reject(gone) : whole.read(statements),
  });
  await here.grant("g");
  for (const token of ["a", "b"]) await here.give(token, "g");
  await here.find("a");
  isAway = true;
  await assert.rejects(here.find("b"), gone);
  assert.equal(grantOf(await here.find("a")), "g");
});

testStates("a grant that has expired is forgotten by the look, and told", async (open) => {
  let now = Date.UTC(2026, 0, 1);
  const state = await open({ now: () => now });
  using here = start(state);
  await here.grant("g");
  await here.give("a", "g", 30 * 60_000);
  await here.find("a");
  await here.grants.look();
  assert.deepEqual([here.ended, here.grants.size], [[], 1]);
  now += 30 * 60_000;
  await here.grants.look();
  assert.deepEqual(here.ended, ["g"]);
});

testStates(
  "grants of accounts that are gone, disabled, made anew or have another password end",
  async (open) => {
    const changes: (readonly [string, UserRecord | undefined, boolean])[] = [
      ["gone", undefined, false],
      ["disabled", { ...alice, enabled: false, disabledReason: "administrator" }, false],
      ["locked", { ...alice, enabled: false, disabledReason: "lockout" }, true],
      ["made anew", { ...alice, createdAt: 2_000 }, false],
      ["another password", { ...alice, passwordHash: "$2b$12$another" }, false],
      ["as it was", alice, true],
    ];
    using here = start(await open());
    for (const [what, account, stays] of changes) {
      here.accounts.set("alice", alice);
      await here.grant(what);
      await here.give(sha256(what), what);
      assert.ok(await here.find(sha256(what)), what);
      if (account === undefined) here.accounts.delete("alice");
      else here.accounts.set("alice", account);
      await here.grants.reconcile();
      assert.equal(await here.find(sha256(what)) !== undefined, stays, what);
      assert.equal(here.ended.includes(what), !stays, what);
    }
  },
);

testStates("an account that is gone has no session of a token", async (open) => {
  const state = await open();
  using here = start(state);
  await here.grant("g");
  await here.give("a", "g");
  here.accounts.clear();
  assert.equal(await here.find("a"), undefined);
  const [rows] = await state.read([sql`SELECT count(*) AS count FROM records WHERE kind = 'oauth Grant'`]);
  assert.equal(Number(rows?.[0]?.["count"]), 1);
});

testStates(
  "unknown tokens that come at once are looked up together, and too many are refused",
  async (open) => {
    using here = start(await open());
    await here.grant("g");
    await here.give("good", "g");
    const asked = Array.from({ length: 900 }, (_, each) => here.find(`unknown-${each}`));
    const good = here.find("good");
    assert.ok((await Promise.all(asked)).every((session) => session === undefined));
    assert.equal(grantOf(await good), "g");
    assert.ok(here.lookups <= 3, `${here.lookups} lookups`);
    const held = Promise.withResolvers<void>();
    here.meanwhile = () => held.promise;
    const flood = Array.from(
      { length: 2_500 },
      (_, each) => here.find(`more-${each}`).then(() => "told", String),
    );
    held.resolve();
    const refused = (await Promise.all(flood)).filter((result) => result !== "told");
    assert.ok(
      refused.length >= 500 && refused.every((text) => /too many are unknown/.test(text)),
      `${refused.length}`,
    );
    // what was remembered needs no lookup
    assert.equal(grantOf(await here.find("good")), "g");
  },
);

testSharedStates(
  "a grant of an account that another server's file has is refused here, and goes on there",
  async (open) => {
    using old = start(await open(), undefined, true);
    using rolled = start(await open(), undefined, true);
    await old.grant("g");
    await old.give("a", "g");
    assert.equal(grantOf(await rolled.find("a")), "g");
    rolled.accounts.clear();
    assert.equal(await rolled.find("a"), undefined);
    await rolled.grants.reconcile();
    assert.deepEqual(rolled.ended, ["g"]);
    assert.equal(grantOf(await old.find("a")), "g");
    // with another password it is another account's
    rolled.accounts.set("alice", { ...alice, passwordHash: "another" });
    assert.equal(await rolled.find("a"), undefined);
    rolled.accounts.set("alice", alice);
    assert.equal(grantOf(await rolled.find("a")), "g");
  },
);
