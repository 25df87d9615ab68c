import type { Completion } from "../../llm/provider.ts";
import type { HistoryEntry } from "./history.ts";

/**
 * What a model's reply holds: a statement, a question back, or neither. Without either, `none` is a complete reply
 * and `cut` one that was cut off. `empty` and `used_up` are the same for a reply that has thoughts only.
 */
export type Reply = HistoryEntry["reply"] | { readonly kind: "none" | "cut" | "used_up" | "empty" };

/** How much of a reply is looked at, in UTF-16 units; a longer one is cut there. */
export const maxReplyLength = 200_000;

/**
 * Finds the statement or the question back in a model's reply, which is seldom in the very form that was asked for.
 * Thoughts of reasoning models are ignored. Of several statements the last one that parses is taken, since models
 * correct themselves. A statement wins over a question, since models often repeat the request before it. Where there
 * is neither, a statement with a fault is taken, so that the model gets PostgreSQL's error. Takes linear time.
 *
 * Half a statement may parse and give other rows. From a reply that was cut off, only complete blocks are read.
 *
 * @param parses whether PostgreSQL's grammar takes a text
 */
export async function readModelReply(
  reply: Pick<Completion, "text" | "isCut">,
  parses: (sql: string) => boolean | Promise<boolean>,
): Promise<Reply> {
  const answer = withoutThinking(reply.text.slice(0, maxReplyLength));
  const isCut = reply.isCut || reply.text.length > maxReplyLength;
  if (answer.trim() === "") return { kind: isCut ? "used_up" : "empty" };
  const blocks = lastBlocks(answer).filter(({ isClosed }) => isClosed || !isCut).map(({ text }) => text);
  let left = maxParsed;
  async function firstRead(texts: readonly string[]): Promise<string | undefined> {
    for (const sql of texts) {
      if (!beginsWith(readKeyword, sql) || sql.length > left) continue;
      left -= sql.length;
      if (await parses(sql)) return sql;
    }
    return undefined;
  }
  const faulty = blocks.find((block) => beginsWith(anyKeyword, block));
  if (isCut) {
    const whole = await firstRead(blocks) ?? faulty;
    return whole === undefined ? { kind: "cut" } : statement(whole);
  }
  const sql = await firstRead(blocks) ?? await firstRead(bareTexts(answer));
  if (sql !== undefined) return statement(sql);
  const fromJson = [...blocks, braced(answer)].map(readJson).find((reply) => reply !== undefined);
  if (fromJson !== undefined) return fromJson;
  const marked = findMarkedQuestion(answer);
  if (marked !== undefined) return question(marked);
  if (faulty !== undefined) return statement(faulty);
  if (beginsWith(bareRead, answer)) return statement(answer);
  return isPlainQuestion(answer) ? question(answer) : { kind: "none" };
}

// each statement that is tried may be parsed, and a bare one may be all of the reply
const maxBlocks = 12;
/** UTF-16 units of a reply's texts that are parsed: a check of 100,000 may take a second. */
const maxParsed = 50_000;
const maxBareStarts = 3;

const readKeyword = /^(?:select|with|values|table)\b/i;
/** How a text begins that was meant as a statement, a write too: the model is told what is wrong with it. */
const anyKeyword =
  /^(?:select|with|values|table|explain|show|insert|update|delete|merge|create|alter|drop|truncate|copy)\b/i;
