import type { Config } from "./config.ts";
import { formatPath, type SettingPath } from "../core/yaml/value_tree.ts";

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
