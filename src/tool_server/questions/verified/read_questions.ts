import { z } from "zod";
import { defined } from "../../../core/defined.ts";
import {
  databaseOf,
  type DefinitionChecks,
  sharesDatabase,
  whyNoDatabase,
  whyNotRunnable,
} from "../../definitions/check_sql.ts";
import { faultAt, readEntries, type Section } from "../../definitions/sections.ts";
import { whySlow } from "../../definitions/slow_pattern.ts";
import { tokenise } from "./request_words.ts";
import { argumentTypes, type QuestionArgument, valueWords } from "./argument_values.ts";
import { compilePhrasing, placeholder } from "./phrasing.ts";
import type { VerifiedQuestion } from "./verified_questions.ts";
import type { Fault } from "../../../core/yaml/file_fault.ts";
import type { SettingPath } from "../../../core/yaml/value_tree.ts";

const scalar = z.union([z.string().max(200), z.number(), z.boolean()]).transform(String);
const words = z.union([scalar.transform((word) => [word]), z.array(scalar).min(1).max(100)]);

const argument = z.strictObject({
  name: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "expected a letter, then letters, digits and _").max(63),
  type: z.enum(argumentTypes).default("text"),
  description: z.string().trim().max(1_000).default(""),
  values: z.union([
    z.array(scalar).min(1).max(10_000).transform((values) =>
      values.map((value) => ({ value, words: [value] }))
    ),
    z.record(z.string(), words).transform((values) =>
      Object.entries(values).map(([value, words]) => ({ value, words: [value, ...words] }))
    ),
  ], { error: "expected a list of values, or a mapping of values to the words for them" }).optional(),
  pattern: z.string().min(1).max(200).optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  default: scalar.optional(),
});

const phrasing = z.string().min(1).max(500);

const question = z.strictObject({
  question: phrasing,
  phrasings: z.array(phrasing).max(100).default([]),
  description: z.string().trim().max(1_000).default(""),
  database: z.string().min(1).optional(),
  sql: z.string().min(1).max(20_000),
  arguments: z.array(argument).max(20).default([]),
  available_to_users: z.array(z.string().min(1)).default([]),
});

type Definition = z.output<typeof question>;

/** What a definitions file's `questions` hold; a fault of one leaves the others as they are. */
export async function readQuestions(
  section: Section,
  checks: DefinitionChecks,
): Promise<{ questions: VerifiedQuestion[]; faults: Fault[] }> {
  const { entries, faults } = readEntries(section, question);
  const questions: VerifiedQuestion[] = [];
  /** The databases in which a phrasing is taken. */
  const asked = new Map<string, (string | undefined)[]>();
  for (const { value, path } of entries) {
    const found = [
      ...argumentFaults(section, value, path),
      ...phrasingFaults(section, value, path),
    ];
    const fault = (key: string, why: string | undefined) =>
      why === undefined ? [] : [faultAt(section, [...path, key], why)];
    found.push(
      ...fault("database", whyNoDatabase(value.database, checks)),
      ...fault("sql", await whyNotRunnable(value.sql, value.arguments.map(({ name }) => name), checks)),
    );
    if (found.length === 0) {
      const read = { ...verifiedQuestion(value), database: databaseOf(value.database, checks) };
      const keys = read.phrasings.map(({ parts }) => JSON.stringify(parts));
      const twice = keys.findIndex((key) =>
        asked.get(key)?.some((database) => sharesDatabase(database, read.database))
      );
      if (twice < 0) {
        keys.forEach((key) => asked.set(key, [...asked.get(key) ?? [], read.database]));
        questions.push(read);
      } else found.push(faultAt(section, textPath(path, twice), "another question is asked the same way"));
    }
    faults.push(...found);
  }
  return { questions, faults };
}

function textPath(path: SettingPath, at: number): SettingPath {
  return at === 0 ? [...path, "question"] : [...path, "phrasings", at - 1];
}

function argumentFaults(section: Section, { arguments: its }: Definition, path: SettingPath): Fault[] {
  return its.flatMap(({ name, type, values, pattern, min, max }, at) => {
    const fault = (key: string, message: string) =>
      faultAt(section, [...path, "arguments", at, key], message);
    const found: Fault[] = [];
    if (its.findIndex((other) => other.name === name) < at) {
      found.push(fault("name", "another argument has this name"));
    }
    if (pattern !== undefined) {
      if (type !== "text" || values !== undefined) {
        found.push(fault("pattern", "only a text without values has a pattern"));
      }
      try {
        new RegExp(pattern, "u");
        // it is tried on every part of a request
        const slow = whySlow(`^(?:${pattern})$`, 2);
        if (slow !== undefined) found.push(fault("pattern", slow));
      } catch (error) {
        found.push(
          fault("pattern", `expected a regular expression: ${error instanceof Error ? error.message : ""}`),
        );
      }
    }
    const isNumeric = type === "integer" || type === "number" || type === "year";
    for (const [key, bound] of [["min", min], ["max", max]] as const) {
      if (bound !== undefined && !isNumeric) {
        found.push(fault(key, "only an integer, a number and a year have bounds"));
      }
    }
    if (values !== undefined && type !== "text") {
      found.push(fault("values", "only a text has values to choose from"));
    }
    return found;
  });
}

function phrasingFaults(section: Section, definition: Definition, path: SettingPath): Fault[] {
  const { arguments: its } = definition;
  return [definition.question, ...definition.phrasings].flatMap((text, at) => {
    const named = [...text.matchAll(placeholder)].map(([, name]) => name);
    const unknown = named.filter((name) => !its.some((argument) => argument.name === name));
    const missing = its.filter((argument) =>
      argument.default === undefined && !named.includes(argument.name)
    );
    const fault = (message: string) => faultAt(section, textPath(path, at), message);
    if (unknown.length > 0) return [fault(`there is no argument named ${unknown.join(", ")}`)];
    if (missing.length > 0) {
      const names = missing.map(({ name }) => `{${name}}`).join(", ");
      return [fault(`${names} is not in it, and has no default`)];
    }
    const isFree = its.some(({ name, values, pattern, type }) =>
      named.includes(name) && type === "text" && values === undefined && pattern === undefined
    );
    const { parts } = compilePhrasing(text, []);
    const wordCount = parts.filter((part) => part.kind === "word" || part.isOwner).length;
    if (wordCount < (isFree ? 2 : 1)) {
      const lacks = isFree ? "two words beside a text that may be anything" : "a word beside its arguments";
      return [fault(`needs ${lacks}`)];
    }
    return [];
  });
}

function verifiedQuestion(definition: Definition): Omit<VerifiedQuestion, "database"> {
  const { sql, description, available_to_users } = definition;
  const its = definition.arguments.map(({ pattern, values, ...rest }): QuestionArgument => ({
    ...rest,
    ...defined({
      pattern: pattern === undefined ? undefined : new RegExp(`^(?:${pattern})$`, "u"),
      values: values?.map(({ value, words }) => ({
        value,
        label: words[1] ?? value,
        words: words.map((word) => valueWords(tokenise(word))),
      })),
    }),
  }));
  const texts = [definition.question, ...definition.phrasings];
  return {
    kind: "question",
    name: definition.question,
    description,
    available_to_users,
    texts,
    phrasings: texts.map((text) => compilePhrasing(text, its)),
    // what ends a statement would stand before what is put after it
    sql: sql.trim().replace(/;\s*$/, ""),
    arguments: its,
  };
}
