import assert from "node:assert/strict";
import { createRagFixture } from "./rag_fixture.ts";
import { scriptedPipelines } from "./scripted_pipelines.ts";

const pipelines = scriptedPipelines([]);
const refusal = JSON.stringify({
  error: {
    code: "FORBIDDEN",
    message:
      "the Host header names a host that this server does not serve; behind a proxy that passes Host on, list the proxy's host name in server.allowed_hosts",
  },
});

const readings = ["/v1/openapi.json", "/v1/health", "/v1/pipelines", "/v1/stats"];

Deno.test("on a loopback address every path refuses a name that leads there from elsewhere", async () => {
  const { send } = createRagFixture({ pipelines, listenAddress: "127.0.0.1" });
  for (const host of ["evil.example", "evil.example:8080", "localhost.evil.example", "192.0.2.7:8080", ""]) {
    for (const path of readings) {
      const { status, text } = await send("GET", path, { headers: { host } });
      assert.deepEqual([status, text], [403, refusal], `${path} ${host}`);
    }
    assert.equal((await send("POST", "/v1/live", { headers: { host } })).status, 403);
    const asked = await send("POST", "/v1/pipelines/handbook", { headers: { host }, body: "{" });
    assert.deepEqual([asked.status, asked.text], [403, refusal]);
  }
});

Deno.test("a probe may call the server by any name, and no page may read who else may", async () => {
  const { send } = createRagFixture({
    pipelines,
    listenAddress: "127.0.0.1",
    allowedOrigins: ["https://app.example.com"],
  });
  const headers = { host: "10.1.2.3:8080", origin: "https://app.example.com" };
  for (const [path, says] of [["/v1/live", "ok"], ["/v1/ready", "ready"]]) {
    const { status, text, headers: got } = await send("GET", `${path}`, { headers });
    assert.deepEqual([status, text], [200, `{"status":"${says}"}`]);
    assert.equal(got.get("access-control-allow-origin"), null);
  }
});

Deno.test("on a loopback address its own names and those of the list pass", async () => {
  const own = ["127.0.0.1:8080", "localhost:8080", "LOCALHOST", "[::1]:8080", "rag.localhost"];
  const { send } = createRagFixture({
    pipelines,
    listenAddress: "127.0.0.1",
    allowedHosts: ["RAG.example.com", "port.example.com:444"],
  });
  for (const host of [...own, "rag.example.com", "rag.example.com:443", "port.example.com:444"]) {
    assert.equal((await send("GET", "/v1/pipelines", { headers: { host } })).status, 200, host);
  }
  assert.equal((await send("GET", "/v1/pipelines", { headers: { host: "port.example.com" } })).status, 403);
});

Deno.test("an address or a name is one whichever way it is written", async () => {
  const { send } = createRagFixture({
    pipelines,
    listenAddress: "2001:DB8:0::1",
    allowedHosts: ["rag.example.com:443", "[fd00::1]", "FD00::0:2", "other.example."],
  });
  const statusOf = async (host: string) => (await send("GET", "/v1/pipelines", { headers: { host } })).status;
  const passing = [
    "[2001:db8::1]:8080",
    "rag.example.com",
    "rag.example.com.:443",
    "[fd00::1]:8080",
    "[fd00:0::1]",
    "[fd00::2]",
    "other.example:80",
    "localhost.",
  ];
  for (const host of passing) assert.equal(await statusOf(host), 200, host);
  for (const host of ["rag.example.com:8443", "[fd00::3]", "[::zz]", "example", "rag.example.com.evil"]) {
    assert.equal(await statusOf(host), 403, host);
  }
});

Deno.test("on other addresses Host is checked only where the list is set", async () => {
  for (const listenAddress of ["0.0.0.0", "192.0.2.7"]) {
    const open = createRagFixture({ pipelines, listenAddress });
    assert.equal((await open.send("GET", "/v1/pipelines", { headers: { host: "any.example" } })).status, 200);
    const listed = createRagFixture({ pipelines, listenAddress, allowedHosts: ["rag.example.com"] });
    const statusOf = async (host: string) =>
      (await listed.send("GET", "/v1/pipelines", { headers: { host } })).status;
    assert.deepEqual(
      [await statusOf("any.example"), await statusOf("rag.example.com"), await statusOf(listenAddress)],
      [403, 200, 200],
    );
  }
});

Deno.test("a refused name learns nothing of the origins that may read answers", async () => {
  const { send } = createRagFixture({ pipelines, listenAddress: "localhost", allowedOrigins: ["*"] });
  const headers = { host: "evil.example", origin: "http://evil.example" };
  for (const method of ["GET", "OPTIONS"]) {
    const asked = { ...headers, "access-control-request-method": "GET" };
    const reply = await send(method, "/v1/pipelines", { headers: asked });
    assert.deepEqual([reply.status, reply.headers.get("access-control-allow-origin")], [403, null]);
  }
});
