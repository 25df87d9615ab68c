import { AppError } from "../core/app_error.ts";

/** A standard stream, which somebody may have stopped reading. */
export interface StreamWriter {
  /** @throws {AppError} `unavailable` for what cannot be written, such as to a full disk */
  readonly write: (text: string) => void;
  /** The same, of one line without its end. */
  readonly writeLine: (line: string) => void;
  /** Whether nobody reads it any more. */
  isClosed(): boolean;
}

const encoder = new TextEncoder();

/**
 * Writes to a stream for as long as somebody reads it. What comes after that is dropped: who has seen enough, as `head`
 * has, does not mean the work to be broken off.
 */
export function createStreamWriter(
  stream: { writeSync(bytes: Uint8Array): number },
  name: string,
): StreamWriter {
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

  return { write, writeLine: (line) => write(`${line}\n`), isClosed: () => isClosed };
}
