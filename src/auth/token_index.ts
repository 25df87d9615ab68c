import { createHash, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import type { TokenRecord } from "./token_file.ts";

/** The tokens of one moment, to look a caller's token up in. */
export interface TokenIndex {
  readonly size: number;
  /** The token's record; undefined where none matches or it has expired. */
  find(token: string, nowMs: number): TokenRecord | undefined;
}

export interface TokenIndexOptions {
  /** Compares two digests in constant time. */
  readonly equal?: (found: Uint8Array, presented: Uint8Array) => boolean;
}

/**
 * Looks tokens up by their SHA-256, at a cost that does not grow with their number. Of records with the same hash or
 * the same id the first counts.
 */
export function createTokenIndex(
  records: Iterable<TokenRecord>,
  options: TokenIndexOptions = {},
): TokenIndex {
  const { equal = timingSafeEqual } = options;
  const byHash = new Map<string, TokenRecord>();
  const ids = new Set<string>();
  for (const record of records) {
    if (ids.has(record.id) || byHash.has(record.hash)) continue;
    ids.add(record.id);
    byHash.set(record.hash, record);
  }
  return {
    size: byHash.size,
    find(token, nowMs) {
      if (!isTokenFormat(token)) return undefined;
      const presented = digest(token);
      const record = byHash.get(presented.toString("hex"));
      const found = record === undefined ? noDigest : Buffer.from(record.hash, "hex");
      if (!equal(found, presented) || record === undefined) return undefined;
      return isExpired(record, nowMs) ? undefined : record;
    },
  };
}

/** The SHA-256 of a token in 64 lower-case hex digits, as a token file keeps it. */
export function hashToken(token: string): string {
  return digest(token).toString("hex");
}

export function isExpired(record: TokenRecord, nowMs: number): boolean {
  return record.expiresAt !== null && record.expiresAt <= nowMs;
}

const longestToken = 512;
const noDigest = new Uint8Array(32);

// RFC 6750 section 2.1, b64token
function isTokenFormat(token: string): boolean {
  return token.length <= longestToken && /^[A-Za-z0-9\-._~+/]+=*$/.test(token);
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
