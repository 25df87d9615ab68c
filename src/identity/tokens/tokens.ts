import { randomBytes } from "node:crypto";
import { AppError } from "../../core/app_error.ts";
import { parseDuration } from "../../core/duration.ts";
import { type CredentialEntry, readEntries, removeEntry } from "../credentials/credential_entries.ts";
import { editCredentialFile } from "../credentials/credential_file.ts";
import { faultBeforeAdding } from "../credentials/damaged_file.ts";
import { appendToken, readTokenFile, readTokens, type TokenRecord, tokenSection } from "./token_file.ts";
import { hashToken } from "./token_digest.ts";
import { isExpired } from "./token_index.ts";

/** How long a token lives, in milliseconds. */
export type TokenExpiry = number | "never";

export interface NewToken {
  readonly record: TokenRecord;
  /** The token itself: `pst_` and 43 base64url characters. It is in no file; whoever gets it shows it once. */
  readonly token: string;
}

export interface ListedToken extends TokenRecord {
  readonly status: "valid" | "expired";
}

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

/** Makes a token, for whoever keeps its record: 32 random bytes. Times are whole seconds, the expiry rounded up. */
export function createToken(options: {
  id: string;
  note?: string;
  database?: string;
  expiry: TokenExpiry;
  now: number;
}): NewToken {
  const { id, note, database, expiry, now } = options;
  const token = `pst_${randomBytes(32).toString("base64url")}`;
  const record: TokenRecord = {
    id,
    hash: hashToken(token),
    annotation: note || null,
    database: database ?? null,
    createdAt: Math.floor(now / 1000) * 1000,
    expiresAt: expiry === "never" ? null : Math.ceil((now + expiry) / 1000) * 1000,
  };
  return { record, token };
}

/**
 * Makes a token and adds it to a token file, which is made where it does not exist. `now` is in milliseconds since
 * 1970; the id is `token-` and its seconds, or the next that are free.
 *
 * @throws AppError `invalid` where the file looks damaged, or as editCredentialFile
 */
export function addToken(options: {
  path: string;
  note?: string;
  database?: string;
  expiry: TokenExpiry;
  now: number;
}): Promise<NewToken> {
  const { path, ...properties } = options;
  return editCredentialFile(path, async (file, found) => {
    if (found !== undefined) {
      const fault = faultBeforeAdding({ file: found, section: tokenSection, read: await readTokens(found) });
      if (fault !== undefined) throw new AppError("invalid", `Cannot add a token to ${path}: ${fault}`);
    }
    const taken = new Set(readEntries(file, tokenSection).map((entry) => entry.id));
    let seconds = Math.floor(options.now / 1000);
    while (taken.has(`token-${seconds}`)) seconds++;
    const made = createToken({ ...properties, id: `token-${seconds}` });
    appendToken(file, made.record);
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
    const entries = readEntries(file, tokenSection);
    const named = entries.find((entry) => entry.id !== "" && entry.id === idOrPrefix);
    const matches = named === undefined
      ? entries.filter((entry) => hashStartsWith(entry, idOrPrefix))
      : [named];
    const [match] = matches;
    if (match === undefined) {
      throw new AppError(
        "not_found",
        `Cannot remove token "${idOrPrefix}": ${path} has no such id, and no hash that starts with it (8 digits at least)`,
      );
    }
    if (matches.length > 1) {
      const ids = matches.map((entry) => entry.id).join(", ");
      throw new AppError(
        "conflict",
        `Cannot remove token "${idOrPrefix}": several hashes start with it (${ids})`,
      );
    }
    removeEntry(file, tokenSection, match.id);
    return { id: match.id };
  });
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

function hashStartsWith(entry: CredentialEntry, prefix: string): boolean {
  return /^[0-9a-f]{8,64}$/i.test(prefix) &&
    (entry.fields.get("hash")?.text ?? "").toLowerCase().startsWith(prefix.toLowerCase());
}
