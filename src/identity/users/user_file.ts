import { yieldToEventLoop } from "../../core/async/yield.ts";
import { appendEntry, type CredentialEntry, type FieldValue } from "../credentials/credential_entries.ts";
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
import { passwordHashFault } from "./password_hash.ts";
import { formatTimestamp } from "../credentials/timestamp.ts";
import { usernameFault } from "./username.ts";

/** The key of a user file under which its entries stand. */
export const userSection = "users";

export type DisabledReason = "lockout" | "administrator";

/** An account as the file keeps it. Times are in milliseconds since 1970. */
export interface UserRecord {
  readonly username: string;
  /** bcrypt: `$2a$`, `$2b$` or `$2y$`. */
  readonly passwordHash: string;
  readonly annotation: string | null;
  /** Null where the file does not say. */
  readonly createdAt: number | null;
  /** Null: never. */
  readonly lastLogin: number | null;
  readonly enabled: boolean;
  /** Failed logins since the last that succeeded. */
  readonly failedAttempts: number;
  /** Null while the account is enabled, and where another program disabled it without saying why. */
  readonly disabledReason: DisabledReason | null;
}

export type UserFile = ReadEntries<UserRecord>;

/**
 * Reads a user file: Postern's own, and those of pgEdge's server. A file that does not exist holds no users. An entry
 * with a fault is reported and not loaded; the others are.
 *
 * @throws AppError `invalid` with the line for a file that is not YAML or of another shape, `unavailable` where it
 * cannot be read
 */
export async function readUserFile(path: string): Promise<UserFile> {
  const file = await readCredentialText(path);
  return file === undefined ? { records: [], faults: [] } : await readUsers(file);
}

/**
 * The users and the faults of a text, without holding up other tasks.
 *
 * @throws AppError `invalid` with the line for what is not YAML or of another shape
 */
export async function readUsers(file: CredentialText): Promise<UserFile> {
  const records: UserRecord[] = [];
  const faults: CredentialFault[] = [];
  let count = 0;
  const entries = await loadEntries(file, userSection);
  for (const entry of entries) {
    if (++count % entriesAtOnce === 0) await yieldToEventLoop();
    const outcome = readUser(entry, file.path);
    if ("record" in outcome) records.push(outcome.record);
    else faults.push(...outcome.faults);
  }
  const last = entries.at(-1);
  return { records, faults, ...(last === undefined ? {} : { last }) };
}

/** The fields without which an account would be allowed more than it is. */
export function userRestrictions({ enabled, failedAttempts }: UserRecord): string[] {
  return [...(enabled ? [] : ["enabled"]), ...(failedAttempts === 0 ? [] : ["failed_attempts"])];
}

/** One entry's account, or why it cannot be used. */
export function readUser(
  entry: CredentialEntry,
  path: string,
): { readonly record: UserRecord } | { readonly faults: readonly CredentialFault[] } {
  const reader = createEntryReader(entry, { fields: knownFields, ignored: [] });
  const record = readFields(entry, reader);
  if (reader.faults.length === 0) return { record };
  return { faults: reader.faults.map((fault) => entryFault("user", entry, path, fault)) };
}

/** Adds an account at the end of a file. */
export function appendUser(file: CredentialDocument, record: UserRecord): void {
  appendEntry(file, userSection, record.username, {
    username: record.username,
    password_hash: record.passwordHash,
    annotation: record.annotation ?? "",
    created_at: timeText(record.createdAt),
    last_login: timeText(record.lastLogin),
    enabled: record.enabled,
    failed_attempts: record.failedAttempts,
    ...(record.disabledReason === null ? {} : { disabled_reason: record.disabledReason }),
  });
}

/** The fields of a file that differ between two states of an account; undefined for one that goes away. */
export function changedFields(before: UserRecord, after: UserRecord): Record<string, FieldValue | undefined> {
  const fields: Record<string, FieldValue | undefined> = {};
  if (after.passwordHash !== before.passwordHash) fields.password_hash = after.passwordHash;
  if (after.annotation !== before.annotation) fields.annotation = after.annotation ?? "";
  if (after.lastLogin !== before.lastLogin) fields.last_login = timeText(after.lastLogin);
  if (after.enabled !== before.enabled) fields.enabled = after.enabled;
  if (after.failedAttempts !== before.failedAttempts) fields.failed_attempts = after.failedAttempts;
  if (after.disabledReason !== before.disabledReason) {
    fields.disabled_reason = after.disabledReason ?? undefined;
  }
  return fields;
}

const entriesAtOnce = 200;
const mostFailedAttempts = 1_000_000_000;
const knownFields = [
  "username",
  "password_hash",
  "annotation",
  "created_at",
  "last_login",
  "enabled",
  "failed_attempts",
  "disabled_reason",
];

// what is wrong with the entry is left in the reader
function readFields(entry: CredentialEntry, reader: EntryReader): UserRecord {
  const nameFault = entry.id === "" ? undefined : usernameFault(entry.id);
  if (nameFault !== undefined) reader.fault(undefined, `the username cannot be used: ${nameFault}`);
  const username = entry.fields.get("username");
  if (username !== undefined && username.text !== entry.id) {
    reader.fault("username", "username: expected the name that the entry has");
  }
  const hash = entry.fields.get("password_hash")?.text ?? "";
  const hashFault = passwordHashFault(hash);
  if (hashFault !== undefined) reader.fault("password_hash", `password_hash: ${hashFault}`);
  const enabled = readEnabled(reader);
  return {
    username: entry.id,
    passwordHash: hash,
    annotation: reader.text("annotation"),
    createdAt: reader.time("created_at"),
    lastLogin: reader.time("last_login"),
    enabled,
    failedAttempts: readFailedAttempts(reader),
    disabledReason: readDisabledReason(reader, enabled),
  };
}

function readEnabled(reader: EntryReader): boolean {
  const text = reader.text("enabled");
  if (text !== null && !/^(?:true|false)$/i.test(text)) {
    reader.fault("enabled", "enabled: expected true or false");
  }
  return text === null || text.toLowerCase() === "true";
}

function readFailedAttempts(reader: EntryReader): number {
  const text = reader.text("failed_attempts") ?? "0";
  const count = /^\d{1,10}$/.test(text) ? Number(text) : Infinity;
  if (count <= mostFailedAttempts) return count;
  reader.fault("failed_attempts", "failed_attempts: expected a whole number from 0");
  return 0;
}

function readDisabledReason(reader: EntryReader, enabled: boolean): DisabledReason | null {
  const text = reader.text("disabled_reason");
  if (text === null || text === "lockout" || text === "administrator") return enabled ? null : text;
  reader.fault("disabled_reason", "disabled_reason: expected lockout or administrator");
  return null;
}

function timeText(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms);
}
