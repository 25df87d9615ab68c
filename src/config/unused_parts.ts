import { splitPath } from "./setting_path.ts";
import { valueAt, type ValueMap } from "./value_tree.ts";

/** Parts of the schema that nothing acts upon yet. Take a line out with the change that makes it work. */
const unusedParts: readonly string[] = [
  "custom_definitions_path",
  "embedding",
];

/** One warning for each such part that a configuration sets, so that nobody believes it works. */
export function unusedPartWarnings(tree: ValueMap): string[] {
  return unusedParts
    .filter((part) => valueAt(tree, splitPath(part)) !== undefined)
    .map((part) => `${part}: read but not used by this version`);
}
