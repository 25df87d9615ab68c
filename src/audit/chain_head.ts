import { dirname } from "node:path";
import { AppError } from "../core/app_error.ts";
import { giveToOwnerOf } from "../core/files/give_to_owner_of.ts";
import { lockWithin } from "../core/files/file_lock.ts";
import { requireRegular } from "../core/files/read_regular_file.ts";
import type { ChainEnd } from "./chain.ts";

/** Where the chain stood after the last write, and the file that held it then. */
export interface ChainHead extends ChainEnd {
  readonly dev: number;
  readonly ino: number | null;
  readonly size: number;
}

/** The file beside an audit trail that holds the head of its chain; whoever writes the trail holds its lock. */
export interface LockedHead extends Disposable {
  /** Undefined where nothing has been written yet. */
  read(): Promise<ChainHead | undefined>;
  write(head: ChainHead): Promise<void>;
}

export function headPathOf(path: string): string {
  return `${path}.head`;
}

/**
 * Opens the head and takes its lock: the operating system's, which ends with the process that holds it. `shared` is for
 * readers; several may hold it at once, and it makes no file.
 *
 * @throws AppError `not_found` for a missing folder or, shared, a missing file, `unavailable` where the lock cannot be had
 */
export async function lockHead(path: string, mode: "exclusive" | "shared"): Promise<LockedHead> {
  const headPath = headPathOf(path);
  const file = await openHead(headPath, mode);
  const isLocked = await lockWithin(file, mode, longestWaitMs).catch((cause) => {
    throw new AppError("unavailable", `Cannot lock ${headPath}: the file system refused`, { cause });
  });
  if (!isLocked) throw new AppError("unavailable", `Cannot lock ${headPath}: another process holds it`);
  return {
    async read() {
      await file.seek(0, Deno.SeekMode.Start);
      const bytes = new Uint8Array(longestHead);
      const length = await file.read(bytes);
      return parseHead(new TextDecoder().decode(bytes.subarray(0, length ?? 0)));
    },
    async write({ sequence, hash, dev, ino, size }) {
      await file.seek(0, Deno.SeekMode.Start);
      // always as long, so that one write puts it in the place of the last
      const text = JSON.stringify({ sequence, hash, dev, ino, size }).padEnd(longestHead - 1) + "\n";
      await file.write(new TextEncoder().encode(text));
    },
    [Symbol.dispose]: () => file.close(),
  };
}

const longestHead = 256;
const longestWaitMs = 5000;

async function openHead(headPath: string, mode: "exclusive" | "shared"): Promise<Deno.FsFile> {
  try {
    if (mode === "shared") {
      // to open a pipe takes until somebody writes to it
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

// a head that a crash or a hand has spoiled counts as none: the trail's last line stands in for it
function parseHead(text: string): ChainHead | undefined {
  try {
    const { sequence, hash, dev, ino, size } = JSON.parse(text);
    const numbers = [sequence, dev, size].every(Number.isSafeInteger);
    return numbers && /^[0-9a-f]{64}$/.test(hash) ? { sequence, hash, dev, ino, size } : undefined;
  } catch {
    return undefined;
  }
}
