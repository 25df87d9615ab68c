import { dirname } from "node:path";
import { AppError } from "../core/app_error.ts";
import { giveToOwnerOf } from "../core/files/file_access.ts";
import { requireRegular } from "../core/files/read_regular_file.ts";
import type { Logger } from "../core/logger.ts";
import {
  type ChainEnd,
  type ChainHead,
  chainStart,
  headPathOf,
  isSameFile,
  type LineMembers,
  linkLine,
  type LockedHead,
  lockHead,
  readLine,
  statOf,
} from "./line_chain.ts";
import { sha256 } from "../core/text/sha256.ts";

/** Writes lines to the end of a trail. */
export type LineAppender = ReturnType<typeof createLineAppender>;

/** How long a lock is waited for that another process holds: each holds it for one write. */
const lockWaitMs = 1000;
/** How long written lines wait for the disk where nobody waits for it. */
const syncAfterMs = 1000;

/**
 * Adds lines to the end of a trail, all or none of them; makes the file, with mode 0600, where it does not exist. Writers
 * in several processes write one after the other, and each goes on with the chain that the one before left. Both files
 * stay open, and are opened anew where others stand at their paths: after a rotation by rename the lines go to the new
 * file, whose first line, a `rotation`, goes on with the chain of the old. What a crash left at the end gets a line end and
 * a `recovery` after it.
 */
export function createLineAppender(
  { path, isSynced, now, logger }: {
    readonly path: string;
    /** Whether lines are appended once the disk has them, and not once the system has. */
    readonly isSynced: boolean;
    readonly now: () => number;
    readonly logger: Logger;
  },
) {
  let head: LockedHead | undefined;
  let file: Deno.FsFile | undefined;
  let syncTimer: ReturnType<typeof setTimeout> | undefined;

  async function lock(): Promise<LockedHead> {
    const before = head;
    head = undefined;
    await before?.lock();
    head = before;
    if (head?.isInPlace()) return head;
    head?.[Symbol.dispose]();
    head = undefined;
    return head = await lockHead(path, "exclusive", lockWaitMs);
  }

  async function openInPlace(): Promise<{ file: Deno.FsFile; info: Deno.FileInfo }> {
    const there = statOf(path);
    if (file !== undefined && there !== undefined && isSameFile(file.statSync(), there)) {
      return { file, info: there };
    }
    file?.close();
    file = undefined;
    file = await Deno.open(path, { read: true, append: true, create: true, mode: 0o600 });
    return { file, info: await file.stat() };
  }

  function closeFiles(): void {
    head?.[Symbol.dispose]();
    file?.close();
    head = file = undefined;
  }

  async function appendTo(head: LockedHead, take: () => readonly LineMembers[]): Promise<void> {
    const { file, info } = await openInPlace();
    requireRegular(info, "write", path);
    const { dev, ino, size } = info;
    // only root may give files away
    if (size === 0) await giveToOwnerOf(path, headPathOf(path)).catch(() => {});
    const start = await findStart(file, { dev, ino, size }, head.read(), path);
    const lines = take();
    if (lines.length === 0) return;
    if (start.note?.event === "recovery") {
      logger.error(`The end of ${path} has changed since the server wrote it`, start.note.facts);
    }
    const note = start.note &&
      { time: new Date(now()).toISOString(), event: start.note.event, ...start.note.facts };
    let end = start.end;
    let text = start.endsCutLine ? "\n" : "";
    for (const members of note === undefined ? lines : [note, ...lines]) {
      const linked = linkLine(members, end);
      text += `${linked.line}\n`;
      end = linked.end;
    }
    const bytes = new TextEncoder().encode(text);
    await writeWhole(file, bytes, { sizeBefore: size, isSynced });
    if (!isSynced) syncLater();
    try {
      head.write({ ...end, dev, ino, size: size + bytes.length });
    } catch (error) {
      // where the head stays behind, the next writer reads the last line; no event is lost
      logger.warn(`Cannot write the head of ${path}`, { error });
    }
  }

  /** By a file of its own: the next lines do not wait for the disk. */
  function syncLater(): void {
    if (syncTimer !== undefined) return;
    syncTimer = setTimeout(async () => {
      syncTimer = undefined;
      try {
        using synced = await Deno.open(path, { append: true });
        await synced.syncData();
      } catch {
        // whoever writes next hears of it
      }
    }, syncAfterMs);
    Deno.unrefTimer(syncTimer);
  }

  return {
    /**
     * @param take gives the lines once they can be written: what came while the lock was waited for is written with them
     * @throws AppError as lockHead, `invalid` for what is no audit trail, `unavailable` where it cannot be written
     */
    async append(take: () => readonly LineMembers[]): Promise<void> {
      try {
        const locked = await lock();
        await appendTo(locked, take);
        locked.unlock();
      } catch (cause) {
        closeFiles();
        if (cause instanceof AppError) throw cause;
        throw new AppError("unavailable", `Cannot write ${path}: ${reasonOf(cause)}`, { cause });
      }
    },
    /** Hands what was written to the disk. */
    async close(): Promise<void> {
      clearTimeout(syncTimer);
      await file?.syncData().catch(() => {});
      closeFiles();
    },
  };
}

