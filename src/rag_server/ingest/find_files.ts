import { join, sep } from "node:path";
import { AppError } from "../../core/app_error.ts";

export interface FoundFile {
  /** Absolute, without symbolic links. */
  readonly path: string;
  /** Relative to the folder that was given, with `/`; the name alone for a file that was given itself. */
  readonly source: string;
}

export interface FileNote {
  readonly source: string;
  readonly reason: string;
}

export interface FoundFiles {
  /** By path. */
  readonly files: readonly FoundFile[];
  /** What was given, absolute. */
  readonly roots: readonly string[];
  readonly skipped: readonly FileNote[];
  readonly failed: readonly FileNote[];
  /** Folders that could not be read. Whether a file below them is gone is unknown. */
  readonly unreadable: readonly string[];
}

/**
 * The files at and below some paths. Hidden files and folders, `node_modules` and symbolic links are left out, but not
 * where they were given themselves.
 *
 * @throws {AppError} `invalid` for a path that does not exist or cannot be read
 */
export async function findFiles(paths: readonly string[], signal: AbortSignal): Promise<FoundFiles> {
  const files = new Map<string, FoundFile>();
  const roots: string[] = [];
  const skipped: FileNote[] = [];
  const failed: FileNote[] = [];
  const unreadable: string[] = [];

  async function walk(folder: string, prefix: string): Promise<void> {
    signal.throwIfAborted();
    const entries = await readFolder(folder).catch((error: unknown) => {
      failed.push({ source: prefix || folder, reason: reasonOf(error) });
      unreadable.push(folder);
      return [];
    });
    for (const { name, isFile, isDirectory, isSymlink } of entries) {
      if (name.startsWith(".") || name === "node_modules") continue;
      const [path, source] = [join(folder, name), `${prefix}${name}`];
      if (isSymlink) skipped.push({ source, reason: "it is a symbolic link" });
      else if (isDirectory) await walk(path, `${source}/`);
      else if (isFile && !files.has(path)) files.set(path, { path, source });
    }
  }

  for (const given of paths) {
    const { path, isDirectory } = await lookAt(given);
    roots.push(path);
    if (isDirectory) await walk(path, "");
    else if (!files.has(path)) files.set(path, { path, source: path.slice(path.lastIndexOf(sep) + 1) });
  }
  const byPath = [...files.values()].sort((one, other) => one.path < other.path ? -1 : 1);
  return { files: byPath, roots, skipped, failed, unreadable };
}

/** Whether a path is one of the others or below one. */
export function isBelow(path: string, others: readonly string[]): boolean {
  return others.some((other) => path === other || path.startsWith(other.endsWith(sep) ? other : other + sep));
}

export function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file or folder";
  if (error instanceof Deno.errors.PermissionDenied) return "no permission to read it";
  return error instanceof Error ? error.message : String(error);
}

async function lookAt(given: string): Promise<{ path: string; isDirectory: boolean }> {
  try {
    const path = await Deno.realPath(given);
    return { path, isDirectory: (await Deno.stat(path)).isDirectory };
  } catch (cause) {
    throw new AppError("invalid", `Cannot ingest ${given}: ${reasonOf(cause)}`, { cause });
  }
}

async function readFolder(folder: string): Promise<readonly Deno.DirEntry[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.sort((one, other) => one.name < other.name ? -1 : 1);
}
