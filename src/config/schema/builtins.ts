import { z } from "zod";
import { accountTools, builtinTools } from "../../tool_server/tools/tool_kinds.ts";
import { type PlaceOf, settingAt } from "../setting_place.ts";
import { nearestName } from "../fault.ts";
import { isMap, valueAt, type ValueMap } from "../value_tree.ts";
import { section, toggle } from "./field_types.ts";

const switches = (what: string) =>
  z.record(z.string(), toggle(), { error: "expected a mapping of names to true or false" }).optional()
    .describe(`${what} by name: true or false; false switches one off`);

/** Which built-in tools, resources and prompts are offered; names are free, since the lists grow. */
export const builtins = section({
  default: toggle().prefault(true).describe("Offer the built-in tools that `tools` does not name"),
  tools: switches("Tools"),
  resources: switches("Resources"),
  prompts: switches("Prompts"),
});

/**
 * Whether a tool is offered: as `builtins.tools` says of it, else as `builtins.default` does, which does not switch off those
 * that no model sees.
 */
export function offersTool(
  { tools = {}, default: others }: z.output<typeof builtins>,
  name: string,
): boolean {
  const own = Object.hasOwn(tools, name) ? tools[name] : undefined;
  return own ?? (others || accountTools.some((tool) => tool === name));
}

/** One warning for each tool that there is none of, and one for resources and prompts. */
export function builtinWarnings(tree: ValueMap, place: PlaceOf): string[] {
  const tools = valueAt(tree, ["builtins", "tools"]);
  const unknown = Object.keys(isMap(tools) ? tools : {})
    .filter((name) => !builtinTools.some((tool) => tool === name))
    .map((name) => {
      const nearest = nearestName(name, builtinTools);
      return `${settingAt(["builtins", "tools", name], place)} has no effect: there is no tool of that name${
        nearest === undefined ? "" : `; did you mean "${nearest}"?`
      }`;
    });
  const parts = ["resources", "prompts"].filter((part) => valueAt(tree, ["builtins", part]) !== undefined);
  const unused = parts.length === 0
    ? []
    : [`builtins.${parts.join(" and builtins.")}: no effect yet, since there are tools alone`];
  return [...unknown, ...unused];
}
