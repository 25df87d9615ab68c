import { timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import { tokenDigest } from "./token_digest.ts";
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
      const presented = tokenDigest(token);
      if (presented === undefined) return undefined;
      const record = byHash.get(presented.toString("hex"));
      const found = record === undefined ? noDigest : Buffer.from(record.hash, "hex");
      if (!equal(found, presented) || record === undefined) return undefined;
      return isExpired(record, nowMs) ? undefined : record;
    },
  };
}

export function isExpired(record: TokenRecord, nowMs: number): boolean {
  return record.expiresAt !== null && record.expiresAt <= nowMs;
}

const noDigest = new Uint8Array(32);
