import { z } from "zod";
import type { JsonObject } from "../call_context.ts";

/** A question to the user of a call's client, as a form of one page (MCP, Elicitation, "form"). */
export interface UserQuestion {
  /** The user's answer comes back under it, with the call that is made again. */
  readonly key: string;
  readonly message: string;
  readonly form: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, FormField>>;
    readonly required: readonly string[];
  };
}

interface FormField {
  readonly type: "string";
  readonly title: string;
  readonly enum?: readonly string[];
  readonly maxLength?: number;
}

/** How often one request is asked back about; whoever calls on is answered in text. */
const maxRounds = 3;
/** Of an answer, in UTF-16 units. */
const maxAnswerLength = 1000;
const maxOptions = 20;
const maxOptionLength = 100;

/** What the user of a call said to what earlier rounds of it asked. */
type UserAnswer =
  | { readonly kind: "answered" | "unanswered"; readonly round: number; readonly text?: string }
  /** The call shall not run. */
  | { readonly kind: "ended"; readonly reason: string };

/**
 * Reads what came back with a call. All of it is from outside. Of several answers the one to the last question counts: the
 * earlier ones are in the caller's history. What is no answer is as none, and the question is asked once more.
 */
export function readUserAnswer(answers: JsonObject = {}): UserAnswer {
  for (let round = maxRounds; round > 0; round--) {
    const given = answers[keyOf(round)];
    if (given === undefined) continue;
    const { data } = elicitResult.safeParse(given);
    if (data === undefined) return { kind: "unanswered", round };
    if (data.action !== "accept") return { kind: "ended", reason: reasons[data.action] };
    const text = [data.content?.choice, data.content?.answer].map((part) => part?.trim() ?? "")
      .filter((part) => part !== "").join("; ");
    if (text === "") return { kind: "unanswered", round };
    if (text.length > maxAnswerLength) {
      return {
        kind: "ended",
        reason: `Cannot use the answer to the question: it has ${text.length} characters, ` +
          `and at most ${maxAnswerLength} are read`,
      };
    }
    return { kind: "answered", round, text };
  }
  return { kind: "unanswered", round: 0 };
}

const reasons = {
  decline: "The request was not answered: the user declined to answer the question that it needs. " +
    "Do not send it again as it is; ask for something more precise, or go on without",
  cancel: "The request was not answered: the user closed the question that it needs without an answer. " +
    "Ask the user before you send it again",
} as const;

const elicitResult = z.object({
  action: z.enum(["accept", "decline", "cancel"]),
  content: z.object({ choice: z.string().optional(), answer: z.string().optional() }).nullish(),
});

/** The question of a model as a form; undefined where enough was asked. */
export function askModelsQuestion(
  words: string,
  { round }: { readonly round: number },
): UserQuestion | undefined {
  if (round >= maxRounds) return undefined;
  const options = listedOptions(words);
  const choice = { type: "string", title: "Choice", enum: options } as const;
  const title = options.length > 1 ? "Or in your words" : "Answer";
  const answer = { type: "string", title, maxLength: maxAnswerLength } as const;
  return {
    key: keyOf(round + 1),
    // the model has read what others wrote, so its words may be theirs
    message:
      "The model that writes the SQL statement asks, in its own words. Enter no passwords or keys.\n\n" +
      shown(words),
    form: options.length > 1
      ? { type: "object", properties: { choice, answer }, required: [] }
      : { type: "object", properties: { answer }, required: ["answer"] },
  };
}

// the round stands in the key, so that nothing is kept between two calls, and nothing has to be believed
function keyOf(round: number): string {
  return `question_${round}`;
}

/** What a model lists under its question, each on a line after a dash. */
function listedOptions(words: string): readonly string[] {
  const listed = [...words.matchAll(/^[ \t]*[-*•][ \t]+(\S.*)$/gm)].map(([, option = ""]) =>
    shown(option).trim()
  );
  const options = [...new Set(listed)].filter((option) => option !== "" && option.length <= maxOptionLength);
  return options.length > maxOptions ? [] : options;
}

/** Without characters that steer a terminal or turn a line around. */
function shown(words: string): string {
  return words.replace(/[^\P{C}\n\t]/gu, "");
}

/** A request and what its user answered, as one request in words. The words around must name nothing that a table may be called. */
export function withAnswer(request: string, answer: string | undefined): string {
  return answer === undefined ? request : `${request}\n\nTo what you asked: ${answer}`;
}
