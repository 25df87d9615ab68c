import { defined } from "../core/defined.ts";
import { z } from "@hono/zod-openapi";
import type { Principal } from "../core/principal.ts";
import type { Span } from "../core/tracing.ts";
import { findExcess } from "../http/request_body.ts";
import type { Message, OnUsage } from "../llm/provider.ts";
import { type Logic, logics, type Operator, operators, queryLimits as limits } from "./query_limits.ts";

/** What a pipeline is asked. `readQuery` makes it of a request's body, within all bounds. */
export interface PipelineQuery {
  readonly query: string;
  /** Documents to retrieve, in place of the pipeline's own number. */
  readonly topN?: number;
  /** Joined to the pipeline's own filter by AND. */
  readonly filter?: Filter;
  /** Searches by vectors alone. */
  readonly disableHybrid: boolean;
  /** Least cosine similarity of a document, from 0 to 1, in place of the pipeline's own. */
  readonly minSimilarity?: number;
  /** The conversation so far, oldest first. */
  readonly messages: readonly Message[];
  /** To whom bounds count it: questions at once, and statements that PostgreSQL does not stop. */
  readonly caller?: Principal;
  /** Optional; none where it is not traced. */
  readonly span?: Span | undefined;
  /** Aborts where the client leaves or the request's time is over. */
  readonly signal: AbortSignal;
  /** Told what its providers used; must not throw. */
  readonly onUsage?: OnUsage | undefined;
  /** Whether sources are shown, so that what their tables say of them is read. */
  readonly showsSources?: boolean;
  /** Told of each stage as it begins; must not throw. */
  readonly onStage?: (stage: QueryStage) => void;
}

/** What is done for a question, in this order; reranking only where the pipeline reranks. */
export type QueryStage = "retrieving" | "reranking" | "answering";

export interface Condition {
  /** A column's name, or a path into a JSONB column as in `meta->>kind` and `meta.owner.name`. */
  readonly column: string;
  readonly operator: Operator;
  /** A list for IN and NOT IN; absent for IS NULL and IS NOT NULL. */
  readonly value?: unknown;
}

/** Conditions joined by `logic`. */
export interface Filter {
  readonly conditions: readonly Condition[];
  readonly logic: Logic;
}

export type QueryRead =
  | {
    readonly kind: "query";
    readonly query: Omit<PipelineQuery, "signal" | "onStage" | "onUsage">;
    readonly stream: boolean;
    /** Whether sources are asked for. */
    readonly includeSources: boolean;
  }
  /** Names each field at fault and what was expected of it. */
  | { readonly kind: "fault"; readonly message: string };

/** Reads the body of a query, within all the bounds that can be checked without a database. */
export function readQuery(text: string): QueryRead {
  const parsed = parseBody(text);
  if (parsed.kind === "fault") return parsed;
  const setting = settingIn(parsed.body);
  if (setting !== undefined) {
    return { kind: "fault", message: `${setting}: expected none; it is a setting of the pipeline` };
  }
  const result = queryRequest.safeParse(parsed.body);
  if (!result.success) return { kind: "fault", message: faultText(result.error.issues) };
  const { query, stream, top_n: topN, filter, include_sources, disable_hybrid, messages } = result.data;
  const { min_similarity: minSimilarity } = result.data;
  return {
    kind: "query",
    query: {
      query,
      ...defined({ topN, minSimilarity }),
      ...(filter !== undefined &&
        { filter: { conditions: filter.conditions.map(compact), logic: filter.logic ?? "AND" } }),
      disableHybrid: disable_hybrid ?? false,
      messages: messages ?? [],
    },
    stream: stream ?? false,
    includeSources: include_sources ?? false,
  };
}

/** A body's JSON. @param parse throws where it is not as `expected` */
export function parseBody(
  text: string,
  parse = parseExactJson,
  expected = "JSON",
): { readonly kind: "json"; readonly body: unknown } | { readonly kind: "fault"; readonly message: string } {
  const excess = findExcess(text);
  if (excess !== undefined) return { kind: "fault", message: `the body: ${excess}` };
  try {
    return { kind: "json", body: parse(text) };
  } catch {
    return { kind: "fault", message: `the body: expected ${expected}` };
  }
}

