import { fileURLToPath } from "node:url";
import { permissions, v8Flags } from "./runtime_flags.ts";

/**
 * What starts this program once more, with the same arguments: the executable, the sources, or npm's package, which has
 * what it was started with beside its first module.
 */
export async function childCommand(args: readonly string[]) {
  const path = Deno.execPath();
  if (Deno.build.standalone) return { path, args: [...args] };
  const beside = (name: string) => fileURLToPath(new URL(name, Deno.mainModule));
  const main = fileURLToPath(Deno.mainModule);
  // npm's package alone has it in JavaScript
  const options: readonly string[] = main.endsWith(".js")
    ? [...JSON.parse(await Deno.readTextFile(beside("options.json"))), "--config", beside("deno.json")]
    : ["--quiet", `--v8-flags=${v8Flags}`, ...permissions];
  return { path, args: ["run", ...options, main, ...args] };
}
