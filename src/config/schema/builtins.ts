import { z } from "zod";
import { section, toggle } from "../field_types.ts";

const switches = (what: string) =>
  z.record(z.string(), toggle(), { error: "expected a mapping of names to true or false" }).optional()
    .describe(`${what} by name; false switches one off`);

/** Which built-in tools, resources and prompts are offered; names are free, since the lists grow. */
export const builtins = section({
  default: toggle().prefault(true).describe("Offer the built-in tools that are not named"),
  tools: switches("Tools"),
  resources: switches("Resources"),
  prompts: switches("Prompts"),
});
