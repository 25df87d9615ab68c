import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import { editCredentialFile, rewriteCredentialFile } from "../credentials/credential_file.ts";
import { refuseAdding } from "../credentials/damaged_file.ts";
import { changeEntries, loadEntries } from "../credentials/entries.ts";
import {
  createRecordReader,
  type EntryReader,
  readRecordFile,
  type RecordKind,
  type RecordsRead,
} from "../credentials/read_records.ts";
import { timestampOrNull } from "../credentials/timestamp.ts";
import {
  appendEntry,
  type EntryFields,
  type FieldValue,
  quoted,
  readEntries,
  removeEntry,
} from "../credentials/yaml_entries.ts";
import { type DisabledReason, type LockoutState, unlocked } from "./lockout.ts";
import { hashPassword, passwordHashFault } from "./password_hashing.ts";

/** An account as the file keeps it. Times are in milliseconds since 1970. */
export interface UserRecord extends LockoutState {
  readonly username: string;
  /** bcrypt: `$2a$`, `$2b$` or `$2y$`. */
  readonly passwordHash: string;
  readonly annotation: string | null;
  /** Null where the file does not say. */
  readonly createdAt: number | null;
}

/** The entries of user files: Postern's own, and those of pgEdge's server. */
export const userKind: RecordKind<UserRecord> = {
  name: "user",
  section: "users",
  fields: [
    "username",
    "password_hash",
    "annotation",
    "created_at",
    "last_login",
    "enabled",
    "failed_attempts",
    "disabled_reason",
  ],
  ignoredFields: [],
  startReading: () => readUser,
  idOf: ({ username }) => username,
  restrictions: ({ enabled, failedAttempts }) => [
    ...(enabled ? [] : ["enabled"]),
    ...(failedAttempts === 0 ? [] : ["failed_attempts"]),
  ],
};

/**
 * Reads a user file; one that does not exist holds no users.
 *
 * @throws AppError as readRecordFile
 */
export function readUserFile(path: string): Promise<RecordsRead<UserRecord>> {
  return readRecordFile(userKind, path);
}

interface UserOptions {
  readonly path: string;
  readonly username: string;
}

/** @throws AppError `invalid` with the reason for a name that a new user cannot have */
export function checkUsername(username: string): void {
  const reason = usernameFault(username) ?? othersName(username);
  if (reason !== undefined) {
    throw new AppError("invalid", `Cannot add user ${quoted(username)}: ${reason}`);
  }
}

/**
 * Adds an account at the end of a user file, which is made where it does not exist. `now` is in milliseconds since 1970.
 * The password has passed checkNewPassword().
 *
 * @throws AppError as checkUsername, refuseAdding and editCredentialFile, and `conflict` for a name that is taken
 */
export function addUser(
  options: UserOptions & { password: string; annotation?: string; now: number },
): Promise<UserRecord> {
  const { path, username, password, annotation, now } = options;
  checkUsername(username);
  const record: UserRecord = {
    username,
    // made before the file is locked, since it takes long
    passwordHash: hashPassword(password),
    annotation: annotation || null,
    createdAt: Math.floor(now / 1000) * 1000,
    lastLogin: null,
    enabled: true,
    failedAttempts: 0,
    disabledReason: null,
  };
  return editCredentialFile(path, async (file, found) => {
    if (found !== undefined) await refuseAdding(userKind, found);
    if (readEntries(file, userKind.section).some((entry) => entry.id === username)) {
      throw new AppError(
        "conflict",
        `Cannot add user ${quoted(username)}: ${path} already has a user of that name`,
      );
    }
    appendEntry(file, userKind.section, username, { username, ...fieldsOf(record) });
    return record;
  });
}

/**
 * Gives a user another password, another annotation or both. The password has passed checkNewPassword(). Sessions go
 * on; the new password applies from the next login.
 *
 * @throws AppError as changeUser
 */
export function updateUser(
  options: UserOptions & { password?: string; annotation?: string },
): Promise<UserRecord> {
  const { password, annotation } = options;
  const passwordHash = password === undefined ? undefined : hashPassword(password);
  return changeUser(options, (user) => ({
    ...user,
    ...defined({ passwordHash }),
    ...(annotation === undefined ? {} : { annotation: annotation || null }),
  }));
}

/**
 * Lets a user log in again, whatever disabled the account, and clears the count of failed logins.
 *
 * @throws AppError as changeUser
 */
export function enableUser(options: UserOptions): Promise<UserRecord> {
  return changeUser(options, unlocked);
}

/**
 * Disables an account on an administrator's behalf; the user's sessions end when a server reloads the file.
 *
 * @throws AppError as changeUser
 */
export function disableUser(options: UserOptions): Promise<UserRecord> {
  return changeUser(options, (user) => ({ ...user, enabled: false, disabledReason: "administrator" }));
}

/**
 * Removes an account; a faulty entry too.
 *
 * @throws AppError `not_found` where there is none, or as editCredentialFile
 */
