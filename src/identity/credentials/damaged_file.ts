import { AppError } from "../../core/app_error.ts";
import { readRecords, type RecordKind, type RecordsRead } from "./read_records.ts";
import { type CredentialText, namesNothing, parseCredentialText, quoted } from "./yaml_entries.ts";

/** What a running server has taken in from a credential file. */
interface RecordsInForce<T> {
  readonly records: ReadonlyMap<string, T>;
  /** The ids of entries that were faulty already. */
  readonly faulty: ReadonlySet<string>;
}

/**
 * Refuses a file that has more likely been damaged than changed: one that was emptied, one with a fault that is new and
 * entries gone, and one whose last entry ends before what limits it. A cut right behind an entry looks like a removal.
 *
 * @throws AppError `invalid` with what is wrong and what to do
 */
export function refuseDamage<T>(
  kind: RecordKind<T>,
  file: CredentialText,
  before: RecordsInForce<T>,
  after: RecordsRead<T>,
): void {
  const { section, idOf, restrictions } = kind;
  const size = before.records.size;
  if (size === 0) return;
  const kept = new Map(after.records.map((record) => [idOf(record), record]));
  const [lost, ...others] = Array.from(before.records.keys()).filter((id) => !kept.has(id));
  const fault = after.faults.find(({ entry }) => !before.faulty.has(entry));
  if (fault !== undefined && lost !== undefined) {
    const gone = `${quoted(lost)}${others.length === 0 ? "" : ` and ${others.length} more`}`;
    throw damage(
      file,
      fault.line,
      `${
        quoted(fault.entry)
      } is faulty and ${gone} would be lost, so the file may be cut off; correct or remove the entry ` +
        `(${fault.message})`,
    );
  }
  if (isBlank(kind, file, after)) {
    throw damage(
      file,
      undefined,
      `it has no ${section} any more, so the old ones (${size}) stay valid; restore the file, or write ` +
        `"${section}: {}" into it to revoke all`,
    );
  }
  const last = after.last;
  const [record, found] = last === undefined ? [] : [before.records.get(last.id), kept.get(last.id)];
  if (last === undefined || record === undefined || found === undefined) return;
  const missing = restrictions(record).find((name) => !last.fields.has(name));
  const told = (what: string) => damage(file, last.line, `the last entry, ${quoted(last.id)}, ${what}`);
  if (missing !== undefined) {
    throw told(
      `has lost its ${missing}, so the file may be cut off; restore the field, or give it another value (null for none)`,
    );
  }
  if (/[\n}\]]\s*$/.test(file.text) || JSON.stringify(found) === JSON.stringify(record)) return;
  throw told(
    "has changed and its last line has no line break, so the file may be cut off; add the line break",
  );
}

/**
 * Refuses to add to a file that looks damaged.
 *
 * @throws AppError `invalid` with what is wrong and what to do, or as readRecords
 */
export async function refuseAdding<T>(kind: RecordKind<T>, file: CredentialText): Promise<void> {
  const { name, section } = kind;
  const read = await readRecords(kind, file);
  const fault = read.faults.find(({ entry }) => entry === read.last?.id);
  const reason = fault !== undefined
    ? `its last entry is faulty, so the file may be cut off; correct the entry first (${fault.message})`
    : isBlank(kind, file, read)
    ? `it has no ${section}, and may have been emptied by mistake; restore it, or write "${section}: {}" into it ` +
      "first"
    : undefined;
  if (reason !== undefined) throw new AppError("invalid", `Cannot add a ${name} to ${file.path}: ${reason}`);
}

/** A warning where a file that is there lets nobody in, and does not say that this is meant. */
export function blankWarning<T>(
  kind: RecordKind<T>,
  file: CredentialText,
  read: RecordsRead<T>,
): string | undefined {
  if (!isBlank(kind, file, read)) return undefined;
  return `${file.path} has no ${kind.section}; if that is intended, write "${kind.section}: {}" into it`;
}

function isBlank<T>(
  { section }: RecordKind<T>,
  file: CredentialText,
  { records, faults }: RecordsRead<T>,
): boolean {
  return records.length === 0 && faults.length === 0 && namesNothing(parseCredentialText(file), section);
}

function damage({ path }: CredentialText, line: number | undefined, reason: string): AppError {
  return new AppError(
    "invalid",
    `Cannot read ${path}${line === undefined ? "" : `, line ${line}`}: ${reason}`,
  );
}
