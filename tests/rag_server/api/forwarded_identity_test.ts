import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { callerKey, principalKey } from "../../../src/core/principal.ts";
import { createForwardedIdentity } from "../../../src/rag_server/api/forwarded_identity.ts";
import { identityErrors } from "../../../src/rag_server/api/rag_errors.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";

const options = {
  claimsHeader: "X-Forwarded-Claims",
  subjectHeader: "X-Forwarded-User",
  subjectClaim: "sub",
  roleClaim: "role",
  allowedRoles: ["tenant_a"],
  trustedProxies: ["10.0.0.0/8", "::1"],
};
const read = createForwardedIdentity(options);
const { subjectHeader: _subjectHeader, roleClaim: _roleClaim, ...bare } = options;

function claims(text: string, headers: Record<string, string> = {}): Headers {
  return new Headers({ "x-forwarded-claims": Buffer.from(text, "utf8").toString("latin1"), ...headers });
}

function codeOf(headers: Headers, { peer = "10.1.2.3", by = read } = {}): string | undefined {
  const result = by(peer, headers);
  return result.kind === "refused" ? identityErrors[result.reason].code : undefined;
}

function callerOf(headers: Headers, by = read) {
  const result = by("10.1.2.3", headers);
  assert.ok(result.kind === "caller", JSON.stringify(result));
  return result.principal;
}

Deno.test("claims are read as they came, in UTF-8", () => {
  const text = '{ "sub":"Zoë","tenant": "東", "n":1.0,"role":"tenant_a"}';
  assert.deepEqual(callerOf(claims(text)), {
    kind: "issuer",
    issuer: "proxy:X-Forwarded-Claims",
    subject: "Zoë",
    groups: [],
    claims: { sub: "Zoë", tenant: "東", n: 1, role: "tenant_a" },
    claimsText: text,
  });
});

Deno.test("a caller without claims is who the other header names, and claims come first", () => {
  const named = callerOf(new Headers({ "x-forwarded-user": 'al"ice' }));
  assert.ok(named.kind === "issuer");
  assert.deepEqual([named.subject, named.claimsText], ['al"ice', '{"sub":"al\\"ice"}']);
  const both = callerOf(claims('{"sub":"bob"}', { "x-forwarded-user": "alice" }));
  assert.ok(both.kind === "issuer");
  assert.equal(both.subject, "bob");
  const noSubject = createForwardedIdentity(bare);
  assert.equal(codeOf(new Headers({ "x-forwarded-user": "alice" }), { by: noSubject }), "IDENTITY_REQUIRED");
});

Deno.test("without a header for claims nobody's claims are read", () => {
  const { claimsHeader: _claimsHeader, ...named } = options;
  const byName = createForwardedIdentity(named);
  const caller = callerOf(claims('{"sub":"bob"}', { "x-forwarded-user": "alice" }), byName);
  assert.equal(principalKey(caller), "issuer:proxy:X-Forwarded-User#alice");
  assert.equal(codeOf(claims('{"sub":"bob"}'), { by: byName }), "IDENTITY_REQUIRED");
});

/** What a caller with these claims is called. */
const keyOf = (text: string) => principalKey(callerOf(claims(text)));

Deno.test("a number may name the caller, unless it stands for several", () => {
  assert.equal(keyOf('{"sub":7}'), "issuer:proxy:X-Forwarded-Claims#7");
  const large = ["9007199254740992", "9007199254740993", "1e400", "-1e400"].map((each) => `{"sub":${each}}`);
  assert.equal(new Set(large.map(keyOf)).size, large.length);
  for (const text of large) assert.match(keyOf(text), byClaims);
});

const byClaims = /^issuer:proxy-claims-sha256:X-Forwarded-Claims#[0-9a-f]{64}$/;
const bySubject = /^issuer:proxy-subject-sha256:X-Forwarded-Claims#[0-9a-f]{64}$/;

Deno.test("callers without a name are as many as there are claims", () => {
  const texts = ["{}", '{"sub":""}', '{"sub":["x"]}', '{"sub":null}', '{"tenant":"a"}', '{"tenant":"b"}'];
  for (const text of [...texts, String.raw`{"sub":"\ud800"}`, String.raw`{"sub":"\udfff"}`]) {
    assert.match(keyOf(text), byClaims, text);
    assert.ok(keyOf(text).endsWith(`#${sha256(text)}`));
  }
  const keys = texts.map((text) => callerKey(callerOf(claims(text))));
  assert.equal(new Set(keys).size, texts.length);
});

