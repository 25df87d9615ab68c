import { AppError, type ErrorCode } from "../../core/app_error.ts";
import {
  changeYamlText,
  type CredentialEntry,
  type CredentialField,
  type CredentialText,
  type EntryChange,
  type FieldValue,
  markRepeatedIds,
  parseCredentialText,
  readEntries,
} from "./yaml_entries.ts";
import { stringify } from "yaml";
import { yieldToEventLoop } from "../../core/async/yield.ts";

/** In characters; the YAML parser holds up other tasks for some twenty milliseconds with a text so long. */
const longestTextHere = 32_768;

/**
 * The entries under a file's one top key, as readEntries() gives them, without holding up other tasks: by lines where the
 * layout is plain, else by the YAML parser, which does a long text in a worker.
 *
 * @throws AppError as readEntries
 */
export async function loadEntries(
  file: CredentialText,
  section: string,
): Promise<readonly CredentialEntry[]> {
  const plain = await readPlainLayout(file.text, section);
  if (plain !== undefined) return markRepeatedIds(plain);
  if (file.text.length > longestTextHere) return (await askWorker({ file, section })).entries;
  return readEntries(parseCredentialText(file), section);
}

/**
 * A file's text with fields of its entries set, without holding up other tasks. Comments, order and, in the plain
 * layout, every other character stay. Each id may be there once.
 *
 * @throws AppError as changeYamlText
 */
export async function changeEntries(
  file: CredentialText,
  section: string,
  changes: readonly EntryChange[],
): Promise<string> {
  const plain = await readPlainLayout(file.text, section);
  if (plain !== undefined) return changePlainText(file, plain, changes);
  if (file.text.length > longestTextHere) return (await askWorker({ file, section, changes })).text;
  return changeYamlText(file, section, changes);
}

/** What `credential_worker.ts` is asked, once in its life: to read a text's entries, or to change some. */
export interface CredentialRequest {
  readonly file: CredentialText;
  readonly section: string;
  readonly changes?: readonly EntryChange[];
}

/** Any number of `entries`, then `done` with the text, or one `failed`. */
export type CredentialReply =
  | { readonly kind: "entries"; readonly entries: readonly CredentialEntry[] }
  | { readonly kind: "done"; readonly text: string }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

async function askWorker(request: CredentialRequest): Promise<{ entries: CredentialEntry[]; text: string }> {
  // all that it needs comes in messages; the parser looks at two variables, and fails where it may not
  const env = ["LOG_TOKENS", "LOG_STREAM"];
  const worker = new Worker(import.meta.resolve("./credential_worker.ts"), {
    type: "module",
    deno: { permissions: { env, ffi: false, net: false, read: false, run: false, sys: false, write: false } },
  });
  const { port1: port, port2: workerPort } = new MessageChannel();
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const entries: CredentialEntry[] = [];
  port.onmessage = ({ data: reply }: MessageEvent<CredentialReply>) => {
    if (reply.kind === "entries") entries.push(...reply.entries);
    else if (reply.kind === "done") resolve(reply.text);
    else reject(new AppError(reply.code, reply.message));
  };
  worker.onerror = (event) => {
    event.preventDefault();
    const { path } = request.file;
    reject(new AppError("internal", `Cannot read ${path}: its worker failed`, { cause: event.message }));
  };
  worker.postMessage(request, [workerPort]);
  try {
    return { text: await promise, entries };
  } finally {
    port.close();
    worker.terminate();
  }
}

/** An entry with the part of the text that it takes up, from its key's line to the end of its last field's line. */
interface PlainEntry extends CredentialEntry {
  readonly start: number;
  readonly end: number;
  /** Spaces before each of its fields. */
  readonly indent: number;
}

interface OpenEntry extends PlainEntry {
  readonly fields: Map<string, CredentialField>;
  end: number;
  indent: number;
}

