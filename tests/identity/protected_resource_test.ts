import assert from "node:assert/strict";
import { createProtectedResource, type ProtectedResource } from "../../src/identity/protected_resource.ts";

function challengeOf(
  resource: ProtectedResource,
  url: string,
  status = 401,
  challenge = "Bearer",
): string | null {
  const response = new Response(null, { status, headers: { "www-authenticate": challenge } });
  return resource.mark(new Request(url), response).headers.get("www-authenticate");
}

const options = { path: "/mcp/v1", identityProvider: { issuer: "https://issuer.example" } };

/** The metadata, and the status without it. */
async function metadataOf(resource: ProtectedResource, url: string, method = "GET") {
  const response = resource.answer(new Request(url, { method }));
  return response?.status === 200 ? await response.json() : response?.status;
}

Deno.test("the metadata names the resource as it is configured, and stands below the well-known path", async () => {
  const resourceUrl = "https://mcp.example.com/team/mcp/v1";
  const resource = createProtectedResource({
    ...options,
    resourceUrl,
    identityProvider: { ...options.identityProvider, required_scopes: ["a", "b"] },
  });
  const asked = "http://10.0.0.1:8080/mcp/v1";
  const wellKnown = "/.well-known/oauth-protected-resource";
  const metadata = {
    resource: resourceUrl,
    authorization_servers: ["https://issuer.example"],
    scopes_supported: ["a", "b"],
    bearer_methods_supported: ["header"],
    resource_name: "Postern",
  };
  const address = `https://mcp.example.com${wellKnown}/team/mcp/v1`;
  assert.equal(challengeOf(resource, asked), `Bearer resource_metadata="${address}", scope="a b"`);
  assert.equal(
    challengeOf(resource, asked, 403, 'Bearer error="insufficient_scope", scope="c"'),
    `Bearer error="insufficient_scope", scope="c", resource_metadata="${address}"`,
  );
  assert.equal(challengeOf(resource, asked, 200), "Bearer");
  const ofOthers = 'Basic realm="https://mcp.example.com", error="invalid_client"';
  assert.equal(challengeOf(resource, asked, 401, ofOthers), ofOthers);
  for (const path of [wellKnown, `${wellKnown}/mcp/v1`, `${wellKnown}/team/mcp/v1`]) {
    assert.deepEqual(await metadataOf(resource, `http://10.0.0.1:8080${path}`), metadata);
  }
  assert.equal(await metadataOf(resource, `http://10.0.0.1:8080${wellKnown}`, "POST"), 405);
  assert.equal(await metadataOf(resource, `http://10.0.0.1:8080${wellKnown}/other`), undefined);
  assert.equal(await metadataOf(resource, asked), undefined);
});

Deno.test("the identity provider is listed before the built-in server, or after it", async () => {
  const authorizationServer = { issuer: "https://mcp.example", scopes: ["own"] };
  const provider = { issuer: "https://login.example" };
  const told = async (identityProvider?: typeof provider & { listed_first?: boolean }) => {
    const resource = createProtectedResource({
      path: "/mcp/v1",
      resourceUrl: undefined,
      authorizationServer,
      identityProvider,
    });
    const url = "http://localhost/.well-known/oauth-protected-resource";
    const { authorization_servers: issuers, scopes_supported: scopes } = await metadataOf(resource, url);
    return { issuers, scopes };
  };
  const [own, others] = [authorizationServer.issuer, provider.issuer];
  assert.deepEqual(await told(provider), { issuers: [others, own], scopes: undefined });
  assert.deepEqual(await told({ ...provider, listed_first: false }), {
    issuers: [own, others],
    scopes: undefined,
  });
  assert.deepEqual(await told(), { issuers: [own], scopes: ["own"] });
});

Deno.test("without a configured address the resource is the one that was asked for", async () => {
  const resource = createProtectedResource({ ...options, resourceUrl: undefined });
  const asked = "http://localhost:8080/mcp/v1?x=1";
  const { resource: told } = await metadataOf(
    resource,
    "http://localhost:8080/.well-known/oauth-protected-resource?x=1",
  );
  assert.equal(told, "http://localhost:8080/mcp/v1");
  assert.equal(
    challengeOf(resource, asked),
    'Bearer resource_metadata="http://localhost:8080/.well-known/oauth-protected-resource/mcp/v1"',
  );
});

Deno.test("a resource without a path has its metadata at the well-known path itself", async () => {
  for (const resourceUrl of ["https://mcp.example.com", "https://mcp.example.com/"]) {
    const resource = createProtectedResource({ ...options, resourceUrl });
    const expected = "https://mcp.example.com/.well-known/oauth-protected-resource";
    assert.equal(challengeOf(resource, "http://localhost/"), `Bearer resource_metadata="${expected}"`);
    const told = await metadataOf(resource, "http://localhost/.well-known/oauth-protected-resource");
    assert.equal(told.resource, resourceUrl);
  }
});
