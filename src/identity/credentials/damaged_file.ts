import { AppError } from "../../core/app_error.ts";
import { type CredentialEntry, namesNothing, quoted } from "./credential_entries.ts";
import { type CredentialText, parseCredentialText } from "./credential_file.ts";
import type { CredentialFault } from "./entry_reader.ts";

/** What a credential file held when it was read. */
export interface ReadEntries<T> {
  readonly records: readonly T[];
  readonly faults: readonly CredentialFault[];
  /** The last entry, as it stands in the file; absent where there is none. */
  readonly last?: CredentialEntry;
}

export interface DamageOptions<T> {
  readonly file: CredentialText;
  readonly section: string;
  /** What is in force, by id. */
  readonly before: ReadonlyMap<string, T>;
  /** The ids of entries that were faulty already. */
  readonly faultyBefore: ReadonlySet<string>;
  readonly after: ReadEntries<T>;
  readonly idOf: (record: T) => string;
  /** The fields of an entry whose absence would allow more than they do. */
  readonly restrictions: (record: T) => readonly string[];
}

/**
 * Refuses a file that has more likely been damaged than changed: one that was emptied, one with a fault that is new and
 * entries gone, and one whose last entry ends before what limits it. A cut right behind an entry looks like a removal.
 *
 * @throws AppError `invalid` with what is wrong and what to do
 */
export function refuseDamage<T>(options: DamageOptions<T>): void {
  const { file: { path, text }, section, before, faultyBefore, after, idOf, restrictions } = options;
  if (before.size === 0) return;
  const kept = new Set(after.records.map(idOf));
  const lost = Array.from(before.keys()).filter((id) => !kept.has(id));
  const fault = after.faults.find(({ entry }) => !faultyBefore.has(entry));
  if (fault !== undefined && lost.length > 0) {
    const [first = "", ...others] = lost;
    const gone = `${quoted(first)}${others.length === 0 ? "" : ` and ${others.length} more`}`;
    throw new AppError(
      "invalid",
      `Cannot read ${path}, line ${fault.line}: ${
        quoted(fault.entry)
      } is faulty and ${gone} would be lost, so the ` +
        `file may be cut; mend the entry, or remove it (${fault.message})`,
    );
  }
  if (isBlank(options)) {
    throw new AppError(
      "invalid",
      `Cannot read ${path}: it names no ${section} any more, so those that it had (${before.size}) stay; put the file ` +
        `back, or write "${section}: {}" into it to revoke all`,
    );
  }
  const last = after.last;
  const record = last && before.get(last.id);
  if (last === undefined || record === undefined || !kept.has(last.id)) return;
  const [missing] = restrictions(record).filter((name) => !last.fields.has(name));
  if (missing !== undefined) {
    throw new AppError(
      "invalid",
      `Cannot read ${path}, line ${last.line}: the last entry, ${
        quoted(last.id)
      }, has lost its ${missing}, so the ` +
        "file may be cut; write the field back, or say what holds in its place (null for none)",
    );
  }
  const found = after.records.find((record) => idOf(record) === last.id);
  if (/[\n}\]]\s*$/.test(text) || JSON.stringify(found) === JSON.stringify(record)) return;
  throw new AppError(
    "invalid",
    `Cannot read ${path}, line ${last.line}: the last entry, ${
      quoted(last.id)
    }, has changed and its last line has no ` +
      "end, so the file may be cut; end the line",
  );
}

/** Why nothing may be added to a file as it is; undefined where it may. */
export function faultBeforeAdding<T>(options: {
  file: CredentialText;
  section: string;
  read: ReadEntries<T>;
}): string | undefined {
  const { file: { path }, section, read } = options;
  const fault = read.faults.find(({ entry }) => entry === read.last?.id);
  if (fault !== undefined) {
    return `its last entry is faulty, so it may be cut; mend that first (${fault.message})`;
  }
  if (!isBlank({ file: options.file, section, after: read })) return undefined;
  return `${path} names no ${section}, and may have been emptied by mistake; put it back, or write "${section}: {}" ` +
    "into it first";
}

/** A warning where a file that is there lets nobody in, and does not say that this is meant. */
export function blankWarning<T>(
  file: CredentialText,
  section: string,
  read: ReadEntries<T>,
): string | undefined {
  if (!isBlank({ file, section, after: read })) return undefined;
  return `${file.path} names no ${section}; if that is meant, "${section}: {}" says so`;
}

function isBlank<T>({ file, section, after }: Pick<DamageOptions<T>, "file" | "section" | "after">): boolean {
  const { records, faults } = after;
  return records.length === 0 && faults.length === 0 && namesNothing(parseCredentialText(file), section);
}
