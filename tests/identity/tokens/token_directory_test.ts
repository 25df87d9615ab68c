import assert from "node:assert/strict";
import { join } from "node:path";
import { presentToken } from "../../../src/identity/presented_token.ts";
import { createHash, timingSafeEqual } from "node:crypto";
import { silentLogger } from "../../../src/core/logger.ts";
import { parseLimits } from "../../../src/identity/tokens/limited_tokens.ts";
import { addToken, type TokenRecord } from "../../../src/identity/tokens/token_file.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { createTokenIndex, openTokenDirectory } from "../../../src/identity/tokens/token_directory.ts";

function record(id: string, token: string, expiresAt: number | null = null): TokenRecord {
  const hash = createHash("sha256").update(token).digest("hex");
  return { id, hash, annotation: null, database: null, createdAt: null, expiresAt };
}

Deno.test("presentToken() is SHA-256 in hex", () => {
  assert.equal(presentToken("abc")?.hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

Deno.test("find() finds the record of a token that any tool made", () => {
  const tokens = ["pst_abc", "wK7vN2xR8pQ3mL9cT6fH4jY1sZ5aB8dE0uV3gM7nW2k=", "a.b~c+d/e-f_g=="];
  const index = createTokenIndex(tokens.map((token, i) => record(`t${i}`, token)));
  assert.deepEqual(tokens.map((token) => index.find(presentToken(token), 0)?.id), ["t0", "t1", "t2"]);
  assert.equal(index.find(presentToken("pst_abd"), 0), undefined);
});

Deno.test("find() refuses an expired token, from the very millisecond on", () => {
  const index = createTokenIndex([record("t", "abc", 1000)]);
  assert.equal(index.find(presentToken("abc"), 999)?.id, "t");
  assert.equal(index.find(presentToken("abc"), 1000), undefined);
});

const refused = ["", "=", "a b", "a=b", "a,b", "a\n", "ä", "a".repeat(513), "a\u0000"];
for (const token of refused) {
  Deno.test(`find() refuses ${JSON.stringify(token.slice(0, 20))} (${token.length}) before it hashes`, () => {
    let compared = 0;
    const equal = () => ++compared > 0;
    const index = createTokenIndex([record("t", token)], { equal });
    assert.equal(index.find(presentToken(token), 0), undefined);
    assert.equal(compared, 0);
  });
}

Deno.test("find() takes 512 characters", () => {
  const token = "a".repeat(512);
  assert.equal(createTokenIndex([record("t", token)]).find(presentToken(token), 0)?.id, "t");
});

Deno.test("find() compares once in constant time, whether a token is known or not, and heeds the outcome", () => {
  const lengths: number[][] = [];
  const equal = (found: Uint8Array, presented: Uint8Array) => {
    lengths.push([found.length, presented.length]);
    return timingSafeEqual(found, presented);
  };
  const index = createTokenIndex([record("t", "abc")], { equal });
  assert.equal(index.find(presentToken("abc"), 0)?.id, "t");
  assert.equal(index.find(presentToken("unknown"), 0), undefined);
  assert.deepEqual(lengths, [[32, 32], [32, 32]]);
  const never = createTokenIndex([record("t", "abc")], { equal: () => false });
  assert.equal(never.find(presentToken("abc"), 0), undefined);
});

Deno.test("createTokenIndex() holds the first of two records with one id or one hash", () => {
  const index = createTokenIndex([record("t", "abc"), record("t", "def"), record("u", "abc")]);
  assert.equal(index.size, 1);
  assert.equal(index.find(presentToken("abc"), 0)?.id, "t");
  assert.equal(index.find(presentToken("def"), 0), undefined);
});

Deno.test("find() finds each of 100,000 tokens and no other", () => {
  const index = createTokenIndex(Array.from({ length: 100_000 }, (_, i) => record(`t${i}`, `token-${i}`)));
  assert.equal(index.size, 100_000);
  for (let i = 0; i < 100_000; i += 997) assert.equal(index.find(presentToken(`token-${i}`), 0)?.id, `t${i}`);
  assert.equal(index.find(presentToken("token-100000"), 0), undefined);
});

Deno.test("sweep() takes an expired token out of a file that could not be written when it expired", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "tokens.yaml");
  let time = Date.UTC(2026, 0, 1);
  const lasting = await addToken({ path, expiry: "never", now: time });
  const { record: { id } } = await addToken({ path, expiry: 1_000, now: time });
  const ended: string[] = [];
  const tokens = await openTokenDirectory({
    path,
    now: () => time,
    logger: silentLogger,
    onEnded: (id) => ended.push(id),
  });
  const text = await Deno.readTextFile(path);
  await Deno.writeTextFile(path, "tokens: [");
  time += 1_000;
  await assert.rejects(tokens.sweep());
  assert.deepEqual(ended, [id]);
  await tokens.sweep();
  await Deno.writeTextFile(path, text);
  time += 60_000;
  await tokens.sweep();
  const swept = await Deno.readTextFile(path);
  assert.ok(swept.includes(lasting.record.hash) && !swept.includes(id));
  assert.deepEqual(ended, [id]);
});

Deno.test("adopt() ends a token that may do something else than before, and no other", async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, "tokens.yaml");
  const limits = parseLimits({ tools: "query_database" });
  const { record: { id } } = await addToken({ path, ...limits, expiry: "never", now: 0 });
  await addToken({ path, expiry: "never", now: 0 });
  const ended: string[] = [];
  const tokens = await openTokenDirectory({
    path,
    now: () => 0,
    logger: silentLogger,
    onEnded: (id) => ended.push(id),
  });
  const text = await Deno.readTextFile(path);
  tokens.adopt(await tokens.read({ path, text: `${text}# a comment\n` }));
  assert.deepEqual(ended, []);
  tokens.adopt(await tokens.read({ path, text: text.replace("query_database", "count_rows") }));
  assert.deepEqual(ended, [id]);
});
