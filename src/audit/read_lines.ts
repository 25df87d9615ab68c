import { AppError } from "../core/app_error.ts";

export interface ReadLine {
  /** From 1. */
  readonly line: number;
  /** Without the line end; good until the next line is asked for. */
  readonly bytes: Uint8Array;
  /** False for what follows the last line end, and for a line of over 1 MiB. */
  readonly isWhole: boolean;
}

/**
 * The lines of a file's first `size` bytes, with little of it in memory at a time. The last is one that is not whole.
 *
 * @throws AppError `unavailable` where the file cannot be read
 */
export async function* readLines(path: string, size: number): AsyncGenerator<ReadLine> {
  using file = await Deno.open(path).catch((cause) => {
    throw new AppError("unavailable", `Cannot read ${path}: the file system refused`, { cause });
  });
  const buffer = new Uint8Array(longestLine);
  let filled = 0;
  let line = 0;
  for (let rest = size; rest > 0;) {
    const space = buffer.subarray(filled, filled + Math.min(rest, buffer.length - filled));
    const read = await file.read(space);
    if (read === null || read === 0) break;
    rest -= read;
    filled += read;
    let start = 0;
    for (;;) {
      const end = buffer.subarray(0, filled).indexOf(10, start);
      if (end < 0) break;
      yield { line: ++line, bytes: buffer.subarray(start, end), isWhole: true };
      start = end + 1;
    }
    buffer.copyWithin(0, start, filled);
    filled -= start;
  }
  if (filled > 0) yield { line: line + 1, bytes: buffer.subarray(0, filled), isWhole: false };
}

const longestLine = 1_048_576;
