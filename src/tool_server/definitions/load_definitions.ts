import type { Fault } from "../../core/document/file_fault.ts";
import { isMap } from "../../core/document/value_tree.ts";
import { nearestName } from "../../core/document/near_name.ts";
import { faultAt, type Section } from "./section.ts";

/** What a definitions file holds (`custom_definitions_path`), each part for whoever makes something of it. */
export interface Definitions {
  readonly tools: Section;
  readonly prompts: Section;
  readonly resources: Section;
  readonly questions: Section;
  readonly models: Section;
}

const sections = ["tools", "prompts", "resources", "questions", "models"] as const;

/**
 * Reads the text of a definitions file, YAML or JSON. With `faults` alone the text cannot be relied on at all; a fault
 * within a part leaves the others as they are.
 */
export async function loadDefinitions(text: string): Promise<{ definitions?: Definitions; faults: Fault[] }> {
  const { readYamlDocument } = await import("../../core/document/yaml_document.ts");
  const { document, faults } = readYamlDocument(text);
  if (document === undefined) return { faults };
  const { tree, place } = document;
  const section = (name: typeof sections[number]): Section => ({ name, value: tree[name], place });
  const unknown = Object.keys(isMap(tree) ? tree : {}).filter((key) =>
    !sections.some((name) => name === key)
  );
  return {
    definitions: {
      tools: section("tools"),
      prompts: section("prompts"),
      resources: section("resources"),
      questions: section("questions"),
      models: section("models"),
    },
    faults: [
      ...faults,
      ...unknown.map((key) => {
        const suggestion = nearestName(key, sections);
        return {
          ...faultAt({ place }, [key], `unknown key; expected ${sections.join(", ")}`, "key"),
          ...(suggestion === undefined ? {} : { suggestion }),
        };
      }),
    ],
  };
}
