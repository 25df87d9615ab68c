import { AppError } from "../core/app_error.ts";
import { openFileWarning } from "../core/files/file_access.ts";
import { formatTimestamp } from "../identity/credentials/timestamp.ts";

const encoder = new TextEncoder();

/**
 * Writes to a stream for as long as somebody reads it. What comes after that is dropped: who has seen enough, as `head`
 * has, does not mean the work to be broken off. Writing throws an AppError `unavailable` for what cannot be written, such as to a
 * full disk.
 */
export function createStreamWriter(
  stream: { writeSync(bytes: Uint8Array): number },
  name: string,
) {
  let isClosed = false;

  function write(text: string): void {
    let rest = encoder.encode(text);
    try {
      while (rest.length > 0 && !isClosed) rest = rest.subarray(stream.writeSync(rest));
    } catch (cause) {
      if (!(cause instanceof Deno.errors.BrokenPipe)) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new AppError("unavailable", `Cannot write to ${name}: ${reason}`, { cause });
      }
      isClosed = true;
    }
  }

  return {
    write,
    /** The same, of one line without its end. */
    writeLine: (line: string) => write(`${line}\n`),
    /** Whether nobody reads it any more. */
    isClosed: () => isClosed,
  };
}

/** Where an operation's texts go, each a line without its end. */
export interface Output {
  readonly print: (line: string) => void;
  readonly warn: (line: string) => void;
}

/** Takes a line of what was asked for, without its line end: standard output. */
export type Print = (line: string) => void;

export interface OperationOutput {
  readonly print: Print;
  /** Takes a line that the administrator should know besides: standard error. */
  readonly warn?: Print;
  readonly now?: () => number;
}

export async function warnOfAccess(path: string, output: OperationOutput): Promise<void> {
  const warning = await openFileWarning(path);
  if (warning !== undefined) output.warn?.(warning);
}

export function nowOf(output: OperationOutput): number {
  return (output.now ?? Date.now)();
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

export function jsonTime(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms);
}

/** `no errors`, `1 error`, `2 errors`. */
export function counted(count: number, noun: string): string {
  return `${count === 0 ? "no" : count} ${noun}${count === 1 ? "" : "s"}`;
}

/** A point in time for people, to the minute. */
export function plainTime(ms: number): string {
  return formatTimestamp(ms).replace("T", " ").replace(/:\d\dZ$/, " UTC");
}

/**
 * Lines of a table with its columns aligned, for a terminal: the header in capitals, two spaces between columns, none
 * at a line's end. Characters that steer a terminal are made visible.
 */
export function tableLines(headers: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const table = [headers.map((header) => header.toUpperCase()), ...rows.map((row) => row.map(visible))];
  const widths = headers.map((_, column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ""))));
  return table.map((row) =>
    widths.map((width, column) => padded(row[column] ?? "", width)).join("  ").trimEnd()
  );
}

/** Lines of names and values, the values aligned. */
export function fieldLines(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(0, ...fields.map(([name]) => displayWidth(name)));
  return fields.map(([name, value]) => `${padded(name, width)}  ${visible(value)}`.trimEnd());
}

/** A text with control characters, line ends and changes of direction escaped, so that it stays on its line. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

function padded(text: string, width: number): string {
  return text + " ".repeat(width - displayWidth(text));
}

const graphemes = new Intl.Segmenter();
const wide =
  /^(?:\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation})/u;

function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}
