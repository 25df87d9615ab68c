import { yieldToEventLoop } from "../../core/async/yield.ts";
import { appendEntry, type CredentialEntry, quoted } from "../credentials/credential_entries.ts";
import {
  type CredentialDocument,
  type CredentialText,
  readCredentialText,
} from "../credentials/credential_file.ts";
import {
  createEntryReader,
  type CredentialFault,
  entryFault,
  type EntryReader,
} from "../credentials/entry_reader.ts";
import { loadEntries } from "../credentials/load_entries.ts";
import type { ReadEntries } from "../credentials/damaged_file.ts";
import { formatTimestamp } from "../credentials/timestamp.ts";

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

export type TokenFile = ReadEntries<TokenRecord>;

/**
 * Reads a token file: Postern's own, and those of pgEdge's server, whose entries may stand in a list, call the
 * annotation `note` and hold `connections`, which are ignored. A file that does not exist holds no tokens.
 * An entry with a fault is reported and not loaded; the others are.
 *
 * @throws AppError `invalid` with the line for a file that is not YAML or of another shape, `unavailable` where it
 * cannot be read
 */
export async function readTokenFile(path: string): Promise<TokenFile> {
  const file = await readCredentialText(path);
  return file === undefined ? { records: [], faults: [] } : await readTokens(file);
}

/**
 * The tokens and the faults of a text, without holding up other tasks.
 *
 * @throws AppError `invalid` with the line for what is not YAML or of another shape
 */
export async function readTokens(file: CredentialText): Promise<TokenFile> {
  const records: TokenRecord[] = [];
  const faults: CredentialFault[] = [];
  const idByHash = new Map<string, string>();
  let count = 0;
  const entries = await loadEntries(file, tokenSection);
  for (const entry of entries) {
    if (++count % entriesAtOnce === 0) await yieldToEventLoop();
    const reader = createEntryReader(entry, { fields: knownFields, ignored: ["note", "connections"] });
    const record = readToken(entry, reader);
    const owner = idByHash.get(record.hash);
    if (owner !== undefined && reader.faults.length === 0) {
      reader.fault(undefined, `its hash is that of ${quoted(owner)}`);
    }
    if (reader.faults.length === 0) {
      idByHash.set(record.hash, record.id);
      records.push(record);
    }
    for (const fault of reader.faults) faults.push(entryFault("token", entry, file.path, fault));
  }
  const last = entries.at(-1);
  return { records, faults, ...(last === undefined ? {} : { last }) };
}

/** The fields without which a token would be allowed more than it is. */
export function tokenRestrictions({ database, expiresAt }: TokenRecord): string[] {
  return [...(database === null ? [] : ["database"]), ...(expiresAt === null ? [] : ["expires_at"])];
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

const entriesAtOnce = 200;
const knownFields = ["hash", "annotation", "database", "created_at", "expires_at"];

// what is wrong with the entry is left in the reader
function readToken(entry: CredentialEntry, reader: EntryReader): TokenRecord {
  const hash = (entry.fields.get("hash")?.text ?? "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hash)) {
    reader.fault("hash", "hash: expected the 64 hex digits of the token's SHA-256");
  }
  return {
    id: entry.id,
    hash,
    annotation: reader.text("annotation") ?? reader.text("note"),
    database: reader.text("database"),
    createdAt: reader.time("created_at"),
    expiresAt: reader.time("expires_at"),
  };
}
