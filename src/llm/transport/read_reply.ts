import { asBrokenConnection, AttemptFailure } from "./attempt_failure.ts";
import type { AttemptTimer } from "./attempt_timer.ts";

/** Longest reply with a completion: far above what a model writes, and parsed in little time. */
export const maxCompletionBytes = 4 * 1024 * 1024;
/** Longest reply of any other kind: vectors are long. */
export const maxJsonBytes = 64 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;
// the status already says what is wrong: its explanation is not worth a long wait
const errorBodyMs = 5000;

/**
 * A body's chunks as they arrive. What is left unread is cancelled, so that the connection is freed.
 * @param silenceMs the longest wait for the next chunk; the time that the consumer takes does not count
 * @throws {AttemptFailure} where the connection breaks or is silent for too long
 */
export async function* readChunks(
  response: Response,
  timer: AttemptTimer,
  silenceMs: () => number,
): AsyncGenerator<Uint8Array, void, void> {
  if (response.body === null) return;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await timer.awaitAtMost(silenceMs(), reader.read());
      if (done) return;
      timer.hear();
      yield value;
    }
  } catch (thrown) {
    throw asBrokenConnection(thrown);
  } finally {
    // a body that has failed refuses to be cancelled, and is gone anyway
    reader.cancel().catch(() => {});
  }
}

/**
 * A reply's whole body as JSON.
 * @throws {AttemptFailure} where it breaks off, is empty, over `maxBytes`, no UTF-8 or no JSON
 */
export async function readJson(
  response: Response,
  timer: AttemptTimer,
  maxBytes: number,
): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of readChunks(response, timer, () => Infinity)) {
    parts.push(chunk);
    length += chunk.length;
    if (length > maxBytes) {
      throw new AttemptFailure("provider", `the reply is over ${maxBytes} bytes`);
    }
  }
  if (length === 0) throw new AttemptFailure("provider", "the reply is empty", { isPassing: true });
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(join(parts, length)));
  } catch {
    // the parser's own message quotes the reply, which may hold texts that belong in no log
    throw new AttemptFailure("provider", `the reply is no JSON (${length} bytes)`);
  }
}

/** The first 64 KiB of a failed reply's body, or as much as comes; never throws. */
export async function readErrorBody(response: Response, timer: AttemptTimer): Promise<string> {
  const parts: Uint8Array[] = [];
  async function collect(): Promise<void> {
    let room = maxErrorBytes;
    for await (const chunk of readChunks(response, timer, () => errorBodyMs)) {
      parts.push(chunk.subarray(0, room));
      room -= chunk.length;
      if (room <= 0) return;
    }
  }
  await timer.awaitAtMost(errorBodyMs, collect()).catch(() => {});
  return new TextDecoder().decode(join(parts, parts.reduce((sum, part) => sum + part.length, 0)));
}

function join(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const part of parts) {
    whole.set(part, offset);
    offset += part.length;
  }
  return whole;
}
