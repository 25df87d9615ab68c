import { defined } from "../../core/defined.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import { readCredentialText } from "./credential_file.ts";
import { loadEntries } from "./entries.ts";
import { parseTimestamp } from "./timestamp.ts";
import {
  type CredentialEntry,
  type CredentialField,
  type CredentialText,
  type FieldFault,
  quoted,
} from "./yaml_entries.ts";

/** What the entries of a credential file stand for: tokens or users. */
export interface RecordKind<T> {
  readonly name: string;
  /** The key of a file under which its entries stand. */
  readonly section: string;
  /** The fields that an entry may have. A misspelt one could widen what it allows: one in neither list is a fault. */
  readonly fields: readonly string[];
  readonly ignoredFields: readonly string[];
  /** Begins a file: the function that it returns reads the entries in order and leaves their faults in the reader. */
  readonly startReading: () => (reader: EntryReader) => T;
  readonly idOf: (record: T) => string;
  /** The fields without which a record would be allowed more than it is. */
  readonly restrictions: (record: T) => readonly string[];
}

/** What a credential file held when it was read. */
export interface RecordsRead<T> {
  readonly records: readonly T[];
  readonly faults: readonly CredentialFault[];
  /** The last entry, as it stands in the file. Optional. */
  readonly last?: CredentialEntry;
}

/** An entry that cannot be used. */
interface CredentialFault {
  readonly entry: string;
  readonly line: number;
  /** For a log or a terminal: names the entry, the line and what was expected; quotes nothing that may be secret. */
  readonly message: string;
}

/**
 * Reads a credential file, as readRecords(); one that does not exist holds nothing.
 *
 * @throws AppError as readRecords, and `unavailable` where it cannot be read
 */
export async function readRecordFile<T>(kind: RecordKind<T>, path: string): Promise<RecordsRead<T>> {
  const file = await readCredentialText(path);
  return file === undefined ? { records: [], faults: [] } : await readRecords(kind, file);
}

const entriesAtOnce = 200;

/**
 * The records and the faults of a text, without holding up other tasks. An entry with a fault is reported and not loaded;
 * the others are.
 *
 * @throws AppError `invalid` with the line for what is not YAML or of another shape
 */
export async function readRecords<T>(kind: RecordKind<T>, file: CredentialText): Promise<RecordsRead<T>> {
  const records: T[] = [];
  const faults: CredentialFault[] = [];
  const read = createRecordReader(kind, file.path);
  const entries = await loadEntries(file, kind.section);
  for (const [index, entry] of entries.entries()) {
    if (index % entriesAtOnce === entriesAtOnce - 1) await yieldToEventLoop();
    const result = read(entry);
    if ("record" in result) records.push(result.record);
    else faults.push(...result.faults);
  }
  const last = entries.at(-1);
  return { records, faults, ...defined({ last }) };
}

/** Reads the entries of a file one after the other: each one's record, or why it cannot be used. */
export function createRecordReader<T>(
  kind: RecordKind<T>,
  path: string,
): (entry: CredentialEntry) => { record: T } | { faults: CredentialFault[] } {
  const read = kind.startReading();
  return (entry) => {
    const reader = createEntryReader(entry, kind);
    const record = read(reader);
    if (reader.faults.length === 0) return { record };
    const faults = reader.faults.map(({ line, reason }) => ({
      entry: entry.id,
      line,
      message: `Cannot load ${kind.name} ${quoted(entry.id)} (${path}, line ${line}): ${reason}`,
    }));
    return { faults };
  };
}

/** Reads an entry's fields one by one; what is wrong with them gathers in `faults`, unless the entry has its own. */
export type EntryReader = ReturnType<typeof createEntryReader>;

function createEntryReader(
  entry: CredentialEntry,
  { fields, ignoredFields }: Pick<RecordKind<unknown>, "fields" | "ignoredFields">,
) {
  const faults: FieldFault[] = [...entry.faults];
  const faultAt = (field: CredentialField | undefined, reason: string) => {
    // what is missing in an entry that is no mapping, say, would be told twice
    if (entry.faults.length === 0) faults.push({ line: field?.line ?? entry.line, reason });
  };
  for (const [name, field] of entry.fields) {
    if (fields.includes(name) || ignoredFields.includes(name)) continue;
    faultAt(field, `unknown field ${quoted(name)}; expected ${listed(fields)}`);
  }
  return {
    id: entry.id,
    faults,
    /** A field's text, or null where it is absent, null or empty. */
    text(name: string): string | null {
      const field = entry.fields.get(name);
      if (field !== undefined && field.text === undefined) faultAt(field, `${name}: expected text`);
      return field?.text || null;
    },
    /** A field as it is, for the caller to check. */
    field: (name: string): CredentialField | undefined => entry.fields.get(name),
    /** A field's point in time, in milliseconds since 1970, or null where it is absent or null. */
    time(name: string): number | null {
      const field = entry.fields.get(name);
      if (field === undefined || field.text === null) return null;
      const ms = field.text === undefined ? undefined : parseTimestamp(field.text);
      if (ms === undefined) faultAt(field, `${name}: expected a time such as 2026-12-31T23:59:59Z, or null`);
      return ms ?? null;
    },
    /** Reports a field; an absent one, and the entry as a whole, at the entry's line. */
    fault(name: string | undefined, reason: string): void {
      faultAt(name === undefined ? undefined : entry.fields.get(name), reason);
    },
  };
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
