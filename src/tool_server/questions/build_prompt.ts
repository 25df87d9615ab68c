import type { Message } from "../../llm/provider.ts";
import type { StatementError } from "../../postgres/database.ts";
import { cutWords } from "../../postgres/read/error_words.ts";
import { countTokens } from "../../text/token_count.ts";
import { createFence, type Fence } from "../../text/fence.ts";
import { maxReplyLength, withoutThinking } from "./read_reply.ts";
import { questionMark, systemPrompt } from "./system_prompt.ts";
import type { SessionFacts } from "../../postgres/catalog/catalog.ts";
import type { MarkOf } from "./schema_mark.ts";
import type { Turn } from "./history/turns.ts";

export interface PromptInput {
  readonly question: string;
  readonly excerpt: { readonly text: string; readonly omittedTables: number };
  /** Oldest first. */
  readonly turns: readonly Turn[];
  readonly database: string;
  /** Where it is not known, no version is told, and the time in UTC. */
  readonly session?: SessionFacts | undefined;
  readonly now: Date;
  /** Of the turns, the newest that fit are shown. */
  readonly maxHistoryTokens: number;
  /** Gives the mark of the schema's fence; a random one where absent. */
  readonly schemaMark?: MarkOf;
  /** Gives the mark of every other fence, for tests. */
  readonly fence?: () => string;
}

export interface Prompt {
  readonly system: string;
  readonly messages: readonly Message[];
}

/**
 * What a model is asked for a statement: the schema, the earlier turns, then the time and the request, so that what varies
 * most comes last. Whatever a database or somebody else wrote is fenced.
 */
export function buildPrompt(input: PromptInput): Prompt {
  const fence = createFence(input.fence);
  const turns = newestWithin(input.turns, input.maxHistoryTokens);
  const messages = [...turns.flatMap((turn) => turnMessages(turn, fence)), requestMessage(input)];
  // in the first of them, since some providers take no two messages of one side in a row
  return {
    system: systemPrompt,
    messages: messages.map(({ role, content }, at) => ({
      role,
      content: at === 0 ? `${schemaText(input)}\n\n${content}` : content,
    })),
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
  const said = withoutThinking(reply.slice(0, maxReplyLength)).trim().slice(0, longestReply).toWellFormed() ||
    "(no reply)";
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

function schemaText(input: PromptInput): string {
  const { excerpt: { text, omittedTables }, database, session, schemaMark, fence: random } = input;
  const shown = text === "" ? "There is no table to show." : text;
  const fence = createFence(schemaMark === undefined ? random : () => schemaMark(shown));
  const omitted = omittedTables === 0
    ? ""
    : ` (the part that fits the request; ${omittedTables} more tables are not described)`;
  const version = session === undefined ? "" : ` ${session.version}`;
  return `Database ${JSON.stringify(database)}, PostgreSQL${version}.\n\nSchema${omitted}:\n${
    fence.wrap(shown)
  }`;
}

function requestMessage({ question, session, now }: PromptInput): Message {
  return { role: "user", content: `It is ${timeText(now, session)}.\n\nThe request:\n${question}` };
}

/** As in `Saturday, 2026-11-21 18:53 in the session's time zone, "Europe/Berlin"`. */
function timeText(now: Date, session: SessionFacts | undefined): string {
  const { timeZone, utcOffsetSeconds } = session ?? { timeZone: "UTC", utcOffsetSeconds: 0 };
  const there = new Date(now.getTime() + 1000 * utcOffsetSeconds);
  const weekday = there.toLocaleDateString("en", { weekday: "long", timeZone: "UTC" });
  const time = there.toISOString().slice(0, 16).replace("T", " ");
  return `${weekday}, ${time} in the session's time zone, ${JSON.stringify(timeZone)}`;
}

function errorText({ message, sqlState, line, hint }: StatementError): string {
  return [
    `ERROR: ${cutWords(message)}`,
    ...(sqlState === undefined ? [] : [`SQLSTATE: ${sqlState}`]),
    ...(line === undefined ? [] : [`LINE: ${line} of the statement`]),
    ...(hint === undefined ? [] : [`HINT: ${cutWords(hint)}`]),
  ].join("\n");
}
