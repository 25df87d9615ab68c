import { createParser } from "eventsource-parser";
import { AttemptFailure } from "./attempt_failure.ts";

/** One server-sent event, or one line of NDJSON, which has no `event`. */
export interface StreamItem {
  readonly event?: string;
  readonly data: string;
}

const maxItemLength = 4 * 1024 * 1024;

interface Splitter {
  /** The items that the text completes. */
  take(text: string): StreamItem[];
  /** What the end of the body completes. */
  finish(): StreamItem[];
}

/**
 * A streamed body's items, in order. An item may arrive in any number of chunks, cut anywhere, and the last one may
 * lack its end mark, as some servers leave it out.
 * @throws {AttemptFailure} where the bytes are no UTF-8 or an item is over 4 MiB
 */
export async function* readItems(
  chunks: AsyncIterable<Uint8Array>,
  format: "events" | "lines",
): AsyncGenerator<StreamItem, void, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const splitter = format === "events" ? splitEvents() : splitLines();
  const decode = (chunk?: Uint8Array<ArrayBufferLike>) => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(new Uint8Array(chunk), { stream: true });
    } catch {
      throw new AttemptFailure("provider", "the stream is not UTF-8");
    }
  };
  for await (const chunk of chunks) yield* splitter.take(decode(chunk));
  yield* splitter.take(decode());
  yield* splitter.finish();
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
  // joined only when the line ends: one that comes in many chunks would else be copied for each
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

function itemTooLong(): AttemptFailure {
  return new AttemptFailure("provider", `an item of the stream is over ${maxItemLength} characters`);
}
