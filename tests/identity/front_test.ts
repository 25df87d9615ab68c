import assert from "node:assert/strict";
import type { Principal } from "../../src/core/principal.ts";
import { createServerMetrics, type ServerMetrics } from "../../src/core/metrics/server_metrics.ts";
import type { RouteBindings } from "../../src/http/listener.ts";
import { createCrossOrigin } from "../../src/http/cross_origin.ts";
import type { Authentication } from "../../src/identity/authentication.ts";
import type { FrontOptions, Served } from "../../src/identity/front.ts";
import { createProtectedResource } from "../../src/identity/protected_resource.ts";
import { behindFront } from "../support/front.ts";

const alice: Principal = { kind: "token", id: "t1" };

/** Routes that note who reached them, behind the front. */
function setUp(options: Partial<FrontOptions> = {}, refusedFor?: "host" | "origin") {
  const seen: string[] = [];
  const refused: string[] = [];
  const onRefusal = (address: string) => refused.push(address);
  const authentication: Authentication = {
    authenticator: {
      authenticate: (header) => Promise.resolve(header === "Bearer good" ? alice : undefined),
    },
    onRefusal,
  };
  const note = ({ principal, addressOf }: RouteBindings) => {
    seen.push(`${principal?.kind ?? "nobody"} at ${addressOf()}`);
    return new Response("answer");
  };
  const served: Served = {
    name: "rag_server",
    routeOf: (path) => path,
    isProbe: ({ url }) => url.endsWith("/live"),
    callerOf: ({ url }) => url.endsWith("/open") ? "none" : url.endsWith("/maybe") ? "optional" : "required",
    refuse: ({ kind }) => new Response(kind, { status: kind === "unauthorized" ? 401 : 403 }),
    answer: (_request, bindings) => note(bindings),
  };
  const fetch = behindFront({ served, authentication, ...options }, {
    checkHostAndOrigin: () => refusedFor,
    clientAddress: (peer, headers) => headers.get("x-client") ?? peer,
    crossOrigin: createCrossOrigin("rag_server", ["https://page.example"]),
  });
  const send = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
    const response = await fetch(new Request(`http://localhost/${path}`, { method, headers }));
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  return { send, seen, refused };
}

/** The values of a family, each behind its labels. */
function countOf({ families }: ServerMetrics, name: string): (string | number)[][] {
  const family = families.find((each) => each.name === name);
  assert.ok(family?.type === "counter", name);
  return family.read().map(({ labels, value }) => [...labels, value]);
}

const good = { authorization: "Bearer good" };

Deno.test("a route gets its caller where it needs one, takes one, or asks for none", async () => {
  const { send, seen, refused } = setUp();
  assert.equal((await send("asked", { ...good, "x-client": "192.0.2.7" })).text, "answer");
  assert.deepEqual([(await send("asked")).status, (await send("maybe")).status], [401, 200]);
  await send("maybe", good);
  await send("open", good);
  assert.deepEqual(seen, [
    "token at 192.0.2.7",
    "nobody at 127.0.0.1",
    "token at 127.0.0.1",
    "nobody at 127.0.0.1",
  ]);
  assert.deepEqual(refused, ["127.0.0.1"]);
});

Deno.test("without authentication everyone is let in, under their address", async () => {
  const { send, seen } = setUp({ authentication: undefined });
  await send("asked");
  assert.deepEqual(seen, ["local at 127.0.0.1"]);
});

Deno.test("a foreign Host reaches no route but probes, which know nobody, and is counted", async () => {
  for (const refusedFor of ["host", "origin"] as const) {
    const metrics = createServerMetrics();
    const { send, seen } = setUp({ metrics }, refusedFor);
    const count = () =>
      countOf(metrics, "postern_refusals_total").find((row) => row.includes(refusedFor))?.at(-1);
    const preflight = {
      origin: "https://page.example",
      "access-control-request-method": "POST",
    };
    assert.equal((await send("asked", { ...good, ...preflight }, "OPTIONS")).text, refusedFor);
    assert.equal((await send("asked", good)).text, refusedFor);
    assert.equal(count(), 2);
    await send("live", good);
    assert.deepEqual(seen, refusedFor === "host" ? ["nobody at 127.0.0.1"] : []);
    assert.equal(count(), refusedFor === "host" ? 2 : 3);
  }
});

Deno.test("pages may read refusals too, which tell where to log in", async () => {
  const { send } = setUp({
    protectedResource: createProtectedResource({
      resourceUrl: undefined,
      path: "/v1",
      identityProvider: { issuer: "https://issuer.example" },
    }),
  });
  const origin = "https://page.example";
  const { status, headers } = await send("asked", { origin });
  assert.deepEqual([status, headers.get("access-control-allow-origin")], [401, origin]);
  const metadata = await send(".well-known/oauth-protected-resource", { origin });
  assert.deepEqual([metadata.status, metadata.headers.get("access-control-allow-origin")], [200, origin]);
  const preflight = await send("asked", { origin, "access-control-request-method": "POST" }, "OPTIONS");
  assert.equal(preflight.status, 204);
});

Deno.test("every request is counted, whether or not it reaches its route", async () => {
  const metrics = createServerMetrics();
  const { send } = setUp({ metrics });
  await send("asked");
  await send("asked", good);
  await send("asked", { origin: "https://page.example", "access-control-request-method": "GET" }, "OPTIONS");
  assert.deepEqual(
    countOf(metrics, "postern_http_requests_total"),
    [["rag_server", "/asked", "401", 1], ["rag_server", "/asked", "200", 1], [
      "rag_server",
      "/asked",
      "204",
      1,
    ]],
  );
});
