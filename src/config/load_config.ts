import { dirname, join, resolve } from "node:path";
import { type Config, createConfig, serversOf } from "./config.ts";
import { ConfigError, type Fault } from "./fault.ts";
import { applyOverrides, type FlagSetting } from "./overrides.ts";
import { clampSettings, takeDeprecatedSettings } from "./deprecated_settings.ts";
import { configOfProcess, processFaults } from "./process_share.ts";
import { authFaults, ruleFaults, type RunContext, sourceFaults } from "./rule_faults.ts";
import { ruleWarnings } from "./rule_warnings.ts";
import { builtinWarnings } from "./schema/builtins.ts";
import { identityWarnings, unclearIdentityFaults } from "./schema/identity.ts";
import { joinAddresses, normalizeTree, useOwnNames } from "./schema/pgedge_aliases.ts";
import { configSchema, type ParsedConfig } from "./schema/config_schema.ts";
import { type Locate, type Origin, schemaFaults, takeFaultyHalves } from "./schema/schema_faults.ts";
import { hintWarnings, type VariableHint, variableHints, withHints } from "./unexpanded_variables.ts";
import { configVariable, ownProcessFrom } from "./environment_variables.ts";
import { formatPath, putValue, type SettingPath, valueAt, type ValueMap } from "../core/yaml/value_tree.ts";
import type { YamlDocument } from "../core/yaml/yaml_document.ts";

/** What the command line says about the configuration. */
export interface ConfigFlags {
  /** `-config`. */
  readonly configPath?: string;
  /** Settings given by flags, by name (`http.address`). */
  readonly settings: ReadonlyMap<string, FlagSetting>;
  /** `-allow-insecure`. */
  readonly allowInsecure: boolean;
  /** The RAG server is to run as well, so its address must be free. */
  readonly rag?: boolean;
  /** The demo is to run, for one person at one machine. */
  readonly demo?: boolean;
}

export interface LoadOptions {
  readonly flags?: ConfigFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Where `config.yaml` is looked for last; the working folder where it is absent. */
  readonly executableDir?: string;
  readonly readFile?: (path: string) => Promise<string>;
  /** The system that the servers would run on; this one where it is absent. */
  readonly os?: typeof Deno.build.os;
}

export interface LoadedConfig {
  readonly config: Config;
  /** For the log: settings that have no effect, each one line. */
  readonly warnings: readonly string[];
  /** The file that was read; undefined where there is none. */
  readonly path: string | undefined;
}

const noFlags: ConfigFlags = { settings: new Map(), allowInsecure: false };

/**
 * Puts the configuration together: flags over environment over file over defaults.
 *
 * @throws {ConfigError} with every fault that was found, if there is any
 */
export async function loadConfig(options: LoadOptions): Promise<LoadedConfig> {
  const { flags = noFlags, env, cwd, executableDir = cwd, readFile = (path) => Deno.readTextFile(path) } =
    options;
  const { os = Deno.build.os } = options;
  const file = await readConfigFile({ configPath: flags.configPath, env, cwd, executableDir, readFile });
  const read = file === undefined ? noDocument() : await readDocument(file.text);
  if (read.document === undefined) throw new ConfigError(read.faults, file?.path);

  const folder = file === undefined ? executableDir : dirname(file.path);
  const { document, faults: aliasFaults } = useOwnNames(read.document);
  const faults = [...read.faults, ...aliasFaults, ...unclearIdentityFaults(document.tree, document.place)];
  const deprecated = takeDeprecatedSettings(document.tree, document.place);
  const tree = normalizeTree(document.tree, configSchema, {
    folder,
    home: env["HOME"],
    ...document,
  }) as ValueMap;
  const hints = variableHints(document.tree, document.place);
  const clamped = clampSettings(tree, document.place);
  const { origins, warnings } = applyOverrides(tree, { env, flags: flags.settings, cwd });
  faults.push(...takeFaultyHalves(tree, locator(document, origins)));
  const addresses = defaultAddresses(tree, flags);
  for (const [name, half] of joinAddresses(tree, addresses)) {
    const origin = origins.get(half) ?? document.place(half.split("."));
    origins.set(name, { ...origin, path: half });
  }
  if (flags.demo && valueAt(tree, ["server", "address"]) === undefined) {
    putValue(tree, ["server", "address"], addresses.server);
  }
  const found = { faults, hints, path: file?.path, warnings: [...deprecated, ...clamped, ...warnings] };
  const hasOtherFiles = !flags.rag &&
    [...flags.settings.keys()].some((name) => /^http\.auth\..*_file$/.test(name));
  const context = { allowInsecure: flags.allowInsecure, rag: flags.rag ?? false, hasOtherFiles, os };
  const parsed = validate(tree, { document, origins, folder }, found, context);
  const whole = createConfig(parsed, tree, folder, env);
  const own = ownProcessFrom(env);
  const config = own === undefined ? whole : configOfProcess(whole, own);
  const ofSources = sourceFaults(config.pipelines, locator(document, origins));
  if (ofSources.length > 0) throw new ConfigError(inFileOrder(ofSources), file?.path, found.warnings);
  return {
    config,
    warnings: [
      ...found.warnings,
      ...hintWarnings(hints.filter(({ path }) => !origins.has(path))),
      ...builtinWarnings(tree, document.place),
      ...identityWarnings(tree, document.place),
      ...ruleWarnings(tree, document.place),
      ...passwordWarning(flags),
    ],
    path: file?.path,
  };
}

