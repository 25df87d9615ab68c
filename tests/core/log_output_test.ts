import assert from "node:assert/strict";
import { waitUntil } from "../support/wait_until.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { createLogOutput } from "../../src/core/logger.ts";

function capture() {
  const writes: string[] = [];
  return { writes, output: createLogOutput((lines) => writes.push(lines)) };
}

Deno.test("lines that wait are written together, and before a line that does not", () => {
  const { writes, output } = capture();
  using _output = output;
  output.gather("1\n");
  output.gather("2\n");
  assert.deepEqual(writes, []);
  output.write("3\n");
  output.gather("4\n");
  output[Symbol.dispose]();
  assert.deepEqual(writes, ["1\n2\n", "3\n", "4\n"]);
});

Deno.test("no line waits for another one for long", async () => {
  const { writes, output } = capture();
  using _output = output;
  output.gather("alone\n");
  await waitUntil("the line is written", () => writes.length === 1);
  output.gather("the next\n");
  await waitUntil("and the next", () => writes.length === 2);
});

Deno.test("what waits is bounded", () => {
  const { writes, output } = capture();
  using _output = output;
  const line = `${"x".repeat(999)}\n`;
  for (let count = 0; count < 1_000; count++) output.gather(line);
  assert.equal(new Set(writes.map((text) => text.length)).size, 1);
  assert.ok(writes.every((text) => text.length < 20_000));
  assert.ok(writes.join("").length > 900_000);
});

const ends: Readonly<Record<string, string>> = {
  "an error that nobody catches": 'setTimeout(() => { throw new Error("a fault"); });',
  "a promise that fails for nobody": 'void Promise.reject(new Error("a fault"));',
  "Deno.exit": "Deno.exit(3);",
};
for (const [what, code] of Object.entries(ends)) {
  Deno.test(`what waits is written where ${what} ends the process`, async () => {
    await using folder = await temporaryFolder();
    const module = new URL("../../src/core/logger.ts", import.meta.url).href;
    const script = `${folder.path}/end.ts`;
    await Deno.writeTextFile(
      script,
      `import { createLogOutput } from ${JSON.stringify(module)};
      createLogOutput().gather("the last line\\n");
      ${code}`,
    );
    const child = new Deno.Command(Deno.execPath(), { args: ["run", "--quiet", "--no-check", script] });
    const { code: status, stderr } = await child.output();
    assert.notEqual(status, 0);
    assert.match(new TextDecoder().decode(stderr), /^the last line$/m);
  });
}
