import type { Logger } from "../../core/logger.ts";
import { digestOfHash, isPresented, type PresentedToken } from "../presented_token.ts";
import { sha256 } from "../../core/text/sha256.ts";
import { readCredentialText, rewriteCredentialFile } from "../credentials/credential_file.ts";
import { blankWarning, refuseDamage } from "../credentials/damaged_file.ts";
import { readRecords, type RecordsRead } from "../credentials/read_records.ts";
import {
  type CredentialText,
  parseCredentialText,
  removeEntry,
  renderCredentialText,
} from "../credentials/yaml_entries.ts";
import { isExpired, tokenKind, type TokenRecord } from "./token_file.ts";

interface TokenDirectoryOptions {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Told of each token that has expired or is no longer in the file, once. */
  readonly onEnded?: (id: string) => void;
  /** Told just before the file's text is replaced, with its lock held: a watcher need not report that. */
  readonly beforeWrite?: (before: string | undefined, after: string) => void;
}

const retryMs = 60_000;

/** The API tokens of a running server. */
export type TokenDirectory = Awaited<ReturnType<typeof openTokenDirectory>>;

/**
 * Reads a token file; one that does not exist yet holds no tokens.
 *
 * @throws AppError as readTokenFile
 */
export async function openTokenDirectory(options: TokenDirectoryOptions) {
  const { path, now, logger, onEnded = () => {}, beforeWrite } = options;
  const file = await readCredentialText(path);
  let records = new Map<string, TokenRecord>();
  let index = createTokenIndex([]);
  let faulty: ReadonlySet<string> = new Set();
  /** Whether the file may still have tokens that left memory. */
  let isWriteDue = false;
  /** In milliseconds since 1970. */
  let retryAt = -Infinity;

  let fingerprint = "";
  function adopt(read: RecordsRead<TokenRecord>): void {
    for (const { message } of read.faults) logger.warn(message);
    faulty = new Set(read.faults.map(({ entry }) => entry));
    const before = records;
    records = new Map(read.records.map((record) => [record.id, record]));
    fingerprint = sha256(JSON.stringify(read.records));
    index = createTokenIndex(read.records);
    // a token that was replaced under its id, or may do something else, is another token
    const markOf = ({ hash, database, limits }: TokenRecord) => JSON.stringify([hash, database, limits]);
    for (const [id, record] of before) {
      const now = records.get(id);
      if (now === undefined || markOf(now) !== markOf(record)) onEnded(id);
    }
  }

  if (file !== undefined) {
    const first = await readRecords(tokenKind, file);
    const warning = blankWarning(tokenKind, file, first);
    if (warning !== undefined) logger.warn(warning);
    adopt(first);
  }
  return {
    get size() {
      return index.size;
    },
    /** Tells the tokens that are in force from others. */
    get fingerprint() {
      return fingerprint;
    },
    /** The file's text as it was read at the start; undefined where there was no file. */
    text: file?.text,
    find: (presented: PresentedToken | undefined, nowMs: number) => index.find(presented, nowMs),
    /**
     * Reads a file that has changed, for adopt().
     *
     * @throws AppError as readRecords, and `invalid` for a file that looks damaged
     */
    async read(file: CredentialText): Promise<RecordsRead<TokenRecord>> {
      const after = await readRecords(tokenKind, file);
      refuseDamage(tokenKind, file, { records, faulty }, after);
      return after;
    },
    /** Puts the tokens of a file that was read anew in the place of those there were. */
    adopt,
    /**
     * Takes expired tokens out of the file; where that fails, it is tried again from a minute later on. They are refused
     * from their moment on, whether this ran or not.
     *
     * @throws AppError as readTokenFile and rewriteCredentialFile
     */
    async sweep(): Promise<void> {
      const time = now();
      // out of memory first, so that connections end even where the file cannot be written
      for (const [id, record] of records) {
        if (!isExpired(record, time)) continue;
        isWriteDue = true;
        records.delete(id);
        onEnded(id);
      }
      if (!isWriteDue || time < retryAt) return;
      isWriteDue = false;
      try {
        await rewriteCredentialFile(path, async (text) => {
          if (text === undefined) return { result: undefined };
          const swept = await withoutExpired({ path, text }, time);
          if (swept !== text) beforeWrite?.(text, swept);
          return { text: swept, result: undefined };
        });
      } catch (error) {
        isWriteDue = true;
        retryAt = time + retryMs;
        throw error;
      }
    },
  };
}

/**
 * Looks tokens up by their SHA-256, at a cost that does not grow with their number. Of records with the same hash or
 * the same id the first counts.
 *
 * @param equal compares two digests in constant time
 */
export function createTokenIndex(
  records: Iterable<TokenRecord>,
  { equal }: { readonly equal?: (found: Uint8Array, presented: Uint8Array) => boolean } = {},
) {
  const byHash = new Map<string, { readonly record: TokenRecord; readonly digest: Uint8Array }>();
  const ids = new Set<string>();
  for (const record of records) {
    if (ids.has(record.id) || byHash.has(record.hash)) continue;
    ids.add(record.id);
    byHash.set(record.hash, { record, digest: digestOfHash(record.hash) });
  }
  return {
    size: byHash.size,
    /** The token's record; undefined where none matches or it has expired. */
    find(presented: PresentedToken | undefined, nowMs: number): TokenRecord | undefined {
      if (presented === undefined) return undefined;
      const found = byHash.get(presented.hash);
      if (!isPresented(found?.digest, presented, equal) || found === undefined) return undefined;
      return isExpired(found.record, nowMs) ? undefined : found.record;
    },
  };
}

// what has expired is read from the file and not from memory: an administrator may have changed it since
async function withoutExpired(file: CredentialText, nowMs: number): Promise<string> {
  const { records } = await readRecords(tokenKind, file);
  const expired = records.filter((record) => isExpired(record, nowMs));
  if (expired.length === 0) return file.text;
  const document = parseCredentialText(file);
  for (const { id } of expired) removeEntry(document, tokenKind.section, id);
  return renderCredentialText(document, file.text);
}
