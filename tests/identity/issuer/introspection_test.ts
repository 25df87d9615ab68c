import assert from "node:assert/strict";
import { join } from "node:path";
import {
  clientId,
  clientSecret,
  startTokenIssuer,
  testAudience,
  type TokenIssuer,
} from "../../support/token_issuer.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { createIssuerFixture, type IssuerFixture } from "./issuer_fixture.ts";

async function createFixture(
  { server: given, jwksUri }: { readonly server?: TokenIssuer; readonly jwksUri?: string } = {},
): Promise<IssuerFixture & { readonly secretFile: string }> {
  const folder = await temporaryFolder();
  const secretFile = join(folder.path, "secret");
  await Deno.writeTextFile(secretFile, `${clientSecret}\n`, { mode: 0o600 });
  const server = given ?? await startTokenIssuer();
  const fixture = await createIssuerFixture({
    jwksUri,
    introspection: { clientId, clientSecretFile: secretFile },
    groupsClaim: "groups",
  }, { server });
  return {
    ...fixture,
    secretFile,
    async [Symbol.asyncDispose]() {
      await fixture[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1_000) + seconds;
const active = { active: true, sub: "u1", aud: testAudience };

Deno.test("an opaque token stands for whom the issuer says, and is asked about once a minute", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  server.opaque.set("opaque", { ...active, scope: "a b", preferred_username: "alice", groups: "staff" });
  const expected = {
    kind: "issuer",
    issuer: server.issuer,
    subject: "u1",
    name: "alice",
    groups: ["staff"],
    scopes: ["a", "b"],
    claims: { ...active, scope: "a b", preferred_username: "alice", groups: "staff" },
  };
  const all = await Promise.all(Array.from({ length: 10 }, () => fixture.authenticate("opaque")));
  assert.deepEqual(all, Array(10).fill(expected));
  assert.deepEqual(await fixture.authenticate("opaque"), expected);
  assert.equal(server.count("/introspect"), 1);
  fixture.pass(60_001);
  server.opaque.delete("opaque");
  assert.equal(await fixture.refusalOf("opaque"), "inactive");
  assert.equal(server.count("/introspect"), 2);
});

Deno.test("a token that the issuer refuses is not asked about again for a minute", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  assert.equal(await fixture.refusalOf("unknown"), "inactive");
  server.opaque.set("unknown", active);
  assert.equal(await fixture.refusalOf("unknown"), "inactive");
  assert.equal(server.count("/introspect"), 1);
  fixture.pass(60_001);
  assert.equal(await fixture.refusalOf("unknown"), undefined);
});

const refused: [reason: string, answer: Record<string, unknown>][] = [
  ["audience", { aud: null }],
  ["audience", { aud: ["https://other.example"] }],
  ["issuer", { iss: "https://other.example" }],
  ["expired", { exp: inSeconds(-60) }],
  ["expired", { exp: "later" }],
  ["not_yet_valid", { nbf: inSeconds(60) }],
  ["type", { token_type: "DPoP" }],
  ["type", { cnf: { jkt: "x" } }],
  ["claims", { sub: null }],
];
for (const [reason, answer] of refused) {
  Deno.test(`an active token with ${JSON.stringify(answer)} is refused: ${reason}`, async () => {
    await using fixture = await createFixture();
    fixture.server.opaque.set("opaque", { ...active, ...answer });
    assert.equal(await fixture.refusalOf("opaque"), reason);
  });
}

Deno.test("an answer that has a name twice lets nobody in", async () => {
  await using fixture = await createFixture();
  const good = JSON.stringify(active);
  for (const twice of ['"active":false,', '"roles":{"a":1,"a":2},']) {
    fixture.server.answers.set("/introspect", () => new Response(good.replace("{", `{${twice}`)));
    assert.match(await fixture.refusalOf("opaque") ?? "", /^unavailable: /);
  }
  assert.ok(fixture.log.some((line) => line.includes("the answer is no JSON, or has a name twice")));
  fixture.server.answers.set("/introspect", () => new Response(good));
  assert.equal(await fixture.refusalOf("opaque"), undefined);
});

Deno.test("an active token is not remembered beyond its end", async () => {
  await using fixture = await createFixture();
  fixture.server.opaque.set("opaque", { ...active, exp: inSeconds(0) });
  assert.equal(await fixture.refusalOf("opaque"), undefined);
  fixture.pass(32_000);
  assert.equal(await fixture.refusalOf("opaque"), "expired");
});

Deno.test("the issuer hears of no JWT", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  await fixture.authenticate(await server.token({ header: { typ: "JWT" } }));
  await fixture.authenticate("a.b.c");
  assert.equal(server.count("/introspect"), 0);
});

