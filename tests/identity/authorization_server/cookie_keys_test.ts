import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import { keepCookieKeys } from "../../../src/identity/authorization_server/cookie_keys.ts";
import { createRefreshTokenValues } from "../../../src/identity/authorization_server/store_adapter.ts";
import type { State } from "../../../src/state/state.ts";
import { memoryState, type OpenState, testSharedStates, testStates } from "../../support/state.ts";

const dayMs = 86_400_000;
const start = Date.UTC(2026, 0, 1);

function setUp(openState: OpenState) {
  const clock = { now: start };
  /** As one more process would. */
  const open = async () =>
    await keepCookieKeys({ state: await openState({ now: () => clock.now }), logger: silentLogger });
  return { clock, open };
}

testStates(
  "keepCookieKeys() makes a key at the first start, and has the same at the next",
  async (openState) => {
    const { clock, open } = setUp(openState);
    using keys = await open();
    assert.equal(keys.secrets.length, 1);
    assert.match(keys.secrets[0] ?? "", /^[\w-]{43}$/);
    clock.now += 89 * dayMs;
    using later = await open();
    assert.deepEqual(later.secrets, keys.secrets);
  },
);

testStates("two states have two keys", async (openState) => {
  using keys = await setUp(openState).open();
  await using other = memoryState();
  using others = await keepCookieKeys({ state: other, logger: silentLogger });
  assert.notDeepEqual(others.secrets, keys.secrets);
});

testSharedStates("processes that start at once sign with the same key", async (openState) => {
  const { open } = setUp(openState);
  const all = await Promise.all([open(), open(), open()]);
  using _ = all[0];
  using __ = all[1];
  using ___ = all[2];
  for (const keys of all) await keys.renew();
  const [first, ...others] = all.map(({ secrets }) => secrets);
  assert.equal(first?.length, 1);
  for (const secrets of others) assert.deepEqual(secrets, first);
  using late = await open();
  assert.deepEqual(late.secrets, first);
});

testStates("after 90 days a new key signs; the one before is accepted for 7 days more", async (openState) => {
  const { clock, open } = setUp(openState);
  using keys = await open();
  const [first] = keys.secrets;
  clock.now = start + 90 * dayMs - 1;
  await keys.renew();
  assert.deepEqual(keys.secrets, [first]);
  clock.now = start + 90 * dayMs;
  await keys.renew();
  const [second, ...older] = keys.secrets;
  assert.notEqual(second, first);
  assert.deepEqual(older, [first]);
  clock.now = start + 97 * dayMs - 1;
  assert.deepEqual(keys.secrets, [second, first]);
  clock.now = start + 97 * dayMs;
  assert.deepEqual(keys.secrets, [second]);
  using later = await open();
  assert.deepEqual(later.secrets, [second]);
});

testSharedStates(
  "keys change while a process runs on, also those that another process made, and older ones still verify",
  async (openState) => {
    const { clock, open } = setUp(openState);
    using keys = await open();
    const { secrets: [first] } = keys;
    const values = createRefreshTokenValues(keys);
    const old = values.make("grant");
    await keys.renew();
    assert.deepEqual(keys.secrets, [first]);
    clock.now += 90 * dayMs;
    using other = await open();
    assert.equal(other.secrets.length, 2);
    await keys.renew();
    assert.deepEqual(keys.secrets, other.secrets);
    assert.equal(keys.secrets[1], first);
    assert.equal(values.grantOf(old), "grant");
    // four bits of the last character say nothing
    const others = ["A", "Q", "g", "w"].map((last) =>
      old.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1)
    );
    for (const other of others) assert.equal(values.grantOf(other), undefined);
    assert.equal(
      createRefreshTokenValues({ secrets: [first ?? ""] }).grantOf(values.make("grant")),
      undefined,
    );
  },
);

Deno.test("a state that fails keeps the keys that are known, with a warning", async () => {
  const clock = { now: start };
  await using whole = memoryState(() => clock.now);
  let isAway = false;
  const away = new AppError("unavailable", "Cannot reach the state", { data: { retryAfterSeconds: 1 } });
  const state: State = { ...whole, catchUp: () => isAway ? Promise.reject(away) : whole.catchUp() };
  const lines: string[] = [];
  const logger = createLogger({ level: "warn", format: "text", write: (line) => lines.push(line) });
  using keys = await keepCookieKeys({ state, logger });
  const [first] = keys.secrets;
  isAway = true;
  clock.now += 91 * dayMs;
  await keys.renew();
  assert.deepEqual(keys.secrets, [first]);
  assert.equal(lines.length, 1);
  assert.match(
    lines[0] ?? "",
    /WARN .*Cannot renew the keys of the login page's cookies; trying again later/,
  );
  isAway = false;
  await keys.renew();
  assert.equal(keys.secrets.length, 2);
  assert.equal(keys.secrets[1], first);
});

Deno.test("a start that cannot reach the state has a key of its own, until the state answers", async () => {
  await using whole = memoryState(() => start);
  using known = await keepCookieKeys({ state: whole, logger: silentLogger });
  let isAway = true;
  const away = new AppError("unavailable", "Cannot reach the state", { data: { retryAfterSeconds: 1 } });
  const state: State = { ...whole, catchUp: () => isAway ? Promise.reject(away) : whole.catchUp() };
  using keys = await keepCookieKeys({ state, logger: silentLogger });
  assert.equal(keys.secrets.length, 1);
  assert.notDeepEqual(keys.secrets, known.secrets);
  isAway = false;
  await keys.renew();
  assert.deepEqual(keys.secrets, known.secrets);
});
