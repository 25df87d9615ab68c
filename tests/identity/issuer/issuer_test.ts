import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac, createPublicKey } from "node:crypto";
import { clockSkewSeconds } from "../../../src/identity/issuer/issuer.ts";
import type { UserRecord } from "../../../src/identity/users/user_file.ts";
import {
  createIssuerKey,
  startTokenIssuer,
  testAudience,
  type TokenChanges,
} from "../../support/token_issuer.ts";
import { createIssuerFixture } from "./issuer_fixture.ts";

const part = (value: unknown) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const claimsOf = (token: string) => Buffer.from(token.split(".")[1] ?? "", "base64url").toString();
const bytesOf = (part: string) => Buffer.from(part, "base64url");
/** With what the clocks may differ by. */
const endOf = (token: string) => (JSON.parse(claimsOf(token)).exp + clockSkewSeconds) * 1_000;
const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;

Deno.test("authenticate() tells who an access token stands for", async () => {
  await using fixture = await createIssuerFixture({ groupsClaim: "groups" });
  const token = await fixture.server.token({
    claims: { preferred_username: "alice", groups: ["analysts", "staff", "analysts", 7], scope: "a b" },
  });
  assert.deepEqual(await fixture.authenticate(token), {
    kind: "issuer",
    issuer: fixture.server.issuer,
    subject: "248289761001",
    name: "alice",
    groups: ["analysts", "staff"],
    scopes: ["a", "b"],
    claims: JSON.parse(claimsOf(token)),
    claimsText: claimsOf(token),
    endsAt: endOf(token),
  });
});

Deno.test("authenticate() gives no groups and no account unless they are asked for", async () => {
  await using fixture = await createIssuerFixture();
  const token = await fixture.server.token({ claims: { preferred_username: "alice", groups: ["staff"] } });
  assert.deepEqual(await fixture.authenticate(token), {
    kind: "issuer",
    issuer: fixture.server.issuer,
    subject: "248289761001",
    name: "alice",
    groups: [],
    scopes: [],
    claims: JSON.parse(claimsOf(token)),
    claimsText: claimsOf(token),
    endsAt: endOf(token),
  });
});

Deno.test("a principal has the claims of a JWT to the letter", async () => {
  await using fixture = await createIssuerFixture();
  const claims = JSON.parse(claimsOf(await fixture.server.token()));
  const payload = JSON.stringify({ ...claims, tenant: "?" }).replace('"?"', "9007199254740993");
  const principal = await fixture.authenticate(await fixture.server.token({ payload }));
  assert.equal(principal?.kind === "issuer" && principal.claimsText, payload);
});

for (const alg of ["RS256", "PS256", "ES256", "EdDSA"]) {
  Deno.test(`authenticate() takes a token that is signed with ${alg}, where it may be`, async () => {
    const server = await startTokenIssuer({ key: await createIssuerKey("k", alg) });
    await using fixture = await createIssuerFixture({}, { server });
    assert.equal(await fixture.refusalOf(await server.token()), undefined);
    const other = alg === "ES256" ? "RS256" as const : "ES256" as const;
    await using strict = await createIssuerFixture({ algorithms: [other] }, {
      server: await startTokenIssuer({ key: await createIssuerKey("o", other) }),
    });
    const foreign = await strict.server.token({ key: server.key });
    assert.equal(await strict.refusalOf(foreign), "algorithm");
  });
}

const accepted: [title: string, changes: TokenChanges][] = [
  ["its type in full", { header: { typ: "application/at+jwt" } }],
  ["its type in capitals", { header: { typ: "AT+JWT" } }],
  ["several audiences, ours among them", { claims: { aud: ["https://other.example", testAudience] } }],
  ["no kid, where one key fits", { header: { kid: undefined } }],
  ["an end within the clocks' difference", { claims: { exp: inSeconds(-20) } }],
  ["a start within the clocks' difference", { claims: { nbf: inSeconds(20) } }],
  ["keys of its own choice, which are not read", {
    header: { jku: "http://127.0.0.1:1/keys", x5u: "http://127.0.0.1:1/cert", x5c: ["AAAA"] },
  }],
];
for (const [title, changes] of accepted) {
  Deno.test(`authenticate() takes a token with ${title}`, async () => {
    await using fixture = await createIssuerFixture();
    assert.equal(await fixture.refusalOf(await fixture.server.token(changes)), undefined);
  });
}

