import { z } from "zod";
import type { PromptContent } from "../content.ts";
import type { Prompt, PromptMessage } from "../prompts/prompt.ts";
import { faultAt, readEntries, repeatedNames, type Section } from "./sections.ts";
import { availableToUsers, prose } from "./tool_definitions.ts";
import { builtinPrompts } from "../builtin_kinds.ts";
import type { Fault } from "../../core/yaml/file_fault.ts";

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
export function readPrompts(section: Section): { prompts: Prompt[]; faults: Fault[] } {
  const { entries, faults } = readEntries(section, prompt);
  const repeated = repeatedNames(section, entries, "name");
  faults.push(...repeated.faults);
  const prompts: Prompt[] = [];
  for (const { value, path } of repeated.entries) {
    const found = [
      ...(builtinPrompts.some((name) => name === value.name)
        ? [faultAt(section, [...path, "name"], "is the name of a built-in prompt")]
        : []),
      ...value.messages.flatMap(({ content }, index) =>
        unknownArguments(value, content).map((name) =>
          faultAt(
            section,
            [...path, "messages", index, "content", "text"],
            `{{${name}}} is none of the prompt's arguments`,
          )
        )
      ),
    ];
    faults.push(...found);
    if (found.length === 0) prompts.push(promptOf(value));
  }
  return { prompts, faults };
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
      ...(title === undefined ? {} : { title }),
      ...(description === "" ? {} : { description }),
      ...(args.length === 0 ? {} : {
        arguments: args.map(({ name, title, description, required }) => ({
          name,
          ...(title === undefined ? {} : { title }),
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
