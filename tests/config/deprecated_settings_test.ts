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

Deno.test("a file whose rows are filtered by claims is refused without trusted_proxies, however it says so", async () => {
  for (const word of ["true", "yes", "Yes", "on", "y", "TRUE", '"true"']) {
    const faults = (await faultsOf(`identity: { enabled: ${word} }`)).map((fault) =>
      fault.replace(/column \d+/, "column")
    );
    assert.deepEqual(faults, [
      "line 1, column: identity.trusted_proxies: is required where identity is enabled: without it everyone could claim to be anyone",
    ], word);
  }
  const merged = "x: &on { enabled: yes }\nidentity: { <<: *on }";
  assert.match((await faultsOf(merged)).join(), /identity\.trusted_proxies: is required/);
});

Deno.test("a file that does not say whether rows are filtered by claims is refused", async () => {
  for (
    const identity of [
      ...["perhaps", "1", "[x]", "[]", "{}", '""', '" "', "{ x: yes }"].map((word) => `{ enabled: ${word} }`),
      ...["yes", "[enabled]", "[]", '""'],
    ]
  ) {
    assert.notDeepEqual(await faultsOf(`identity: ${identity}`), [], identity);
  }
});

Deno.test("a file whose claims are plainly switched off is served", async () => {
  const off = ["{ enabled: false }", "{ enabled: no }", "{ enabled: Off }", "{ enabled: n }", "{ enabled: }"];
  for (const identity of [...off, "{ claims_header: X-Claims }", "{}", ""]) {
    assert.deepEqual(await faultsOf(`identity: ${identity}`), [], identity);
  }
});
