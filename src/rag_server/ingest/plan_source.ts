import { basename, join } from "node:path";
import { type SqlSession, transaction } from "../../postgres/sql_session.ts";
import { type KnownSource, pathBelow, type Source } from "./assign_sources.ts";
import { type FoundFiles, isWithin } from "./find_files.ts";
import { isInside, isThere } from "./given_paths.ts";
import {
  deleteFile,
  type FileRecord,
  formerFolder,
  type IngestRecords,
  moveRecords,
  removeSource,
  renameSource,
  saveSource,
} from "./ingest_record.ts";
import type { IngestTable } from "./ingest_table.ts";
import type { FileReader } from "./read_changed_file.ts";
import { goneRecords, type KnownFiles, refuseRemoval } from "./refuse_removal.ts";

/** How a source's files are known, and which of them are gone, before any of them is read. */
export interface SourcePlan extends KnownFiles {
  /** The name under which the table knows the folder until now. */
  readonly formerName?: string;
  /** Sources in the source's folder, which become a part of it. */
  readonly absorbed: readonly KnownSource[];
  /** Records that were theirs or of an earlier version, or have another path, as they are to be. */
  readonly moved: readonly FileRecord[];
  /** Records of the same files once more, with rows of their own. */
  readonly doubled: readonly FileRecord[];
}

export interface PlanContext {
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
  const other = await findOtherFolder(source, known, context);
  if (other !== undefined) return other;
  const gone = known === undefined ? await findGoneFolder(source, context) : undefined;
  if (gone !== undefined) return gone;
  const formerName = known === undefined ? await findFormerName(source, context) : undefined;
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
      records.set(path, { ...file, source: source.name, path, formerPath: undefined });
      movedIds.add(file.id);
    }
  };
  for (const file of files) {
    const path = newPath(file, source, absorbed);
    if (path !== undefined) take(file, path);
  }
  if (records.size === 0) {
    for (const file of await findFormerFiles(source, context)) {
      take(file, file.path.normalize("NFC"));
    }
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
    ...(formerName !== undefined && { formerName }),
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

/** The path in a source of a record that becomes a part of it: of an absorbed source, or of an earlier version. */
function newPath(
  file: FileRecord,
  { folder, isWhole, scopes }: Source,
  absorbed: readonly KnownSource[],
): string | undefined {
  const { formerPath } = file;
  if (formerPath !== undefined) {
    const belongs = isWhole
      ? isInside(formerPath, folder)
      : scopes.some(({ location }) => location === formerPath);
    return belongs ? pathBelow(folder, formerPath) : undefined;
  }
  const inner = absorbed.find(({ name }) => name === file.source);
  return inner && `${pathBelow(folder, inner.folder)}/${file.path}`;
}

/** Why a folder that has a source's name by chance is not taken for it. */
async function findOtherFolder(
  source: Source,
  known: KnownSource | undefined,
  context: PlanContext,
): Promise<string | undefined> {
  if (known === undefined || source.isNamed || known.folder === source.folder) return undefined;
  if (await isSameFolder(filesOf(source.name, context), source.folder, context)) return undefined;
  return `Cannot ingest ${source.folder} as source "${source.name}": under this name the table has ${known.folder}, ` +
    `and most of its files are missing or different here; give another folder another name with -source NAME; if it ` +
    `is the same folder, add -source "${source.name}"`;
}

/** Why a folder of a new name is not read that has the files of one that is gone: they would be in the table twice. */
async function findGoneFolder(
  { name, folder, isNamed, isWhole }: Source,
  context: PlanContext,
): Promise<string | undefined> {
  if (isNamed || !isWhole) return undefined;
  for (const known of context.records.sources) {
    const files = filesOf(known.name, context);
    if (context.ownNames.has(known.name) || files.length === 0 || await isThere(known.folder)) continue;
    if (!await isSameFolder(files, folder, context)) continue;
    return `Cannot ingest ${folder} as source "${name}": it has most files of source "${known.name}", whose folder ` +
      `${known.folder} is not there any more; if that was moved, add -source "${known.name}"; if it is another ` +
      `folder, add -source "${name}"`;
  }
  return undefined;
}

/** Files that an earlier version read from a folder of the same name, which is gone, and that are in this one. */
async function findFormerFiles(
  { name, folder, isWhole }: Source,
  context: PlanContext,
): Promise<readonly FileRecord[]> {
  const former = context.records.files.filter(({ formerPath }) => formerPath !== undefined);
  for (const [before, files] of Map.groupBy(former, formerFolder)) {
    if (!isWhole || basename(before) !== name || await isThere(before)) continue;
    if (await isSameFolder(files, folder, context)) return files;
  }
  return [];
}

/** The name that a folder had, where it now gets a new one: of a folder that is the same and has mostly the same files. */
async function findFormerName(
  { folder, isNamed }: Source,
  context: PlanContext,
): Promise<string | undefined> {
  const { records: { sources }, ownNames } = context;
  if (!isNamed) return undefined;
  const former = sources.find((source) =>
    source.isWhole && source.folder === folder && !ownNames.has(source.name)
  );
  if (former === undefined) return undefined;
  return await isSameFolder(filesOf(former.name, context), folder, context) ? former.name : undefined;
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

/** Whether at least half of the files that were ingested from one folder are in another one, as they were. */
async function isSameFolder(
  files: readonly FileRecord[],
  folder: string,
  { reader, signal }: PlanContext,
): Promise<boolean> {
  let same = 0;
  let others = 0;
  for (const file of files) {
    const { path } = file;
    if (await reader.hash({ location: join(folder, path), path }, signal) === file.hash) same++;
    else others++;
    if (same * 2 >= files.length) return true;
    if (others * 2 > files.length) return false;
  }
  return true;
}
