import { resolve } from "node:path";
import {
  configVariable,
  headersFromText,
  libpqVariables,
  openTelemetryVariables,
  refusesTraces,
  variablePrefix,
} from "./environment_variables.ts";
import type { Origin } from "./schema/schema_faults.ts";
import { listSettings, type Setting, valueFromText } from "./schema/settings_table.ts";
import { formatPath, isMap, putValue, valueAt, type ValueMap } from "../core/yaml/value_tree.ts";
import { normalizeTree } from "./schema/pgedge_aliases.ts";
import { nearestName } from "../core/text/near_name.ts";

/** A setting as a flag gave it. */
export interface FlagSetting {
  readonly text: string;
  /** With its dash, as faults name it. */
  readonly flag: string;
}

interface Overrides {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: ReadonlyMap<string, FlagSetting>;
  /** What relative paths in variables and flags are relative to. */
  readonly cwd: string;
}

interface Override {
  readonly setting: Setting;
  readonly text: string;
  readonly origin: Origin;
}

const passwordSettings = ["password_file", "password_command", "password_from"];

/** Of the settings of a section, one takes the place of the others. */
const rivals: Readonly<Record<string, readonly string[]>> = {
  address: ["listen_address", "port"],
  host: ["hosts", "embedded"],
  hosts: ["host", "port", "embedded"],
  embedded: ["host", "port", "hosts"],
  password: passwordSettings,
  password_file: ["password", "password_command", "password_from"],
};

/**
 * Lays environment and flags over the file's tree, which it changes. Returns where each value that it put there came
 * from, by the setting's name, and warnings.
 */
export function applyOverrides(tree: ValueMap, { env, flags, cwd }: Overrides) {
  const settings = listSettings();
  const origins = new Map<string, Origin>();
  const apply = (overrides: readonly Override[]) => {
    dropRivals(tree, overrides);
    for (const { setting, text, origin } of overrides) {
      putValue(tree, setting.path, written(setting, text, { env, cwd }));
      origins.set(setting.name, origin);
    }
  };
  const fromEnvironment = settings.flatMap((setting): Override[] => {
    const text = env[setting.variable];
    // a password from the environment fills in what the file leaves out, see fillDatabases
    if (text === undefined || text === "" || setting.name === "databases[0].password") return [];
    return [{ setting, text, origin: { variable: setting.variable } }];
  });
  const fromFlags = settings.flatMap((setting): Override[] => {
    const given = flags.get(setting.name);
    return given === undefined ? [] : [{ setting, text: given.text, origin: { flag: given.flag } }];
  });
  const overrides = [...fromEnvironment, ...fromFlags];
  const made = isAbsent(tree["databases"]) && asksForDatabase(tree, overrides, env);
  if (made) tree["databases"] = [{}];
  apply(fromEnvironment);
  apply(fromFlags);
  fillDatabases(tree, settings, { env, cwd }, origins);
  fillTraces(tree, { env, cwd }, origins);
  if (made) nameDatabase(tree);
  return { origins, warnings: mistypedVariables(env, settings) };
}

function written(setting: Setting, text: string, { env, cwd }: Omit<Overrides, "flags">): unknown {
  return normalizeTree(valueFromText(setting.schema, text), setting.schema, {
    folder: cwd,
    home: env["HOME"],
  });
}

function dropRivals(tree: ValueMap, overrides: readonly Override[]): void {
  for (const { setting: { path } } of overrides) {
    const section = valueAt(tree, path.slice(0, -1));
    if (!isMap(section)) continue;
    for (const rival of rivals[String(path.at(-1))] ?? []) delete section[rival];
  }
}

function isAbsent(list: unknown): boolean {
  return list === undefined || (Array.isArray(list) && list.length === 0);
}

function asksForDatabase(tree: ValueMap, overrides: readonly Override[], env: Overrides["env"]): boolean {
  // a password alone may be that of the role that ingests
  const isMeant = (key: string) => key !== "password" || isAbsent(tree["pipelines"]);
  return overrides.some(({ setting }) => setting.path[0] === "databases") ||
    fallbacks.some(([variable, key]) => Boolean(env[variable]) && isMeant(key));
}

/** What a database leaves out, in this order. */
const fallbacks = [["POSTERN_DB_PASSWORD", "password"], ...Object.entries(libpqVariables)] as const;

/** Gives each database on a server what it leaves out and the environment has for all of them. */
function fillDatabases(
  tree: ValueMap,
  settings: readonly Setting[],
  from: Omit<Overrides, "flags">,
  origins: Map<string, Origin>,
): void {
  if (!Array.isArray(tree["databases"])) return;
  for (const [index, database] of tree["databases"].entries()) {
    if (!isMap(database) || database["embedded"] !== undefined) continue;
    for (const [variable, key] of fallbacks) {
      const text = from.env[variable];
      const setting = settings.find(({ name }) => name === `databases[0].${key}`);
      if (!text || setting === undefined || database[key] !== undefined) continue;
      if (key === "password" && passwordSettings.some((each) => database[each] !== undefined)) continue;
      if ((key === "host" || key === "port") && database["hosts"] !== undefined) continue;
      database[key] = written(setting, text, from);
      origins.set(formatPath(["databases", index, key]), { variable });
    }
  }
}

/**
 * Gives `traces` what it leaves out and OpenTelemetry's variables have. What they say of a collector holds for the one that
 * they name: its headers may be secrets.
 */
function fillTraces(
  tree: ValueMap,
  { env, cwd }: Omit<Overrides, "flags">,
  origins: Map<string, Origin>,
): void {
  if (refusesTraces(env)) return;
  const hasOwnCollector = valueAt(tree, ["traces", "endpoint"]) !== undefined;
  for (const [key, variables] of Object.entries(openTelemetryVariables)) {
    const path = ["traces", key];
    const variable = variables.find((name) => env[name]);
    const text = env[variable ?? ""];
    if (!variable || !text || valueAt(tree, path) !== undefined) continue;
    if (hasOwnCollector && key !== "service_name") continue;
    putValue(
      tree,
      path,
      key === "headers" ? headersFromText(text) : key === "ca_file" ? resolve(cwd, text) : text,
    );
    origins.set(formatPath(path), { variable });
  }
}

/** A database that no file names is known by its name on the server. */
function nameDatabase(tree: ValueMap): void {
  const name = valueAt(tree, ["databases", 0, "database"]) ?? "postgres";
  putValue(tree, ["databases", 0, "name"], name);
}

/** A variable that is nearly a setting's is a setting that somebody believes to have given. */
function mistypedVariables(env: Overrides["env"], settings: readonly Setting[]): string[] {
  const bare = (variable: string) => variable.slice(variablePrefix.length);
  const known = new Set([configVariable, ...settings.map(({ variable }) => variable)].map(bare));
  return Object.keys(env).filter((name) => name.startsWith(variablePrefix) && !known.has(bare(name))).flatMap(
    (name) => {
      const nearest = nearestName(bare(name), known);
      return nearest === undefined ? [] : [`${name} is not used: did you mean ${variablePrefix}${nearest}?`];
    },
  );
}
