import { defined } from "../../core/defined.ts";
import type { Prompt, PromptMessage } from "../prompts/prompt_registry.ts";
import { type DefinitionChecks, whyNoDatabase, whyNotRunnable } from "./check_sql.ts";
import { readModels, type SemanticModel } from "../questions/models/read_models.ts";
import { readQuestions } from "../questions/verified/read_questions.ts";
import type { VerifiedQuestion } from "../questions/verified/verified_questions.ts";
import { readDistinct, readSections, type Section } from "./sections.ts";
import {
  availableToUsers,
  maxRows,
  prose,
  readTools,
  statement,
  type ToolDefinition,
} from "./tool_definitions.ts";
import { type Fault, faultText } from "../../core/yaml/file_fault.ts";
import { isMap } from "../../core/yaml/value_tree.ts";
import { z } from "zod";
import { builtinPrompts } from "../builtin_kinds.ts";
import type { PromptContent } from "../call_context.ts";

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
  const { made: tools, faults: toolFaults } = await readTools(sections.tools, checks);
  const { made: prompts, faults: promptFaults } = await readPrompts(sections.prompts);
  const { made: resources, faults: resourceFaults } = await readResources(sections.resources, checks);
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

const content = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string().min(1) }),
  z.strictObject({ type: z.literal("image"), data: z.base64().min(1), mimeType: z.string().min(1) }),
  z.strictObject({ type: z.literal("resource"), uri: z.string().min(1), text: z.string().optional() }),
], { error: 'expected a mapping whose type is "text", "image" or "resource"' });

const prompt = z.strictObject({
  name: z.string().min(1).max(128),
  title: prose.optional(),
  description: z.string().trim().default(""),
  arguments: z.array(z.strictObject({
    name: z.string().regex(/^[\w-]+$/, "expected letters, digits, _ and -"),
    title: prose.optional(),
    description: z.string().trim().default(""),
    required: z.boolean().default(false),
  })).default([]),
  messages: z.array(z.strictObject({
    role: z.enum(["user", "assistant", "system"], { error: "expected user, assistant or system" }),
    content,
  })).min(1, "expected at least one message"),
  available_to_users: availableToUsers,
});

type Definition = z.output<typeof prompt>;

const placeholder = /\{\{([\w-]+)\}\}/g;

/** What a definitions file's `prompts` hold. A definition with a fault is left out, and leaves the others as they are. */
function readPrompts(section: Section): Promise<{ made: Prompt[]; faults: Fault[] }> {
  return readDistinct(section, prompt, "name", (value, report) => {
    if (builtinPrompts.some((name) => name === value.name)) {
      report(["name"], "is the name of a built-in prompt");
    }
    for (const [index, { content }] of value.messages.entries()) {
      for (const name of unknownArguments(value, content)) {
        report(["messages", index, "content", "text"], `{{${name}}} is none of the prompt's arguments`);
      }
    }
    return promptOf(value);
  });
}

function unknownArguments(
  { arguments: known }: Definition,
  content: Definition["messages"][number]["content"],
) {
  if (content.type !== "text") return [];
  return Array.from(content.text.matchAll(placeholder), ([, name = ""]) => name)
    .filter((name) => !known.some((argument) => argument.name === name));
}

function promptOf({ name, title, description, messages, ...rest }: Definition): Prompt {
  const { arguments: args } = rest;
  return {
    kind: "prompt",
    name,
    available_to_users: rest.available_to_users,
    description: {
      name,
      ...defined({ title }),
      ...(description === "" ? {} : { description }),
      ...(args.length === 0 ? {} : {
        arguments: args.map(({ name, title, description, required }) => ({
          name,
          ...defined({ title }),
          ...(description === "" ? {} : { description }),
          required,
        })),
      }),
    },
    messages: (given) =>
      Promise.resolve(messages.map(({ role, content }): PromptMessage => ({
        // MCP has no third role: what a system is told, its user says
        role: role === "assistant" ? "assistant" : "user",
        content: contentOf(content, given),
      }))),
  };
}

function contentOf(
  content: Definition["messages"][number]["content"],
  given: Readonly<Record<string, string>>,
): PromptContent {
  switch (content.type) {
    case "text":
      return { type: "text", text: fillIn(content.text, given) };
    case "image":
      return content;
    case "resource":
      return { type: "resource_link", uri: content.uri, name: content.text ?? content.uri };
  }
}

/** Puts arguments in the place of `{{name}}`. What an argument holds is put in as it is: braces in it stand for nothing. */
function fillIn(template: string, given: Readonly<Record<string, string>>): string {
  return template.replace(
    placeholder,
    (_, name: string) => Object.hasOwn(given, name) ? given[name] ?? "" : "",
  );
}

const described = {
  uri: z.string().max(1_000).regex(
    /^[a-z][a-z0-9+.-]*:\S+$/i,
    "expected an address such as custom://late-orders",
  ),
  name: z.string().trim().min(1),
  title: z.string().trim().min(1).optional(),
  description: z.string().trim().default(""),
  mimeType: z.string().regex(/^[\w.+-]+\/[\w.+-]+(;.*)?$/, "expected a type such as application/json")
    .optional(),
  available_to_users: availableToUsers,
};

const resource = z.discriminatedUnion("type", [
  z.strictObject({
    ...described,
    type: z.literal("sql"),
    sql: statement,
    database: z.string().min(1).optional(),
    max_rows: maxRows,
  }),
  z.strictObject({ ...described, type: z.literal("static"), data: z.unknown() }),
], { error: 'expected a mapping whose type is "sql" or "static"' });

/** A resource of a definitions file, as it was written. */
export type ResourceDefinition = z.output<typeof resource>;

/** Schemes of the addresses of built-in resources. */
const ownSchemes = /^(?:pg|ui|postern):/i;

/** What a definitions file's `resources` hold. A definition with a fault is left out, and leaves the others as they are. */
function readResources(
  section: Section,
  checks: DefinitionChecks,
): Promise<{ made: ResourceDefinition[]; faults: Fault[] }> {
  return readDistinct(section, resource, "uri", async (value, report) => {
    if (ownSchemes.test(value.uri)) report(["uri"], "begins as the built-in ones do; use custom://");
    if (value.type === "sql") {
      report(["sql"], await whyNotRunnable(value.sql, [], checks));
      report(["database"], whyNoDatabase(value.database, checks));
    } else if (value.data === undefined) report(["data"], "is required");
    return value;
  });
}
