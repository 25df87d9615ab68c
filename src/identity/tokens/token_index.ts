import { timingSafeEqual } from "node:crypto";
import { digestOfHash, type PresentedToken } from "./token_digest.ts";
import type { TokenRecord } from "./token_file.ts";

/** The tokens of one moment, to look a caller's token up in. */
export interface TokenIndex {
  readonly size: number;
  /** The token's record; undefined where none matches or it has expired. */
  find(presented: PresentedToken | undefined, nowMs: number): TokenRecord | undefined;
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
  const byHash = new Map<string, { readonly record: TokenRecord; readonly digest: Uint8Array }>();
  const ids = new Set<string>();
  for (const record of records) {
    if (ids.has(record.id) || byHash.has(record.hash)) continue;
    ids.add(record.id);
    byHash.set(record.hash, { record, digest: digestOfHash(record.hash) });
  }
  return {
    size: byHash.size,
    find(presented, nowMs) {
      if (presented === undefined) return undefined;
      const found = byHash.get(presented.hash);
      if (!equal(found?.digest ?? noDigest, presented.digest) || found === undefined) return undefined;
      return isExpired(found.record, nowMs) ? undefined : found.record;
    },
  };
}

export function isExpired(record: TokenRecord, nowMs: number): boolean {
  return record.expiresAt !== null && record.expiresAt <= nowMs;
}

const noDigest = new Uint8Array(32);