/** Settings of a pipeline that a request may seem to change, and would be answered without. */
const pipelineSettings = (
  "allow_include_sources answer_threshold bm25_b bm25_k1 chunks embedding_llm hybrid_enabled rag_llm rerank " +
  "rewrite_follow_ups search system_prompt tables token_budget vector_weight"
).split(" ");

function settingIn(body: unknown): string | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const given = new Map(Object.entries(body));
  return pipelineSettings.find((name) => (given.get(name) ?? undefined) !== undefined);
}

/** Without the value that an operator does not look at. */
function compact({ column, operator, value }: Condition): Condition {
  return takesNoValue(operator) ? { column, operator } : { column, operator, value };
}

const faultsShown = 5;

/** Names the first of what is wrong with a body. */
export function faultText(issues: readonly z.core.$ZodIssue[]): string {
  const shown = issues.slice(0, faultsShown).map(({ path, message }) => `${placeOf(path)}: ${message}`);
  const rest = issues.length - shown.length;
  return shown.join("; ") + (rest > 0 ? `; and ${rest} more` : "");
}

function placeOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return "the body";
  return path.map((key) => typeof key === "number" ? `[${key}]` : `.${String(key)}`).join("").slice(1);
}

// null stands for a field that is left out: programs that serialise optional fields send it
export const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => value ?? undefined, schema.optional());

export const flag = (description: string) =>
  optional(z.boolean({ error: "expected true or false" })).openapi({ description, default: false });

/** Text with something in it, and without the one character that PostgreSQL has no place for. */
export function filledText(max: number) {
  const error = `expected a text of 1 to ${max} characters, not blank and without NUL`;
  return z.string({ error })
    .refine((text) => text.trim() !== "" && !text.includes("\0") && hasAtMost(text, max), { error })
    .openapi({ minLength: 1, maxLength: max, pattern: "\\S" });
}

// JSON Schema counts code points (Validation, section 6.3.1), `length` counts halves of the rarer ones twice
function hasAtMost(text: string, max: number): boolean {
  if (text.length <= max) return true;
  return text.length <= 2 * max && [...text].length <= max;
}

// a list that is too long is not looked into: a body can hold a hundred thousand wrong items
export function boundedList<T extends z.ZodType>(item: T, min: number, max: number) {
  const error = min === 0 ? `expected a list of at most ${max}` : `expected a list of ${min} to ${max}`;
  return z.array(item, { error }).min(min, { error }).max(max, { error });
}

/** One of some words, in any case. */
const choice = <const T extends string>(words: readonly T[]) =>
  z.preprocess(
    (value) => typeof value === "string" ? value.toUpperCase() : value,
    z.enum(words, { error: `expected one of ${words.join(", ")}` }),
  );

const takesNoValue = (operator: string) => operator === "IS NULL" || operator === "IS NOT NULL";
const takesList = (operator: string) => operator === "IN" || operator === "NOT IN";

const condition = z.object({
  column: filledText(limits.columnCharacters).openapi({
    description:
      "A column that the pipeline lets requests filter by, or a path into a JSON column, without NUL characters",
    example: "product",
  }),
  operator: choice(operators).openapi({ description: "In upper or lower case", example: "=" }),
  value: z.unknown().optional().openapi({
    description:
      `What the column is compared with; its type follows the column. A list for IN and NOT IN, of at most ` +
      `${limits.values}; left out for IS NULL and IS NOT NULL, needed elsewhere. A text has at most ` +
      `${limits.valueCharacters} characters, a pattern of LIKE and ILIKE ${limits.patternCharacters}`,
    maxItems: limits.values,
    example: "pgAdmin",
  }),
}, { error: "expected an object" }).superRefine(({ operator, value }, context) => {
  const message = valueFault(operator, value ?? undefined);
  if (message !== undefined) context.addIssue({ code: "custom", path: ["value"], message });
}).openapi("Condition", {
  oneOf: [
    { properties: { operator: { enum: operators.filter(takesNoValue) } } },
    {
      required: ["value"],
      properties: { operator: { enum: operators.filter(takesList) }, value: { type: "array", items: {} } },
    },
    {
      required: ["value"],
      properties: {
        operator: { enum: operators.filter((each) => !takesNoValue(each) && !takesList(each)) },
        value: { not: { enum: [null] } },
      },
    },
  ],
});

