import { AppError } from "../../core/app_error.ts";
import { changeEntries } from "../credentials/change_entries.ts";
import { type CredentialEntry, quoted, readEntries, removeEntry } from "../credentials/credential_entries.ts";
import { editCredentialFile, rewriteCredentialFile } from "../credentials/credential_file.ts";
import { loadEntries } from "../credentials/load_entries.ts";
import { hashPassword } from "./password_hash.ts";
import { faultBeforeAdding } from "../credentials/damaged_file.ts";
import { appendUser, changedFields, readUser, readUsers, type UserRecord, userSection } from "./user_file.ts";
import { usernameFault } from "./username.ts";

interface UserOptions {
  readonly path: string;
  readonly username: string;
}

/**
 * Adds an account to a user file, which is made where it does not exist. `now` is in milliseconds since 1970. The
 * password has passed checkNewPassword().
 *
 * @throws AppError `invalid` for a username that cannot be used and where the file looks damaged, `conflict` for one that is taken, or as
 * editCredentialFile
 */
export function addUser(
  options: UserOptions & { password: string; annotation?: string; now: number },
): Promise<UserRecord> {
  const { path, username, password, annotation, now } = options;
  checkUsername(username);
  const record: UserRecord = {
    username,
    // before the file is locked, as it takes its time
    passwordHash: hashPassword(password),
    annotation: annotation || null,
    createdAt: Math.floor(now / 1000) * 1000,
    lastLogin: null,
    enabled: true,
    failedAttempts: 0,
    disabledReason: null,
  };
  return editCredentialFile(path, async (file, found) => {
    if (found !== undefined) {
      const fault = faultBeforeAdding({ file: found, section: userSection, read: await readUsers(found) });
      if (fault !== undefined) throw new AppError("invalid", `Cannot add a user to ${path}: ${fault}`);
    }
    if (readEntries(file, userSection).some((entry) => entry.id === username)) {
      throw new AppError("conflict", `Cannot add user ${quoted(username)}: ${path} has one of that name`);
    }
    appendUser(file, record);
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
    ...(passwordHash === undefined ? {} : { passwordHash }),
    ...(annotation === undefined ? {} : { annotation: annotation || null }),
  }));
}

/**
 * Lets a user log in again, whatever disabled the account, and clears the count of failed logins.
 *
 * @throws AppError as changeUser
 */
export function enableUser(options: UserOptions): Promise<UserRecord> {
  return changeUser(
    options,
    (user) => ({ ...user, enabled: true, failedAttempts: 0, disabledReason: null }),
  );
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
    const entries = readEntries(file, userSection);
    if (username === "" || !entries.some((entry) => entry.id === username)) {
      throw unknownUser("delete", path, username);
    }
    removeEntry(file, userSection, username);
  });
}

/**
 * Changes one account of a user file under its lock; what the change leaves alone stays as the file has it.
 *
 * @throws AppError `not_found` where there is none, `invalid` where its entry cannot be used or is there twice, or as
 * rewriteCredentialFile
 */
function changeUser(
  { path, username }: UserOptions,
  change: (user: UserRecord) => UserRecord,
): Promise<UserRecord> {
  return rewriteCredentialFile(path, async ({ text = "" }) => {
    const entries = await loadEntries({ path, text }, userSection);
    const before = usableUser(entries.filter((entry) => entry.id === username), path, username);
    const after = change(before);
    const fields = changedFields(before, after);
    if (Object.keys(fields).length === 0) return { result: after };
    const changed = await changeEntries({ path, text }, userSection, [{ id: username, fields }]);
    return { text: changed, result: after };
  });
}

function usableUser(entries: readonly CredentialEntry[], path: string, username: string): UserRecord {
  const outcomes = entries.map((entry) => readUser(entry, path));
  const [first] = outcomes;
  if (username === "" || first === undefined) throw unknownUser("change", path, username);
  const fault = outcomes.flatMap((outcome) => "faults" in outcome ? outcome.faults : [])[0];
  if (fault !== undefined) throw new AppError("invalid", fault.message);
  if ("record" in first) return first.record;
  throw unknownUser("change", path, username);
}

/** @throws AppError `invalid` with the reason for a name that a new user cannot have */
export function checkUsername(username: string): void {
  const reason = usernameFault(username);
  if (reason !== undefined) {
    throw new AppError("invalid", `Cannot add user ${quoted(username)}: ${reason}`);
  }
}

function unknownUser(verb: string, path: string, username: string): AppError {
  return new AppError("not_found", `Cannot ${verb} user ${quoted(username)}: ${path} has no such user`);
}