/** How a read begins where there is no fence to tell it from a sentence. */
const bareRead = /^(?:select\b|with\s+(?:recursive\s+)?[\w"]+\s*(?:\(|as\b))/i;
const beforeStatement = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|\()+/;

function beginsWith(keyword: RegExp, sql: string): boolean {
  return keyword.test(sql.replace(beforeStatement, ""));
}

function statement(sql: string): Reply {
  return { kind: "statement", sql: withoutEnd(sql).trimStart() };
}

/** A text without the marks and blanks after its last statement. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /[;\s`]/.test(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

const longestQuestion = 2000;

function question(text: string): Reply {
  return { kind: "question", text: text.slice(0, longestQuestion).trim() };
}

/** An opening tag stands at the start of a line; a quote or % after an end says that a statement looks for the tag. */
const thinkingTags =
  /^[ \t]*<(?:think|thinking|thought|reasoning)>|<\/(?:think|thinking|thought|reasoning)>(?!['%])/gim;

/**
 * A reply without the parts in which a reasoning model thinks aloud. An opening tag without its end takes all that
 * follows with it, an end without its opening all that went before.
 */
export function withoutThinking(text: string): string {
  let kept = "";
  let from = 0;
  let isThinking = false;
  for (const { 0: tag, index } of text.matchAll(thinkingTags)) {
    const isEnd = tag.startsWith("</");
    if (isEnd) from = index + tag.length;
    if (!isEnd && !isThinking) kept += text.slice(from, index);
    isThinking = !isEnd;
  }
  return isThinking ? kept : kept + text.slice(from);
}

const languages = /^(?:sql|postgres(?:ql)?|pgsql|plpgsql|psql|json|text|plaintext)(?=\s|$)/i;

interface Block {
  readonly text: string;
  readonly isClosed: boolean;
}

const fenceLine = /^[ \t]*`{3,}([^\n]*)/gm;

/**
 * What the last fenced blocks hold, the last one first, without a language's name. It may lack its end. A fence begins a
 * line, since one within a line may be part of a statement; with text after it, it begins a block, within another too.
 */
function lastBlocks(text: string): readonly Block[] {
  const blocks: Block[] = [];
  let start: number | undefined;
  for (const { 0: line, 1: after = "", index } of text.matchAll(fenceLine)) {
    const isInBlock = start !== undefined;
    if (isInBlock) blocks.push({ text: text.slice(start, index), isClosed: true });
    start = undefined;
    const rest = after.trim();
    if (isInBlock && rest === "") continue;
    if (rest.endsWith("```")) blocks.push({ text: withoutEnd(rest), isClosed: true });
    else start = index + line.length - after.length;
  }
  if (start !== undefined) blocks.push({ text: text.slice(start), isClosed: false });
  return blocks.slice(-maxBlocks).toReversed().map((block) => ({
    ...block,
    text: block.text.replace(languages, "").trim(),
  }));
}

/** Where a line, or what follows a colon in it, may begin a statement that is not fenced. */
const bareStart = /^[ \t>*`]{0,20}(?:[^\n:]{0,60}:[ \t*`]{0,5})?(?=\(*(?:select|with|values)\b)/gim;

/** Texts that may be a statement without a fence; what follows it may be prose. */
function bareTexts(text: string): readonly string[] {
  const starts = text.matchAll(bareStart).take(maxBareStarts).map(({ 0: lead, index }) =>
    index + lead.length
  );
  return [...starts].flatMap((start) => {
    const rest = text.slice(start);
    const ends = [
      rest.length,
      rest.lastIndexOf(";"),
      rest.search(/;[ \t]*\r?\n/),
      rest.search(/\n[ \t]*\r?\n/),
      rest.indexOf("`"),
    ];
    return ends.filter((end) => end > 0).map((end) => rest.slice(0, end));
  });
}

/** From the first brace to the last one. */
function braced(text: string): string {
  return text.slice(Math.max(0, text.indexOf("{")), text.lastIndexOf("}") + 1);
}

/** An object with the statement or the question as a field, as some models are trained to write. */
function readJson(text: string): Reply | undefined {
  const fields = parseObject(text);
  const field = (...names: readonly string[]) =>
    names.map((name) => fields[name]).find((value) => typeof value === "string" && value.trim() !== "");
  const sql = field("sql", "query", "statement");
  if (typeof sql === "string") return statement(sql);
  const asked = field("question");
  return typeof asked === "string" ? question(asked) : undefined;
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

/** In capitals anywhere; otherwise at the start of a line, decorated or not. */
const questionMarks = [/\bQUESTION[ \t*_`]*[:：]/, /^[ \t>*_#`-]*question[ \t*_`]*[:：]/im];

function findMarkedQuestion(text: string): string | undefined {
  for (const mark of questionMarks) {
    const found = mark.exec(text);
    if (found === null) continue;
    const [asked = ""] = text.slice(found.index + found[0].length).split("```", 1);
    const plain = asked.replace(/^[\s*_`]+/, "").slice(0, longestQuestion).replace(/[\s*_`]+$/, "");
    if (plain !== "") return plain;
  }
  return undefined;
}

/** A short reply that ends by asking is a question back, marked or not. */
function isPlainQuestion(text: string): boolean {
  const plain = text.trim();
  return plain.length <= longestQuestion && /[?？]$/.test(plain);
}
