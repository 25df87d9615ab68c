import { AppError } from "../../core/app_error.ts";
import { createSharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";

/** One end of what two processes say to each other. A value is whatever JSON can carry. */
export type Channel = ReturnType<typeof createChannel>;

/** Told with a kind alone, asked with both, answered with an id alone. */
interface Message {
  readonly kind?: string;
  readonly id?: number;
  readonly value?: unknown;
  readonly error?: { readonly code: AppError["code"]; readonly message: string };
}

const late = Symbol("no answer in time");

/**
 * Opens one end over two streams of bytes. Each message is a line of JSON. The other end takes them in the order in which they
 * were sent; answers may come in any.
 *
 * @param answerWithinMs how long an answer may take; it may be up to two seconds more
 * @param mostWaiting how much may wait for the other end to read it, in UTF-16 units
 */
export function createChannel(
  { readable, writable, answerWithinMs = 10_000, mostWaiting = 50_331_648, logger }: {
    readonly readable: ReadableStream<Uint8Array>;
    readonly writable: WritableStream<Uint8Array>;
    readonly answerWithinMs?: number;
    readonly mostWaiting?: number;
    readonly logger: Logger;
  },
) {
  const handlers = new Map<string, (value: unknown) => unknown>();
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  const deadline = createSharedDeadline(answerWithinMs);
  const closed = Promise.withResolvers<void>();
  const writer = writable.getWriter();
  let isClosed = false;
  let waiting = 0;
  let lastId = 0;

  function close(): void {
    isClosed = true;
    deadline.close();
    for (const { reject } of asked.values()) reject(cannotAsk("unavailable", "the other process is gone"));
    asked.clear();
    closed.resolve();
  }

  /** @returns false where too much waits already */
  function send(message: Message): boolean {
    const line = `${JSON.stringify(message)}\n`;
    if (isClosed || waiting + line.length > mostWaiting) return false;
    waiting += line.length;
    writer.write(new TextEncoder().encode(line)).then(() => waiting -= line.length, close);
    return true;
  }

  /** What must not get lost: an end that does not take it is taken for gone. */
  function insist(message: Message): void {
    if (!send(message)) close();
  }

  async function read(): Promise<void> {
    let rest = "";
    for await (const text of readable.pipeThrough(new TextDecoderStream())) {
      rest += text;
      if (!text.includes("\n")) continue;
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        take(line).catch((error) => logger.error("Cannot take a message of another process", { error }));
      }
    }
  }

  async function take(line: string): Promise<void> {
    const { kind, id = 0, value, error }: Message = JSON.parse(line);
    if (kind === undefined) {
      const answer = asked.get(id);
      asked.delete(id);
      return error ? answer?.reject(new AppError(error.code, error.message)) : answer?.resolve(value);
    }
    try {
      const handler = handlers.get(kind);
      if (handler === undefined) throw new AppError("not_found", `Cannot answer "${kind}": nobody here does`);
      const answer = await handler(value);
      if (id > 0 && !send({ id, value: answer })) {
        throw new AppError("overloaded", "Cannot answer another process: too much waits for it");
      }
    } catch (error) {
      const { code, message } = error instanceof AppError
        ? error
        : new AppError("internal", "Internal error");
      if (id > 0) insist({ id, error: { code, message } });
      // whoever asks hears of the others
      if (id === 0 || code === "internal") throw error;
    }
  }

  // an error: the other end broke it off
  read().then(close, close);
  return {
    /**
     * Resolves with the other end's answer.
     * @throws {AppError} what the other end's handler threw, with its code; `timeout` without an answer, `overloaded` where too
     * much waits, `unavailable` where the other end is gone
     */
    async ask(kind: string, value?: unknown): Promise<unknown> {
      if (isClosed) throw cannotAsk("unavailable", "the other process is gone");
      const id = ++lastId;
      if (!send({ kind, id, value })) throw cannotAsk("overloaded", "too much waits for the other process");
      const answer = Promise.withResolvers<unknown>();
      asked.set(id, answer);
      const result = await deadline.race(answer.promise, late);
      if (result !== late) return result;
      asked.delete(id);
      throw cannotAsk("timeout", "the other process does not answer");
    },
    /** What cannot be sent because too much waits closes the channel: nothing is lost unnoticed. */
    tell: (kind: string, value?: unknown) => insist({ kind, value }),
    /** From now on, `handler` answers what the other end asks of that kind, or takes what it tells. */
    on: (kind: string, handler: (value: unknown) => unknown) => void handlers.set(kind, handler),
    /** Resolves once the other end is gone, or has not read for so long that it is taken for gone. */
    closed: closed.promise,
  };
}

function cannotAsk(code: AppError["code"], reason: string): AppError {
  return new AppError(code, `Cannot ask another process: ${reason}`);
}
