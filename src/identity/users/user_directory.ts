import { AppError } from "../../core/app_error.ts";
import { createQueue } from "../../core/async/queue.ts";
import type { Logger } from "../../core/logger.ts";
import { readCredentialText, rewriteCredentialFile } from "../credentials/credential_file.ts";
import { blankWarning, refuseDamage } from "../credentials/damaged_file.ts";
import { changeEntries } from "../credentials/entries.ts";
import { readRecords, type RecordsRead } from "../credentials/read_records.ts";
import { type EntryChange, quoted } from "../credentials/yaml_entries.ts";
import { afterLogins, failedLogin, joinLogins, type LoginCounts } from "./lockout.ts";
import { costOf, passwordCost } from "./password_hashing.ts";
import type { Logins } from "./shared_logins.ts";
import { changedFields, othersName, userKind, type UserRecord } from "./user_file.ts";

export interface UserDirectoryOptions {
  readonly path: string;
  /** Failed logins in a row that lock an account; 0: none do. */
  readonly maxFailedAttempts: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Optional: counts logins elsewhere; without it, in the file. */
  readonly logins?: Logins;
  /** Told just before the file's text is replaced, with its lock held: a watcher need not report that. */
  readonly beforeWrite?: (before: string | undefined, after: string) => void;
  /** Told when failed logins lock an account. */
  readonly onLockout?: (username: string) => void;
  /** Told when accounts were read that somebody else had changed: by reload(), or when a write came upon them first. */
  readonly onReloaded?: () => void;
}

/** Accounts as they are at the moment. */
export interface AccountSource {
  find(username: string): UserRecord | undefined;
}

/** The accounts of a running server: what the user file says, and the logins since then, which go into the file. */
export type UserDirectory = Awaited<ReturnType<typeof openUserDirectory>>;

interface UsersRead {
  /** Undefined where the file does not exist. */
  readonly text: string | undefined;
  readonly users: ReadonlyMap<string, UserRecord>;
  readonly highestCost: number;
  readonly read: RecordsRead<UserRecord>;
}

/**
 * Reads a user file; one that does not exist yet holds no users.
 *
 * @throws AppError as readUserFile
 */
