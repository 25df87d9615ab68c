import assert from "node:assert/strict";
import {
  createProtectedResource,
  issuersInOrder,
  type ProtectedResource,
} from "../../src/identity/protected_resource.ts";

function challengeOf(
  resource: ProtectedResource,
  url: string,
  status = 401,
  challenge = "Bearer",
): string | null {
  const response = new Response(null, { status, headers: { "www-authenticate": challenge } });
  return resource.mark(new Request(url), response).headers.get("www-authenticate");
}

const options = { path: "/mcp/v1", issuers: ["https://issuer.example"], requiredScopes: [] };

Deno.test("the metadata names the resource as it is configured, and stands below the well-known path", () => {
  const resourceUrl = "https://mcp.example.com/team/mcp/v1";
  const resource = createProtectedResource({ ...options, resourceUrl, requiredScopes: ["a", "b"] });
  const asked = "http://10.0.0.1:8080/mcp/v1";
  assert.deepEqual(JSON.parse(resource.metadata(asked)), {
    resource: resourceUrl,
    authorization_servers: ["https://issuer.example"],
    scopes_supported: ["a", "b"],
    bearer_methods_supported: ["header"],
    resource_name: "Postern",
  });
  const wellKnown = "/.well-known/oauth-protected-resource";
  const address = `https://mcp.example.com${wellKnown}/team/mcp/v1`;
  assert.equal(challengeOf(resource, asked), `Bearer resource_metadata="${address}", scope="a b"`);
  assert.equal(
    challengeOf(resource, asked, 403, 'Bearer error="insufficient_scope", scope="c"'),
    `Bearer error="insufficient_scope", scope="c", resource_metadata="${address}"`,
  );
  assert.equal(challengeOf(resource, asked, 200), "Bearer");
  const ofOthers = 'Basic realm="https://mcp.example.com", error="invalid_client"';
  assert.equal(challengeOf(resource, asked, 401, ofOthers), ofOthers);
  assert.deepEqual(resource.paths, [wellKnown, `${wellKnown}/mcp/v1`, `${wellKnown}/team/mcp/v1`]);
});

Deno.test("the identity provider is listed before the built-in server, or after it", () => {
  const [builtIn, provider] = [{ issuer: "https://mcp.example" }, { issuer: "https://login.example" }];
  assert.deepEqual(issuersInOrder(builtIn, provider), [provider.issuer, builtIn.issuer]);
  assert.deepEqual(issuersInOrder(builtIn, { ...provider, listed_first: false }), [
    builtIn.issuer,
    provider.issuer,
  ]);
  assert.deepEqual(issuersInOrder(builtIn, undefined), [builtIn.issuer]);
  assert.equal(issuersInOrder(undefined, undefined), undefined);
});

Deno.test("without a configured address the resource is the one that was asked for", () => {
  const resource = createProtectedResource({ ...options, resourceUrl: undefined });
  const asked = "http://localhost:8080/mcp/v1?x=1";
  assert.equal(JSON.parse(resource.metadata(asked)).resource, "http://localhost:8080/mcp/v1");
  assert.equal(
    challengeOf(resource, asked),
    'Bearer resource_metadata="http://localhost:8080/.well-known/oauth-protected-resource/mcp/v1"',
  );
});

Deno.test("a resource without a path has its metadata at the well-known path itself", () => {
  for (const resourceUrl of ["https://mcp.example.com", "https://mcp.example.com/"]) {
    const resource = createProtectedResource({ ...options, resourceUrl });
    const expected = "https://mcp.example.com/.well-known/oauth-protected-resource";
    assert.equal(challengeOf(resource, "http://localhost/"), `Bearer resource_metadata="${expected}"`);
    assert.equal(JSON.parse(resource.metadata("http://localhost/")).resource, resourceUrl);
  }
});
