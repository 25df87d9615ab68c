import assert from "node:assert/strict";
import { readScopes, scopeText } from "../../src/identity/own_scopes.ts";

const read: [text: unknown, scopes: string[]][] = [
  // of a grant from before there were others
  [undefined, ["mcp"]],
  ["", ["mcp"]],
  ["mcp", ["mcp"]],
  ["openid", ["mcp"]],
  ["tool:", ["mcp"]],
  ["tool:a b", ["tool:a"]],
  ["tool:<b>", ["mcp"]],
  ["db:read docs:ask db:read", ["db:read", "docs:ask"]],
  ["db:read mcp", ["mcp"]],
  [Array.from({ length: 21 }, (_, n) => `tool:t${n}`).join(" "), ["mcp"]],
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
  assert.match(scopeText("mcp", "tool_server"), /^read the databases/);
  assert.match(scopeText("db:read", "tool_server"), /^read the databases/);
});
