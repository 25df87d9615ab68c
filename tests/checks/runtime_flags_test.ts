import assert from "node:assert/strict";
import denoConfig from "../../deno.json" with { type: "json" };
import { permissions, v8Flags } from "../../src/app/processes/runtime.ts";

Deno.test("the task demo runs as the executable does", () => {
  const demo = denoConfig.tasks.demo.split(" ");
  assert.deepEqual(
    demo.slice(demo.indexOf("run") + 1, demo.indexOf("main.ts")),
    [`--v8-flags=${v8Flags}`, ...permissions],
  );
});
