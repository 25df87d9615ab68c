import { Buffer } from "node:buffer";
import { createParser } from "eventsource-parser";
import type { z } from "zod";
import type { Deadline } from "../../core/async/deadline.ts";
import { type NoAnswer, ProviderError, type ProviderErrorKind } from "../provider_error.ts";
import { sizeText } from "../../core/text/units.ts";

/** Longest reply with a completion: far more than a model writes, yet quickly parsed. */
export const maxCompletionBytes = 4 * 1024 * 1024;
/** Longest reply of any other kind: vectors are long. */
export const maxJsonBytes = 64 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;
// the status already says what is wrong: its explanation is not worth a long wait
const errorBodyMs = 5000;
/** Longest event or line of a stream. */
const maxItemLength = 4 * 1024 * 1024;

/** What reading a reply needs of the attempt that it belongs to. */
export interface Incoming {
  readonly deadline: Deadline;
  /** Something arrived. */
  readonly hear: () => void;
}

/** One server-sent event, or one line of NDJSON, which has no `event`. */
export interface StreamItem {
  readonly event?: string;
  readonly data: string;
}

/**
 * A reply's whole body as JSON.
 * @throws {AttemptError} where it breaks off, is empty, over `maxBytes`, no UTF-8 or no JSON
 */
export async function readJson(response: Response, incoming: Incoming, maxBytes: number): Promise<unknown> {
  const body = saysAtMost(response, maxBytes)
    ? await response.bytes().catch((thrown) => {
      throw asBrokenConnection(thrown);
    })
    : await readBounded(response, incoming, maxBytes);
  if (body.length === 0) throw new AttemptError("provider", "the reply is empty", { isPassing: true });
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    // the parser's own message quotes the reply, which may hold texts that belong in no log
    throw new AttemptError("provider", `the reply is not JSON (${sizeText(body.length)})`);
  }
}

/** Whether its head bounds a body, which can be read in one go then: that takes the event loop a round less, and half of the time. */
function saysAtMost({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= maxBytes && !headers.has("content-encoding");
}

async function readBounded(response: Response, incoming: Incoming, maxBytes: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of readChunks(response, incoming, () => Infinity)) {
    parts.push(chunk);
    length += chunk.length;
    if (length > maxBytes) {
      throw new AttemptError("provider", `the reply is over ${sizeText(maxBytes)}`);
    }
  }
  return Buffer.concat(parts);
}

/** The first 64 KiB of a failed reply's body, or as much as comes; never throws. */
export async function readErrorBody(response: Response, incoming: Incoming): Promise<string> {
  const parts: Uint8Array[] = [];
  async function collect(): Promise<void> {
    let room = maxErrorBytes;
    for await (const chunk of readChunks(response, incoming, () => Infinity)) {
      parts.push(chunk.subarray(0, room));
      room -= chunk.length;
      if (room <= 0) return;
    }
  }
  await awaitAtMost(errorBodyMs, collect(), incoming).catch(() => {});
  return new TextDecoder().decode(Buffer.concat(parts));
}

/**
 * A streamed reply's items, in order. An item may arrive in any number of chunks, cut anywhere, and the last one may
 * lack its end mark, as some servers leave it out.
 * @param silenceMs the longest wait for the next chunk; the time that the consumer takes does not count
 * @throws {AttemptError} where the connection breaks or is silent for too long, the bytes are no UTF-8 or an item is over
 * 4 MiB
 */
export async function* readItems(
  response: Response,
  incoming: Incoming,
  format: "events" | "lines",
  silenceMs: () => number,
): AsyncGenerator<StreamItem, void, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const splitter = format === "events" ? splitEvents() : splitLines();
  const decode = (chunk?: Uint8Array<ArrayBufferLike>) => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(new Uint8Array(chunk), { stream: true });
    } catch {
      throw new AttemptError("provider", "the stream is not UTF-8");
    }
  };
  for await (const chunk of readChunks(response, incoming, silenceMs)) yield* splitter.take(decode(chunk));
  yield* splitter.take(decode());
  yield* splitter.finish();
}

interface Splitter {
  /** The items that the text completes. */
  take(text: string): StreamItem[];
  /** What the end of the body completes. */
  finish(): StreamItem[];
}

function splitEvents(): Splitter {
  let items: StreamItem[] = [];
  let isTooLong = false;
  const parser = createParser({
    maxBufferSize: maxItemLength,
    onEvent: ({ event, data }) => items.push(event === undefined ? { data } : { event, data }),
    onError: (error) => isTooLong ||= error.type === "max-buffer-size-exceeded",
  });
  function take(text: string): StreamItem[] {
    items = [];
    parser.feed(text);
    if (isTooLong) throw itemTooLong();
    return items;
  }
  return { take, finish: () => take("\n\n") };
}

