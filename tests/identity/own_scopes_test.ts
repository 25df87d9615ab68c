import assert from "node:assert/strict";
import { readScopes, scopeText } from "../../src/identity/own_scopes.ts";

const read: [text: unknown, scopes: string[]][] = [
  // of a grant from before there were others
  [undefined, ["mcp"]],
  ["", ["mcp"]],
  ["mcp", ["mcp"]],
  ["openid", ["mcp"]],
  ["tool:", ["none"]],
  ["db:write openid", ["none"]],
  ["DB:READ", ["none"]],
  ["none db:read", ["none", "db:read"]],
  ["tool:a b", ["tool:a"]],
  ["tool:<b>", ["none"]],
  ["db:read docs:ask db:read", ["db:read", "docs:ask"]],
  ["db:read mcp", ["mcp"]],
  [
    Array.from({ length: 21 }, (_, n) => `tool:t${n}`).join(" "),
    Array.from({ length: 20 }, (_, n) => `tool:t${n}`),
  ],
];
for (const [text, scopes] of read) {
  Deno.test(`readScopes() makes ${JSON.stringify(text)?.slice(0, 60)} ${scopes}`, () => {
    assert.deepEqual(readScopes(text), scopes);
  });
}

Deno.test("scopeText() says what a scope is good for", () => {
  assert.equal(scopeText("tool:count_rows", "tool_server"), "call the tool count_rows, in your name");
  assert.match(scopeText("docs:ask", "tool_server"), /^ask for answers/);
  assert.match(scopeText("mcp", "rag_server"), /^ask for answers/);
  assert.match(scopeText("mcp", "tool_server"), /^do all that you may do: read the databases/);
  assert.match(scopeText("none", "tool_server"), /^nothing/);
  assert.match(scopeText("db:read", "tool_server"), /^read the databases/);
});
