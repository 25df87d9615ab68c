import { dirname } from "node:path";
import type { LoadOptions } from "./load_config.ts";

/** What `loadConfig` needs to know of the process: variables, working folder, folder of the compiled executable. */
export function processEnvironment(): Required<Pick<LoadOptions, "env" | "cwd" | "executableDir">> {
  const cwd = Deno.cwd();
  return {
    env: Deno.env.toObject(),
    cwd,
    executableDir: Deno.build.standalone ? dirname(Deno.execPath()) : cwd,
  };
}
