import assert from "node:assert/strict";
import { createCrossOrigin } from "../../src/http/cross_origin.ts";

const url = "http://localhost:8080/mcp/v1";
const crossOrigin = createCrossOrigin("tool_server", ["https://chat.example/"]);

function preflightOf(origin: string): Request {
  const headers = { origin, "access-control-request-method": "POST" };
  return new Request(url, { method: "OPTIONS", headers });
}

Deno.test("a preflight of an allowed origin is answered, others are left to the routes", () => {
  const response = crossOrigin.preflight(preflightOf("https://chat.example"));
  assert.equal(response?.status, 204);
  assert.deepEqual(Object.fromEntries(response?.headers ?? []), {
    "access-control-allow-headers":
      "authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, x-request-id",
    "access-control-allow-methods": "POST, GET",
    "access-control-allow-origin": "https://chat.example",
    "access-control-max-age": "600",
    vary: "Origin",
  });
  assert.equal(crossOrigin.preflight(preflightOf("https://evil.example")), undefined);
  assert.equal(crossOrigin.preflight(new Request(url, { method: "OPTIONS" })), undefined);
});

Deno.test("an answer is readable for the page of an allowed origin alone, and varies by it", () => {
  const mark = (origin: string) => {
    const request = new Request(url, { method: "POST", headers: { origin } });
    return crossOrigin.mark(request, new Response("{}")).headers;
  };
  assert.equal(mark("https://chat.example").get("access-control-allow-origin"), "https://chat.example");
  assert.equal(mark("https://chat.example").get("vary"), "Origin");
  assert.equal(mark("http://localhost:8080").get("access-control-allow-origin"), null);
});

Deno.test("a page may send what OpenAI's official clients say of themselves, and no other header", () => {
  const headers = {
    origin: "https://chat.example",
    "access-control-request-method": "POST",
    "access-control-request-headers":
      "authorization, x-stainless-lang,X-Stainless-Retry-Count, x-forwarded-for, x-stainless-",
  };
  const answered = createCrossOrigin("rag_server", ["https://chat.example"]).preflight(
    new Request("http://localhost:8081/v1/chat/completions", { method: "OPTIONS", headers }),
  );
  const allowed = answered?.headers.get("access-control-allow-headers") ?? "";
  assert.match(allowed, /X-Requested-With, x-stainless-lang, X-Stainless-Retry-Count$/);
});
