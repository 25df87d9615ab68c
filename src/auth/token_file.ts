import {
  appendEntry,
  type CredentialEntry,
  type CredentialField,
  type FieldFault,
  readEntries,
} from "./credential_entries.ts";
import { type CredentialDocument, readCredentialFile } from "./credential_file.ts";
import { formatTimestamp, parseTimestamp } from "./timestamp.ts";

/** The key of a token file under which its entries stand. */
export const tokenSection = "tokens";

/** A token as the file keeps it; the token itself is not in there. */
export interface TokenRecord {
  readonly id: string;
  /** SHA-256 of the token, 64 lower-case hex digits. */
  readonly hash: string;
  readonly annotation: string | null;
  /** The one database that the token may use; null where it is not bound. */
  readonly database: string | null;
  /** Milliseconds since 1970; null where the file does not say. */
  readonly createdAt: number | null;
  /** Milliseconds since 1970; null: never. */
  readonly expiresAt: number | null;
}

/** An entry that cannot be used. */
export interface TokenFault {
  readonly entry: string;
  readonly line: number;
  /** For a log or a terminal: names the entry, the line and what was expected; quotes nothing that may be secret. */
  readonly message: string;
}

export interface TokenFile {
  readonly records: readonly TokenRecord[];
  readonly faults: readonly TokenFault[];
}

/**
 * Reads a token file: Postern's own, and those of pgEdge's server, whose entries may stand in a list, call the
 * annotation `note` and hold `connections`, which are ignored. A file that does not exist holds no tokens.
 * An entry with a fault is reported and not loaded; the others are.
 *
 * @throws AppError `invalid` with the line for a file that is not YAML or of another shape, `unavailable` where it
 * cannot be read
 */
export async function readTokenFile(path: string): Promise<TokenFile> {
  return readTokens(await readCredentialFile(path));
}

/** The tokens and the faults of a file that has been read. */
export function readTokens(file: CredentialDocument): TokenFile {
  const records: TokenRecord[] = [];
  const faults: TokenFault[] = [];
  const idByHash = new Map<string, string>();
  for (const entry of readEntries(file, tokenSection)) {
    const reasons = [...entry.faults];
    const record = reasons.length === 0 ? readToken(entry, reasons) : undefined;
    const owner = record && idByHash.get(record.hash);
    if (owner !== undefined) {
      reasons.push({ line: entry.line, reason: `its hash is that of ${quoted(owner)}` });
    }
    if (record !== undefined && reasons.length === 0) {
      idByHash.set(record.hash, record.id);
      records.push(record);
    }
    for (const { line, reason } of reasons) {
      const message = `Cannot load token ${quoted(entry.id)} (${file.path}, line ${line}): ${reason}`;
      faults.push({ entry: entry.id, line, message });
    }
  }
  return { records, faults };
}

/** Adds a token at the end of a file, in the file's own shape. */
export function appendToken(file: CredentialDocument, record: TokenRecord): void {
  const timeOrNull = (ms: number | null) => ms === null ? null : formatTimestamp(ms);
  appendEntry(file, tokenSection, record.id, {
    hash: record.hash,
    ...(record.annotation === null ? {} : { annotation: record.annotation }),
    ...(record.database === null ? {} : { database: record.database }),
    created_at: timeOrNull(record.createdAt),
    expires_at: timeOrNull(record.expiresAt),
  });
}

const knownFields = ["hash", "annotation", "note", "database", "created_at", "expires_at", "connections"];

// what is wrong with the entry is added to `reasons`
function readToken(entry: CredentialEntry, reasons: FieldFault[]): TokenRecord {
  const fault = (field: CredentialField | undefined, reason: string) =>
    void reasons.push({ line: field?.line ?? entry.line, reason });

  function text(name: string): string | null {
    const field = entry.fields.get(name);
    if (field !== undefined && field.text === undefined) fault(field, `${name}: expected text`);
    return field?.text || null;
  }
  function time(name: string): number | null {
    const field = entry.fields.get(name);
    if (field === undefined || field.text === null) return null;
    const ms = field.text === undefined ? undefined : parseTimestamp(field.text);
    if (ms === undefined) fault(field, `${name}: expected a time such as 2026-12-31T23:59:59Z, or null`);
    return ms ?? null;
  }

  for (const [name, field] of entry.fields) {
    // a misspelt expires_at or database would widen what the token may do
    if (!knownFields.includes(name)) {
      fault(
        field,
        `unknown field ${quoted(name)}; expected hash, annotation, database, created_at or expires_at`,
      );
    }
  }
  const hashField = entry.fields.get("hash");
  const hash = (hashField?.text ?? "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hash)) {
    fault(hashField, "hash: expected the 64 hex digits of the token's SHA-256");
  }
  return {
    id: entry.id,
    hash,
    annotation: text("annotation") ?? text("note"),
    database: text("database"),
    createdAt: time("created_at"),
    expiresAt: time("expires_at"),
  };
}

function quoted(text: string): string {
  return JSON.stringify(text.length <= 80 ? text : `${text.slice(0, 79)}…`);
}