export function deleteUser({ path, username }: UserOptions): Promise<void> {
  return editCredentialFile(path, (file) => {
    const entries = readEntries(file, userKind.section);
    if (username === "" || !entries.some((entry) => entry.id === username)) {
      throw unknownUser("delete", path, username);
    }
    removeEntry(file, userKind.section, username);
  });
}

/**
 * Changes one account of a user file under its lock; what the change leaves alone stays as the file has it.
 *
 * @throws AppError `not_found` where there is none, `invalid` where its entry cannot be used or is there twice, or
 * as rewriteCredentialFile
 */
function changeUser(
  { path, username }: UserOptions,
  change: (user: UserRecord) => UserRecord,
): Promise<UserRecord> {
  return rewriteCredentialFile(path, async (text = "") => {
    const entries = await loadEntries({ path, text }, userKind.section);
    const named = username === "" ? [] : entries.filter((entry) => entry.id === username);
    const read = named.map(createRecordReader(userKind, path));
    const [fault] = read.flatMap((each) => "faults" in each ? each.faults : []);
    if (fault !== undefined) throw new AppError("invalid", fault.message);
    const [first] = read;
    if (first === undefined || !("record" in first)) throw unknownUser("change", path, username);
    const after = change(first.record);
    const fields = changedFields(first.record, after);
    if (Object.keys(fields).length === 0) return { result: after };
    const changed = await changeEntries({ path, text }, userKind.section, [{ id: username, fields }]);
    return { text: changed, result: after };
  });
}

function unknownUser(verb: string, path: string, username: string): AppError {
  return new AppError("not_found", `Cannot ${verb} user ${quoted(username)}: ${path} has no such user`);
}

/** The fields of a file that differ between two states of an account; undefined for one that goes away. */
export function changedFields(before: UserRecord, after: UserRecord): EntryFields {
  const old = fieldsOf(before);
  const fields = fieldsOf(after);
  const names = new Set([...Object.keys(old), ...Object.keys(fields)]);
  return Object.fromEntries(
    [...names].filter((name) => old[name] !== fields[name]).map((name) => [name, fields[name]]),
  );
}

/** The fields that an account has in the file besides its name. */
function fieldsOf(user: UserRecord): Record<string, FieldValue> {
  return {
    password_hash: user.passwordHash,
    annotation: user.annotation ?? "",
    created_at: timestampOrNull(user.createdAt),
    last_login: timestampOrNull(user.lastLogin),
    enabled: user.enabled,
    failed_attempts: user.failedAttempts,
    ...(user.disabledReason === null ? {} : { disabled_reason: user.disabledReason }),
  };
}

/** The longest username: as long as an e-mail address may be. */
const longestUsername = 254;

/** Why a text cannot be a username; undefined where it can. */
function usernameFault(username: string): string | undefined {
  if (username === "") return "it is empty";
  if (username.length > longestUsername) {
    return `it has ${username.length} characters, and at most ${longestUsername} are allowed`;
  }
  // two names that look the same, or one that hides part of a line, would mislead whoever reads a list
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(username)) return "it holds a control character";
  if (/\p{Cf}/u.test(username)) return "it holds an invisible character or a mark of writing direction";
  if (!username.isWellFormed()) return "it is not well-formed Unicode";
  if (username !== username.trim()) return "it begins or ends with a space";
  return username === "__proto__" ? "the name is reserved" : undefined;
}

/**
 * Why a name stands for another caller, in `{username}`, in roles and in limits; undefined where it does not. No new user
 * gets one; an account that has one already keeps it.
 */
export function othersName(username: string): string | undefined {
  if (username === "local") return "the caller over stdio has that name";
  if (username === "none") return "to PostgreSQL it means the role of the login";
  if (/^token[-:]/.test(username)) return "names that begin with token- or token: are those of API tokens";
  if (username.startsWith("group:")) return "in available_to_users it names a group";
  // ISSUER#SUBJECT, and proxy:HEADER#SUBJECT
  return /^[^#]*:[^#]*#/.test(username) ? "ISSUER#SUBJECT names somebody of an identity provider" : undefined;
}

const mostFailedAttempts = 1_000_000_000;

// what is wrong with the entry is left in the reader
function readUser(reader: EntryReader): UserRecord {
  const nameFault = reader.id === "" ? undefined : usernameFault(reader.id);
  if (nameFault !== undefined) reader.fault(undefined, `the username cannot be used: ${nameFault}`);
  const username = reader.field("username");
  if (username !== undefined && username.text !== reader.id) {
    reader.fault("username", "username: expected the same name as the entry's id");
  }
  const hash = reader.field("password_hash")?.text ?? "";
  const hashFault = passwordHashFault(hash);
  if (hashFault !== undefined) reader.fault("password_hash", `password_hash: ${hashFault}`);
  const enabled = readEnabled(reader);
  return {
    username: reader.id,
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
