import { basename, dirname, resolve, sep } from "node:path";
import { AppError } from "../../core/app_error.ts";
import { type PathOnDisk, reasonOf } from "./find_files.ts";
import type { RemoteSource } from "./sources/remote_source.ts";

/** A source that the configuration lists. */
export interface ConfiguredSource {
  readonly name: string;
  /** Of a folder, absolute; else what tells the source from others. */
  readonly path: string;
  /** What is asked for the files. Optional: none for a folder. */
  readonly remote?: RemoteSource;
  /** The pipeline that has it, if that is another one; it writes to the same table. */
  readonly otherPipeline?: string;
}

/** The paths to ingest, as the command line and the configuration have them. */
export interface PathOptions {
  /** Files and folders; none for the configured sources. */
  readonly paths: readonly string[];
  /** `-source`: what to call the folder, or which of the configured sources to ingest. */
  readonly sourceName?: string | undefined;
  readonly configured?: readonly ConfiguredSource[];
  /** `-confirm-removal`. */
  readonly isRemovalConfirmed?: boolean;
}

export interface GivenPath extends PathOnDisk {
  /** As somebody wrote it. */
  readonly given: string;
  /** The last name of the folder as it was written, without `.` and `..`; of a file's folder, for a file. */
  readonly folderName: string;
}

/** A configured source that is there. */
export interface ConfiguredFolder extends ConfiguredSource {
  /** Without symbolic links. */
  readonly folder: string;
}

export interface GivenPaths {
  readonly given: readonly GivenPath[];
  readonly configured: readonly ConfiguredFolder[];
  /** Whether all configured sources are to be read, as no path was given and no name. */
  readonly isAllConfigured: boolean;
  /** Why configured sources that were asked for cannot be read. */
  readonly refusals: readonly string[];
  /** A source that the configuration does not have, all of whose files are to be removed. */
  readonly removedSource?: string;
}

/**
 * Looks at the paths that are to be ingested, and at the configured sources.
 *
 * @throws {AppError} `invalid` for a path that does not exist or cannot be read, for sources that lie inside each other,
 * and where there is nothing to ingest
 */
export async function lookAtPaths(options: PathOptions): Promise<GivenPaths> {
  const { paths, configured = [], isRemovalConfirmed = false } = options;
  const sourceName = options.sourceName?.normalize("NFC");
  const looks = await Promise.all(configured.map(lookAtSource));
  const folders = looks.flatMap(({ source, found }) =>
    typeof found === "string" ? [] : [{ ...source, folder: found.location }]
  );
  refuseNested(folders);
  const none = { given: [], configured: folders, isAllConfigured: false, refusals: [] };
  if (paths.length > 0) return { ...none, given: await Promise.all(paths.map(lookAtPath)) };
  const own = looks.filter(({ source }) => source.otherPipeline === undefined);
  const chosen = sourceName === undefined ? own : own.filter(({ source }) => source.name === sourceName);
  if (chosen.length === 0) {
    if (sourceName === undefined) {
      throw invalid("Cannot ingest: give a PATH, or list sources of the pipeline");
    }
    const other = configured.find(({ name }) => name === sourceName)?.otherPipeline;
    if (other !== undefined) {
      throw invalid(
        `Cannot ingest source "${sourceName}": it is configured for pipeline "${other}"; name that pipeline after -ingest`,
      );
    }
    if (isRemovalConfirmed) return { ...none, removedSource: sourceName };
    throw invalid(
      `Cannot ingest source "${sourceName}": the pipeline has ${namesOf(own)}; give the PATH of its ` +
        "folder, or add -confirm-removal to remove what the table has of it",
    );
  }
  return {
    given: chosen.flatMap(({ found }) => typeof found === "string" ? [] : [found]),
    configured: folders,
    isAllConfigured: sourceName === undefined,
    refusals: chosen.flatMap(({ found }) => typeof found === "string" ? [found] : []),
  };
}

function namesOf(looks: readonly SourceLook[]): string {
  if (looks.length === 0) return "no sources";
  return `sources ${looks.map(({ source }) => `"${source.name}"`).join(", ")}`;
}

interface SourceLook {
  readonly source: ConfiguredSource;
  /** Or why it cannot be read. */
  readonly found: GivenPath | string;
}

async function lookAtSource(source: ConfiguredSource): Promise<SourceLook> {
  const { name, path, remote } = source;
  if (remote !== undefined) {
    return { source, found: { location: path, isFolder: true, given: path, folderName: path } };
  }
  const found = await lookAtPath(path).catch((error: unknown) => {
    if (error instanceof AppError) return error.message;
    throw error;
  });
  const isFile = typeof found !== "string" && !found.isFolder;
  return { source, found: isFile ? `Cannot ingest source "${name}": ${path} is not a folder` : found };
}

async function lookAtPath(given: string): Promise<GivenPath> {
  const onDisk = await lookAtDisk(given);
  const written = resolve(given);
  if (onDisk.isFolder) return { ...onDisk, given, folderName: basename(written) };
  const folder = dirname(onDisk.location);
  // a file's link may stand in another folder than the file
  const isThere = await Deno.realPath(dirname(written)) === folder;
  return { ...onDisk, given, folderName: basename(isThere ? dirname(written) : folder) };
}

async function lookAtDisk(given: string): Promise<PathOnDisk> {
  try {
    const location = await Deno.realPath(given);
    return { location, isFolder: (await Deno.stat(location)).isDirectory };
  } catch (cause) {
    throw invalid(`Cannot ingest ${given}: ${reasonOf(cause)}`, cause);
  }
}

/** Their files would be known twice. */
function refuseNested(folders: readonly ConfiguredFolder[]): void {
  for (const [at, one] of folders.entries()) {
    for (const other of folders.slice(at + 1)) {
      const [outer, inner] = one.folder.length <= other.folder.length ? [one, other] : [other, one];
      if (!isInside(inner.folder, outer.folder)) continue;
      throw invalid(
        `Cannot ingest: source "${inner.name}" (${inner.path}) lies in source "${outer.name}" (${outer.path}), ` +
          "so its files would be in the table twice; take one of the two out of the configuration",
      );
    }
  }
}

/** Whether an absolute path is a folder or lies below it. */
export function isInside(location: string, folder: string): boolean {
  return location === folder || location.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Whether a file or folder exists, as far as this process may see it. */
export async function isThere(location: string): Promise<boolean> {
  return await Deno.stat(location).then(() => true, () => false);
}

export function invalid(message: string, cause?: unknown): AppError {
  return new AppError("invalid", message, { cause });
}