const types = [["JWT", "JWT"], ["jwt, in small letters", "jwt"], ["none", undefined]] as const;
for (const [title, typ] of types) {
  Deno.test(`authenticate() takes a token of the type ${title} where JWT is one of the types`, async () => {
    await using fixture = await createIssuerFixture({ types: ["JWT"] });
    assert.equal(await fixture.refusalOf(await fixture.server.token({ header: { typ } })), undefined);
  });
}

const otherClaims = [{ nonce: "n" }, { at_hash: "h" }, { c_hash: "h" }, { token_use: "id" }, {
  events: { "http://schemas.openid.net/event/backchannel-logout": {} },
}];
for (const claims of otherClaims) {
  Deno.test(`authenticate() takes no ID token or logout token with ${Object.keys(claims)[0]} for a JWT`, async () => {
    await using fixture = await createIssuerFixture({ types: ["at+jwt", "JWT"] });
    const token = await fixture.server.token({ claims, header: { typ: "JWT" } });
    assert.equal(await fixture.refusalOf(token), "type");
    assert.equal(await fixture.refusalOf(await fixture.server.token({ claims })), undefined);
  });
}

const scopeClaims: [title: string, claims: Record<string, unknown>, expected: string[]][] = [
  ["scope", { scope: "db:read db:plan" }, ["db:read", "db:plan"]],
  ["scp as a text", { scp: "db:read db:plan" }, ["db:read", "db:plan"]],
  ["scp as a list", { scp: ["db:read", 7, "", "db:plan"] }, ["db:read", "db:plan"]],
  ["scope, where there is scp too", { scope: "db:read", scp: "db:plan" }, ["db:read"]],
  ["neither", {}, []],
];
for (const [title, claims, expected] of scopeClaims) {
  Deno.test(`authenticate() reads scopes from ${title}`, async () => {
    await using fixture = await createIssuerFixture();
    const token = await fixture.server.token({ claims: { scope: undefined, ...claims } });
    const principal = await fixture.authenticate(token);
    assert.deepEqual(principal?.kind === "issuer" ? principal.scopes : principal, expected);
  });
}

const refused: [title: string, reason: string, changes: TokenChanges][] = [
  ["the type of an id token", "type", { header: { typ: "JWT" } }],
  ["no type", "type", { header: { typ: undefined } }],
  ["another issuer", "issuer", { claims: { iss: "https://issuer.example" } }],
  ["no issuer", "issuer", { claims: { iss: undefined } }],
  ["another audience", "audience", { claims: { aud: "https://other.example" } }],
  ["several audiences that are not ours", "audience", { claims: { aud: [`${testAudience}/`, "b"] } }],
  ["an empty list of audiences", "audience", { claims: { aud: [] } }],
  ["no audience", "audience", { claims: { aud: undefined } }],
  ["an end in the past", "expired", { claims: { exp: inSeconds(-60) } }],
  ["no end", "claims", { claims: { exp: undefined } }],
  ["an end that is text", "claims", { claims: { exp: "tomorrow" } }],
  ["a start in the future", "not_yet_valid", { claims: { nbf: inSeconds(60) } }],
  ["no subject", "claims", { claims: { sub: undefined } }],
  ["an empty subject", "claims", { claims: { sub: "" } }],
  ["a subject of several lines", "claims", { claims: { sub: "a\nb" } }],
  ["a subject that is no text", "claims", { claims: { sub: { a: 1 } } }],
  ["an extension that must be understood", "malformed", { header: { crit: ["exp"], exp: 1 } }],
  ["a key that its holder would have to show", "type", { claims: { cnf: { jkt: "x" } } }],
  ["an unknown kid", "key", { header: { kid: "other" } }],
  ["claims that are a list", "malformed", { payload: "[]" }],
  ["claims that are no JSON", "malformed", { payload: '{"iss":' }],
];
for (const [title, reason, changes] of refused) {
  Deno.test(`authenticate() refuses a token with ${title}`, async () => {
    await using fixture = await createIssuerFixture();
    assert.equal(await fixture.refusalOf(await fixture.server.token(changes)), reason);
  });
}

