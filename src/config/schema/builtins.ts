import { z } from "zod";
import {
  accountTools,
  builtinTools,
  connectionSwitch,
  connectionTools,
  toolsOffByDefault,
} from "../../tool_server/tools/tool_kinds.ts";
import { builtinPrompts } from "../../tool_server/prompts/prompt_kinds.ts";
import { builtinResources } from "../../tool_server/resources/resource_kinds.ts";
import { type PlaceOf, settingAt } from "../../core/document/place.ts";
import { nearestName } from "../../core/document/near_name.ts";
import { isMap, valueAt, type ValueMap } from "../../core/document/value_tree.ts";
import { section, toggle } from "./field_types.ts";

const switches = (what: string) =>
  z.record(z.string(), toggle(), { error: "expected a mapping of names to true or false" }).optional()
    .describe(`${what} by name: true or false; false switches one off`);

/** Which built-in tools, resources and prompts are offered; names are free, since the lists grow. */
export const builtins = section({
  default: toggle().prefault(true).describe(
    "Offer the built-in tools, resources and prompts that the switches do not name",
  ),
  tools: switches("Tools"),
  resources: switches("Resources"),
  prompts: switches("Prompts"),
});

/**
 * Whether a built-in tool, resource or prompt is offered: as its own switch says, else as `builtins.default` does, which
 * switches on none of the tools that look after databases, and off none of those that no model sees.
 */
export function offers(
  settings: z.output<typeof builtins>,
  part: "tools" | "resources" | "prompts",
  name: string,
): boolean {
  const switches = settings[part] ?? {};
  if (Object.hasOwn(switches, name)) return switches[name] ?? false;
  if (part !== "tools") return settings.default;
  const standsFor = Object.hasOwn(connectionTools, name)
    ? connectionTools[name as keyof typeof connectionTools]
    : undefined;
  const isConnectionTool = standsFor !== undefined || Object.values<string>(connectionTools).includes(name);
  if (isConnectionTool && Object.hasOwn(switches, connectionSwitch)) {
    return switches[connectionSwitch] ?? false;
  }
  if (standsFor !== undefined) return offers(settings, part, standsFor);
  if (toolsOffByDefault.some((tool) => tool === name)) return false;
  return settings.default || accountTools.some((tool) => tool === name);
}

const names: Readonly<Record<"tools" | "resources" | "prompts", readonly string[]>> = {
  tools: [...builtinTools, connectionSwitch],
  resources: builtinResources,
  prompts: builtinPrompts,
};

/** One warning for each name that there is nothing of. */
export function builtinWarnings(tree: ValueMap, place: PlaceOf): string[] {
  return Object.entries(names).flatMap(([part, known]) => {
    const switches = valueAt(tree, ["builtins", part]);
    return Object.keys(isMap(switches) ? switches : {}).filter((name) => !known.includes(name)).map(
      (name) => {
        const nearest = nearestName(name, known);
        return `${settingAt(["builtins", part, name], place)} has no effect: there is no ${
          part.slice(0, -1)
        } of that name${nearest === undefined ? "" : `; did you mean "${nearest}"?`}`;
      },
    );
  });
}
