import type { Hash } from "node:crypto";
import { AppError } from "../core/app_error.ts";
import { requireRegular } from "../core/files/read_regular_file.ts";
import {
  type ChainEnd,
  type ChainHead,
  type ChainLine,
  chainStart,
  lockHead,
  readLine,
} from "./line_chain.ts";
import { startSha256 } from "../core/text/sha256.ts";

export type VerifyResult =
  | {
    readonly ok: true;
    readonly lines: number;
    /** For the file that goes on with the chain; undefined where there is no line. */
    readonly end: ChainEnd | undefined;
    /** Whether lines missing at the very end would have been noticed: only where the trail's head is beside it. */
    readonly endChecked: boolean;
  }
  | {
    readonly ok: false;
    /** The first line that is not as it was written, from 1; one past the last where lines are missing at the end. */
    readonly line: number;
    readonly reason: string;
  };

/**
 * Reads an audit trail from its first line to its last and names the first that was changed, removed or inserted. The file
 * may be of any size. A server may write it meanwhile: what it writes after the start is left out. Where somebody changes a
 * line and makes every later hash anew, only hashes that are kept elsewhere show it.
 *
 * @param after the end of the file before, where several make up one trail. Optional: without it, the file may start a chain or go on
 * with any
 * @throws AppError `not_found` for a missing file, `unavailable` where it cannot be read
 */
export async function verifyAudit(path: string, after?: ChainEnd): Promise<VerifyResult> {
  const { head, size } = await headAndSizeOf(path);
  const check = createChainCheck(head, after);
  for await (const { line, bytes, isWhole } of readLines(path, size)) {
    const fault = isWhole ? check.next(line, bytes) : { line, reason: "it is cut off, as after a crash" };
    if (fault !== undefined) return { ok: false, ...fault };
  }
  return check.finish();
}

interface Fault {
  readonly line: number;
  readonly reason: string;
}

function createChainCheck(head: ChainHead | undefined, after: ChainEnd | undefined) {
  let last = after && { ...after, line: 0 };
  let lines = 0;
  let unreadable: { line: number; hash: Hash } | undefined;
  // by sequence, to tell a line that was inserted from the one whose place it took
  const recent = new Map<number, { hash: string; line: number }>();
  if (last !== undefined) recent.set(last.sequence, last);

  function next(line: number, bytes: Uint8Array): Fault | undefined {
    lines = line;
    const read = readLine(bytes);
    if (read === undefined) {
      if (unreadable === undefined) unreadable = { line, hash: startSha256() };
      else unreadable.hash.update("\n");
      unreadable.hash.update(bytes);
      return undefined;
    }
    const fault = linkFault(read, line);
    // a line before it that cannot be read is the first that is not as it was
    if (fault !== undefined) return unreadableFault() ?? fault;
    if (unreadable !== undefined && read.unreadable !== unreadable.hash.copy().digest("hex")) {
      return unreadableFault();
    }
    if (head?.sequence === read.sequence && head.hash !== read.hash) {
      return { line, reason: "it or an earlier line was rewritten" };
    }
    unreadable = undefined;
    if (last === undefined) recent.set(read.sequence - 1, { hash: read.previous, line: 0 });
    last = { sequence: read.sequence, hash: read.hash, line };
    recent.set(read.sequence, last);
    recent.delete(read.sequence - rememberedLines);
    return undefined;
  }

  function unreadableFault(): Fault | undefined {
    return unreadable && { line: unreadable.line, reason: "it was changed" };
  }

  function linkFault(read: ChainLine, line: number): Fault | undefined {
    if (last === undefined) {
      const starts = read.sequence === chainStart.sequence + 1 && read.previous === chainStart.hash;
      return starts || read.event === "rotation"
        ? undefined
        : { line, reason: "lines before it are missing" };
    }
    const missing = read.sequence - last.sequence - 1;
    if (missing > 0) return { line, reason: `lines before it are missing (${missing}), or it was inserted` };
    if (missing < 0) return insertedFault(read, line);
    if (read.previous === last.hash) return undefined;
    if (last.line === 0) return { line, reason: "it does not continue the previous file" };
    return { line: last.line, reason: "it was changed" };
  }

  // a line whose number is taken is a copy, or the true line behind one that was put in its place
  function insertedFault(read: ChainLine, line: number): Fault {
    const namesake = recent.get(read.sequence);
    const before = recent.get(read.sequence - 1);
    const isTrue = namesake !== undefined && namesake.hash !== read.hash && before?.hash === read.previous;
    return { line: isTrue ? namesake.line : line, reason: "it was inserted" };
  }

  function finish(): VerifyResult {
    const fault = unreadableFault();
    if (fault !== undefined) return { ok: false, ...fault };
    const end = last && { sequence: last.sequence, hash: last.hash };
    const missing = head === undefined ? 0 : head.sequence - (end?.sequence ?? 0);
    if (missing > 0) {
      return { ok: false, line: lines + 1, reason: `lines are missing at the end (${missing})` };
    }
    return { ok: true, lines, end, endChecked: head !== undefined };
  }

  return { next, finish };
}

const rememberedLines = 10_000;

/**
 * The head of a trail and how much of it is written, both of one moment.
 *
 * @throws AppError `invalid` for what is no regular file: opening a pipe would wait until somebody writes to it
 */
async function headAndSizeOf(path: string): Promise<{ head: ChainHead | undefined; size: number }> {
  using locked = await lockHead(path, "shared").catch((error) => {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  });
  const head = locked?.read();
  try {
    const info = await Deno.stat(path);
    requireRegular(info, "read", path);
    const { size, dev, ino } = info;
    const isRotated = size === 0 && (head?.dev !== dev || head.ino !== ino);
    return { size, head: isRotated ? undefined : head };
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    const isMissing = cause instanceof Deno.errors.NotFound;
    const reason = isMissing ? "it does not exist" : "the file system refused";
    throw new AppError(isMissing ? "not_found" : "unavailable", `Cannot read ${path}: ${reason}`, { cause });
  }
}

interface ReadLine {
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
async function* readLines(path: string, size: number): AsyncGenerator<ReadLine> {
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