Deno.test("authenticate() compares the issuer to the letter", async () => {
  await using fixture = await createIssuerFixture();
  const { issuer } = fixture.server;
  for (
    const iss of [
      `${issuer}/`,
      issuer.toUpperCase(),
      `${issuer}#`,
      [issuer],
      issuer.replace("127.0.0.1", "localhost"),
    ]
  ) {
    assert.equal(
      await fixture.refusalOf(await fixture.server.token({ claims: { iss } })),
      "issuer",
      String(iss),
    );
  }
});

Deno.test("authenticate() refuses a token that has a name twice, whichever of the two is right", async () => {
  await using fixture = await createIssuerFixture();
  const good = claimsOf(await fixture.server.token());
  for (const payload of [good.replace("{", '{"aud":"x",'), good.replace("{", '{"\\u0061ud":"x",')]) {
    assert.equal(await fixture.refusalOf(await fixture.server.token({ payload })), "malformed");
  }
  const nested = (inner: string) =>
    fixture.server.token({ payload: good.replace("{", `{"realm":${inner},`) });
  assert.equal(await fixture.refusalOf(await nested('{"iss":1,"b":[{"iss":2},"iss"]}')), undefined);
  for (const inner of ['{"roles":[],"roles":["admin"]}', '[{"a":{"x":1,"\\u0078":2}}]']) {
    assert.equal(await fixture.refusalOf(await nested(inner)), "malformed", inner);
  }
});

Deno.test("authenticate() refuses a token that nobody signed, or the public key", async () => {
  const server = await startTokenIssuer({ key: await createIssuerKey("k", "RS256") });
  await using fixture = await createIssuerFixture({}, { server });
  const claims = claimsOf(await server.token());
  const unsigned = (alg: unknown) => `${part({ alg, kid: "k", typ: "at+jwt" })}.${part(claims)}`;
  for (const alg of ["none", "None", "NONE", "HS256", "", 1, null, ["RS256"]]) {
    assert.equal(await fixture.refusalOf(`${unsigned(alg)}.AAAA`), "algorithm", String(alg));
  }
  const pem = createPublicKey({ key: { ...server.key.jwk }, format: "jwk" })
    .export({ type: "spki", format: "pem" });
  const mac = createHmac("sha256", pem).update(unsigned("HS256")).digest("base64url");
  assert.equal(await fixture.refusalOf(`${unsigned("HS256")}.${mac}`), "algorithm");
  assert.equal(await fixture.refusalOf(`${unsigned("RS256")}.AAAA`), "signature");
  assert.equal(await fixture.refusalOf(`${unsigned("none")}.`), "malformed");
});

Deno.test("authenticate() refuses what was signed by another key under the kid of a good one", async () => {
  await using fixture = await createIssuerFixture();
  const thief = await createIssuerKey("first");
  assert.equal(await fixture.refusalOf(await fixture.server.token({ key: thief })), "signature");
  const embedded = { jwk: thief.jwk };
  const token = await fixture.server.token({ key: thief, header: embedded });
  assert.equal(await fixture.refusalOf(token), "signature");
});

Deno.test("authenticate() refuses any token that was changed, and ones of other forms", async () => {
  await using fixture = await createIssuerFixture();
  const token = await fixture.server.token();
  const [header = "", claims = "", signature = ""] = token.split(".");
  const raised = part(claimsOf(token).replace("248289761001", "1"));
  assert.equal(await fixture.refusalOf(`${header}.${raised}.${signature}`), "signature");
  // 64 bytes leave four bits of the last character that say nothing
  const others = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"]
    .map((last) => signature.slice(0, -1) + last)
    .filter((other) => other !== signature && bytesOf(other).equals(bytesOf(signature)));
  assert.equal(others.length, 15);
  for (const other of others) {
    assert.equal(await fixture.refusalOf(`${header}.${claims}.${other}`), "malformed");
  }
  for (
    const form of [
      `${token}.a.b`,
      `${header}.${claims}`,
      `${token}=`,
      `.${claims}.${signature}`,
      "opaque",
      "a.b.c",
      `${header}.${claims}.${"A".repeat(20_000)}`,
    ]
  ) assert.equal(await fixture.refusalOf(form), "malformed", form.slice(0, 40));
});

