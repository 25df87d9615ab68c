import assert from "node:assert/strict";
import { createAccessLog, logAccess } from "../../src/http/access_log.ts";

/** The line of a request that came with this method. */
async function lineOf(method: string): Promise<string> {
  let text = "";
  using log = createAccessLog({ format: "text", write: (lines) => text += lines });
  const handle = logAccess(() => new Response(null, { status: 405 }), () => "/health", log);
  await handle(new Request("http://127.0.0.1/health"), { peer: "192.0.2.1", method, requestId: "id" });
  log[Symbol.dispose]();
  return text;
}

Deno.test("a line has a request's method", async () => {
  for (const method of ["GET", "HEAD", "POST", "OPTIONS"]) {
    assert.match(await lineOf(method), new RegExp(` method=${method} route=/health status=405 `));
  }
});

Deno.test("a method of a caller's making is none that a line has", async () => {
  for (const method of ["pst_0123456789abcdef0123456789", "X".repeat(8_000), "get", "!#$%&'*+-.^_`|~"]) {
    assert.match(await lineOf(method), / method=other route=\/health status=405 /);
  }
});
