import { parseDocument } from "yaml";
import { loadConfig } from "../../src/config/mod.ts";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { optionsFor } from "../config/load_options.ts";
import { findProgram, fullPath } from "../support/programs.ts";

/** `packaging/`, as an address that ends in a slash. */
export const packaging = new URL("../../packaging/", import.meta.url);

/** The text of a file of `packaging/`. */
export function artefact(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, packaging));
}

/** A YAML file as plain values, with anchors and merges resolved. */
export function readYaml(text: string): unknown {
  const document = parseDocument(text, { merge: true });
  for (const fault of [...document.errors, ...document.warnings]) throw fault;
  return document.toJS();
}

/** Whether the program takes a command line and, with it, a configuration; resolves with the warnings. */
export async function warningsOf(args: readonly string[], config: string): Promise<readonly string[]> {
  const flags = parseFlags(args);
  const { configPath: _configPath, ...rest } = flags;
  return (await loadConfig(optionsFor(config, { flags: rest }))).warnings;
}

/** Runs a program to its end. @throws {Error} with what it printed, unless it succeeds */
export async function succeed(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<string> {
  const path = findProgram(program) ?? program;
  const { success, stdout, stderr } = await new Deno.Command(path, {
    args: [...args],
    env: { PATH: fullPath, ...env },
  }).output();
  const [printed, failed] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  if (!success) throw new Error(`${program} ${args.join(" ")}:\n${printed}${failed}`);
  return `${printed}${failed}`;
}
