import { redactText, redactValue } from "./text/redact.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = typeof logLevels[number];
export const logFormats = ["text", "json"] as const;
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured log; every message and field is redacted before it is written. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each of its lines. */
  with(fields: LogFields): Logger;
}

export interface LoggerOptions {
  /** Asked for each line where it is a function. */
  level: LogLevel | (() => LogLevel);
  /** `text`: one line for people; `json`: one object a line with `time`, `level`, `message` and the fields. */
  format: typeof logFormats[number];
  /** Gets one line with its line end; standard error where it is absent. */
  write?: (line: string) => void;
  now?: () => Date;
}

export function createLogger(options: LoggerOptions): Logger {
  const { format, write = writeToStderr, now = () => new Date() } = options;
  const { level } = options;
  const leastLevel = typeof level === "function" ? level : () => level;

  function bind(bound: LogFields): Logger {
    const at = (level: LogLevel) => (message: string, fields: LogFields = {}) => {
      if (logLevels.indexOf(level) < logLevels.indexOf(leastLevel())) return;
      const safe = redactValue({ ...bound, ...fields }) as Record<string, unknown>;
      const time = now().toISOString();
      const text = redactText(message);
      write(format === "json" ? jsonLine(time, level, text, safe) : textLine(time, level, text, safe));
    };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => bind({ ...bound, ...fields }),
    };
  }
  return bind({});
}

/** A logger that writes nothing, for callers that are given none. */
export const silentLogger: Logger = createLogger({ level: "error", format: "text", write: () => {} });

/**
 * A field as a line of that format has it, with what parts it from the one before; not redacted. A line that is made for each
 * request has no time for an object of its fields.
 */
export function logField(format: LoggerOptions["format"], name: string, value: unknown): string {
  if (format === "text") return ` ${name}=${textValue(value)}`;
  const isPlain = typeof value === "string" && plainText.test(value);
  return `,"${name}":${isPlain ? `"${value}"` : escapeControls(JSON.stringify(value))}`;
}

function jsonLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  return escapeControls(JSON.stringify({ time, level, message, ...fields })) + "\n";
}

function textLine(time: string, level: LogLevel, message: string, fields: LogFields): string {
  let pairs = "";
  for (const key of Object.keys(fields)) {
    const value = fields[key];
    if (value !== undefined) pairs += ` ${key}=${textValue(value)}`;
  }
  return `${time} ${level.toUpperCase().padEnd(5)} ${escapeControls(message)}${pairs}\n`;
}

/** What neither format quotes or escapes. */
const plainText = /^[\w.:/@+-]+$/;

function textValue(value: unknown): string {
  if (typeof value === "string" && plainText.test(value)) return value;
  return typeof value === "string" || typeof value === "object"
    ? escapeControls(JSON.stringify(value))
    : String(value);
}

// a caller's text must not forge a line of its own, steer a terminal or turn the reading direction; of these JSON escapes
// those below U+0020 alone
function escapeControls(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028-\u202e\u2066-\u2069]/gu,
    (char) => shortEscapes[char] ?? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Where the lines of a log go. Disposing of it writes those that wait. */
export type LogOutput = ReturnType<typeof createLogOutput>;

const longestWaitMs = 100;
/** UTF-16 units. */
const mostGathered = 16 * 1024;
/** As bytes, what a pipe takes as a whole where several processes write to it: PIPE_BUF. */
export const mostGatheredBesideOthers = 4_096;

/**
 * Writes lines in the order in which it got them. What waits is written too where an error that nobody caught, or a call of
 * `Deno.exit`, ends the process.
 */
export function createLogOutput(
  write: (lines: string) => void = writeToStderr,
  most: number = mostGathered,
) {
  let gathered = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const lines = gathered;
    gathered = "";
    if (lines !== "") write(lines);
  }

  for (const event of lastEvents) addEventListener(event, flush);
  return {
    /** Writes a line with its line end at once, after those that wait. */
    write(line: string): void {
      if (gathered !== "") flush();
      write(line);
    },
    /** Takes a line that waits for others: to write each by itself costs more than to make it. */
    gather(line: string): void {
      if (gathered.length + line.length > most) flush();
      gathered += line;
      if (gathered.length >= most) flush();
      else if (timer === undefined) {
        timer = setTimeout(flush, longestWaitMs);
        // the timer alone does not keep the process alive
        Deno.unrefTimer(timer);
      }
    },
    [Symbol.dispose](): void {
      for (const event of lastEvents) removeEventListener(event, flush);
      flush();
    },
  };
}

const lastEvents = ["error", "unhandledrejection", "unload"] as const;

const encoder = new TextEncoder();

/** Writes lines to standard error; what nobody reads is dropped. */
export function writeToStderr(lines: string): void {
  try {
    let rest = encoder.encode(lines);
    while (rest.length > 0) rest = rest.subarray(Deno.stderr.writeSync(rest));
  } catch {
    // nobody reads it any more, or its disk is full: no reason to fail what the line tells of
  }
}
