import assert from "node:assert/strict";
import { createIssuerKey, freePort, startTokenIssuer } from "../../support/token_issuer.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { createIssuerFixture } from "./issuer_fixture.ts";

const document = "/.well-known/oauth-authorization-server";

Deno.test("a new key of the issuer counts as soon as a token names it", async () => {
  await using fixture = await createIssuerFixture();
  const { server } = fixture;
  const next = await createIssuerKey("second");
  server.keys = [server.key.jwk, next.jwk];
  fixture.pass(60_000);
  const tokens = await Promise.all(Array.from({ length: 5 }, () => server.token({ key: next })));
  const refusals = await Promise.all(tokens.map((token) => fixture.refusalOf(token)));
  assert.deepEqual(refusals, Array(5).fill(undefined));
  assert.equal(server.count("/keys"), 2);
});

Deno.test("a flood of unknown keys has the issuer asked once a minute", async () => {
  await using fixture = await createIssuerFixture();
  const { server } = fixture;
  async function flood(): Promise<void> {
    const tokens = await Promise.all(
      Array.from({ length: 50 }, (_, n) => server.token({ header: { kid: `unknown ${n}` } })),
    );
    for (const token of tokens) assert.equal(await fixture.authenticate(token), undefined);
  }
  await flood();
  assert.equal(server.count("/keys"), 1, "the keys were read a moment ago");
  fixture.pass(60_000);
  await flood();
  assert.equal(server.count("/keys"), 2);
  fixture.pass(59_000);
  await flood();
  assert.equal(server.count("/keys"), 2);
  fixture.pass(1_000);
  await flood();
  assert.equal(server.count("/keys"), 3);
});

Deno.test("while the keys are read again, callers with a known key do not wait", async () => {
  await using fixture = await createIssuerFixture();
  const { server } = fixture;
  const held = Promise.withResolvers<void>();
  server.answers.set("/keys", async () => {
    await held.promise;
    return Response.json({ keys: server.keys });
  });
  fixture.pass(60_000);
  const unknown = fixture.authenticate(await server.token({ header: { kid: "unknown" } }));
  await waitUntil("the keys were asked for", () => server.count("/keys") === 2);
  assert.equal(await fixture.refusalOf(await server.token()), undefined);
  held.resolve();
  assert.equal(await unknown, undefined);
});

Deno.test("a key that the issuer withdraws ends the tokens that were remembered", async () => {
  await using fixture = await createIssuerFixture();
  const { server } = fixture;
  const token = await server.token();
  assert.equal(await fixture.refusalOf(token), undefined);
  const next = await createIssuerKey("second");
  server.keys = [next.jwk];
  fixture.pass(60_000);
  assert.equal(await fixture.refusalOf(await server.token({ key: next })), undefined);
  assert.equal(await fixture.refusalOf(token), "key");
});

const useless: [title: string, answer: () => Response][] = [
  ["is down", () => new Response("down", { status: 503 })],
  ["has moved", () => Response.redirect("http://127.0.0.1:1/keys", 307)],
  ["answers with something else", () => new Response("<html>")],
  ["answers with no end", () => new Response(new Uint8Array(300 * 1024).fill(32))],
  ["has no keys", () => Response.json({ keys: [] })],
  [
    "has keys for other purposes alone",
    () =>
      Response.json({ keys: [{ kty: "oct", k: "AAAA" }, { kty: "RSA", use: "enc", n: "AQAB", e: "AQAB" }] }),
  ],
  ["has a list that is none", () => Response.json({ keys: { 0: { kty: "EC" } } })],
  ["has nothing", () => Response.json(null)],
];
for (const [title, answer] of useless) {
  Deno.test(`the last keys stay in force where the issuer ${title}`, async () => {
    await using fixture = await createIssuerFixture();
    const { server } = fixture;
    server.answers.set("/keys", answer);
    fixture.pass(60_000);
    assert.equal(await fixture.refusalOf(await server.token({ header: { kid: "unknown" } })), "key");
    assert.equal(server.count("/keys"), 2);
    assert.equal(await fixture.refusalOf(await server.token()), undefined);
    assert.ok(fixture.log.some((line) => line.includes("those that were read last stay in force")));
  });
}

const left: [title: string, answer: (old: unknown) => Response][] = [
  ["is gone", () => new Response(null, { status: 404 })],
  ["still answers with the old keys", (old) => Response.json({ keys: [old] })],
  ["answers with no keys", () => Response.json({ keys: [] })],
];
for (const [title, answer] of left) {
  Deno.test(`an issuer that moves its keys is asked where they are now, where the old address ${title}`, async () => {
    await using fixture = await createIssuerFixture();
    const { server } = fixture;
    const { issuer } = server;
    const next = await createIssuerKey("second");
    server.answers.set("/keys", () => answer(server.key.jwk));
    server.answers.set("/moved", () => Response.json({ keys: [next.jwk] }));
    server.answers.set(document, () => Response.json({ issuer, jwks_uri: `${issuer}/moved` }));
    fixture.pass(60_000);
    assert.equal(await fixture.refusalOf(await server.token({ key: next })), undefined);
  });
}

Deno.test("keys are looked for where they were last while the issuer does not tell where they are", async () => {
  await using fixture = await createIssuerFixture();
  const { server } = fixture;
  const next = await createIssuerKey("second");
  server.keys = [next.jwk];
  server.answers.set(document, () => new Response("down", { status: 503 }));
  fixture.pass(60_000);
  assert.equal(await fixture.refusalOf(await server.token({ key: next })), undefined);
});

Deno.test("a server whose issuer is down lets nobody in, says so, and tries again", async () => {
  const port = freePort();
  const key = await createIssuerKey("first");
  const before = await startTokenIssuer({ port, key });
  const token = await before.token();
  await before[Symbol.asyncDispose]();
  await using fixture = await createIssuerFixture({}, { server: before, waits: false });
  await waitUntil(
    "the error is logged",
    () => fixture.log.some((line) => line.includes("Cannot read the keys")),
  );
  assert.match(await fixture.refusalOf(token) ?? "", /^unavailable: Cannot tell who is calling/);
  assert.match(await fixture.refusalOf("opaque") ?? "", /^malformed$/);
  await using _after = await startTokenIssuer({ port, key });
  await waitUntil("the keys were read", () => fixture.log.some((line) => line.includes("Read the keys")));
  assert.equal(await fixture.refusalOf(token), undefined);
});

Deno.test("a token without a kid is refused where several keys would do", async () => {
  const server = await startTokenIssuer();
  server.keys = [server.key.jwk, (await createIssuerKey("second")).jwk];
  await using fixture = await createIssuerFixture({}, { server });
  assert.equal(await fixture.refusalOf(await server.token({ header: { kid: undefined } })), "key");
});
