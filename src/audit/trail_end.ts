import { sha256 } from "../core/sha256.ts";
import { type ChainEnd, readLine } from "./chain.ts";

/** How a trail ends that was not left as its head says. */
export interface TrailEnd {
  /** The last line that is as it was written; undefined where there is none. */
  readonly last: ChainEnd | undefined;
  /** What follows it, such as a line that a crash cut off. */
  readonly unreadable:
    | { readonly bytes: number; readonly hash: string; readonly endsLine: boolean }
    | undefined;
}

/** Reads as much of a file's end as it takes to find the last whole line, 16 MiB at the most. */
export async function readTrailEnd(file: Deno.FsFile, size: number): Promise<TrailEnd> {
  for (let length = 65_536;; length *= 4) {
    const from = Math.max(0, size - length);
    const bytes = await readBytes(file, from, size - from);
    const found = lastLineIn(bytes);
    if (found.last !== undefined || from === 0 || length >= 16 * 1_048_576) return found;
  }
}

const lineEnd = 10;

// a line that the bytes hold only the end of does not match its seal
function lastLineIn(bytes: Uint8Array): TrailEnd {
  for (let end = bytes.lastIndexOf(lineEnd); end >= 0;) {
    const start = end === 0 ? 0 : bytes.lastIndexOf(lineEnd, end - 1) + 1;
    const last = readLine(bytes.subarray(start, end));
    if (last !== undefined) {
      return {
        last: { sequence: last.sequence, hash: last.hash },
        unreadable: unreadableIn(bytes.subarray(end + 1)),
      };
    }
    end = start - 1;
  }
  return { last: undefined, unreadable: unreadableIn(bytes) };
}

function unreadableIn(bytes: Uint8Array): TrailEnd["unreadable"] {
  if (bytes.length === 0) return undefined;
  const endsLine = bytes.at(-1) === lineEnd;
  const content = endsLine ? bytes.subarray(0, -1) : bytes;
  return { bytes: content.length, hash: sha256(content), endsLine };
}

async function readBytes(file: Deno.FsFile, from: number, length: number): Promise<Uint8Array> {
  await file.seek(from, Deno.SeekMode.Start);
  const bytes = new Uint8Array(length);
  let filled = 0;
  while (filled < length) {
    const read = await file.read(bytes.subarray(filled));
    if (read === null) break;
    filled += read;
  }
  return bytes.subarray(0, filled);
}
