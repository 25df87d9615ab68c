import { AppError } from "../../core/app_error.ts";
import { defined } from "../../core/defined.ts";
import { makeToken } from "../presented_token.ts";
import { editCredentialFile } from "../credentials/credential_file.ts";
import { refuseAdding } from "../credentials/damaged_file.ts";
import {
  type EntryReader,
  readRecordFile,
  type RecordKind,
  type RecordsRead,
} from "../credentials/read_records.ts";
import { timestampOrNull } from "../credentials/timestamp.ts";
import {
  appendEntry,
  type CredentialEntry,
  quoted,
  readEntries,
  removeEntry,
} from "../credentials/yaml_entries.ts";
import { parseDuration } from "../../core/text/units.ts";
import { sha256 } from "../../core/text/sha256.ts";
import { limitNames, type ReadLimits, readLimits } from "./limited_tokens.ts";

/** A token as the file keeps it; the token itself is not in there. */
export interface TokenRecord extends ReadLimits {
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

/**
 * The entries of token files: Postern's own, and those of pgEdge's server, which may stand in a list, call the annotation
 * `note` and hold `connections`, which are ignored.
 */
export const tokenKind: RecordKind<TokenRecord> = {
  name: "token",
  section: "tokens",
  fields: ["hash", "annotation", "database", ...limitNames, "created_at", "expires_at"],
  ignoredFields: ["note", "connections"],
  startReading() {
    const idByHash = new Map<string, string>();
    return (reader) => {
      const record = readToken(reader);
      const owner = idByHash.get(record.hash);
      if (owner !== undefined && reader.faults.length === 0) {
        reader.fault(undefined, `${quoted(owner)} has the same hash`);
      }
      if (reader.faults.length === 0) idByHash.set(record.hash, record.id);
      return record;
    };
  },
  idOf: ({ id }) => id,
  restrictions: ({ database, limits = {}, expiresAt }) => [
    ...(database === null ? [] : ["database"]),
    ...Object.keys(limits),
    ...(expiresAt === null ? [] : ["expires_at"]),
  ],
};

/**
 * Reads a token file; one that does not exist holds no tokens.
 *
 * @throws AppError as readRecordFile
 */
export function readTokenFile(path: string): Promise<RecordsRead<TokenRecord>> {
  return readRecordFile(tokenKind, path);
}

export function isExpired(record: TokenRecord, nowMs: number): boolean {
  return record.expiresAt !== null && record.expiresAt <= nowMs;
}

export interface ListedToken extends TokenRecord {
  readonly status: "valid" | "expired";
}

/** The tokens of a file in its order, expired ones too, and the faults of the entries left out. */
export async function listTokens(
  options: { path: string; now: number },
): Promise<{ tokens: ListedToken[]; faults: readonly { message: string }[] }> {
  const { records, faults } = await readTokenFile(options.path);
  const tokens = records.map((record): ListedToken => ({
    ...record,
    status: isExpired(record, options.now) ? "expired" : "valid",
  }));
  return { tokens, faults };
}

/** How long a token lives, in milliseconds. */
type TokenExpiry = number | "never";

/**
 * Reads an expiry such as `30d` or `never`; absent text means never.
 *
 * @throws AppError `invalid` for other text and for a duration of nothing
 */
export function parseExpiry(text: string | undefined): TokenExpiry {
  if (text === undefined || text === "never") return "never";
  const durationMs = parseDuration(text);
  if (durationMs) return durationMs;
  throw new AppError(
    "invalid",
    `Cannot read the expiry "${text}": expected a duration such as 12h, 30d, 1y, or never`,
  );
}

interface NewTokenOptions extends ReadLimits {
  readonly note?: string;
  readonly database?: string;
  readonly expiry: TokenExpiry;
  /** Milliseconds since 1970. */
  readonly now: number;
}

interface NewToken {
  readonly record: TokenRecord;
  /** The token itself, as makeToken() makes them. It is in no file; whoever gets it shows it once. */
  readonly token: string;
}

/** Makes a token, for whoever keeps its record: 32 random bytes. Times are whole seconds, the expiry rounded up. */
export function createToken(options: NewTokenOptions & { readonly id: string }): NewToken {
  const { id, note, database, limits, networkBlocks, expiry, now } = options;
  const token = makeToken();
  const record: TokenRecord = {
    id,
    hash: sha256(token),
    annotation: note || null,
    database: database ?? null,
    ...defined({ limits, networkBlocks }),
    createdAt: Math.floor(now / 1000) * 1000,
    expiresAt: expiry === "never" ? null : Math.ceil((now + expiry) / 1000) * 1000,
  };
  return { record, token };
}

/**
 * Makes a token and adds it at the end of a token file, which is made where it does not exist. The id is `token-` and the
 * seconds since 1970, or the next that are free.
 *
 * @throws AppError as refuseAdding, or as editCredentialFile
 */
export function addToken(options: NewTokenOptions & { readonly path: string }): Promise<NewToken> {
  const { path, ...properties } = options;
  return editCredentialFile(path, async (file, found) => {
    if (found !== undefined) await refuseAdding(tokenKind, found);
    const taken = new Set(readEntries(file, tokenKind.section).map((entry) => entry.id));
    let seconds = Math.floor(options.now / 1000);
    while (taken.has(`token-${seconds}`)) seconds++;
    const made = createToken({ ...properties, id: `token-${seconds}` });
    const { id, hash, annotation, database, limits = {}, createdAt, expiresAt } = made.record;
    appendEntry(file, tokenKind.section, id, {
      hash,
      ...(annotation === null ? {} : { annotation }),
      ...(database === null ? {} : { database }),
      ...Object.fromEntries(Object.entries(limits).map(([name, list]) => [name, list.join(", ")])),
      created_at: timestampOrNull(createdAt),
      expires_at: timestampOrNull(expiresAt),
    });
    return made;
  });
}

/**
 * Removes the token with an id, or the only one whose hash starts with at least 8 hex digits; a faulty entry too.
 * Returns what was removed.
 *
 * @throws AppError `not_found` where there is none, `conflict` where several hashes start so, or as editCredentialFile
 */
export function removeToken(options: { path: string; idOrPrefix: string }): Promise<{ id: string }> {
  const { path, idOrPrefix } = options;
  return editCredentialFile(path, (file) => {
    const entries = readEntries(file, tokenKind.section);
    const named = entries.find((entry) => entry.id !== "" && entry.id === idOrPrefix);
    const matches = named === undefined
      ? entries.filter((entry) => hashStartsWith(entry, idOrPrefix))
      : [named];
    const [match] = matches;
    if (match === undefined) {
      throw new AppError(
        "not_found",
        `Cannot remove token "${idOrPrefix}": ${path} has no such id, and no hash that starts with it (8 digits ` +
          "at least)",
      );
    }
    if (matches.length > 1) {
      const ids = matches.map((entry) => entry.id).join(", ");
      throw new AppError(
        "conflict",
        `Cannot remove token "${idOrPrefix}": several hashes start with it (${ids})`,
      );
    }
    removeEntry(file, tokenKind.section, match.id);
    return { id: match.id };
  });
}

// what is wrong with the entry is left in the reader
function readToken(reader: EntryReader): TokenRecord {
  const hash = (reader.field("hash")?.text ?? "").toLowerCase();
  if (!/^[0-9a-f]{64}$/.test(hash)) {
    reader.fault("hash", "hash: expected the 64 hex digits of the token's SHA-256");
  }
  return {
    id: reader.id,
    hash,
    annotation: reader.text("annotation") ?? reader.text("note"),
    database: reader.text("database"),
    ...readLimits(reader),
    createdAt: reader.time("created_at"),
    expiresAt: reader.time("expires_at"),
  };
}

function hashStartsWith(entry: CredentialEntry, prefix: string): boolean {
  return /^[0-9a-f]{8,64}$/i.test(prefix) &&
    (entry.fields.get("hash")?.text ?? "").toLowerCase().startsWith(prefix.toLowerCase());
}
