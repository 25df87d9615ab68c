import { AppError } from "../../core/app_error.ts";
import { createQueue } from "../../core/async/queue.ts";
import type { Logger } from "../../core/logger.ts";
import { changeEntries } from "../credentials/change_entries.ts";
import type { EntryChange } from "../credentials/credential_entries.ts";
import {
  type CredentialText,
  readCredentialText,
  rewriteCredentialFile,
} from "../credentials/credential_file.ts";
import type { CredentialFault } from "../credentials/entry_reader.ts";
import { addFailure, addSuccess, applyTally, type LoginTally } from "./login_tally.ts";
import { costOf, passwordCost } from "./password_hash.ts";
import { createTallyQueue } from "./tally_queue.ts";
import { blankWarning, refuseDamage } from "../credentials/damaged_file.ts";
import { changedFields, readUsers, type UserRecord, userRestrictions, userSection } from "./user_file.ts";

/** The accounts of a running server: what the user file says, and the logins since then, which go into the file. */
export interface UserDirectory {
  readonly size: number;
  /** The file's text as it was read or written last; undefined where there was no file. */
  readonly text: string | undefined;
  /** The highest cost among the accounts' hashes, and no less than that of new ones. */
  readonly highestCost: number;
  find(username: string): UserRecord | undefined;
  /** Counts a failed login of an account that is there and enabled; it may lock the account, at once. */
  recordFailure(username: string): void;
  /** Notes a login, and clears the count of those that failed. */
  recordSuccess(username: string): void;
  /**
   * Reads the file again; what this directory wrote itself is "unchanged". Where it cannot be read the old accounts stay.
   *
   * @throws AppError as readUserFile, and `not_found` for a file that does not exist
   */
  reload(): Promise<"reloaded" | "unchanged">;
  /** Writes what is not in the file yet. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface UserDirectoryOptions {
  readonly path: string;
  /** Failed logins in a row that lock an account; 0: none do. */
  readonly maxFailedAttempts: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Told just before the file's text is replaced, with its lock held: a watcher need not report that. */
  readonly beforeWrite?: (before: string | undefined, after: string) => void;
  /** Told when failed logins lock an account. */
  readonly onLockout?: (username: string) => void;
  /**
   * Told when accounts were read that somebody else had changed: by reload(), or when a write came upon them first.
   */
  readonly onReloaded?: (faults: readonly CredentialFault[]) => void;
}

interface Accounts {
  /** Undefined where the file does not exist. */
  readonly text: string | undefined;
  readonly users: Map<string, UserRecord>;
  readonly highestCost: number;
  readonly faults: readonly CredentialFault[];
  /** For a file that is there and names nobody. */
  readonly warning: string | undefined;
}

/**
 * Reads a user file; one that does not exist yet holds no users.
 *
 * @throws AppError as readUserFile
 */
export async function openUserDirectory(options: UserDirectoryOptions): Promise<UserDirectory> {
  const { path, maxFailedAttempts, now, logger, beforeWrite, onLockout, onReloaded } = options;
  const queue = createQueue();
  const tallies = createTallyQueue({ write: (some) => queue.run(() => writeTallies(some)), logger });
  const file = await readCredentialText(path);
  let accounts = await readAccounts(file ?? { path, text: undefined });
  if (accounts.warning !== undefined) logger.warn(accounts.warning);
  logFaults(accounts, logger);

  function find(username: string): UserRecord | undefined {
    const user = accounts.users.get(username);
    return user && applyTally(user, tallies.of(username), maxFailedAttempts);
  }
  function adopt(read: Accounts): void {
    accounts = read;
    logFaults(read, logger);
    onReloaded?.(read.faults);
  }
  async function writeTallies(tallies: ReadonlyMap<string, LoginTally>): Promise<() => void> {
    return await rewriteCredentialFile(path, async (file) => {
      const changedByOthers = file.text !== accounts.text;
      const before = changedByOthers ? await readAccounts(file, accounts) : accounts;
      const after = await changeAccounts(path, before, tallies, maxFailedAttempts);
      if (after.text !== undefined && after.text !== file.text) beforeWrite?.(file.text, after.text);
      const result = () => changedByOthers ? adopt(after) : void (accounts = after);
      return { ...(after.text === undefined ? {} : { text: after.text }), result };
    });
  }
  async function reload(): Promise<"reloaded" | "unchanged"> {
    const file = await readCredentialText(path);
    if (file === undefined) throw new AppError("not_found", `Cannot read ${path}: it does not exist`);
    if (file.text === accounts.text) return "unchanged";
    adopt(await readAccounts(file, accounts));
    return "reloaded";
  }
  async function close(): Promise<void> {
    await tallies.close();
    await queue.run(() => {});
  }

  return {
    get size() {
      return accounts.users.size;
    },
    get text() {
      return accounts.text;
    },
    get highestCost() {
      return accounts.highestCost;
    },
    find,
    recordFailure(username) {
      if (!find(username)?.enabled) return;
      tallies.record(username, addFailure);
      if (!find(username)?.enabled) onLockout?.(username);
    },
    recordSuccess: (username) => tallies.record(username, () => addSuccess(now())),
    reload: () => queue.run(reload),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function logFaults({ faults }: Accounts, logger: Logger): void {
  for (const { message } of faults) logger.warn(message);
}

/** @param before what is in force; a file that looks damaged does not take its place */
async function readAccounts(
  { path, text }: { path: string; text: string | undefined },
  before?: Accounts,
): Promise<Accounts> {
  const file = { path, text: text ?? "" };
  const after = await readUsers(file);
  if (before !== undefined && text !== undefined) {
    refuseDamage({
      file,
      section: userSection,
      before: before.users,
      faultyBefore: new Set(before.faults.map(({ entry }) => entry)),
      after,
      idOf: ({ username }) => username,
      restrictions: userRestrictions,
    });
  }
  const { records, faults } = after;
  return {
    text,
    users: new Map(records.map((user) => [user.username, user])),
    highestCost: Math.max(passwordCost, ...costs(records)),
    faults,
    warning: text === undefined ? undefined : blankWarning(file, userSection, after),
  };
}

/** The accounts after some logins, with the text that says so. Of an account that is gone nothing is kept. */
async function changeAccounts(
  path: string,
  before: Accounts,
  tallies: ReadonlyMap<string, LoginTally>,
  maxFailedAttempts: number,
): Promise<Accounts> {
  // it may be back in a moment, with the accounts that the tallies are for
  if (before.text === undefined) throw new AppError("not_found", `Cannot write ${path}: it does not exist`);
  const users = new Map(before.users);
  const changes: EntryChange[] = [];
  for (const [username, tally] of tallies) {
    const user = users.get(username);
    if (user === undefined) continue;
    const changed = applyTally(user, tally, maxFailedAttempts);
    users.set(username, changed);
    const fields = changedFields(user, changed);
    if (Object.keys(fields).length > 0) changes.push({ id: username, fields });
  }
  if (changes.length === 0) return before;
  const file: CredentialText = { path, text: before.text };
  return { ...before, users, text: await changeEntries(file, userSection, changes) };
}

function costs(records: readonly UserRecord[]): Set<number> {
  return new Set(records.map((user) => costOf(user.passwordHash)));
}