function splitLines(): Splitter {
  // joined only when the line ends: otherwise one that comes in many chunks would be copied for each
  let pending: string[] = [];
  let pendingLength = 0;
  function take(text: string): StreamItem[] {
    const parts = text.split("\n");
    const rest = parts.pop() ?? "";
    const lines: string[] = [];
    for (const part of parts) {
      lines.push([...pending, part].join(""));
      pending = [];
      pendingLength = 0;
    }
    pending.push(rest);
    pendingLength += rest.length;
    if (pendingLength > maxItemLength) throw itemTooLong();
    return lines.filter((line) => line.trim() !== "").map((line) => ({ data: line.replace(/\r$/, "") }));
  }
  return { take, finish: () => take("\n") };
}

function itemTooLong(): AttemptError {
  return new AttemptError("provider", `an item of the stream is over ${maxItemLength} characters`);
}

/** A body's chunks as they arrive. What is left unread is cancelled, so that the connection is freed. */
async function* readChunks(
  response: Response,
  incoming: Incoming,
  silenceMs: () => number,
): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await awaitAtMost(silenceMs(), reader.read(), incoming);
      if (done) return;
      incoming.hear();
      yield value;
    }
  } catch (thrown) {
    throw asBrokenConnection(thrown);
  } finally {
    // a body that has failed refuses to be cancelled, and is gone anyway
    reader.cancel().catch(() => {});
  }
}

/** Waits for what the provider is to send; the attempt ends if that takes longer than so many milliseconds. */
async function awaitAtMost<T>(ms: number, owed: Promise<T>, { deadline }: Incoming): Promise<T> {
  const overdue = () => new AttemptError("timeout", `nothing arrived for ${ms} ms`, { isPassing: true });
  const lift = deadline.limit(Math.max(1, ms), overdue);
  try {
    return await owed;
  } finally {
    lift();
  }
}

/**
 * A reader of replies of one shape. Members that the schema does not name are ignored.
 * @throws {ProviderError} `provider`, with the places of what is wrong, never with the values there
 */
export function replyReader<T>(schema: z.ZodType<T>): (json: unknown) => T {
  return (json) => {
    const result = schema.safeParse(json);
    if (result.success) return result.data;
    const places = result.error.issues.slice(0, 3)
      .map((issue) => `${issue.path.map(String).join(".") || "reply"}: ${issue.message}`);
    throw new ProviderError("provider", `the reply has an unexpected shape: ${places.join("; ")}`);
  };
}

/**
 * The value that one item of a stream spells.
 * @throws {ProviderError} `provider`
 */
export function parseItem(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new ProviderError("provider", `an item of the stream is not JSON (${data.length} characters)`);
  }
}

interface AttemptErrorFacts {
  /** The same request may fare better in a moment. */
  readonly isPassing?: boolean;
  readonly status?: number;
  /** The wait that the provider asked for, in milliseconds. */
  readonly askedDelayMs?: number | undefined;
  /** The vendor's own name for the request. */
  readonly requestId?: string | undefined;
  readonly noAnswer?: NoAnswer | undefined;
}

/** The error of one attempt. It does not leave the exchange, since its message still holds what the provider wrote. */
export class AttemptError extends Error {
  constructor(readonly kind: ProviderErrorKind, message: string, readonly facts: AttemptErrorFacts = {}) {
    super(message);
  }
}

/** Gives what was thrown a kind, where it has none yet. */
export function asAttemptError(
  thrown: unknown,
  kind: ProviderErrorKind,
  facts: AttemptErrorFacts = {},
): AttemptError {
  if (thrown instanceof AttemptError) return thrown;
  if (thrown instanceof ProviderError) {
    return new AttemptError(thrown.kind, thrown.detail, { noAnswer: thrown.noAnswer });
  }
  return new AttemptError(kind, messageOf(thrown), facts);
}

/** For names that do not resolve, refused and broken connections, and failed TLS. */
export function asBrokenConnection(thrown: unknown): AttemptError {
  return asAttemptError(thrown, "unreachable", { isPassing: true });
}

function messageOf(thrown: unknown): string {
  const texts: string[] = [];
  for (let error = thrown; error instanceof Error && texts.length < 4; error = error.cause) {
    texts.push(error.message);
  }
  return texts.join(": ") || String(thrown);
}