/**
 * Whether a trail could be written, as far as its path tells: nothing is made, changed or locked.
 *
 * @throws AppError `not_found` where its folder does not exist, `invalid` for what is no file, `unavailable` for others
 */
export async function checkAuditFile(path: string): Promise<void> {
  try {
    requireRegular(await Deno.stat(path), "write", path);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (!(cause instanceof Deno.errors.NotFound)) {
      throw new AppError("unavailable", `Cannot write ${path}: ${reasonOf(cause)}`, { cause });
    }
    const folder = await Deno.stat(dirname(path)).catch(() => undefined);
    if (folder?.isDirectory) return;
    throw new AppError("not_found", `Cannot write ${path}: its folder does not exist`, { cause });
  }
}

interface Start {
  readonly end: ChainEnd;
  /** A record about what was found, which is written before the lines. */
  readonly note?: { readonly event: "rotation" | "recovery"; readonly facts: LineMembers };
  /** Whether a line end is written first, since a crash cut off the last line. */
  readonly endsCutLine?: boolean;
}

async function findStart(
  file: Deno.FsFile,
  { dev, ino, size }: Pick<ChainHead, "dev" | "ino" | "size">,
  head: ChainHead | undefined,
  path: string,
): Promise<Start> {
  if (head !== undefined && head.dev === dev && head.ino === ino && head.size === size) {
    return { end: head };
  }
  if (size === 0) {
    if (head === undefined) return { end: chainStart };
    return { end: head, note: { event: "rotation", facts: {} } };
  }
  const { last, unreadable } = await readTrailEnd(file, size);
  if (last === undefined && head === undefined && unreadable?.endsLine) {
    throw new AppError("invalid", `Cannot write ${path}: it is not an audit trail`);
  }
  const found = last ?? chainStart;
  // The head is behind where a writer crashed between the two writes. Where it is ahead, lines were in the file that are
  // missing now.
  const end = head !== undefined && head.sequence >= found.sequence ? head : found;
  if (unreadable === undefined && end.hash === found.hash) return { end };
  const facts = {
    lines_missing: end.sequence - found.sequence,
    ...(unreadable && { unreadable: unreadable.hash, unreadable_bytes: unreadable.bytes }),
  };
  return { end, note: { event: "recovery", facts }, endsCutLine: unreadable?.endsLine === false };
}

/** The end of a trail that is not as its head says. */
interface TrailEnd {
  /** The last line that is as it was written; undefined where there is none. */
  readonly last: ChainEnd | undefined;
  /** What follows it, such as a line that a crash cut off. */
  readonly unreadable:
    | { readonly bytes: number; readonly hash: string; readonly endsLine: boolean }
    | undefined;
}

/** Reads as much of a file's end as it takes to find the last whole line, 16 MiB at the most. */
async function readTrailEnd(file: Deno.FsFile, size: number): Promise<TrailEnd> {
  for (let length = 65_536;; length *= 4) {
    const from = Math.max(0, size - length);
    const bytes = await readBytes(file, from, size - from);
    const found = lastLineIn(bytes);
    if (found.last !== undefined || from === 0 || length >= 16 * 1_048_576) return found;
  }
}

const lineEnd = 10;

// a line of which the bytes hold only the end does not match its seal
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

async function writeWhole(
  file: Deno.FsFile,
  bytes: Uint8Array,
  { sizeBefore, isSynced }: { readonly sizeBefore: number; readonly isSynced: boolean },
): Promise<void> {
  try {
    // into the system's memory, which takes 2 µs; on a thread it would wait for two changes of threads
    for (let rest = bytes; rest.length > 0;) rest = rest.subarray(file.writeSync(rest));
    // before the head is written, so that a power cut leaves no head that is ahead of its file
    if (isSynced) await file.syncData();
  } catch (error) {
    // a part of the lines would look like a crash to the next writer; where this fails too, it does
    await file.truncate(sizeBefore).catch(() => {});
    throw error;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.PermissionDenied) return "permission denied";
  if (error instanceof Error && "code" in error && error.code === "ENOSPC") return "the disk is full";
  return "the file system refused";
}
