import { AppError } from "../app_error.ts";
import { settlesWithin } from "../async/deadline.ts";
import { createQueue, type Queue } from "../async/queue.ts";
import { ignoreMissing } from "./replace_file.ts";

// What waits in the operating system cannot be stopped, and takes one of the runtime's few I/O threads, for whose want the
// whole process would stop. So whoever comes while a wait that was given up goes on waits for its end.
const givenUp = new Map<string, Promise<unknown>>();

/**
 * Takes the operating system's advisory lock on an open file. It ends when the file is closed or the process ends,
 * however that ends. Several may hold it `shared` at once.
 *
 * @returns whether it was had in time; where it was not, and where this throws, the file is closed
 * @throws the runtime's error where the file cannot be locked at all
 */
export async function lockWithin(
  file: Deno.FsFile,
  mode: "exclusive" | "shared",
  waitMs: number,
): Promise<boolean> {
  const endsAt = performance.now() + waitMs;
  const before = givenUp.size > 0 && givenUp.get(identityOf(file));
  if (before && !await settlesWithin(waitMs, before)) {
    file.close();
    return false;
  }
  const locked = file.lock(mode === "exclusive");
  try {
    if (await settlesWithin(Math.max(0, endsAt - performance.now()), locked)) return true;
  } catch (error) {
    file.close();
    throw error;
  }
  const identity = identityOf(file);
  // a lock that it gets later is given back at once
  const ended = locked.catch(() => {}).finally(() => {
    if (givenUp.get(identity) === ended) givenUp.delete(identity);
    file.close();
  });
  givenUp.set(identity, ended);
  return false;
}

function identityOf(file: Deno.FsFile): string {
  const { dev, ino } = file.statSync();
  return `${dev} ${ino}`;
}

const longestWaitMs = 10_000;

// A waiting lock takes one of the runtime's few I/O threads, and a holder needs one of them to finish its work: callers
// of one process therefore wait for each other here, so that at most one of them waits in the operating system.
const queues = new Map<string, Queue>();

/**
 * Runs `work` while no other process and no other caller holds the advisory lock of `path`, which is the operating
 * system's lock on the file `<path>.lock`. It ends with the process that holds it, however that ends, so a crash
 * never shuts others out; the lock file itself is removed when it is given back.
 *
 * @throws AppError `not_found` where the folder does not exist, `unavailable` where the lock cannot be had in time
 */
export async function withFileLock<T>(
  path: string,
  work: () => Promise<T>,
  options: { longestWaitMs?: number } = {},
): Promise<T> {
  const lockPath = `${path}.lock`;
  const queue = queues.get(lockPath) ?? createQueue();
  queues.set(lockPath, queue);
  try {
    return await queue.run(async () => {
      const lock = await acquire(path, lockPath, options.longestWaitMs ?? longestWaitMs);
      try {
        return await work();
      } finally {
        await release(lock, lockPath);
      }
    });
  } finally {
    if (queue.isEmpty) queues.delete(lockPath);
  }
}

async function acquire(path: string, lockPath: string, waitMs: number): Promise<Deno.FsFile> {
  const deadline = Date.now() + waitMs;
  while (true) {
    const file = await openLockFile(path, lockPath);
    const isLocked = await lockWithin(file, "exclusive", Math.max(0, deadline - Date.now())).catch(
      (cause) => {
        throw new AppError("unavailable", `Cannot write ${path}: ${lockPath} cannot be locked`, { cause });
      },
    );
    if (!isLocked) {
      throw new AppError("unavailable", `Cannot write ${path}: another process holds ${lockPath}`);
    }
    if (await isStillAt(file, lockPath)) return file;
    // its last holder removed it while we waited; what we hold excludes nobody
    file.close();
  }
}

async function openLockFile(path: string, lockPath: string): Promise<Deno.FsFile> {
  try {
    return await Deno.open(lockPath, { create: true, read: true, write: true, mode: 0o600 });
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) {
      throw new AppError("not_found", `Cannot write ${path}: its folder does not exist`, { cause });
    }
    const reason = `the lock file ${lockPath} cannot be made`;
    throw new AppError("unavailable", `Cannot write ${path}: ${reason}`, { cause });
  }
}

async function isStillAt(file: Deno.FsFile, lockPath: string): Promise<boolean> {
  const held = await file.stat();
  const current = await Deno.stat(lockPath).catch(ignoreMissing);
  return held.ino === current?.ino && held.dev === current.dev;
}

async function release(file: Deno.FsFile, lockPath: string): Promise<void> {
  // removed while it is still held, so that nobody else's is removed; a leftover does no harm
  await Deno.remove(lockPath).catch(() => {});
  file.close();
}
