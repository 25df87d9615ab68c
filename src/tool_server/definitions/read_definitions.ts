import type { Prompt } from "../prompts/prompt.ts";
import type { DefinitionChecks } from "./check_sql.ts";
import { readModels, type SemanticModel } from "../questions/models/read_models.ts";
import { readQuestions } from "../questions/verified/read_questions.ts";
import type { VerifiedQuestion } from "../questions/verified/verified_questions.ts";
import { readPrompts } from "./prompt_definitions.ts";
import { readResources, type ResourceDefinition } from "./resource_definitions.ts";
import { readSections } from "./sections.ts";
import { readTools, type ToolDefinition } from "./tool_definitions.ts";
import { type Fault, faultText } from "../../core/yaml/file_fault.ts";
import { isMap } from "../../core/yaml/value_tree.ts";

/** What a definitions file defines, without what has a fault. */
export interface ReadDefinitions {
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly Prompt[];
  readonly resources: readonly ResourceDefinition[];
  readonly questions: readonly VerifiedQuestion[];
  readonly models: readonly SemanticModel[];
  /** Of tools, those with a fault too. */
  readonly toolNames: readonly string[];
}

/**
 * Reads the text of a definitions file and checks what it defines, without a database. Undefined for a text that cannot be
 * relied on at all; `faults` are in the file's order.
 */
export async function readDefinitions(
  text: string,
  checks: DefinitionChecks,
): Promise<{ definitions?: ReadDefinitions; faults: Fault[] }> {
  const { sections, faults } = await readSections(text);
  if (sections === undefined) return { faults };
  const { tools, faults: toolFaults } = await readTools(sections.tools, checks);
  const { prompts, faults: promptFaults } = readPrompts(sections.prompts);
  const { resources, faults: resourceFaults } = await readResources(sections.resources, checks);
  const { questions, faults: questionFaults } = await readQuestions(sections.questions, checks);
  const { models, faults: modelFaults } = await readModels(sections.models, checks);
  return {
    definitions: { tools, prompts, resources, questions, models, toolNames: namesIn(sections.tools.value) },
    faults: [...faults, ...toolFaults, ...promptFaults, ...resourceFaults, ...questionFaults, ...modelFaults]
      .toSorted((one, other) =>
        (one.line ?? 0) - (other.line ?? 0) || (one.column ?? 0) - (other.column ?? 0)
      ),
  };
}

/** One line for people: file, place, field, what is wrong. */
export function definitionFaultText(path: string, fault: Fault): string {
  return `${path}: ${faultText(fault)}`;
}

function namesIn(tools: unknown): string[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool) => isMap(tool) && typeof tool["name"] === "string" ? [tool["name"]] : []);
}