/** The demo's RAG server is offered to others only where a setting says so, and stands beside the tool server. */
function defaultAddresses(tree: ValueMap, { demo }: ConfigFlags): { http: string; server: string } {
  const demoPort = valueAt(tree, ["http", "enabled"]) === true ? 8081 : 8080;
  return { http: ":8080", server: demo ? `127.0.0.1:${demoPort}` : "0.0.0.0:8080" };
}

async function readDocument(text: string) {
  const { readYamlDocument } = await import("../core/yaml/yaml_document.ts");
  return readYamlDocument(text);
}

function noDocument(): { document: YamlDocument; faults: Fault[] } {
  return { document: { tree: {}, place: () => undefined, sourceText: () => undefined }, faults: [] };
}

function validate(
  tree: ValueMap,
  { document, origins, folder }: {
    readonly document: YamlDocument;
    readonly origins: ReadonlyMap<string, Origin>;
    readonly folder: string;
  },
  file: {
    readonly faults: readonly Fault[];
    readonly hints: readonly VariableHint[];
    readonly path: string | undefined;
    readonly warnings: readonly string[];
  },
  context: RunContext,
): ParsedConfig {
  const locate = locator(document, origins);
  // zod would otherwise generate code for each section, which takes longer than to read it once
  const result = configSchema.safeParse(tree, { jitless: true });
  const faults = [
    ...file.faults,
    ...schemaFaults(result.error?.issues ?? [], tree, locate),
    ...(result.success
      ? [
        ...authFaults({ ...result.data, ...serversOf(result.data, tree, folder) }, context, locate),
        ...processFaults(result.data, context.os, locate),
      ]
      : []),
    ...ruleFaults(tree, context, locate),
  ];
  if (faults.length > 0 || !result.success) {
    throw new ConfigError(inFileOrder(withHints(faults, file.hints)), file.path, file.warnings);
  }
  return result.data;
}

/** What a variable or a flag put over the file is theirs, and so is everything inside of it. */
function locator(document: YamlDocument, origins: ReadonlyMap<string, Origin>): Locate {
  return (path: SettingPath, part) => {
    for (let length = path.length; length > 0; length--) {
      const origin = origins.get(formatPath(path.slice(0, length)));
      if (origin !== undefined) return origin;
    }
    return document.place(path, part) ?? {};
  };
}

function inFileOrder(faults: readonly Fault[]): Fault[] {
  return faults.toSorted((one, other) =>
    (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)
  );
}

function passwordWarning({ settings }: ConfigFlags): string[] {
  if (!settings.has("databases[0].password")) return [];
  return [
    "-db-password: others on this machine can read a command line; POSTERN_DB_PASSWORD or ~/.pgpass is safer",
  ];
}

/** What `loadConfig` needs to know of the process: variables, working folder, folder of the compiled executable. */
export function processEnvironment(): Required<Pick<LoadOptions, "env" | "cwd" | "executableDir">> {
  const cwd = Deno.cwd();
  return {
    env: Deno.env.toObject(),
    cwd,
    executableDir: Deno.build.standalone ? dirname(Deno.execPath()) : cwd,
  };
}

const systemConfigPath = "/etc/postern/config.yaml";

interface FindOptions extends Required<Pick<LoadOptions, "env" | "cwd" | "executableDir" | "readFile">> {
  /** From `-config`. */
  readonly configPath?: string | undefined;
}

/**
 * Reads the configuration file: `-config`, else `POSTERN_CONFIG`, else the system's, else the one beside the
 * executable. Undefined where neither of the last two exists.
 *
 * @throws {ConfigError} where a file that was named does not exist, or one that exists cannot be read
 */
async function readConfigFile(
  options: FindOptions,
): Promise<{ path: string; text: string } | undefined> {
  const named = namedFile(options);
  const candidates = named === undefined
    ? [systemConfigPath, join(options.executableDir, "config.yaml")]
    : [resolve(options.cwd, named.path)];
  for (const path of candidates) {
    try {
      return { path, text: await options.readFile(path) };
    } catch (error) {
      const missing = error instanceof Deno.errors.NotFound;
      if (missing && named === undefined) continue;
      throw new ConfigError([{ path: "", ...named?.origin, message: reasonOf(error) }], path);
    }
  }
  return undefined;
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.IsADirectory) return "it is a folder; name the file in it";
  if (error instanceof Deno.errors.PermissionDenied) return "this user may not read it";
  return error instanceof Error ? error.message : String(error);
}

function namedFile({ configPath, env }: FindOptions): { path: string; origin: Partial<Fault> } | undefined {
  if (configPath !== undefined) return { path: configPath, origin: { flag: "-config" } };
  const path = env[configVariable];
  return path ? { path, origin: { variable: configVariable } } : undefined;
}

/**
 * The full name of a setting in an entry of `databases` or `pipelines`. What `identity` gives a pipeline is named there.
 *
 * @param name of the entry
 * @param path in the entry: `["allowed_roles", 1]` gives `databases[0].allowed_roles[1]`
 */
export function writtenSetting(
  config: Pick<Config, "databases" | "pipelines" | "identity">,
  list: "databases" | "pipelines",
  name: string,
  path: SettingPath,
): string {
  const index = config[list].findIndex((entry) => entry.name === name);
  const pipeline = list === "pipelines" ? config.pipelines[index] : undefined;
  const { identity } = config;
  if (identity.enabled && pipeline !== undefined) {
    const [section, key] = path;
    if (section === "session_settings" && key === identity.claims_setting) return "identity.claims_setting";
    if (section === "allowed_roles" && pipeline.role_is_optional) return formatPath(["identity", ...path]);
  }
  return formatPath([list, index, ...path]);
}
