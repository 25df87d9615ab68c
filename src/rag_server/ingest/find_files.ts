import { join } from "node:path";
import { formatOf, unknownFormat } from "./formats/document_formats.ts";
import { sizeText } from "../../core/text/units.ts";
import type { RemoteFile } from "./sources/remote_source.ts";

/** A file or folder that is there. */
export interface PathOnDisk {
  /** Absolute, without symbolic links. */
  readonly location: string;
  readonly isFolder: boolean;
}

/** A part of a source, or all of it, that is to be read. */
export interface Scope extends PathOnDisk {
  /** Below the source's folder, with `/`, in NFC; empty for all of it. */
  readonly path: string;
}

export interface FoundFile {
  /** Where to read it, absolute. */
  readonly location: string;
  /** Below its source's folder, with `/`, in the normalisation form NFC: what it is known by. */
  readonly path: string;
  /** Of a file that is not on disk, where `location` is empty. */
  readonly remote?: RemoteFile;
}

/** `path` is that of a file or, with a `/` at its end, a folder below its source's folder; `reason` is for people. */
export interface FileNote {
  readonly path: string;
  readonly reason: string;
}

export interface FoundFiles {
  /** By path. */
  readonly files: readonly FoundFile[];
  /** Files and folders that are not for reading. */
  readonly skipped: readonly FileNote[];
  readonly failed: readonly FileNote[];
  /** Files and folders that could not be looked at. Whether a file there is gone is unknown. */
  readonly unreadable: ReadonlySet<string>;
}

/**
 * The files of a source that are for reading: of a known format, neither empty nor too large. Hidden files and folders,
 * `node_modules` and symbolic links are left out, but not where they were given themselves.
 */
export async function findFiles(
  scopes: readonly Scope[],
  { maxFileBytes, signal }: { readonly maxFileBytes: number; readonly signal: AbortSignal },
): Promise<FoundFiles> {
  const files = new Map<string, FoundFile>();
  const skipped: FileNote[] = [];
  const failed: FileNote[] = [];
  const unreadable = new Set<string>();

  function fail(path: string, error: unknown): void {
    failed.push({ path: path || ".", reason: reasonOf(error) });
    unreadable.add(path);
  }

  async function walk(folder: string, path: string): Promise<void> {
    signal.throwIfAborted();
    const entries = await readFolder(folder).catch((error: unknown) => fail(path, error)) ?? [];
    for (const entry of entries) {
      const location = join(folder, entry.name);
      const below = (path === "" ? entry.name : `${path}/${entry.name}`).normalize("NFC");
      const reason = leftOut(entry);
      if (reason !== undefined) skipped.push({ path: entry.isDirectory ? `${below}/` : below, reason });
      else if (entry.isDirectory) await walk(location, below);
      else await add(location, below);
    }
  }

  async function add(location: string, path: string): Promise<void> {
    const same = files.get(path);
    if (same?.location === location) return;
    try {
      const reason = same === undefined
        ? unfit(path, await Deno.stat(location), maxFileBytes)
        : "another file has the same name in Unicode";
      if (reason === undefined) files.set(path, { location, path });
      else skipped.push({ path, reason });
    } catch (error) {
      fail(path, error);
    }
  }

  for (const { location, path, isFolder } of scopes) {
    await (isFolder ? walk : add)(location, path);
  }
  return { files: [...files.values()].sort(byPath), skipped, failed, unreadable };
}

export function byPath(one: { readonly path: string }, other: { readonly path: string }): number {
  return one.path < other.path ? -1 : 1;
}

function leftOut({ name, isSymlink, isDirectory, isFile }: Deno.DirEntry): string | undefined {
  // Office's marks of open files, and what a file system's check saves
  if (/^(?:\.|~\$|lost\+found$)/.test(name)) return "it is hidden";
  if (isSymlink) return "it is a symbolic link";
  if (name === "node_modules") return "it holds installed packages";
  return isDirectory || isFile ? undefined : "it is not a regular file";
}

/** Says nothing against a pipe or a device, which somebody named: the reader fails on it. */
export function unfit(
  path: string,
  { isFile, size }: Pick<Deno.FileInfo, "isFile" | "size">,
  maxFileBytes: number,
): string | undefined {
  if (formatOf(path) === undefined) return unknownFormat;
  if (isFile && size === 0) return "it is empty";
  return isFile && size > maxFileBytes ? tooLarge(maxFileBytes) : undefined;
}

export function tooLarge(maxFileBytes: number): string {
  return `it has more than ${sizeText(maxFileBytes)}`;
}

/** Whether a path is one of the others or below one; all with `/`, and the empty one above all. */
export function isWithin(path: string, others: { has(path: string): boolean }): boolean {
  if (others.has("") || others.has(path)) return true;
  for (let end = path.indexOf("/"); end >= 0; end = path.indexOf("/", end + 1)) {
    if (others.has(path.slice(0, end))) return true;
  }
  return false;
}

export function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file or folder";
  if (error instanceof Deno.errors.PermissionDenied) return "no permission to read it";
  return error instanceof Error ? error.message : String(error);
}

async function readFolder(folder: string): Promise<readonly Deno.DirEntry[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.sort((one, other) => one.name < other.name ? -1 : 1);
}
