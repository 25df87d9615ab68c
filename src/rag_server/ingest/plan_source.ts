import { defined } from "../../core/defined.ts";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import { type KnownSource, pathBelow, type Source } from "./assign_sources.ts";
import { type FoundFiles, isWithin } from "./find_files.ts";
import { isInside, isThere } from "./given_paths.ts";
import {
  deleteFile,
  type FileRecord,
  type IngestRecords,
  moveRecords,
  removeSource,
  renameSource,
  saveSource,
} from "./ingest_record.ts";
import type { IngestTable } from "./ingest_table.ts";
import type { FileReader } from "./read_changed_file.ts";

/** How a source's files are known, and which of them are gone, before any of them is read. */
export interface SourcePlan extends KnownFiles {
  /** Optional: the source's name until now. */
  readonly formerName?: string;
  /** Sources in the source's folder, which become a part of it. */
  readonly absorbed: readonly KnownSource[];
  /** Records to move, in their new form. */
  readonly moved: readonly FileRecord[];
  /** Second records of a file, whose rows are to go. */
  readonly doubled: readonly FileRecord[];
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
  const { records: { sources, files }, isRemovalConfirmed } = context;
  const known = sources.find(({ name }) => name === source.name);
  const refusal = source.isNamed ? undefined : await whyUnclear(source, known, context);
  if (refusal !== undefined) return refusal;
  const formerName = known === undefined && source.isNamed ? nameUntilNow(source, context) : undefined;
  const own = formerName ?? source.name;
  const absorbed = sources.filter((inner) => inner.name !== own && isAbsorbed(inner, source, context));
  const records = new Map<string, FileRecord>(
    filesOf(own, context).map((file) => [file.path, { ...file, source: source.name }]),
  );
  const movedIds = new Set<string>();
  const doubled: FileRecord[] = [];
  const take = (file: FileRecord, path: string) => {
    if (records.has(path)) doubled.push(file);
    else {
      records.set(path, { ...file, source: source.name, path });
      movedIds.add(file.id);
    }
  };
  for (const file of files) {
    const inner = absorbed.find(({ name }) => name === file.source);
    if (inner !== undefined) take(file, `${pathBelow(source.folder, inner.folder)}/${file.path}`);
  }
  for (const [path, record] of await findRenamed({ source, found, records }, context)) {
    records.delete(record.path);
    records.set(path, { ...record, path, hash: "" });
    movedIds.add(record.id);
  }
  const plan = {
    source,
    found,
    records,
    absorbed,
    moved: [...records.values()].filter(({ id }) => movedIds.has(id)),
    doubled,
    ...defined({ formerName }),
  };
  if (isRemovalConfirmed) return plan;
  return refuseRemoval(plan, goneRecords(plan, new Set(found.files.map(({ path }) => path)))) ?? plan;
}

/**
 * Notes the sources of a run, and moves records into them as planned. All of it is one transaction, and nothing
 * is embedded.
 */
export async function savePlans(
  session: SqlSession,
  table: IngestTable,
  plans: readonly SourcePlan[],
): Promise<void> {
  await transaction(session, async () => {
    for (const { source, formerName, absorbed, moved, doubled } of plans) {
      if (formerName !== undefined) {
        await renameSource(session, table, { from: formerName, to: source.name });
      }
      await saveSource(session, table, source);
      await moveRecords(session, table, source.name, moved);
      for (const file of doubled) await deleteFile(session, table, file);
      for (const { name } of absorbed) await removeSource(session, table, name);
    }
  });
}

/** Whether the folder of a source lies in what is read of another one. */
function isAbsorbed(
  inner: KnownSource,
  { folder, isWhole, scopes }: Source,
  { ownNames }: PlanContext,
): boolean {
  return isWhole && inner.folder !== folder && isInside(inner.folder, folder) &&
    isWithin(pathBelow(folder, inner.folder), new Set(scopes.map(({ path }) => path))) &&
    !ownNames.has(inner.name);
}

/**
 * Why a folder that nobody named is not read: it may be a known one in a new place, whose files would be in the table twice
 * or take those of another.
 */
async function whyUnclear(
  { name, folder, isWhole }: Source,
  known: KnownSource | undefined,
  context: PlanContext,
): Promise<string | undefined> {
  if (known !== undefined) {
    if (known.folder === folder) return undefined;
    return `Cannot ingest ${folder} as source "${name}": under this name the table has ${known.folder}; if that was ` +
      `moved here, add -source "${name}"; if this is another folder, give it another name with -source NAME`;
  }
  if (!isWhole) return undefined;
  for (const other of context.records.sources) {
    const isUsed = !context.ownNames.has(other.name) && filesOf(other.name, context).length > 0;
    if (!isUsed || /^[\w+-]{2,}:/.test(other.folder) || await isThere(other.folder)) continue;
    return `Cannot ingest ${folder} as source "${name}": the folder of source "${other.name}", ${other.folder}, is not ` +
      `there any more; if that was moved here, add -source "${other.name}"; if this is another folder, add -source "${name}"`;
  }
  return undefined;
}

/** The name of a folder that gets a new one. */
function nameUntilNow({ folder }: Source, { records, ownNames }: PlanContext): string | undefined {
  return records.sources.find((source) =>
    source.isWhole && source.folder === folder && !ownNames.has(source.name)
  )?.name;
}

function filesOf(name: string, { records }: PlanContext): FileRecord[] {
  return records.files.filter(({ source }) => source === name);
}

/** By their new paths, the records of files that have the content of one that is gone: they got another name or folder. */
async function findRenamed(
  files: KnownFiles,
  { reader, signal }: PlanContext,
): Promise<Map<string, FileRecord>> {
  const paths = new Set(files.found.files.map(({ path }) => path));
  const gone = goneRecords(files, paths).filter(({ isWhole }) => isWhole);
  const renamed = new Map<string, FileRecord>();
  if (gone.length === 0) return renamed;
  const goneByHash = Map.groupBy(gone, ({ hash }) => hash);
  for (const file of files.found.files) {
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