Deno.test("a name that cannot stand in a log counts by its hash, whatever else the claims say", () => {
  const names = [
    "a".repeat(256),
    "a".repeat(8_000),
    "alice\nprincipal=token:x",
    "al\u202eice",
    "al\0ice",
    " alice",
    "sk-ant-api03-Tq7ZbX4mLp9WvK2cRd8YhN3",
  ];
  for (const sub of names) {
    const key = keyOf(JSON.stringify({ sub }));
    assert.match(key, bySubject, sub);
    assert.ok(key.endsWith(`#${sha256(sub)}`));
    assert.equal(keyOf(JSON.stringify({ sub, iat: 1 })), key);
  }
  const longest = "é".repeat(255);
  assert.equal(keyOf(JSON.stringify({ sub: longest })), `issuer:proxy:X-Forwarded-Claims#${longest}`);
});

Deno.test("no name passes for the hash of another's claims", () => {
  const victim = keyOf('{"tenant":"acme"}');
  const hash = sha256('{"tenant":"acme"}');
  for (const sub of [hash, victim, `proxy-claims-sha256:X-Forwarded-Claims#${hash}`]) {
    assert.notEqual(keyOf(JSON.stringify({ sub })), victim);
  }
});

Deno.test("a request without an identity is refused", () => {
  for (const headers of [{}, { "x-forwarded-claims": "" }, { "x-forwarded-user": " " }]) {
    assert.equal(codeOf(new Headers(headers)), "IDENTITY_REQUIRED");
  }
});

Deno.test("what is no JSON object is refused, even with a subject beside it", () => {
  const user = { "x-forwarded-user": "alice" };
  for (
    const text of [
      '{"sub":"alice","sub":"bob"}',
      '{"sub":"alice","org":[{"tenant":"a","\\u0074enant":"b"}]}',
      "[]",
      "null",
      '"alice"',
      "7",
      "{",
      "alice",
      '{"sub":"a"}, {"sub":"b"}',
      "eyJzdWIiOiJhIn0=",
    ]
  ) {
    assert.equal(codeOf(claims(text, user)), "IDENTITY_MALFORMED", text);
  }
  assert.equal(codeOf(new Headers({ "x-forwarded-claims": '{"sub":"\xff"}' })), "IDENTITY_MALFORMED");
  const repeated = claims('{"sub":"alice"}');
  repeated.append("x-forwarded-claims", '{"sub":"bob"}');
  assert.equal(codeOf(repeated), "IDENTITY_MALFORMED");
});

Deno.test("a header holds at most 8 KiB", () => {
  const ofBytes = (bytes: number) => claims(`{"sub":"${"a".repeat(bytes - 10)}"}`);
  assert.equal(codeOf(ofBytes(8_192)), undefined);
  assert.equal(codeOf(ofBytes(8_193)), "IDENTITY_MALFORMED");
  assert.equal(codeOf(new Headers({ "x-forwarded-user": "a".repeat(8_193) })), "IDENTITY_MALFORMED");
});

Deno.test("nobody but a trusted proxy is read, whatever address a header names", () => {
  const headers = claims('{"sub":"alice"}', { "x-forwarded-for": "10.0.0.1" });
  for (const peer of ["11.0.0.1", "::2", "::ffff:11.0.0.1", "", "unix"]) {
    assert.equal(codeOf(headers, { peer }), "IDENTITY_UNTRUSTED_PEER", peer);
    assert.equal(codeOf(new Headers(), { peer }), "IDENTITY_UNTRUSTED_PEER", peer);
  }
  for (const peer of ["10.255.0.1", "::1", "::ffff:10.0.0.1"]) {
    assert.equal(codeOf(headers, { peer }), undefined);
  }
  const ofNobody = createForwardedIdentity({ ...options, trustedProxies: [] });
  assert.equal(codeOf(headers, { by: ofNobody }), "IDENTITY_UNTRUSTED_PEER");
});

Deno.test("a role has to be allowed, and none is needed", () => {
  assert.equal(codeOf(claims('{"role":"postgres"}')), "IDENTITY_ROLE_NOT_ALLOWED");
  assert.equal(codeOf(claims('{"role":"Tenant_A"}')), "IDENTITY_ROLE_NOT_ALLOWED");
  for (const role of ['"tenant_a"', '""', "null"]) {
    assert.equal(codeOf(claims(`{"role":${role}}`)), undefined, role);
  }
  for (const role of ['["tenant_a"]', '["x"]', "5", "0", "true", "false", "{}", "[]"]) {
    assert.equal(codeOf(claims(`{"role":${role}}`)), "IDENTITY_ROLE_NOT_ALLOWED", role);
  }
  const noRoles = createForwardedIdentity({ ...options, allowedRoles: [] });
  assert.equal(codeOf(claims('{"role":"tenant_a"}'), { by: noRoles }), "IDENTITY_ROLE_NOT_ALLOWED");
  assert.equal(codeOf(claims('{"role":"postgres"}'), { by: createForwardedIdentity(bare) }), undefined);
});

Deno.test("an entry that is no address block is refused", () => {
  assert.throws(
    () => createForwardedIdentity({ ...options, trustedProxies: ["10.0.0.0/33"] }),
    {
      message: 'Cannot read the address block "10.0.0.0/33": expected an address or CIDR such as 10.0.0.0/8',
    },
  );
});
