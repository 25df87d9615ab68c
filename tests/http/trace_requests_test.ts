import assert from "node:assert/strict";
import type { Span } from "../../src/core/tracing.ts";
import { bindingsOf } from "../support/front.ts";
import { traceRequests } from "../../src/http/trace_requests.ts";

const span: Span = {
  traceId: "0af7651916cd43dd8448eb211c80319c",
  traceparent: "",
  begin: () => span,
  set: () => {},
  setText: () => {},
  end: () => {},
};

Deno.test("requests are traced, and probes are not", async () => {
  const begun: string[] = [];
  const tracer = {
    followsCallers: true,
    begin(_traceparent: unknown, describe: () => { name: string }) {
      begun.push(describe().name);
      return span;
    },
  };
  const handle = traceRequests(() => new Response("answer"), (path) => path, tracer);
  const paths = ["/mcp/v1", "/health", "/ready", "/v1/pipelines", "/v1/live", "/v1/ready", "/v1/health"];
  for (const path of paths) {
    const request = new Request(`http://127.0.0.1${path}?a=b`);
    const response = await handle(request, bindingsOf(request));
    assert.equal(await response.text(), "answer");
  }
  assert.deepEqual(begun, ["GET /mcp/v1", "GET /v1/pipelines"]);
});