Deno.test("an address has so many unknown tokens asked about in a minute, and others go on", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  for (let n = 0; n < 60; n++) assert.equal(await fixture.refusalOf(`unknown-${n}`, "192.0.2.1"), "inactive");
  assert.match(await fixture.refusalOf("one-more", "192.0.2.1") ?? "", /^unavailable: .*in vain/);
  assert.equal(await fixture.refusalOf("unknown-1", "192.0.2.1"), "inactive");
  assert.equal(server.count("/introspect"), 60);
  assert.equal(await fixture.refusalOf("one-more", "192.0.2.2"), "inactive");
  fixture.pass(60_001);
  assert.equal(await fixture.refusalOf("two-more", "192.0.2.1"), "inactive");
});

Deno.test("active tokens that are for another audience count among those in vain", async () => {
  await using fixture = await createFixture();
  for (let n = 0; n < 60; n++) {
    fixture.server.opaque.set(`other-${n}`, { ...active, aud: "https://other.example" });
    assert.equal(await fixture.refusalOf(`other-${n}`), "audience");
  }
  assert.match(await fixture.refusalOf("one-more") ?? "", /^unavailable: .*in vain/);
});

/** Asks about as many tokens at once, and tells the answers once no question is under way any more. */
async function askAtOnce(fixture: IssuerFixture, tokens: number, address: (n: number) => string) {
  const { server } = fixture;
  const held = Promise.withResolvers<void>();
  server.answers.set("/introspect", async () => {
    await held.promise;
    return Response.json({ active: false });
  });
  const before = server.count("/introspect");
  let refused = 0;
  const asked = Array.from({ length: tokens }, async (_, n): Promise<string | undefined> => {
    try {
      await fixture.authenticate(`at-once-${n}`, address(n));
      return undefined;
    } catch (error) {
      refused++;
      return error instanceof Error ? error.message : String(error);
    }
  });
  await waitUntil("each was asked about or refused", () => {
    return server.count("/introspect") - before + refused === tokens;
  });
  held.resolve();
  return await Promise.all(asked);
}

Deno.test("an address has no more than 4 tokens asked about at the same time, so that others go on", async () => {
  await using fixture = await createFixture();
  const answers = await askAtOnce(fixture, 34, (n) => n < 32 ? "192.0.2.1" : "192.0.2.2");
  assert.deepEqual(answers.slice(0, 4), Array(4).fill(undefined));
  for (const answer of answers.slice(4, 32)) assert.match(answer ?? "", /others of this address/);
  assert.deepEqual(answers.slice(32), [undefined, undefined]);
});

Deno.test("a question under way counts as one that may be in vain", async () => {
  await using fixture = await createFixture();
  for (let n = 0; n < 58; n++) await fixture.authenticate(`unknown-${n}`);
  const answers = await askAtOnce(fixture, 4, () => "192.0.2.1");
  assert.deepEqual(answers.slice(0, 2), [undefined, undefined]);
  for (const answer of answers.slice(2)) assert.match(answer ?? "", /in vain/);
});

Deno.test("a question without an answer counts as one about an unknown token", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  server.answers.set("/introspect", () => new Response("no", { status: 500 }));
  for (let n = 0; n < 60; n++) await fixture.refusalOf(`unknown-${n}`);
  server.answers.clear();
  assert.match(await fixture.refusalOf("one-more") ?? "", /^unavailable: .*in vain/);
  assert.equal(server.count("/introspect"), 60);
  assert.equal(await fixture.refusalOf("one-more", "192.0.2.2"), "inactive");
});

Deno.test("no more than 32 tokens are asked about at the same time", async () => {
  await using fixture = await createFixture();
  const answers = await askAtOnce(fixture, 40, (n) => `192.0.2.${n}`);
  assert.deepEqual(answers.slice(0, 32), Array(32).fill(undefined));
  for (const answer of answers.slice(32)) assert.match(answer ?? "", /many others/);
});

const faults: [title: string, answer: () => Response][] = [
  ["an error", () => new Response("no", { status: 500 })],
  ["a redirect", () => Response.redirect("http://127.0.0.1:1/", 307)],
  ["no JSON", () => new Response("active")],
  ["no field active", () => Response.json({})],
  ["an active that is text", () => Response.json({ active: "true", sub: "u1", aud: testAudience })],
  ["too much", () => Response.json({ ...active, more: "x".repeat(300_000) })],
];
for (const [title, answer] of faults) {
  Deno.test(`where introspection answers with ${title}, nobody is let in and nothing is remembered`, async () => {
    await using fixture = await createFixture();
    const { server } = fixture;
    server.answers.set("/introspect", answer);
    server.opaque.set("secret-opaque-token", active);
    assert.match(await fixture.refusalOf("secret-opaque-token") ?? "", /^unavailable: /);
    server.answers.clear();
    assert.equal(await fixture.refusalOf("secret-opaque-token"), undefined);
    const log = fixture.log.join("");
    assert.match(log, /Cannot ask the issuer about tokens/);
    assert.ok(!log.includes("secret-opaque-token") && !log.includes(clientSecret));
  });
}

