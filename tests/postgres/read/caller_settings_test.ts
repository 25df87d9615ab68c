import assert from "node:assert/strict";
import { type Principal, readerFor, serverItself } from "../../../src/core/principal.ts";
import {
  callerRights,
  callerSettings,
  UntoldCallerError,
} from "../../../src/postgres/read/caller_settings.ts";

const alice: Principal = { kind: "session", id: "s", username: "alice" };
const of = (claims: Record<string, unknown>): Principal => ({
  kind: "issuer",
  issuer: "https://login.example.com",
  subject: "u1",
  groups: [],
  claims,
});
const none = { name: "main", roleFromUser: false, sessionSettings: {} };
const byTenant = { ...none, sessionSettings: { "app.tenant": "{claim:tenant}" } };
const byRole = { ...none, roleFromClaim: "role", allowedRoles: ["tenant_a", "tenant_b"] };

Deno.test("callerSettings() fills in the name, a claim, and all claims", () => {
  const sessionSettings = {
    "app.name": "<{username}>",
    "app.tenant": "{claim:https://example.com/tenant}",
    "request.jwt.claims": "{claims}",
    "app.plain": "{other} {}",
  };
  const claims = { "https://example.com/tenant": 7, sub: "u1" };
  assert.deepEqual(callerSettings({ ...none, sessionSettings }, of(claims)), {
    settings: [
      ["app.name", "<https://login.example.com#u1>"],
      ["app.tenant", "7"],
      ["request.jwt.claims", '{"https://example.com/tenant":7,"sub":"u1"}'],
      ["app.plain", "{other} {}"],
    ],
    role: undefined,
  });
});

Deno.test("callerSettings() fills a claim in once, whatever stands in it", () => {
  assert.deepEqual(callerSettings(byTenant, of({ tenant: "{claims}{username}$&" })).settings, [
    ["app.tenant", "{claims}{username}$&"],
  ]);
});

Deno.test("callerSettings() refuses a claim that another caller's would be the same as", () => {
  const number = {
    code: "forbidden",
    message: /the caller's claim "tenant" holds a number beyond 2\^53/,
  };
  for (const text of ["9007199254740993", "-9007199254740993", "1e400", "[9007199254740993]"]) {
    const claims = JSON.parse(`{"tenant":${text}}`);
    assert.throws(() => callerSettings(byTenant, of(claims)), number, text);
    const all = { ...none, sessionSettings: { "request.jwt.claims": "{claims}" } };
    assert.throws(() => callerSettings(all, of(claims)), { code: "forbidden" }, text);
  }
  const character = { code: "forbidden", message: /the caller's claim "tenant" holds a character/ };
  for (const tenant of ["acme\0", "\ud800", "a\udfff"]) {
    assert.throws(() => callerSettings(byTenant, of({ tenant })), character);
  }
  const asJson = [[9007199254740991, "9007199254740991"], [1.5, "1.5"], [true, "true"], [
    ["a", "b"],
    '["a","b"]',
  ]];
  for (const [tenant, text] of asJson) {
    assert.deepEqual(callerSettings(byTenant, of({ tenant })).settings, [["app.tenant", text]]);
  }
});

const without: [string, Principal][] = [
  ["a token without the claim", of({})],
  ["a claim that is null", of({ tenant: null })],
  ["a claim that is empty", of({ tenant: "" })],
  ["a claim of Object.prototype", of({})],
  ["an account", alice],
  ["an API token", { kind: "token", id: "t" }],
  ["the local caller", { kind: "local" }],
  ["the local caller for whom the server reads", readerFor({ kind: "local" })],
];
for (const [what, principal] of without) {
  Deno.test(`callerSettings() refuses ${what} where a setting needs a claim`, () => {
    const refused = { code: "forbidden", message: /the caller has no claim "tenant"/ };
    assert.throws(() => callerSettings(byTenant, principal), refused);
    const all = { ...none, sessionSettings: { "a.b": "{claim:constructor}" } };
    assert.throws(() => callerSettings(all, principal), { code: "forbidden" });
  });
}

Deno.test("callerSettings() refuses {claims} to a caller without claims", () => {
  const all = { ...none, sessionSettings: { "request.jwt.claims": "{claims}" } };
  assert.throws(() => callerSettings(all, alice), { code: "forbidden", message: /the caller has no claims/ });
});

Deno.test("callerSettings() takes the role that the claim names, if it is allowed", () => {
  assert.equal(callerSettings(byRole, of({ role: "tenant_b" })).role, "tenant_b");
  assert.equal(callerSettings(byRole, readerFor(of({ role: "tenant_a" }))).role, "tenant_a");
  for (const role of ["postgres", "none", "TENANT_A", " tenant_a", ["tenant_a"], 7, null]) {
    assert.throws(() => callerSettings(byRole, of({ role })), { code: "forbidden" }, JSON.stringify(role));
  }
  assert.throws(() => callerSettings(byRole, alice), { code: "forbidden" });
  assert.throws(() => callerSettings(byRole, { kind: "local" }), { code: "forbidden" });
});

Deno.test("callerSettings() gives the server none for what it reads for itself", () => {
  assert.deepEqual(callerSettings({ ...byRole, ...byTenant }, serverItself), {
    settings: [],
    role: undefined,
  });
});

Deno.test("callerRights() is one key only for callers with the same settings", () => {
  assert.equal(callerRights(none, alice), callerRights(none, of({ tenant: "a" })));
  const keys = [
    of({ tenant: "a" }),
    of({ tenant: "b" }),
    of({ tenant: "a", role: "tenant_a" }),
    alice,
    serverItself,
    { kind: "local" } as const,
  ].map((principal) => callerRights({ ...byTenant, ...byRole }, principal));
  assert.equal(new Set([keys[2], keys[0], keys[4]]).size, 3);
  assert.equal(
    callerRights(byTenant, of({ tenant: "a", x: 1 })),
    callerRights(byTenant, of({ tenant: "a" })),
  );
  assert.notEqual(callerRights(byTenant, of({ tenant: "a" })), callerRights(byTenant, of({ tenant: "b" })));
});

Deno.test("callerSettings() hands on the claims to the letter where their text is known", () => {
  const sessionSettings = { "request.jwt.claims": "{claims}" };
  const claimsText = '{ "n": 1.0, "sub":"u\\u0031"}';
  const caller = of(JSON.parse(claimsText));
  assert.ok(caller.kind === "issuer");
  assert.deepEqual(
    callerSettings({ ...none, sessionSettings }, { ...caller, claimsText }).settings,
    [["request.jwt.claims", claimsText]],
  );
});

Deno.test("callerSettings() takes no role where none is named and none is needed", () => {
  const optional = { ...byRole, isRoleOptional: true };
  for (const claims of [{}, { role: null }, { role: "" }]) {
    assert.equal(callerSettings(optional, of(claims)).role, undefined);
  }
  for (const role of [7, false, ["tenant_a"], {}]) {
    assert.throws(() => callerSettings(optional, of({ role })), UntoldCallerError);
  }
  assert.equal(callerSettings(optional, of({ role: "tenant_a" })).role, "tenant_a");
  assert.throws(() => callerSettings(optional, of({ role: "tenant_c" })), /not allowed/);
  assert.throws(
    () => callerSettings({ ...optional, allowedRoles: [] }, of({ role: "tenant_a" })),
    /not allowed/,
  );
});
