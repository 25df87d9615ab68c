import { parseDocument, Scalar } from "yaml";
import { z } from "zod";
import { loadConfig, type LoadedConfig } from "../../src/config/mod.ts";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { optionsFor } from "../config/load_options.ts";
import { findProgram, fullPath } from "../support/programs.ts";

/** `packaging/`, as an address that ends in a slash. */
export const packaging = new URL("../../packaging/", import.meta.url);

/** The text of a file of `packaging/`. */
export function artefact(path: string): Promise<string> {
  return Deno.readTextFile(new URL(path, packaging));
}

/** Compose's `!reset []`: nothing, whatever the file below has. */
const reset = { tag: "!reset", collection: "seq", resolve: () => new Scalar(null) } as const;

/** A YAML file as plain values, with anchors and merges resolved. */
export function readYaml(text: string): unknown {
  const document = parseDocument(text, { merge: true, customTags: [reset] });
  for (const fault of [...document.errors, ...document.warnings]) throw fault;
  return document.toJS();
}

/** The Compose files with these names as one, as `docker compose -f A -f B` takes them. */
export async function readCompose(...files: readonly string[]): Promise<unknown> {
  const read = await Promise.all(files.map(async (file) => readYaml(await artefact(`docker/${file}`))));
  return read.reduce((below, above) => merged(below, above, (first, second) => [...first, ...second]));
}

const map = z.record(z.string(), z.unknown());

/** Two files as one: maps are merged, of other values that of the file above counts, and lists are as `joinLists` says. */
export function merged(
  below: unknown,
  above: unknown,
  joinLists: (below: readonly unknown[], above: readonly unknown[]) => readonly unknown[],
): unknown {
  if (Array.isArray(below) && Array.isArray(above)) return joinLists(below, above);
  const [first, second] = [map.safeParse(below).data, map.safeParse(above).data];
  if (first === undefined || second === undefined) return above;
  const result = { ...first };
  for (const [key, value] of Object.entries(second)) {
    result[key] = key in first ? merged(first[key], value, joinLists) : value;
  }
  return result;
}

/** What the program makes of a command line and, with it, a configuration. @throws {Error} where it does not take them */
export function load(
  args: readonly string[],
  config: string,
  env: Readonly<Record<string, string>> = {},
): Promise<LoadedConfig> {
  const flags = parseFlags(args);
  const { configPath: _configPath, ...rest } = flags;
  return loadConfig(optionsFor(config, { flags: rest, env }));
}

/** The warnings of `load()`. */
export async function warningsOf(args: readonly string[], config: string): Promise<readonly string[]> {
  return (await load(args, config)).warnings;
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
