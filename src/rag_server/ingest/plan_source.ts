import { join } from "node:path";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import { pathBelow, type Source } from "./assign_sources.ts";
import { type FoundFiles, isWithin } from "./find_files.ts";
import { isInside, isThere } from "./given_paths.ts";
import { type FileRecord, type IngestRecords, moveRecords, saveSource } from "./ingest_record.ts";
import type { IngestTable } from "./ingest_table.ts";
import type { FileReader } from "./read_changed_file.ts";

/** How a source's files are known, and which of them are gone, before any of them is read. */
export interface SourcePlan extends KnownFiles {
  /** Records of files that have another path now, in their new form. */
  readonly moved: readonly FileRecord[];
}

interface PlanContext {
  readonly records: IngestRecords;
  /** Names of sources that stay what they are: the configured ones and those of this run. */
  readonly ownNames: ReadonlySet<string>;
  readonly reader: FileReader;
  readonly isRemovalConfirmed: boolean;
  readonly signal: AbortSignal;
}

/** @returns the plan, or why the source is left as it is */
export async function planSource(
  source: Source,
  found: FoundFiles,
  context: PlanContext,
): Promise<SourcePlan | string> {
  const refusal = whyTwice(source, found, context) ??
    (source.isNamed ? undefined : await whyUnclear(source, context));
  if (refusal !== undefined) return refusal;
  const records = new Map(filesOf(source.name, context.records).map((file) => [file.path, file]));
  const moved: FileRecord[] = [];
  for (const [path, record] of await findRenamed({ source, found, records }, context)) {
    const renamed = { ...record, path, hash: "" };
    records.delete(record.path);
    records.set(path, renamed);
    moved.push(renamed);
  }
  const plan = { source, found, records, moved };
  if (context.isRemovalConfirmed) return plan;
  return refuseRemoval(plan, goneRecords(plan, new Set(found.files.map(({ path }) => path)))) ?? plan;
}

/** Notes the sources of a run, and their files' new paths, in one transaction. Nothing is embedded. */
export async function savePlans(
  session: SqlSession,
  table: IngestTable,
  plans: readonly SourcePlan[],
): Promise<void> {
  await transaction(session, async () => {
    for (const { source, moved } of plans) {
      await saveSource(session, table, source);
      await moveRecords(session, moved);
    }
  });
}

/** Why a folder or file is not read that the table has from another source already. */
function whyTwice(
  { name, folder, isWhole, scopes }: Source,
  { files }: FoundFiles,
  { records, ownNames }: PlanContext,
): string | undefined {
  const places = new Set(files.map(({ location }) => location.normalize("NFC")));
  const read = new Set(scopes.map(({ path }) => path));
  const isRead = (known: { folder: string; isWhole: boolean }) =>
    isWhole && (known.folder === folder ? known.isWhole : isInside(known.folder, folder)) &&
    isWithin(pathBelow(folder, known.folder), read);
  const other = records.sources.find((known) =>
    !ownNames.has(known.name) &&
    filesOf(known.name, records).some(({ path }) =>
      isRead(known) || places.has(join(known.folder, path).normalize("NFC"))
    )
  );
  if (other === undefined) return undefined;
  const [it, keepName] = other.folder === folder ? ["it", "keep that name, or "] : [other.folder, ""];
  return `Cannot ingest ${folder} as source "${name}": the table has ${it} as source "${other.name}", and would have ` +
    `the files twice; ${keepName}remove that source first, with -source "${other.name}" and -confirm-removal without a PATH`;
}

/**
 * Why a folder that nobody named is not read: it may be a known one in a new place, whose files would be in the table twice
 * or take those of another.
 */
async function whyUnclear(
  { name, folder, isWhole }: Source,
  { records, ownNames }: PlanContext,
): Promise<string | undefined> {
  const known = records.sources.find((source) => source.name === name);
  if (known !== undefined) {
    if (known.folder === folder) return undefined;
    return `Cannot ingest ${folder} as source "${name}": under this name the table has ${known.folder}; if that was ` +
      `moved here, add -source "${name}"; if this is another folder, give it another name with -source NAME`;
  }
  if (!isWhole) return undefined;
  for (const other of records.sources) {
    const isUsed = !ownNames.has(other.name) && filesOf(other.name, records).length > 0;
    if (!isUsed || /^[\w+-]{2,}:/.test(other.folder) || await isThere(other.folder)) continue;
    return `Cannot ingest ${folder} as source "${name}": the folder of source "${other.name}", ${other.folder}, is not ` +
      `there any more; if that was moved here, add -source "${other.name}"; if this is another folder, add -source "${name}"`;
  }
  return undefined;
}

export function filesOf(name: string, { files }: IngestRecords): FileRecord[] {
  return files.filter(({ source }) => source === name);
}

/** By their new paths, the records of files that have the content of one that is gone: they got another name or folder. */
async function findRenamed(
  files: KnownFiles,
  { reader, signal }: PlanContext,
): Promise<Map<string, FileRecord>> {
  const paths = new Set(files.found.files.map(({ path }) => path));
  const gone = goneRecords(files, paths).filter(({ isWhole }) => isWhole);
  const renamed = new Map<string, FileRecord>();
  const goneByHash = Map.groupBy(gone, ({ hash }) => hash);
  for (const file of gone.length === 0 ? [] : files.found.files) {
    if (files.records.has(file.path)) continue;
    const record = goneByHash.get(await reader.hash(file, signal) ?? "")?.shift();
    if (record !== undefined) renamed.set(file.path, record);
  }
  return renamed;
}

/** A source's files, as they are and as they were. */
interface KnownFiles {
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
