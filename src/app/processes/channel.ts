import { AppError } from "../../core/app_error.ts";
import { createSharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";

/** Answers what the other end asks, or takes what it tells. What it throws is the answer's error. */
type Handler = (value: unknown) => unknown;

/**
 * One end of what two processes say to each other. A value is whatever JSON can carry. Messages come in the order in which
 * they were sent; answers may come in any.
 */
export interface Channel {
  /**
   * Resolves with the other end's answer.
   * @throws {AppError} what the other end's handler threw, with its code; `timeout` after 10 s, `overloaded` where too much
   * waits, `unavailable` where the other end is gone
   */
  ask(kind: string, value?: unknown): Promise<unknown>;
  /** What cannot be sent because too much waits closes the channel: nothing is lost unnoticed. */
  tell(kind: string, value?: unknown): void;
  /** From now on, `handler` takes what the other end asks or tells of that kind. */
  on(kind: string, handler: Handler): void;
  /** Resolves once the other end is gone, or has not read for so long that it is taken for gone. */
  readonly closed: Promise<void>;
}

type Message =
  | { readonly tell: string; readonly value?: unknown }
  | Question
  | { readonly answered: number; readonly value?: unknown }
  | { readonly failed: number; readonly code: AppError["code"]; readonly message: string };

interface Question {
  readonly ask: string;
  readonly id: number;
  readonly value?: unknown;
}

interface ChannelOptions {
  readonly readable: ReadableStream<Uint8Array<ArrayBuffer>>;
  readonly writable: WritableStream<Uint8Array<ArrayBuffer>>;
  /** How long an answer may take, in milliseconds; it may be up to two seconds more. */
  readonly answerWithinMs?: number;
  /** How much may wait for the other end to read it, in UTF-16 units. */
  readonly mostWaiting?: number;
  /** How many questions of the other end are answered at once. */
  readonly mostAnswers?: number;
  readonly logger: Logger;
}

const late = Symbol("no answer in time");

/** Opens one end over two streams of bytes. Each message is a line of JSON; those that wait go out in one write. */
export function createChannel(options: ChannelOptions): Channel {
  const { readable, writable, logger } = options;
  const { answerWithinMs = 10_000, mostWaiting = 16 * 1_048_576, mostAnswers = 10_000 } = options;
  const handlers = new Map<string, Handler>();
  const asked = new Map<number, PromiseWithResolvers<unknown>>();
  const deadline = createSharedDeadline(answerWithinMs);
  const closed = Promise.withResolvers<void>();
  const writer = writable.getWriter();
  let isClosed = false;
  let lines: string[] = [];
  let waiting = 0;
  let isWriting = false;
  let lastId = 0;
  let answering = 0;

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    lines = [];
    deadline.close();
    for (const { reject } of asked.values()) reject(isGone());
    asked.clear();
    closed.resolve();
  }

  /** @returns false where too much waits already */
  function send(message: Message): boolean {
    const line = `${JSON.stringify(message)}\n`;
    if (isClosed || waiting + line.length > mostWaiting) return false;
    lines.push(line);
    waiting += line.length;
    if (!isWriting) void write();
    return true;
  }

  async function write(): Promise<void> {
    isWriting = true;
    try {
      while (lines.length > 0) {
        const text = lines.join("");
        lines = [];
        await writer.write(new TextEncoder().encode(text));
        waiting -= text.length;
      }
    } catch {
      close();
    }
    isWriting = false;
  }

  /** What must not get lost. */
  function insist(message: Message): void {
    if (!send(message)) close();
  }

  async function read(): Promise<void> {
    let rest = "";
    try {
      for await (const text of readable.pipeThrough(new TextDecoderStream())) {
        rest += text;
        if (!text.includes("\n")) continue;
        const whole = rest.split("\n");
        rest = whole.pop() ?? "";
        whole.forEach(take);
      }
    } catch {
      // the other end broke it off
    }
    close();
  }

  function take(line: string): void {
    let message: Message;
    try {
      message = JSON.parse(line);
    } catch (error) {
      return logger.warn("Cannot read a message of another process", { error });
    }
    if ("ask" in message) return void answer(message);
    if ("tell" in message) {
      const { tell: kind, value } = message;
      return void handle(kind, value).catch((error) =>
        logger.error("Cannot take a message of another process", { kind, error })
      );
    }
    const id = "answered" in message ? message.answered : message.failed;
    const waits = asked.get(id);
    asked.delete(id);
    if ("answered" in message) waits?.resolve(message.value);
    else waits?.reject(new AppError(message.code, message.message));
  }

  async function handle(kind: string, value: unknown): Promise<unknown> {
    const handler = handlers.get(kind);
    if (handler === undefined) throw new AppError("not_found", `Cannot answer "${kind}": nobody here does`);
    return await handler(value);
  }

  async function answer({ ask: kind, id, value }: Question): Promise<void> {
    answering++;
    try {
      if (answering > mostAnswers) throw tooMuch(kind);
      insist({ answered: id, value: await handle(kind, value) });
    } catch (error) {
      if (!(error instanceof AppError)) logger.error("Cannot answer another process", { kind, error });
      const { code, message } = error instanceof AppError
        ? error
        : new AppError("internal", "Internal error");
      insist({ failed: id, code, message });
    }
    answering--;
  }

  void read();
  return {
    async ask(kind, value) {
      if (isClosed) throw isGone();
      const id = ++lastId;
      if (!send({ ask: kind, id, value })) throw tooMuch(kind);
      const answer = Promise.withResolvers<unknown>();
      asked.set(id, answer);
      const result = await deadline.race(answer.promise, late);
      if (result !== late) return result;
      asked.delete(id);
      throw new AppError("timeout", `Cannot ask for "${kind}": the other process does not answer`);
    },
    tell: (kind, value) => insist({ tell: kind, value }),
    on: (kind, handler) => void handlers.set(kind, handler),
    closed: closed.promise,
  };
}

function tooMuch(kind: string): AppError {
  return new AppError("overloaded", `Cannot ask for "${kind}": too much waits for the other process`);
}

function isGone(): AppError {
  return new AppError("unavailable", "Cannot reach the other process: it is gone");
}
