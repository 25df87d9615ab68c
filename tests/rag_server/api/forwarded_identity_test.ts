import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createForwardedIdentity } from "../../../src/rag_server/api/forwarded_identity.ts";

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
  return result.kind === "refused" ? result.error.code : undefined;
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

Deno.test("a number may name the caller, and nothing has to", () => {
  for (const [text, subject] of [['{"sub":7}', "7"], ["{}", ""], ['{"sub":["x"]}', ""]] as const) {
    const caller = callerOf(claims(text));
    assert.ok(caller.kind === "issuer");
    assert.equal(caller.subject, subject);
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
    const text of ["[]", "null", '"alice"', "7", "{", "alice", '{"sub":"a"}, {"sub":"b"}', "eyJzdWIiOiJhIn0="]
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
  for (const role of ['"tenant_a"', '""', "null", "7", '["postgres"]']) {
    assert.equal(codeOf(claims(`{"role":${role}}`)), undefined, role);
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