Deno.test("an issuer that does not answer is given up, and others do not wait for it", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  const held = Promise.withResolvers<Response>();
  server.answers.set("/introspect", () => held.promise);
  const late = fixture.refusalOf("opaque");
  assert.ok(await fixture.authenticate(await server.token()) !== undefined);
  assert.match(await late ?? "", /^unavailable: .*does not answer$/);
  assert.match(fixture.log.join(""), /no answer within 5 s/);
  held.resolve(Response.json({ active: false }));
});

Deno.test("the client's secret is read each time, and one that is refused is told of", async () => {
  await using fixture = await createFixture();
  const { server, secretFile } = fixture;
  server.opaque.set("opaque", active);
  await Deno.writeTextFile(secretFile, "wrong");
  assert.match(
    await fixture.refusalOf("opaque") ?? "",
    /^unavailable: .*could not be asked; the server's log/,
  );
  assert.match(fixture.log.join(""), /refuses client_id or the client's secret/);
  await Deno.writeTextFile(secretFile, clientSecret);
  assert.equal(await fixture.refusalOf("opaque"), undefined);
});

const document = "/.well-known/oauth-authorization-server";

for (const endpoint of [undefined, null, "http://elsewhere.example/"]) {
  Deno.test(`an issuer whose introspection_endpoint is ${endpoint} lets JWTs in, and opaque tokens once it is right`, async () => {
    const server = await startTokenIssuer();
    const { issuer } = server;
    const tellEndpoint = (introspection_endpoint: unknown) =>
      server.answers.set(document, () => {
        return Response.json({ issuer, jwks_uri: `${issuer}/keys`, introspection_endpoint });
      });
    tellEndpoint(endpoint);
    await using fixture = await createFixture({ server });
    server.opaque.set("opaque", active);
    assert.equal(await fixture.refusalOf(await server.token()), undefined);
    assert.match(await fixture.refusalOf("opaque") ?? "", /^unavailable: /);
    assert.match(fixture.log.join(""), /has no (?:https address as )?introspection_endpoint/);
    tellEndpoint(`${issuer}/introspect`);
    assert.equal(await fixture.refusalOf("opaque"), undefined);
  });
}

Deno.test("an issuer that tells nothing of itself lets JWTs in where the keys' address is configured", async () => {
  const server = await startTokenIssuer({ wellKnown: "/nowhere" });
  await using fixture = await createFixture({ server, jwksUri: `${server.issuer}/keys` });
  assert.equal(await fixture.refusalOf(await server.token()), undefined);
  assert.match(await fixture.refusalOf("opaque") ?? "", /^unavailable: /);
});

Deno.test("callers with opaque tokens share the question where the issuer is asked", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  const before = server.count(document);
  await Promise.all(Array.from({ length: 4 }, (_, n) => fixture.authenticate(`unknown-${n}`)));
  assert.equal(server.count("/introspect"), 4);
  assert.equal(server.count(document), before + 1);
});

Deno.test("an issuer that is asked about tokens elsewhere now is asked where", async () => {
  await using fixture = await createFixture();
  const { server } = fixture;
  const { issuer } = server;
  const moveTo = (path: string) =>
    server.answers.set(document, () => {
      return Response.json({
        issuer,
        jwks_uri: `${issuer}/keys`,
        introspection_endpoint: `${issuer}${path}`,
      });
    });
  server.answers.set("/moved", () => Response.json(active));
  assert.equal(await fixture.refusalOf("unknown"), "inactive");
  moveTo("/moved");
  server.answers.set("/introspect", () => new Response(null, { status: 404 }));
  assert.match(await fixture.refusalOf("opaque") ?? "", /^unavailable: /);
  assert.equal(await fixture.refusalOf("opaque"), undefined);
  // the address that was left answers again, and the keys are read
  moveTo("/introspect");
  server.answers.delete("/introspect");
  fixture.pass(60_001);
  await fixture.refusalOf(await server.token({ header: { kid: "unknown" } }));
  assert.equal(await fixture.refusalOf("opaque"), "inactive");
});
