import assert from "node:assert/strict";

const sources = new URL("../../../src/", import.meta.url);

/** In a process of its own: the warnings are the process's. */
const program = `
import { createHmac } from "node:crypto";
import process from "node:process";
const { createLogger } = await import(${JSON.stringify(new URL("core/logger.ts", sources).href)});
const { logRuntimeWarnings } = await import(${
  JSON.stringify(new URL("app/processes/runtime.ts", sources).href)
});
logRuntimeWarnings(createLogger({ level: "debug", format: "json" }));
createHmac("sha256", "key");
process.emitWarning("old", "DeprecationWarning", "DEP0001");
process.emitWarning("too many\\nlisteners");
console.warn("a library: %s", "mind this");
console.log("to standard output");
await new Promise((resolve) => setTimeout(resolve, 20));
`;

Deno.test("what the runtime and libraries say by themselves is a line of the log", async () => {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", program],
    env: { NO_COLOR: "1" },
  }).output();
  const text = new TextDecoder().decode(stderr);
  assert.ok(success, text);
  assert.equal(new TextDecoder().decode(stdout), "");
  const lines = text.trimEnd().split("\n").map((line) => JSON.parse(line))
    .filter(({ code }) => code !== "DEP0181")
    .map(({ level, message, warning, code, text }) => [level, message, warning ?? "", code ?? "", text]);
  assert.deepEqual(lines.toSorted(), [
    ["debug", "The runtime warns", "DeprecationWarning", "DEP0001", "old"],
    ["info", "A library says", "", "", "to standard output"],
    ["warn", "A library says", "", "", "a library: mind this"],
    ["warn", "The runtime warns", "Warning", "", "too many\nlisteners"],
  ]);
});
