import assert from "node:assert/strict";
import { errorWithinReply } from "../../src/llm/provider_error.ts";

const cases: readonly (readonly [readonly (string | number | null | undefined)[], string])[] = [
  [["authentication_error"], "credentials"],
  [["permission_error"], "credentials"],
  [["billing_error"], "credentials"],
  [["invalid_api_key", "invalid_request_error"], "credentials"],
  [["UNAUTHENTICATED", 401], "credentials"],
  [["PERMISSION_DENIED"], "credentials"],
  [["rate_limit_error"], "rate_limit"],
  [["rate_limit_exceeded"], "rate_limit"],
  [["RESOURCE_EXHAUSTED"], "rate_limit"],
  [[429], "rate_limit"],
  [["invalid_request_error"], "invalid_request"],
  [["not_found_error"], "invalid_request"],
  [["INVALID_ARGUMENT", 400], "invalid_request"],
  [["timeout_error"], "timeout"],
  [["DEADLINE_EXCEEDED", 504], "timeout"],
  [["overloaded_error"], "provider"],
  [["api_error"], "provider"],
  [["UNAVAILABLE", 503], "provider"],
  [[null, undefined], "provider"],
  [["something new", 7], "provider"],
  [["constructor"], "provider"],
];

for (const [names, fault] of cases) {
  Deno.test(`errorWithinReply() reads ${names.join(", ") || "no name"} as ${fault}`, () => {
    assert.equal(errorWithinReply("no", ...names).kind, fault);
  });
}

Deno.test("errorWithinReply() tells the names and the vendor's sentence, cut short", () => {
  assert.equal(errorWithinReply("too busy", "a", 7).detail, "an error within the reply: a 7 too busy");
  assert.equal(errorWithinReply("x".repeat(1000)).detail.length, "an error within the reply: ".length + 500);
});
