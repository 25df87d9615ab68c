import { accountTools, builtinTools } from "../tool_server/tools/tool_kinds.ts";
import type { Config } from "./config.ts";
import type { Place } from "./config_document.ts";
import { nearestName } from "./nearest_name.ts";
import { formatPath, type SettingPath } from "./setting_path.ts";
import { isMap, valueAt, type ValueMap } from "./value_tree.ts";

/**
 * Whether a tool is offered: as `builtins.tools` says of it, else as `builtins.default` does, which does not switch off those
 * that no model sees.
 */
export function offersTool({ tools = {}, default: others }: Config["builtins"], name: string): boolean {
  const own = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return own ?? (others || accountTools.some((tool) => tool === name));
}

/** One warning for each tool that there is none of, and one for resources and prompts. */
export function builtinWarnings(tree: ValueMap, place: (path: SettingPath) => Place | undefined): string[] {
  const tools = valueAt(tree, ["builtins", "tools"]);
  const unknown = Object.keys(isMap(tools) ? tools : {})
    .filter((name) => !builtinTools.some((tool) => tool === name))
    .map((name) => {
      const path = ["builtins", "tools", name];
      const line = place(path)?.line;
      const nearest = nearestName(name, builtinTools);
      return `${formatPath(path)}${line === undefined ? "" : ` (line ${line})`} has no effect: ` +
        `there is no tool of that name${nearest === undefined ? "" : `; did you mean "${nearest}"?`}`;
    });
  const parts = ["resources", "prompts"].filter((part) => valueAt(tree, ["builtins", part]) !== undefined);
  const unused = parts.length === 0
    ? []
    : [`builtins.${parts.join(" and builtins.")}: no effect yet, since there are tools alone`];
  return [...unknown, ...unused];
}
