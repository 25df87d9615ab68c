import assert from "node:assert/strict";
import { accountTools, builtinTools, connectionTools } from "../../src/tool_server/builtin_kinds.ts";

const read = (path: string) => Deno.readTextFile(new URL(`../../${path}`, import.meta.url));

/** Those that models see; clients alone use the others. */
const shown = builtinTools.filter((tool) =>
  ![...accountTools, ...Object.keys(connectionTools)].some((other) => other === tool)
);

Deno.test("README's table and config.example.yaml name every tool, and no other", async () => {
  const [, table = ""] = (await read("README.md")).split("## The tools\n");
  const named = table.split("\n").filter((line) => line.startsWith("| "))
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(\w+)`/g)].map(([, name]) => name));
  assert.deepEqual(named.toSorted(), shown.toSorted());

  const [, section = ""] = /^builtins:\n([^]*?)^ *##tools:/m.exec(await read("config.example.yaml")) ?? [];
  const missing = shown.filter((tool) => !new RegExp(`\\b${tool}\\b`).test(section));
  assert.deepEqual(missing, []);
});
