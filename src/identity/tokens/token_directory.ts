import type { Logger } from "../../core/logger.ts";
import { removeEntry } from "../credentials/credential_entries.ts";
import {
  type CredentialText,
  parseCredentialText,
  readCredentialText,
  renderCredentialText,
  rewriteCredentialFile,
} from "../credentials/credential_file.ts";
import type { TokenSource } from "../authenticator.ts";
import { blankWarning, refuseDamage } from "../credentials/damaged_file.ts";
import {
  readTokens,
  type TokenFile,
  type TokenRecord,
  tokenRestrictions,
  tokenSection,
} from "./token_file.ts";
import { createTokenIndex, isExpired, type TokenIndex } from "./token_index.ts";

/** The API tokens of a running server. */
export interface TokenDirectory extends TokenSource {
  readonly size: number;
  /** The file's text as it was read at the start; undefined where there was no file. */
  readonly text: string | undefined;
  /**
   * Reads a file that has changed, for adopt().
   *
   * @throws AppError as readTokens, and `invalid` for a file that looks damaged
   */
  read(file: CredentialText): Promise<TokenFile>;
  /** Puts the tokens of a file that was read anew in the place of those there were. */
  adopt(file: TokenFile): void;
  /** Takes expired tokens out of the file. They are refused from their moment on, whether this ran or not. */
  sweep(): Promise<void>;
}

export interface TokenDirectoryOptions {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Told of each token that has expired or is no longer in the file, once. */
  readonly onEnded?: (id: string) => void;
  /** Told just before the file's text is replaced, with its lock held: a watcher need not report that. */
  readonly beforeWrite?: (before: string | undefined, after: string) => void;
}

/**
 * Reads a token file; one that does not exist yet holds no tokens.
 *
 * @throws AppError as readTokenFile
 */
export async function openTokenDirectory(options: TokenDirectoryOptions): Promise<TokenDirectory> {
  const { path, now, logger, onEnded = () => {}, beforeWrite } = options;
  const file = await readCredentialText(path);
  let records = new Map<string, TokenRecord>();
  let index: TokenIndex = createTokenIndex([]);
  let faulty: ReadonlySet<string> = new Set();
  let firstExpiry = Infinity;

  async function read(file: CredentialText): Promise<TokenFile> {
    const after = await readTokens(file);
    refuseDamage({
      file,
      section: tokenSection,
      before: records,
      faultyBefore: faulty,
      after,
      idOf: ({ id }) => id,
      restrictions: tokenRestrictions,
    });
    return after;
  }

  function adopt({ records: read, faults }: TokenFile): void {
    for (const { message } of faults) logger.warn(message);
    faulty = new Set(faults.map(({ entry }) => entry));
    const before = records;
    records = new Map(read.map((record) => [record.id, record]));
    index = createTokenIndex(read);
    firstExpiry = earliestExpiry(read);
    // a token that was replaced under its id is another token
    for (const [id, { hash, database }] of before) {
      const now = records.get(id);
      if (now?.hash !== hash || now.database !== database) onEnded(id);
    }
  }

  async function sweep(): Promise<void> {
    const time = now();
    if (time < firstExpiry) return;
    const expired = [...records.values()].filter((record) => isExpired(record, time));
    // out of memory first: a file that cannot be written keeps nobody's connections open
    for (const { id } of expired) {
      records.delete(id);
      onEnded(id);
    }
    firstExpiry = earliestExpiry(records.values());
    await rewriteCredentialFile(path, async ({ text }) => {
      if (text === undefined) return { result: undefined };
      const swept = await withoutExpired({ path, text }, time);
      if (swept !== text) beforeWrite?.(text, swept);
      return { text: swept, result: undefined };
    });
  }

  if (file !== undefined) {
    const first = await readTokens(file);
    const warning = blankWarning(file, tokenSection, first);
    if (warning !== undefined) logger.warn(warning);
    adopt(first);
  }
  return {
    get size() {
      return index.size;
    },
    text: file?.text,
    find: (presented, nowMs) => index.find(presented, nowMs),
    read,
    adopt,
    sweep,
  };
}

function earliestExpiry(records: Iterable<TokenRecord>): number {
  let earliest = Infinity;
  for (const { expiresAt } of records) earliest = Math.min(earliest, expiresAt ?? Infinity);
  return earliest;
}

// what has expired is asked of the file and not of memory: an administrator may have changed it since
async function withoutExpired(file: CredentialText, nowMs: number): Promise<string> {
  const { records } = await readTokens(file);
  const expired = records.filter((record) => isExpired(record, nowMs));
  if (expired.length === 0) return file.text;
  const document = parseCredentialText(file);
  for (const { id } of expired) removeEntry(document, tokenSection, id);
  return renderCredentialText(document, file.text);
}
