import { basename, dirname, join } from "node:path";
import { AppError } from "../app_error.ts";
import { giveToOwnerOf } from "./file_access.ts";

/**
 * The file that a path stands for, symbolic links followed, so that a write goes where the link points. A file that
 * does not exist yet is named inside its real folder.
 *
 * @throws AppError `not_found` where the folder does not exist, `invalid` for a link that leads nowhere
 */
export async function resolveFile(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw cannotWrite(path, error);
  }
  if (await Deno.lstat(path).then((info) => info.isSymlink, () => false)) {
    const reason = "it is a symbolic link to a file that does not exist";
    throw new AppError("invalid", `Cannot write ${path}: ${reason}`);
  }
  try {
    return join(await Deno.realPath(dirname(path)), basename(path));
  } catch (cause) {
    throw new AppError("not_found", `Cannot write ${path}: its folder does not exist`, { cause });
  }
}

/**
 * Puts `text` in the place of a file's content with mode 0600: a reader and a crash at any point see the old content
 * or the new one, whole. The file's owner is kept. The caller holds the file's lock.
 *
 * @throws AppError `unavailable` where the folder cannot be written, `forbidden` where the owner cannot be kept
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await Deno.remove(temporary).catch(ignoreMissing);
    await writeThrough(temporary, text);
    await keepOwner(path, temporary);
    await Deno.rename(temporary, path);
  } catch (error) {
    await Deno.remove(temporary).catch(() => {});
    throw error instanceof AppError ? error : cannotWrite(path, error);
  }
  await syncFolder(dirname(path));
}

async function writeThrough(path: string, text: string): Promise<void> {
  using file = await Deno.open(path, { createNew: true, write: true, mode: 0o600 });
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await file.write(rest));
  await file.sync();
}

async function keepOwner(path: string, temporary: string): Promise<void> {
  try {
    await giveToOwnerOf(temporary, path, { keepGroup: true });
  } catch (cause) {
    if (cause instanceof Deno.errors.NotFound) return;
    throw new AppError("forbidden", `Cannot write ${path}: it belongs to another user`, { cause });
  }
}

// a rename outlives a power cut only once its folder is on the disk; not every system can sync a folder
async function syncFolder(path: string): Promise<void> {
  try {
    using folder = await Deno.open(path);
    await folder.sync();
  } catch {
    return;
  }
}

/** What stands for a file that is not there; throws any other error. */
export function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

function cannotWrite(path: string, cause: unknown): AppError {
  const reason = cause instanceof Deno.errors.PermissionDenied
    ? "permission denied"
    : "the file system refused";
  return new AppError("unavailable", `Cannot write ${path}: ${reason}`, { cause });
}