/** A line that is neither empty nor a comment. */
interface PlainLine extends Pick<PlainEntry, "start" | "end" | "indent"> {
  readonly number: number;
  readonly pair: PlainPair | undefined;
}

/** A key and what stands after its colon. */
interface PlainPair {
  readonly key: string;
  readonly rest: string;
}

/**
 * Reads the layout that credential files nearly always have, many times as fast as a YAML parser: one mapping from id
 * to entry, every key and value on a line of its own, comments and empty lines anywhere. What it accepts means exactly
 * what it means in YAML 1.2; undefined for everything else, which is left to the parser. Other tasks run in between.
 */
export async function readPlainLayout(text: string, section: string): Promise<PlainEntry[] | undefined> {
  if (unusualCharacter.test(text)) return undefined;
  const lines = significantLines(text);
  const top = lines.next();
  if (top.done) return [];
  const { indent, pair } = top.value;
  if (indent !== 0 || pair?.key !== section || !isEmpty(pair.rest)) return undefined;
  const entries: OpenEntry[] = [];
  let entryIndent: number | undefined;
  for (const line of lines) {
    if (line.number % linesAtOnce === 0) await yieldToEventLoop();
    if (line.pair === undefined) return undefined;
    entryIndent ??= line.indent;
    const entry = entries.at(-1);
    if (line.indent === entryIndent) {
      if (entryIndent === 0 || entry?.fields.size === 0 || !isEmpty(line.pair.rest)) {
        return undefined;
      }
      const { number, start, end } = line;
      entries.push({ id: line.pair.key, line: number, fields: new Map(), faults: [], start, end, indent: 0 });
    } else if (entry === undefined || line.indent < entryIndent || !addField(entry, line, line.pair)) {
      return undefined;
    }
  }
  return entries.at(-1)?.fields.size === 0 ? undefined : entries;
}

/**
 * The text with fields set, of entries that `readPlainLayout` gave; every other character stays.
 *
 * @throws AppError `not_found` for an id that is not there
 */
function changePlainText(
  file: CredentialText,
  entries: readonly PlainEntry[],
  changes: readonly EntryChange[],
): string {
  const byId = new Map(entries.toReversed().map((entry) => [entry.id, entry]));
  const places = changes.map((change) => {
    const entry = byId.get(change.id);
    if (entry !== undefined) return { entry, change };
    throw new AppError(
      "not_found",
      `Cannot change ${JSON.stringify(change.id)} in ${file.path}: the file has no such entry`,
    );
  });
  const pieces: string[] = [];
  let copied = 0;
  for (const { entry, change } of places.toSorted((a, b) => a.entry.start - b.entry.start)) {
    pieces.push(file.text.slice(copied, entry.start), changePlainEntry(file.text, entry, change));
    copied = entry.end;
  }
  return pieces.join("") + file.text.slice(copied);
}

// these take two or three milliseconds
const linesAtOnce = 500;

// what the YAML grammar forbids, breaks lines at or treats in a way of its own, tabs and carriage returns among them
const unusualCharacter =
  /[^\n\x20-\x7e\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\u{10000}-\u{10ffff}]/u;

function* significantLines(text: string): Generator<PlainLine, undefined> {
  let number = 0;
  let start = 0;
  while (start < text.length) {
    const newline = text.indexOf("\n", start);
    const end = newline === -1 ? text.length : newline;
    number++;
    const indent = countSpaces(text, start, end);
    if (start + indent < end && text.charCodeAt(start + indent) !== 0x23) {
      yield { number, start, end, indent, pair: readPair(text.slice(start + indent, end)) };
    }
    start = end + 1;
  }
}

function addField(entry: OpenEntry, line: PlainLine, pair: PlainPair): boolean {
  if (entry.fields.size === 0) entry.indent = line.indent;
  const text = readValue(pair.rest);
  if (line.indent !== entry.indent || text === undefined || entry.fields.has(pair.key)) return false;
  entry.fields.set(pair.key, { line: line.number, text });
  entry.end = line.end;
  return true;
}

