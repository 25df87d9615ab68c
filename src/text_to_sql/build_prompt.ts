import type { Message } from "../llm/provider.ts";
import type { StatementError } from "../postgres/database.ts";
import { countTokens } from "../text/token_count.ts";
import { createFence, type Fence } from "../text/fence.ts";
import { maxReplyLength, withoutThinking } from "./read_reply.ts";
import { questionMark, systemPrompt } from "./system_prompt.ts";
import type { Turn } from "./turns.ts";

export interface PromptInput {
  readonly question: string;
  readonly excerpt: { readonly text: string; readonly omittedTables: number };
  /** Oldest first. */
  readonly turns: readonly Turn[];
  readonly database: string;
  readonly now: Date;
  /** Of the turns, the newest that fit are shown. */
  readonly maxHistoryTokens: number;
  /** Gives a fence's mark, for tests. */
  readonly fence?: () => string;
}

export interface Prompt {
  readonly system: string;
  readonly messages: readonly Message[];
}

/**
 * What a model is asked for a statement: the earlier turns, then the schema and the request. Whatever a database or
 * somebody else wrote is fenced.
 */
export function buildPrompt(input: PromptInput): Prompt {
  const fence = createFence(input.fence);
  const turns = newestWithin(input.turns, input.maxHistoryTokens);
  return {
    system: systemPrompt,
    messages: [
      ...turns.flatMap((turn) => turnMessages(turn, fence)),
      { role: "user", content: requestText(input, fence) },
    ],
  };
}

const longestReply = 16_000;

/** Continues a conversation with a reply that does not answer the request and with what is wrong with it. */
export function repairMessages(
  previous: readonly Message[],
  reply: string,
  error: StatementError,
  fence: Fence = createFence(),
): readonly Message[] {
  // a provider refuses an empty message, and has no use for thoughts that it sees again
  const said = withoutThinking(reply.slice(0, maxReplyLength)).trim().slice(0, longestReply) || "(no reply)";
  return [
    ...previous,
    { role: "assistant", content: said },
    {
      role: "user",
      content: `That did not work:\n${fence.wrap(errorText(error))}\n\n` +
        "Reply with a corrected statement for the same request, in the form required, or with one line that begins " +
        `with ${questionMark} where the schema lacks what it needs.`,
    },
  ];
}

function newestWithin(turns: readonly Turn[], maxTokens: number): readonly Turn[] {
  let left = maxTokens;
  let first = turns.length;
  for (const turn of turns.toReversed()) {
    left -= countTokens(turn.question) + countTokens(assistantText(turn));
    if (left < 0) break;
    first--;
  }
  return turns.slice(first);
}

function turnMessages(turn: Turn, fence: Fence): Message[] {
  return [
    { role: "user", content: `An earlier request:\n${fence.wrap(turn.question)}` },
    { role: "assistant", content: assistantText(turn) },
  ];
}

function assistantText({ reply }: Turn): string {
  return reply.kind === "statement" ? `\`\`\`sql\n${reply.sql}\n\`\`\`` : `${questionMark} ${reply.text}`;
}

function requestText(input: PromptInput, fence: Fence): string {
  const { excerpt: { text, omittedTables }, question, database, now } = input;
  const omitted = omittedTables === 0
    ? ""
    : ` (the part that fits the request; ${omittedTables} more tables are not described)`;
  return [
    `Database ${JSON.stringify(database)}, PostgreSQL. It is ${timeText(now)}.`,
    `Schema${omitted}:\n${fence.wrap(text === "" ? "There is no table to show." : text)}`,
    `The request:\n${question}`,
  ].join("\n\n");
}

/** As in `Saturday, 2026-11-21 17:53 (UTC)`. */
function timeText(now: Date): string {
  const weekday = now.toLocaleDateString("en", { weekday: "long", timeZone: "UTC" });
  return `${weekday}, ${now.toISOString().slice(0, 16).replace("T", " ")} (UTC)`;
}

const longestError = 4000;

function errorText({ message, sqlState, line, hint }: StatementError): string {
  return [
    `ERROR: ${message.slice(0, longestError)}`,
    ...(sqlState === undefined ? [] : [`SQLSTATE: ${sqlState}`]),
    ...(line === undefined ? [] : [`LINE: ${line} of the statement`]),
    ...(hint === undefined ? [] : [`HINT: ${hint}`]),
  ].join("\n");
}
