import { type CredentialEntry, type CredentialField, type FieldFault, quoted } from "./credential_entries.ts";
import { parseTimestamp } from "./timestamp.ts";

/** An entry that cannot be used. */
export interface CredentialFault {
  readonly entry: string;
  readonly line: number;
  /** For a log or a terminal: names the entry, the line and what was expected; quotes nothing that may be secret. */
  readonly message: string;
}

/** Reads an entry's fields one by one; what is wrong with them gathers in `faults`, unless the entry has its own. */
export interface EntryReader {
  readonly faults: readonly FieldFault[];
  /** A field's text, or null where it is absent, null or empty. */
  text(name: string): string | null;
  /** A field's point in time, in milliseconds since 1970, or null where it is absent or null. */
  time(name: string): number | null;
  /** Reports a field; an absent one at the entry's line. */
  fault(name: string | undefined, reason: string): void;
}

/** A misspelt field could widen what an entry allows: one that is in neither list is a fault. */
export function createEntryReader(
  entry: CredentialEntry,
  known: { readonly fields: readonly string[]; readonly ignored: readonly string[] },
): EntryReader {
  const faults: FieldFault[] = [...entry.faults];
  const faultAt = (field: CredentialField | undefined, reason: string) => {
    // what is missing in an entry that is no mapping, say, would be told twice
    if (entry.faults.length === 0) faults.push({ line: field?.line ?? entry.line, reason });
  };
  for (const [name, field] of entry.fields) {
    if (known.fields.includes(name) || known.ignored.includes(name)) continue;
    faultAt(field, `unknown field ${quoted(name)}; expected ${listed(known.fields)}`);
  }
  return {
    faults,
    text(name) {
      const field = entry.fields.get(name);
      if (field !== undefined && field.text === undefined) faultAt(field, `${name}: expected text`);
      return field?.text || null;
    },
    time(name) {
      const field = entry.fields.get(name);
      if (field === undefined || field.text === null) return null;
      const ms = field.text === undefined ? undefined : parseTimestamp(field.text);
      if (ms === undefined) faultAt(field, `${name}: expected a time such as 2026-12-31T23:59:59Z, or null`);
      return ms ?? null;
    },
    fault: (name, reason) => faultAt(name === undefined ? undefined : entry.fields.get(name), reason),
  };
}

/** A fault with the words for a log: `Cannot load user "alice" (users.yaml, line 3): …`. */
export function entryFault(
  kind: "token" | "user",
  entry: CredentialEntry,
  path: string,
  { line, reason }: FieldFault,
): CredentialFault {
  return {
    entry: entry.id,
    line,
    message: `Cannot load ${kind} ${quoted(entry.id)} (${path}, line ${line}): ${reason}`,
  };
}

function listed(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
