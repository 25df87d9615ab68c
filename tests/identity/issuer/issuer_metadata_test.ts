import assert from "node:assert/strict";
import { discoverIssuer, wellKnownUrls } from "../../../src/identity/issuer/issuer_metadata.ts";
import { startTokenIssuer, type TokenIssuer } from "../../support/token_issuer.ts";

const { signal } = new AbortController();

Deno.test("wellKnownUrls() are those of RFC 8414 and both of OpenID", () => {
  assert.deepEqual(wellKnownUrls("https://issuer.example/a/b"), [
    "https://issuer.example/.well-known/oauth-authorization-server/a/b",
    "https://issuer.example/.well-known/openid-configuration/a/b",
    "https://issuer.example/a/b/.well-known/openid-configuration",
  ]);
  for (const issuer of ["https://issuer.example", "https://issuer.example/"]) {
    assert.deepEqual(wellKnownUrls(issuer), [
      "https://issuer.example/.well-known/oauth-authorization-server",
      "https://issuer.example/.well-known/openid-configuration",
    ]);
  }
});

for (
  const wellKnown of [
    "/.well-known/oauth-authorization-server/realm",
    "/.well-known/openid-configuration/realm",
    "/realm/.well-known/openid-configuration",
  ]
) {
  Deno.test(`discoverIssuer() finds ${wellKnown}`, async () => {
    await using server = await startTokenIssuer({ path: "/realm", wellKnown });
    assert.equal(
      await discoverIssuer(server.issuer, "jwksUri", signal),
      `http://127.0.0.1:${server.port}/keys`,
    );
  });
}

async function faultOf(server: TokenIssuer, document: unknown): Promise<string> {
  server.answers.set("/.well-known/oauth-authorization-server", () => Response.json(document));
  return await discoverIssuer(server.issuer, "jwksUri", signal).catch((error) => error.message);
}

Deno.test("discoverIssuer() takes no document of another issuer, and no addresses that lead elsewhere", async () => {
  await using server = await startTokenIssuer();
  const { issuer } = server;
  const jwks_uri = `${issuer}/keys`;
  assert.equal(await faultOf(server, { issuer, jwks_uri }), jwks_uri);
  for (const other of [`${issuer}/`, issuer.toUpperCase(), "https://issuer.example", undefined, [issuer]]) {
    assert.match(await faultOf(server, { issuer: other, jwks_uri }), /is of another issuer/);
  }
  assert.ok(
    (await faultOf(server, { issuer: `${issuer}/`, jwks_uri }))
      .includes(`is of another issuer: it calls itself "${issuer}/"; if that is the one, write it so`),
  );
  assert.doesNotMatch(await faultOf(server, { issuer: `${issuer}/\n${"x".repeat(300)}` }), /calls itself/);
  for (const document of [null, [], "x"]) {
    assert.match(await faultOf(server, document), /is of another issuer/);
  }
  assert.match(await faultOf(server, { issuer }), /has no jwks_uri/);
  const elsewhere = [
    "http://keys.example/",
    "file:///etc/passwd",
    "/keys",
    7,
    "https://user:pw@keys.example/",
  ];
  for (const address of elsewhere) {
    assert.match(
      await faultOf(server, { issuer, jwks_uri: address }),
      /has no https address as jwks_uri/,
    );
  }
  const found = await faultOf(server, { issuer, jwks_uri: "https://keys.example/k" });
  assert.equal(found, "https://keys.example/k");
});

Deno.test("discoverIssuer() says what was wrong with each place", async () => {
  await using server = await startTokenIssuer();
  server.answers.set(
    "/.well-known/oauth-authorization-server",
    () => Response.redirect("http://127.0.0.1:1/"),
  );
  const error = await discoverIssuer(server.issuer, "jwksUri", signal).catch((error) => error);
  assert.equal(error.code, "unavailable");
  assert.match(
    error.message,
    /oauth-authorization-server: it answered with HTTP status 302; .*HTTP status 404$/,
  );
});