export async function openUserDirectory(options: UserDirectoryOptions) {
  const { path, maxFailedAttempts, now, logger, beforeWrite, onLockout, onReloaded } = options;
  const queue = createQueue();
  const logins = options.logins ??
    createLoginQueue({ write: (some) => queue.run(() => writeLogins(some)), logger });
  const file = await readCredentialText(path);
  let accounts = await readAccounts(path, file?.text);
  const warning = file && blankWarning(userKind, file, accounts.read);
  if (warning !== undefined) logger.warn(warning);
  logFaults(accounts);

  function find(username: string): UserRecord | undefined {
    const user = accounts.users.get(username);
    return user && afterLogins(user, logins.of(user), maxFailedAttempts);
  }
  function adopt(read: UsersRead): void {
    accounts = read;
    logFaults(read);
    onReloaded?.();
  }
  function logFaults({ read }: UsersRead): void {
    for (const { message } of read.faults) logger.warn(message);
    for (const { username } of read.records) {
      const reason = othersName(username);
      if (reason === undefined) continue;
      logger.warn(
        `The user ${quoted(username)} in ${path} can be taken for another caller: ${reason}; rename it`,
      );
    }
  }
  async function writeLogins(some: ReadonlyMap<string, LoginCounts>): Promise<() => void> {
    return await rewriteCredentialFile(path, async (text) => {
      const changedByOthers = text !== accounts.text;
      const before = changedByOthers ? await readAccounts(path, text, accounts) : accounts;
      const after = await addLogins(path, before, some, maxFailedAttempts);
      if (after.text !== text) beforeWrite?.(text, after.text);
      const result = () => changedByOthers ? adopt(after) : void (accounts = after);
      return { text: after.text, result };
    });
  }
  async function reload(): Promise<"reloaded" | "unchanged"> {
    const file = await readCredentialText(path);
    if (file === undefined) throw new AppError("not_found", `Cannot read ${path}: it does not exist`);
    if (file.text === accounts.text) return "unchanged";
    adopt(await readAccounts(path, file.text, accounts));
    return "reloaded";
  }
  /** Writes what is not in the file yet. */
  async function close(): Promise<void> {
    await logins.close();
    await queue.run(() => {});
  }

  return {
    get size() {
      return accounts.users.size;
    },
    /** The file's text as it was read or written last; undefined where there was no file. */
    get text() {
      return accounts.text;
    },
    /** The highest cost among the accounts' hashes, and no less than that of new ones. */
    get highestCost() {
      return accounts.highestCost;
    },
    find,
    /** Counts a failed login of an account that is there and enabled; it may lock the account, at once. */
    recordFailedLogin(username: string): void {
      const user = accounts.users.get(username);
      if (user === undefined || !find(username)?.enabled) return;
      logins.record(user, failedLogin);
      if (!find(username)?.enabled) onLockout?.(username);
    },
    /** Notes a login, and clears the count of those that failed. */
    recordLogin(username: string): void {
      const user = accounts.users.get(username);
      if (user !== undefined) logins.record(user, { succeededAt: now(), failed: 0 });
    },
    /**
     * Reads the file again; what this directory wrote itself is "unchanged". Where it cannot be read the old
     * accounts stay.
     *
     * @throws AppError as readUserFile, and `not_found` for a file that does not exist
     */
    reload: () => queue.run(reload),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** @param before what is in force; a file that looks damaged does not take its place */
async function readAccounts(path: string, text: string | undefined, before?: UsersRead): Promise<UsersRead> {
  const file = { path, text: text ?? "" };
  const read = await readRecords(userKind, file);
  if (before !== undefined && text !== undefined) {
    const faulty = new Set(before.read.faults.map(({ entry }) => entry));
    refuseDamage(userKind, file, { records: before.users, faulty }, read);
  }
  return {
    text,
    users: new Map(read.records.map((user) => [user.username, user])),
    highestCost: Math.max(passwordCost, ...new Set(read.records.map((user) => costOf(user.passwordHash)))),
    read,
  };
}

/** The accounts after some logins, and the file's text with them. Logins of an account that is gone are dropped. */
async function addLogins(
  path: string,
  before: UsersRead,
  logins: ReadonlyMap<string, LoginCounts>,
  maxFailedAttempts: number,
): Promise<UsersRead & { readonly text: string }> {
  const { text } = before;
  // the file may be back in a moment, with the accounts of these logins
  if (text === undefined) throw new AppError("not_found", `Cannot write ${path}: it does not exist`);
  const users = new Map(before.users);
  const changes: EntryChange[] = [];
  for (const [username, counts] of logins) {
    const user = users.get(username);
    if (user === undefined) continue;
    const changed = afterLogins(user, counts, maxFailedAttempts);
    users.set(username, changed);
    const fields = changedFields(user, changed);
    if (Object.keys(fields).length > 0) changes.push({ id: username, fields });
  }
  if (changes.length === 0) return { ...before, text };
  return { ...before, users, text: await changeEntries({ path, text }, userKind.section, changes) };
}

// the reply goes out first, so that its time does not tell of an account that is there, for which the file is written
const writeDelayMs = 20;
const longestRetryDelayMs = 5_000;

/**
 * Keeps logins until they are written; those that come during a write are written together by the next.
 *
 * @param options.write writes logins, by username; what it resolves with runs at the moment when they leave the queue
 */
function createLoginQueue({ write, logger }: {
  readonly write: (logins: ReadonlyMap<string, LoginCounts>) => Promise<() => void>;
  readonly logger: Logger;
}): Logins {
  let waiting = new Map<string, LoginCounts>();
  let beingWritten = new Map<string, LoginCounts>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;
  let failedWrites = 0;

  function schedule(delayMs: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void startWriting();
    }, delayMs);
  }
  function startWriting(): Promise<void> {
    // what comes in the meantime waits for the next write
    return writing ??= writeWaiting().finally(() => {
      writing = undefined;
      if (waiting.size === 0) return;
      schedule(failedWrites === 0 ? 0 : Math.min(longestRetryDelayMs, 125 * 2 ** failedWrites));
    });
  }
  async function writeWaiting(): Promise<void> {
    [beingWritten, waiting] = [waiting, new Map()];
    try {
      const written = await write(beingWritten);
      beingWritten = new Map();
      failedWrites = 0;
      written();
    } catch (error) {
      for (const [username, logins] of waiting) add(beingWritten, username, logins);
      [beingWritten, waiting] = [new Map(), beingWritten];
      if (failedWrites++ === 0) {
        logger.error("Cannot record logins in the user file; trying again", { error });
      }
    }
  }

  return {
    of: ({ username }) => joinLogins(beingWritten.get(username), waiting.get(username)),
    record({ username }, logins) {
      add(waiting, username, logins);
      if (writing === undefined) schedule(writeDelayMs);
    },
    async close(): Promise<void> {
      await writing;
      if (waiting.size > 0) await startWriting();
      clearTimeout(timer);
    },
  };
}

function add(counts: Map<string, LoginCounts>, username: string, logins: LoginCounts): void {
  counts.set(username, joinLogins(counts.get(username), logins));
}
