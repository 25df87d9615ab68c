import type { Source } from "./assign_sources.ts";
import { type FoundFiles, isWithin } from "./find_files.ts";
import type { FileRecord } from "./ingest_record.ts";

/** A source's files, as they are and as they were. */
export interface KnownFiles {
  readonly source: Source;
  readonly found: FoundFiles;
  /** By path; those of the whole source. */
  readonly records: ReadonlyMap<string, FileRecord>;
}

/**
 * The records, in the scopes of the run, whose files are gone.
 *
 * @param kept the paths of the files that are there
 */
export function goneRecords(files: KnownFiles, kept: ReadonlySet<string>): FileRecord[] {
  return recordsInScope(files).filter(({ path }) =>
    !kept.has(path) && !isWithin(path, files.found.unreadable)
  );
}

function recordsInScope({ source: { scopes }, records }: KnownFiles): FileRecord[] {
  const scopePaths = new Set(scopes.map(({ path }) => path));
  return [...records.values()].filter(({ path }) => isWithin(path, scopePaths));
}

/** The most files that may go without a question. */
const fewFiles = 9;

/** How many of the files that would be removed are named. */
const shownExamples = 3;

/** Why files are not removed: they are many, and most of those that are known, as where a folder is not mounted. */
export function refuseRemoval(files: KnownFiles, gone: readonly FileRecord[]): string | undefined {
  const known = recordsInScope(files).length;
  if (gone.length <= fewFiles || gone.length * 2 <= known) return undefined;
  const { name, folder } = files.source;
  const examples = gone.slice(0, shownExamples).map(({ path }) => path).join(", ");
  return `Cannot remove ${gone.length} of the ${known} known files of source "${name}" (${examples}, …): that is most ` +
    `of them; look whether ${folder} is complete, and if it is, run again with -confirm-removal`;
}
