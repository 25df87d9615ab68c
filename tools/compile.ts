/** Makes the executable: `compile [--target TRIPLE] [--output FILE]`. */
import { parseArgs } from "node:util";
import { bundleProgram } from "./bundle_program.ts";
import { compileProgram } from "./compile_program.ts";

const { values: { target, output } } = parseArgs({
  args: Deno.args,
  options: { target: { type: "string" }, output: { type: "string", default: "dist/server" } },
});
await using bundle = await bundleProgram();
await compileProgram({ bundle, target, output });