const keyPattern =
  /^(?:([\p{L}\p{N}_](?:[\p{L}\p{N}_.@+ -]{0,300}[\p{L}\p{N}_.@+-])?)|"([^"\\]{1,300})"|'([^']{1,300})'):(?=$| )/u;

function readPair(content: string): PlainPair | undefined {
  const match = keyPattern.exec(content);
  if (match === null) return undefined;
  const [matched, plain] = match;
  if (plain !== undefined && isNull(plain)) return undefined;
  return { key: plain ?? match[2] ?? match[3] ?? "", rest: content.slice(matched.length) };
}

// null is YAML's null, undefined a value that the parser has to read
function readValue(rest: string): string | null | undefined {
  const text = withoutComment(rest.trimStart());
  const last = text.at(-1);
  switch (text[0]) {
    case undefined:
      return null;
    case '"':
      return text.length > 1 && last === '"' ? readDoubleQuoted(text) : undefined;
    case "'":
      return /^'(?:[^']|'')*'$/.test(text) ? text.slice(1, -1).replaceAll("''", "'") : undefined;
  }
  if (/^[-?:,[\]{}#&*!|>%@`]/.test(text) || last === ":" || text.includes(": ")) return undefined;
  return isNull(text) ? null : text;
}

function readDoubleQuoted(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

// a comment's mark inside quotes ends them early, and the value is then left to the parser
function withoutComment(value: string): string {
  if (value.startsWith("#")) return "";
  const comment = value.indexOf(" #");
  return (comment === -1 ? value : value.slice(0, comment)).trimEnd();
}

function isEmpty(rest: string): boolean {
  return withoutComment(rest.trimStart()) === "";
}

function isNull(text: string): boolean {
  return /^(?:~|null|Null|NULL)$/.test(text);
}

function countSpaces(text: string, start: number, end: number): number {
  let at = start;
  while (at < end && text.charCodeAt(at) === 0x20) at++;
  return at - start;
}

function changePlainEntry(text: string, { start, end, indent }: PlainEntry, { fields }: EntryChange): string {
  const missing = new Map(Object.entries(fields).filter(([, value]) => value !== undefined));
  const [keyLine = "", ...fieldLines] = text.slice(start, end).split("\n");
  const lines = fieldLines.flatMap((line) => {
    const field = readPlainField(line);
    if (field === undefined || !Object.hasOwn(fields, field.key)) return [line];
    missing.delete(field.key);
    const value = fields[field.key];
    return value === undefined ? [] : [replaceValue(line, field, value)];
  });
  const added = [...missing].map(([name, value]) =>
    `${" ".repeat(indent)}${name}: ${scalarText(value ?? null)}`
  );
  return [keyLine, ...lines, ...added].join("\n");
}

function replaceValue(
  line: string,
  field: { valueStart: number; valueEnd: number },
  value: FieldValue,
): string {
  const before = line.slice(0, field.valueStart);
  const after = line.slice(field.valueEnd);
  // a value that was not there has no space before it
  return `${before}${before.endsWith(":") ? " " : ""}${scalarText(value)}${
    after.startsWith("#") ? " " : ""
  }${after}`;
}

function scalarText(value: FieldValue): string {
  const text = stringify(value, { lineWidth: 0 }).trimEnd();
  return text.includes("\n") ? JSON.stringify(value) : text;
}

/** A line's key, with the offsets of its value in the line; undefined where the line is not of the plain layout. */
function readPlainField(
  line: string,
): { key: string; valueStart: number; valueEnd: number } | undefined {
  const indent = countSpaces(line, 0, line.length);
  const pair = readPair(line.slice(indent));
  if (pair === undefined) return undefined;
  const restStart = line.length - pair.rest.length;
  const valueStart = restStart + countSpaces(pair.rest, 0, pair.rest.length);
  return { key: pair.key, valueStart, valueEnd: valueStart + withoutComment(pair.rest.trimStart()).length };
}