Deno.test("a token that is wrong by its looks has nobody asked", async () => {
  const server = await startTokenIssuer();
  await using fixture = await createIssuerFixture({}, { server });
  const { length } = server.requests;
  fixture.pass(3_600_000);
  const wrong: TokenChanges[] = [
    { header: { typ: "JWT", kid: "unknown" } },
    { header: { kid: "unknown" }, claims: { iss: "https://other.example" } },
    { header: { crit: ["b64"], b64: true, kid: "unknown" } },
  ];
  for (const changes of wrong) await fixture.refusalOf(await server.token(changes));
  await fixture.refusalOf(`${part({ alg: "HS256", kid: "unknown", typ: "at+jwt" })}.${part({})}.AAAA`);
  assert.equal(server.requests.length, length);
});

Deno.test("a token that was accepted is remembered until it ends", async () => {
  await using fixture = await createIssuerFixture();
  const token = await fixture.server.token({ claims: { exp: inSeconds(100) } });
  const first = await fixture.authenticate(token);
  assert.ok(first !== undefined);
  // the same object: it was not verified again
  assert.equal(await fixture.authenticate(token), first);
  fixture.pass(125_000);
  assert.equal(await fixture.authenticate(token), first);
  fixture.pass(10_000);
  assert.equal(await fixture.refusalOf(token), "expired");
});

Deno.test("long claims leave room for fewer tokens", async () => {
  await using fixture = await createIssuerFixture();
  const { server } = fixture;
  const first = await server.token();
  const principal = await fixture.authenticate(first);
  assert.equal(await fixture.authenticate(first), principal);
  // 7.5 MB as they are kept
  for (let n = 0; n < 500; n++) {
    await fixture.authenticate(await server.token({ claims: { address: "x".repeat(7_500) } }));
  }
  const again = await fixture.authenticate(first);
  assert.deepEqual(again, principal);
  assert.notEqual(again, principal);
});

Deno.test("with trusted names a caller has the account of the same name, unless that is disabled or locked", async () => {
  const accounts = new Map<string, UserRecord>();
  const account = (disabledReason: UserRecord["disabledReason"]): UserRecord => ({
    username: "alice",
    passwordHash: "",
    annotation: null,
    createdAt: null,
    lastLogin: null,
    enabled: disabledReason === null,
    failedAttempts: 0,
    disabledReason,
  });
  await using fixture = await createIssuerFixture({ accounts: { find: (name) => accounts.get(name) } });
  const token = await fixture.server.token({ claims: { preferred_username: "alice" } });
  const accountOf = async () => {
    const principal = await fixture.authenticate(token);
    return principal?.kind === "issuer" ? principal.account ?? "none" : "refused";
  };
  assert.equal(await accountOf(), "none");
  accounts.set("alice", account(null));
  assert.equal(await accountOf(), "alice");
  accounts.set("alice", account("lockout"));
  assert.equal(await accountOf(), "refused");
  accounts.set("alice", account("administrator"));
  assert.equal(await accountOf(), "refused");
  assert.deepEqual(fixture.refusals, ["account", "account"]);
  const nameless = await fixture.server.token();
  assert.equal(await fixture.refusalOf(nameless), undefined);
});

Deno.test("a name that could pass for another is none", async () => {
  await using fixture = await createIssuerFixture({
    accounts: { find: () => assert.fail("an account was looked for") },
  });
  for (
    const name of ["", " alice", "alice\n", "al\u200bice", "\u202ealice", "a".repeat(256), 7, ["alice"], null]
  ) {
    const token = await fixture.server.token({ claims: { preferred_username: name } });
    const principal = await fixture.authenticate(token);
    assert.ok(principal?.kind === "issuer" && principal.name === undefined, String(name));
  }
});

Deno.test("no part of a token is in the log, whatever is wrong with it", async () => {
  await using fixture = await createIssuerFixture();
  const tokens = await Promise.all(refused.map(([, , changes]) => fixture.server.token(changes)));
  for (const token of tokens) await fixture.authenticate(token);
  const log = fixture.log.join("");
  for (const token of tokens) {
    for (const each of token.split(".")) assert.ok(!log.includes(each.slice(0, 40)), each);
  }
});
