import assert from "node:assert/strict";
import { ConfigError, faultText, loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

async function faultsOf(text: string): Promise<string[]> {
  try {
    await loadConfig(optionsFor(text));
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults.map(faultText);
    throw error;
  }
}

Deno.test("a file whose rows are filtered by claims is refused, however it says so", async () => {
  const inWords = ["true", "yes", "Yes", "on", "y", "TRUE", "1", '"true"', "perhaps", "[]", "{}", '""'];
  for (const identity of [...inWords.map((word) => `{ enabled: ${word} }`), "true", "yes", "[enabled]"]) {
    const faults = (await faultsOf(`identity: ${identity}`)).map((fault) =>
      fault.replace(/column \d+/, "column")
    );
    assert.deepEqual(faults, [
      "line 1, column: identity: claims in headers are not read, so they would filter no rows; let callers or the proxy send the access token itself: server.auth.identity_provider verifies it, and session_settings hands its claims to the policies",
    ], identity);
  }
  const merged = "x: &on { enabled: yes }\nidentity: { <<: *on }";
  assert.match((await faultsOf(merged)).join(), /identity: claims in headers are not read/);
});

Deno.test("a file whose claims are plainly switched off is served", async () => {
  const off = ["{ enabled: false }", "{ enabled: no }", "{ enabled: Off }", "{ enabled: n }", "{ enabled: }"];
  for (const identity of [...off, "{ claims_header: X-Claims }", "{}", ""]) {
    const faults = (await faultsOf(`identity: ${identity}`)).map((fault) =>
      fault.replace(/column \d+/, "column")
    );
    assert.deepEqual(faults, [], identity);
  }
});
