import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import { quoted } from "../../identity/credentials/yaml_entries.ts";
import { checkNewPassword } from "../../identity/users/password_hashing.ts";
import { afterLogins } from "../../identity/users/lockout.ts";
import { createSharedLogins, forgetFailedLogins } from "../../identity/users/shared_logins.ts";
import * as users from "../../identity/users/user_file.ts";
import type { State } from "../../state/state.ts";
import { askNewPassword } from "../ask_at_terminal.ts";
import {
  jsonText,
  jsonTime,
  nowOf,
  type OperationOutput,
  plainTime,
  tableLines,
  visible,
  warnOfAccess,
} from "../output.ts";

export interface UserOperationOutput extends OperationOutput {
  /** Asks for the new password of a user; at the terminal where it is absent. */
  readonly askPassword?: (username: string) => Promise<string>;
}

interface UserFileSettings {
  readonly userFile: string;
  /** Optional: where logins are counted in place of the file, and how many that fail lock an account. */
  readonly shared?: { readonly state: State; readonly maxFailedAttempts: number } | undefined;
  /** Print JSON in place of text for people. */
  readonly json: boolean;
}

interface UserSettings extends UserFileSettings {
  readonly username: string;
}

interface ChangeUserSettings extends UserSettings {
  /** As the command line gives it. */
  readonly password?: string;
  readonly note?: string;
  readonly passwordMinLength: number;
}

/**
 * Adds an account; a password that is not given is asked for.
 *
 * @throws AppError `invalid` for a password that cannot be set, and as addUser() of `src/identity/users/user_file.ts`
 */
export async function addUser(settings: ChangeUserSettings, output: UserOperationOutput): Promise<void> {
  const { userFile: path, username, note } = settings;
  users.checkUsername(username);
  const password = await newPassword(settings, output);
  const user = await users.addUser({
    path,
    username,
    password,
    ...defined({ annotation: note }),
    now: nowOf(output),
  });
  await report(settings, user, `Added user ${visible(username)} to ${path}`, output);
}

/**
 * Gives a user another password, another note or both; without either, a password is asked for.
 *
 * @throws AppError `invalid` for a password that cannot be set, and as updateUser() of `src/identity/users/user_file.ts`
 */
export async function updateUser(settings: ChangeUserSettings, output: UserOperationOutput): Promise<void> {
  const { userFile: path, username, note } = settings;
  const keepsPassword = settings.password === undefined && note !== undefined;
  if (!keepsPassword) await checkIsThere(settings);
  const user = await users.updateUser({
    path,
    username,
    ...(keepsPassword ? {} : { password: await newPassword(settings, output) }),
    ...defined({ annotation: note }),
  });
  await report(settings, user, `Updated user ${visible(username)} in ${path}`, output);
}

/**
 * Lets a user log in again, also after a lockout.
 *
 * @throws AppError as enableUser() of `src/identity/users/user_file.ts`
 */
export async function enableUser(settings: UserSettings, output: OperationOutput): Promise<void> {
  const { userFile: path, username, shared } = settings;
  const { records } = shared === undefined ? { records: [] } : await users.readUserFile(path);
  // then the file may be one that nobody writes
  const enabled = records.find((user) =>
    user.username === username && user.enabled && user.failedAttempts === 0
  );
  const user = enabled ?? await users.enableUser({ path, username });
  if (shared !== undefined) await forgetFailedLogins(shared.state, accounts, user);
  await report(settings, user, `Enabled user ${visible(username)} in ${path}`, output);
}

/**
 * Lets a user log in no more; a running server ends the user's sessions.
 *
 * @throws AppError as disableUser() of `src/identity/users/user_file.ts`
 */
export async function disableUser(settings: UserSettings, output: OperationOutput): Promise<void> {
  const { userFile: path, username } = settings;
  const user = await users.disableUser({ path, username });
  await report(settings, user, `Disabled user ${visible(username)} in ${path}`, output);
}

/**
 * Removes an account; a running server ends the user's sessions.
 *
 * @throws AppError as deleteUser() of `src/identity/users/user_file.ts`
 */
export async function deleteUser(settings: UserSettings, output: OperationOutput): Promise<void> {
  const { userFile: path, username, json } = settings;
  await users.deleteUser({ path, username });
  await warnOfAccess(path, output);
  output.print(json ? jsonText({ username }) : `Deleted user ${visible(username)} from ${path}`);
}

/**
 * Prints the accounts of a user file, in the file's order.
 *
 * @throws AppError as readUserFile() of `src/identity/users/user_file.ts`
 */
export async function listUsers(settings: UserFileSettings, output: OperationOutput): Promise<void> {
  const { userFile: path, json, shared } = settings;
  const { records: written, faults } = await users.readUserFile(path);
  const records = shared === undefined ? written : await withLogins(written, shared);
  await warnOfAccess(path, output);
  for (const fault of faults) output.warn?.(visible(fault.message));
  if (json) return output.print(jsonText(records.map(userJson)));
  if (records.length === 0) return output.print(`no users in ${path}`);
  const rows = records.map((user) => [
    user.username,
    user.annotation ?? "-",
    user.createdAt === null ? "-" : plainTime(user.createdAt),
    user.lastLogin === null ? "never" : plainTime(user.lastLogin),
    statusOf(user),
    String(user.failedAttempts),
  ]);
  const headers = ["username", "note", "created", "last login", "status", "failed"];
  for (const line of tableLines(headers, rows)) output.print(line);
}

/** Those of the tool server, which operations are for. */
const accounts = "http";

async function withLogins(
  written: readonly users.UserRecord[],
  { state, maxFailedAttempts }: NonNullable<UserFileSettings["shared"]>,
): Promise<users.UserRecord[]> {
  const logins = createSharedLogins(state, accounts);
  await state.catchUp();
  return written.map((user) => afterLogins(user, logins.of(user), maxFailedAttempts));
}

async function newPassword(settings: ChangeUserSettings, output: UserOperationOutput): Promise<string> {
  const { username, passwordMinLength } = settings;
  if (settings.password !== undefined) {
    output.warn?.("A password on the command line can be seen by other users of this machine");
  }
  const password = settings.password ?? await (output.askPassword ?? askNewPassword)(visible(username));
  checkNewPassword(password, passwordMinLength);
  return password;
}

// before anybody types a password for nothing
async function checkIsThere({ userFile: path, username }: UserSettings): Promise<void> {
  const { records, faults } = await users.readUserFile(path);
  const known = records.some((user) => user.username === username) ||
    faults.some(({ entry }) => entry === username);
  if (!known) {
    throw new AppError("not_found", `Cannot change user ${quoted(username)}: ${path} has no such user`);
  }
}

async function report(
  { userFile: path, json }: UserSettings,
  user: users.UserRecord,
  line: string,
  output: OperationOutput,
): Promise<void> {
  await warnOfAccess(path, output);
  output.print(json ? jsonText(userJson(user)) : line);
}

function userJson(user: users.UserRecord) {
  return {
    username: user.username,
    annotation: user.annotation,
    created_at: jsonTime(user.createdAt),
    last_login: jsonTime(user.lastLogin),
    enabled: user.enabled,
    disabled_reason: user.disabledReason,
    failed_attempts: user.failedAttempts,
  };
}

function statusOf({ enabled, disabledReason }: users.UserRecord): string {
  if (enabled) return "enabled";
  return disabledReason === "lockout" ? "locked" : "disabled";
}
