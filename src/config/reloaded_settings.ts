import type { Config } from "./config.ts";
import { isMap } from "../core/yaml/value_tree.ts";

/**
 * What a running server takes in when the configuration changes: these settings and those below them. All others are read
 * at the start; of the files that settings name, the contents are taken in.
 */
const reloaded = [
  "log.level",
  "databases",
  "limits",
  "http.client_ip",
  "http.allowed_origins",
  "http.allowed_hosts",
  "server.client_ip",
  "server.allowed_hosts",
  "server.cors",
  "api_keys",
  "defaults",
  "pipelines",
];

/** Files that are watched, whenever the settings are read that name them. */
const watched =
  /^(?:http|server)\.tls\.\w+_file$|^(?:http|server)\.auth\.[\w.]+_file$|^(?:llm|embedding)\..*api_key_file$|^custom_definitions_path$/;

/** When the setting with that name is read, for people. */
export function readWhen(name: string): string {
  if (isReloaded(name)) return "reloaded";
  return watched.test(name) ? "at the start; its contents: reloaded" : "at the start";
}

/** Whether a running server takes in a change of the setting with that name (`http.allowed_hosts`). */
function isReloaded(name: string): boolean {
  if (name === "databases[].embedded") return false;
  return reloaded.some((each) => name === each || name.startsWith(`${each}.`) || name.startsWith(`${each}[`));
}

/** The names of the settings that two configurations differ in, but for those that a running server takes in. */
export function changedAtStartOnly(before: Config, after: Config): string[] {
  const names: string[] = [];
  compare("", before, after, names);
  // found with pipelines' keys, which are taken in
  return names.filter((name) => !name.startsWith("vendors") && !isReloaded(name));
}

function compare(name: string, before: unknown, after: unknown, names: string[]): void {
  // written as one text
  const isWhole = name === "http.address" || name === "server.address" || name === "metrics.address";
  if (!isWhole && isMap(before) && isMap(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(name === "" ? key : `${name}.${key}`, before[key], after[key], names);
    }
  } else if (JSON.stringify(before) !== JSON.stringify(after)) names.push(name);
}
