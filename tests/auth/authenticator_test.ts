import assert from "node:assert/strict";
import { createAuthenticator } from "../../src/auth/authenticator.ts";
import { createToken } from "../../src/auth/tokens.ts";
import { createTokenIndex } from "../../src/auth/token_index.ts";

const free = createToken({ id: "token-1", expiry: "never", now: 0 });
const bound = createToken({ id: "token-2", database: "staging", expiry: 60_000, now: 0 });
let time = 1000;
const authenticator = createAuthenticator({
  tokens: createTokenIndex([free.record, bound.record]),
  now: () => time,
});

Deno.test("authenticate() tells the principal of a token, with the database that it is bound to", () => {
  assert.deepEqual(authenticator.authenticate(`Bearer ${free.token}`), { kind: "token", id: "token-1" });
  assert.deepEqual(authenticator.authenticate(`Bearer ${bound.token}`), {
    kind: "token",
    id: "token-2",
    database: "staging",
  });
});

for (const scheme of ["bearer", "BEARER", "bEaReR"]) {
  Deno.test(`authenticate() takes the scheme as ${scheme}`, () => {
    assert.equal(authenticator.authenticate(`${scheme} ${free.token}`)?.kind, "token");
  });
}

const refused: [title: string, header: string | null][] = [
  ["no header", null],
  ["an empty header", ""],
  ["the scheme alone", "Bearer"],
  ["the scheme and a space", "Bearer "],
  ["the token alone", free.token],
  ["another scheme", `Basic ${free.token}`],
  ["a longer scheme", `XBearer ${free.token}`],
  ["no space", `Bearer${free.token}`],
  ["two spaces", `Bearer  ${free.token}`],
  ["a tab", `Bearer\t${free.token}`],
  ["a space after", `Bearer ${free.token} `],
  ["a line end after", `Bearer ${free.token}\n`],
  ["a parameter", `Bearer ${free.token}, realm=x`],
  ["two headers in one", `Bearer ${free.token}, Bearer ${free.token}`],
  ["an unknown token", `Bearer ${free.token}x`],
  ["the hash in place of the token", `Bearer ${free.record.hash}`],
  ["padding added", `Bearer ${free.token}=`],
  ["too long a token", `Bearer ${"a".repeat(1_000_000)}`],
];
for (const [title, header] of refused) {
  Deno.test(`authenticate() refuses ${title}`, () => {
    assert.equal(authenticator.authenticate(header), undefined);
  });
}

Deno.test("authenticate() refuses a token once its time is over", () => {
  time = 60_000;
  assert.equal(authenticator.authenticate(`Bearer ${bound.token}`), undefined);
  assert.equal(authenticator.authenticate(`Bearer ${free.token}`)?.kind, "token");
});