function valueFault(operator: string, value: unknown): string | undefined {
  if (takesNoValue(operator)) return undefined;
  const isList = Array.isArray(value);
  if (!isList && takesList(operator)) return `expected a list for ${operator}`;
  if (value === undefined) return `expected a value for ${operator}`;
  if (isList && value.length > limits.values) return `expected a list of at most ${limits.values}`;
  if (isDeeperThan(limits.valueLevels, value)) return `expected at most ${limits.valueLevels} levels`;
  // the time that a pattern takes grows with its length times the text's
  const max = operator.endsWith("LIKE") ? limits.patternCharacters : limits.valueCharacters;
  const texts = [value].flat().filter((item) => typeof item === "string");
  return texts.every((text) => hasAtMost(text, max))
    ? undefined
    : `expected a text of at most ${max} characters for ${operator}`;
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(levels - 1, item));
}

const filter = z.object({
  conditions: boundedList(condition, 1, limits.conditions),
  logic: optional(choice(logics)).openapi({
    description: "What joins the conditions, in upper or lower case",
    default: "AND",
  }),
}, { error: "expected an object with conditions" }).openapi("Filter", {
  description: "Which documents to search; joined by AND to the pipeline's own filter",
});

const message = z.object({
  role: z.enum(["user", "assistant"], { error: "expected user or assistant" }),
  content: z.string({ error: "expected a text" }),
}, { error: "expected an object with role and content" }).openapi("Message");

const topNError = { error: `expected an integer from 1 to ${limits.topN}` };

const similarityError = { error: "expected a number from 0 to 1" };

/** The body of a query. Fields that are not listed are ignored, but for those that name a setting of the pipeline. */
export const queryRequest = z.object({
  query: filledText(limits.queryCharacters).openapi({
    description: "The question, without NUL characters",
    example: "How do I configure backups?",
  }),
  stream: flag("Answer with server-sent events"),
  top_n: optional(z.int(topNError).min(1, topNError).max(limits.topN, topNError)).openapi({
    description: "Documents to retrieve, in place of the pipeline's own number",
    example: 5,
  }),
  filter: optional(filter),
  include_sources: flag("Answer with the documents too, where the pipeline permits it"),
  disable_hybrid: flag("Search by vectors only, without keywords"),
  min_similarity: optional(z.number(similarityError).min(0, similarityError).max(1, similarityError)).openapi(
    {
      description: "Least similarity of a document to the question, in place of the pipeline's own",
      example: 0.3,
    },
  ),
  messages: optional(boundedList(message, 0, limits.messages)).describe(
    "Earlier turns of the conversation, oldest first",
  ),
}, { error: "expected a JSON object" }).openapi("QueryRequest");

/**
 * Reads JSON as `JSON.parse` does, but gives a number that JavaScript's numbers do not hold as the text that it was
 * written in: an id such as 9007199254740993 must not become its neighbour.
 *
 * @throws {SyntaxError} where the text is no JSON
 */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!longNumber.test(text)) return value;
  // a reviver would do the same, and take half a second for a megabyte of short numbers
  return JSON.parse(text.replace(stringOrLongNumber, quoteInexact));
}

// a number of up to 15 digits is written back as it was read
const longNumber = /\d[\d.]{15}/;

// RFC 8259, sections 6 and 7
const stringOrLongNumber = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?=\d[\d.]{15})\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function quoteInexact(token: string): string {
  return token.startsWith('"') || String(Number(token)) === token ? token : `"${token}"`;
}
