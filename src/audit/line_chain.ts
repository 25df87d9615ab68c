import { dirname } from "node:path";
import { AppError } from "../core/app_error.ts";
import { lockWithin } from "../core/files/file_lock.ts";
import { giveToOwnerOf } from "../core/files/file_access.ts";
import { requireRegular } from "../core/files/read_regular_file.ts";
import { sha256 } from "../core/text/sha256.ts";

/** Where a chain of lines stands: the last line's number, and its SHA-256 in hex digits. */
export interface ChainEnd {
  readonly sequence: number;
  readonly hash: string;
}

/** Before a chain's first line. */
export const chainStart: ChainEnd = { sequence: 0, hash: "0".repeat(64) };

/** What a line holds besides its place in the chain, in this order. */
export type LineMembers = Readonly<Record<string, string | number | readonly string[]>>;

/** What the chain needs to know of a line. */
export interface ChainLine extends ChainEnd {
  /** The SHA-256 of the line before. */
  readonly previous: string;
  readonly event: string;
  /** Of a `recovery`: the SHA-256 of the bytes that a crash left before it. */
  readonly unreadable: string | undefined;
}

/**
 * The next line of a chain, without a line end: a JSON object that starts with its `sequence` and ends with `previous`, the
 * SHA-256 of the whole line before, and `seal`, the SHA-256 of its own text up to the seal.
 */
export function linkLine(members: LineMembers, after: ChainEnd): { line: string; end: ChainEnd } {
  const sequence = after.sequence + 1;
  const sealed = JSON.stringify({ sequence, ...members, previous: after.hash }).slice(0, -1);
  const line = sealed + sealOf(sealed);
  return { line, end: { sequence, hash: sha256(line) } };
}

/** Reads a line, without its line end; undefined where it is not as it was written. */
export function readLine(bytes: Uint8Array): ChainLine | undefined {
  const sealed = bytes.subarray(0, Math.max(0, bytes.length - sealLength));
  if (asText(bytes.subarray(sealed.length)) !== sealOf(sealed)) return undefined;
  const line = parseObject(asText(bytes));
  if (line === undefined) return undefined;
  const { sequence, previous, event, unreadable } = line;
  if (typeof sequence !== "number" || typeof previous !== "string" || typeof event !== "string") {
    return undefined;
  }
  return {
    sequence,
    previous,
    event,
    unreadable: typeof unreadable === "string" ? unreadable : undefined,
    hash: sha256(bytes),
  };
}

function sealOf(sealed: string | Uint8Array): string {
  return `,"seal":"${sha256(sealed)}"}`;
}

const sealLength = sealOf("").length;

function asText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Where the chain stood after the last write, and the file that held it then. */
export interface ChainHead extends ChainEnd {
  readonly dev: number;
  readonly ino: number | null;
  readonly size: number;
}

/** The file beside an audit trail that holds the head of its chain. */
export function headPathOf(path: string): string {
  return `${path}.head`;
}

/** The open and locked head of a trail. Disposing of it gives the lock back, too. */
export type LockedHead = Awaited<ReturnType<typeof lockHead>>;

/**
 * Opens the head of a trail and takes its lock, which whoever writes the trail holds. The lock is the operating system's
 * and ends with the process that holds it. `shared` is for readers: several may hold it at once, and it makes no file.
 *
 * @throws AppError `not_found` for a missing folder or, shared, a missing file, `unavailable` where the lock cannot be had
 */
export async function lockHead(path: string, mode: "exclusive" | "shared", waitMs = longestWaitMs) {
  const headPath = headPathOf(path);
  const file = await openHead(headPath, mode);

  async function lock(): Promise<void> {
    const isLocked = await lockWithin(file, mode, waitMs).catch((cause) => {
      throw new AppError("unavailable", `Cannot lock ${headPath}: the file system refused`, { cause });
    });
    if (!isLocked) throw new AppError("unavailable", `Cannot lock ${headPath}: another process holds it`);
  }

  await lock();
  return {
    /** Takes the lock again. Where this throws, the head is closed. */
    lock,
    unlock: (): void => file.unlockSync(),
    /** Whether the file is still the one beside the trail: others lock that one. */
    isInPlace: (): boolean => isSameFile(file.statSync(), statOf(headPath)),
    /** Undefined where nothing has been written yet. */
    read(): ChainHead | undefined {
      file.seekSync(0, Deno.SeekMode.Start);
      const bytes = new Uint8Array(longestHead);
      return parseHead(asText(bytes.subarray(0, file.readSync(bytes) ?? 0)));
    },
    write({ sequence, hash, dev, ino, size }: ChainHead): void {
      file.seekSync(0, Deno.SeekMode.Start);
      // always of the same length, so that one write replaces the last head
      const text = JSON.stringify({ sequence, hash, dev, ino, size }).padEnd(longestHead - 1) + "\n";
      file.writeSync(new TextEncoder().encode(text));
    },
    [Symbol.dispose]: () => file.close(),
  };
}

/** What stands at a path now; undefined where nothing does. */
export function statOf(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Where the system does not number its files, none is known to be the same. */
export function isSameFile(left: Deno.FileInfo, right: Deno.FileInfo | undefined): boolean {
  return left.ino !== null && left.ino === right?.ino && left.dev === right.dev;
}

const longestHead = 256;
const longestWaitMs = 5000;

async function openHead(headPath: string, mode: "exclusive" | "shared"): Promise<Deno.FsFile> {
  try {
    if (mode === "shared") {
      // opening a pipe would wait until somebody writes to it
      requireRegular(await Deno.stat(headPath), "open", headPath);
      return await Deno.open(headPath, { read: true });
    }
    const file = await Deno.open(headPath, { read: true, write: true, create: true, mode: 0o600 });
    if ((await file.stat()).size === 0) await giveToOwnerOf(headPath, dirname(headPath)).catch(() => {});
    return file;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (cause instanceof Deno.errors.NotFound) {
      const missing = mode === "shared" ? "it does not exist" : "its folder does not exist";
      throw new AppError("not_found", `Cannot open ${headPath}: ${missing}`, { cause });
    }
    const reason = cause instanceof Deno.errors.PermissionDenied
      ? "permission denied"
      : "the file system refused";
    throw new AppError("unavailable", `Cannot open ${headPath}: ${reason}`, { cause });
  }
}

// a head that a crash or somebody has spoiled counts as none: then the trail's last line says where the chain stands
function parseHead(text: string): ChainHead | undefined {
  const { sequence, hash, dev, ino, size } = parseObject(text) ?? {};
  const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);
  if (typeof hash !== "string" || !/^[0-9a-f]{64}$/.test(hash)) return undefined;
  if (!isNumber(sequence) || !isNumber(dev) || !isNumber(size)) return undefined;
  return { sequence, hash, dev, ino: isNumber(ino) ? ino : null, size };
}
