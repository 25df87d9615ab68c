import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import {
  keepCookieKeys,
  keyFile,
  openCookieKeys,
} from "../../../src/identity/authorization_server/cookie_keys.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { createRefreshTokenValues } from "../../../src/identity/authorization_server/store_adapter.ts";

const dayMs = 86_400_000;
const start = Date.UTC(2026, 0, 1);
const modeOf = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;

Deno.test("openCookieKeys() makes a key at the first start, for its user alone, and keeps it at the next", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  const [one, ...more] = await openCookieKeys(dataDir, start);
  assert.equal(more.length, 0);
  assert.match(one?.cookie_secret ?? "", /^[\w-]{43}$/);
  assert.equal(await modeOf(dataDir), 0o700);
  assert.equal(await modeOf(keyFile(dataDir)), 0o600);
  assert.deepEqual(await openCookieKeys(dataDir, start + 89 * dayMs), [one]);
  await Deno.remove(keyFile(dataDir));
  assert.notDeepEqual(await openCookieKeys(dataDir, start), [one]);
});

Deno.test("two that start at once get the same key", async () => {
  await using folder = await temporaryFolder();
  const [one, other] = await Promise.all([1, 2].map(() => openCookieKeys(folder.path, start)));
  assert.deepEqual(one, other);
});

Deno.test("after 90 days a new key signs; the one before is accepted for 7 days more, and then removed", async () => {
  await using folder = await temporaryFolder();
  const [first] = await openCookieKeys(folder.path, start);
  const [second, ...older] = await openCookieKeys(folder.path, start + 90 * dayMs);
  assert.notEqual(second?.cookie_secret, first?.cookie_secret);
  assert.deepEqual(older, [first]);
  assert.equal(await modeOf(keyFile(folder.path)), 0o600);
  assert.deepEqual(await openCookieKeys(folder.path, start + 97 * dayMs - 1), [second, first]);
  assert.deepEqual(await openCookieKeys(folder.path, start + 97 * dayMs), [second]);
  assert.ok(!(await Deno.readTextFile(keyFile(folder.path))).includes(first?.cookie_secret ?? ""));
});

Deno.test("keys change while a process runs on, also those that another process made, and older ones still verify", async () => {
  await using folder = await temporaryFolder();
  let time = start;
  const open = () => keepCookieKeys({ dataDir: folder.path, now: () => time, logger: silentLogger });
  using keys = await open();
  const { secrets: [first] } = keys;
  const values = createRefreshTokenValues(keys);
  const old = values.make("grant");
  await keys.renew();
  assert.deepEqual(keys.secrets, [first]);
  time += 90 * dayMs;
  using other = await open();
  assert.deepEqual(keys.secrets, [first]);
  await keys.renew();
  assert.deepEqual(keys.secrets, other.secrets);
  assert.equal(keys.secrets[1], first);
  assert.equal(values.grantOf(old), "grant");
  // four bits of the last character say nothing
  const others = ["A", "Q", "g", "w"].map((last) =>
    old.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1)
  );
  for (const other of others) assert.equal(values.grantOf(other), undefined);
  assert.equal(createRefreshTokenValues({ secrets: [first ?? ""] }).grantOf(values.make("grant")), undefined);
  await Deno.writeTextFile(keyFile(folder.path), "{");
  await keys.renew();
  assert.deepEqual(keys.secrets, other.secrets);
});

Deno.test("openCookieKeys() refuses a file that others may read, and one that is none of ours", async () => {
  await using folder = await temporaryFolder();
  await openCookieKeys(folder.path, start);
  await Deno.chmod(keyFile(folder.path), 0o644);
  await assert.rejects(openCookieKeys(folder.path, start), { code: "forbidden" });
  await Deno.chmod(keyFile(folder.path), 0o600);
  await Deno.writeTextFile(keyFile(folder.path), '{"keys":[{}]}');
  await assert.rejects(openCookieKeys(folder.path, start), { code: "invalid" });
});
