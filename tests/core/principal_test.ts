import assert from "node:assert/strict";
import {
  accountOf,
  bearerKey,
  callerKey,
  type Principal,
  principalKey,
  principalName,
  roleNameOf,
} from "../../src/core/principal.ts";

const issuer = "https://idp.example.com";
/** Principals that have a text in common. */
const alike: readonly Principal[] = [
  { kind: "local" },
  { kind: "token", id: "local" },
  { kind: "token", id: "alice" },
  { kind: "session", id: "alice", username: "bob" },
  { kind: "session", id: "s2", username: "alice" },
  { kind: "session", id: "s3", username: `${issuer}#alice` },
  { kind: "token", id: `${issuer}#alice` },
  { kind: "issuer", issuer, subject: "alice", groups: [] },
  { kind: "issuer", issuer, subject: "a#alice", groups: [] },
  { kind: "issuer", issuer: `${issuer}/a`, subject: "alice", groups: [] },
];

Deno.test("no two principals share a key, and no two callers the key of bounds", () => {
  assert.equal(new Set(alike.map(principalKey)).size, alike.length);
  assert.equal(new Set(alike.map(callerKey)).size, alike.length);
});

Deno.test("an issuer's subject is one caller, whatever else its access tokens say", () => {
  const one: Principal = { kind: "issuer", issuer, subject: "7", groups: [], account: "alice", name: "Al" };
  const other: Principal = { kind: "issuer", issuer, subject: "7", groups: ["ops"], scopes: ["read"] };
  assert.equal(principalKey(one), "issuer:https://idp.example.com#7");
  assert.equal(principalKey(one), principalKey(other));
  assert.equal(callerKey(one), callerKey(other));
  assert.equal(principalName(one), "https://idp.example.com#7");
});

Deno.test("each grant has what it began to itself, and so has an issuer's token of other scopes", () => {
  const of = (own: { scopes?: string[]; grantId?: string }): Principal => ({
    kind: "issuer",
    issuer,
    subject: "7",
    groups: [],
    ...own,
  });
  const apart = [
    of({}),
    of({ scopes: ["read"] }),
    of({ scopes: ["read", "ask"] }),
    of({ scopes: ["read"], grantId: "g1" }),
    of({ scopes: ["read"], grantId: "g2" }),
  ];
  assert.equal(new Set([...apart, ...alike].map(bearerKey)).size, apart.length + alike.length);
  assert.equal(bearerKey(of({ scopes: ["ask", "read"] })), bearerKey(of({ scopes: ["read", "ask"] })));
});

Deno.test("the sessions of a user are one caller, and so are the requests of an address", () => {
  const sessions = ["s1", "s2"].map((id): Principal => ({ kind: "session", id, username: "alice" }));
  assert.deepEqual(sessions.map(callerKey), ["user:alice", "user:alice"]);
  assert.equal(callerKey({ kind: "local", address: "192.0.2.1" }), "address:192.0.2.1");
});

Deno.test("what a server reads for a caller counts to that caller, over the server's own connections", () => {
  for (const caller of alike) {
    const reader: Principal = { kind: "local", onBehalfOf: caller };
    assert.equal(callerKey(reader), callerKey(caller));
    assert.equal(principalKey(reader), "local");
  }
});

Deno.test("an issuer's subject has a role of its own, or that of its account", () => {
  const subject: Principal = { kind: "issuer", issuer, subject: "alice", groups: [], name: "postgres" };
  assert.equal(accountOf(subject), undefined);
  assert.equal(roleNameOf(subject), "https://idp.example.com#alice");
  assert.equal(roleNameOf({ ...subject, account: "bob" }), "bob");
  assert.equal(accountOf({ ...subject, account: "bob" }), "bob");
});
