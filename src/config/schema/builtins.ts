import { z } from "zod";
import { choice, section, toggle } from "./field_types.ts";
import {
  accountTools,
  builtinPrompts,
  builtinResources,
  builtinTools,
  connectionSwitch,
  connectionTools,
  toolsOffByDefault,
} from "../../tool_server/builtin_kinds.ts";
import { mapOf, valueAt, type ValueMap } from "../../core/yaml/value_tree.ts";
import { type PlaceOf, settingAt } from "../../core/yaml/file_fault.ts";
import { didYouMean } from "../../core/text/near_name.ts";

const switches = (what: string) =>
  z.record(z.string(), toggle(), { error: "expected a mapping of names to true or false" }).optional()
    .describe(`${what} by name: true or false; false switches one off`);

/** Which built-in tools, resources and prompts are offered; names are free, since the lists grow. */
export const builtins = section({
  default: toggle().prefault(true).describe(
    "Offer the built-in tools, resources and prompts that the switches do not name",
  ),
  list: choice("all", "search").prefault("all").describe(
    "Whether lists of tools show those of `custom_definitions_path` too, or models look for them with `find_tools`",
  ),
  tools: switches("Tools"),
  resources: switches("Resources"),
  prompts: switches("Prompts"),
});

/**
 * Whether a built-in tool, resource or prompt is offered: as its own switch says, else as `builtins.default` does, which
 * switches on none of the tools that look after databases, and off none of those that no model sees. `builtins.list`
 * switches `find_tools`.
 */
export function offers(
  settings: z.output<typeof builtins>,
  part: "tools" | "resources" | "prompts",
  name: string,
): boolean {
  const own = Object.entries(settings[part] ?? {}).filter(([key]) => ownName(part, key) === name);
  // under two names, off wins
  if (own.length > 0) return own.every(([, isOn]) => isOn);
  if (part !== "tools") return settings.default;
  const standsFor = Object.hasOwn(connectionTools, name)
    ? connectionTools[name as keyof typeof connectionTools]
    : undefined;
  const isConnectionTool = standsFor !== undefined || Object.values<string>(connectionTools).includes(name);
  const connections = settings.tools?.[connectionSwitch];
  if (isConnectionTool && connections !== undefined) return connections;
  if (standsFor !== undefined) return offers(settings, part, standsFor);
  // what it finds is listed already
  if (name === "find_tools") return settings.list === "search";
  if (toolsOffByDefault.some((tool) => tool === name)) return false;
  return settings.default || accountTools.some((tool) => tool === name);
}

const names: Readonly<Record<"tools" | "resources" | "prompts", readonly string[]>> = {
  tools: [...builtinTools, connectionSwitch],
  resources: builtinResources,
  prompts: builtinPrompts,
};

/** Whoever writes `explore_database` or `pg://system_info`, as pgEdge's server has them, means ours. */
function ownName(part: keyof typeof names, key: string): string {
  const plain = (name: string) => name.replace(/^pg:\/\//, "").replaceAll("-", "_");
  return names[part].find((name) => plain(name) === plain(key)) ?? key;
}

const parts = ["tools", "resources", "prompts"] as const;

/** One warning for each name that there is nothing of. */
export function builtinWarnings(tree: ValueMap, place: PlaceOf): string[] {
  return parts.flatMap((part) => {
    const known = names[part];
    const unknown = Object.keys(mapOf(valueAt(tree, ["builtins", part])))
      .filter((name) => !known.includes(ownName(part, name)));
    return unknown.map((name) =>
      `${settingAt(["builtins", part, name], place)} has no effect: there is no ${part.slice(0, -1)} ` +
      `of that name${didYouMean(name, known)}`
    );
  });
}
