import { Buffer } from "node:buffer";
import { sha256 } from "../../core/sha256.ts";

const longestToken = 512;

/** A token that a caller presented, hashed once for all places where it is looked for. */
export interface PresentedToken {
  readonly digest: Uint8Array;
  /** The digest in 64 lower-case hex digits. */
  readonly hash: string;
}

/**
 * Hashes what a caller presented; undefined for what is too long or not of the form that RFC 6750, section 2.1, gives
 * tokens, which is not hashed at all.
 */
export function presentToken(token: string): PresentedToken | undefined {
  if (token.length > longestToken || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) return undefined;
  const hash = hashToken(token);
  return { digest: digestOfHash(hash), hash };
}

/** The digest that a hash in hex digits stands for, to compare others with. */
export function digestOfHash(hash: string): Uint8Array {
  return Buffer.from(hash, "hex");
}

/** The SHA-256 of a token in 64 lower-case hex digits, as a token file keeps it. */
export function hashToken(token: string): string {
  return sha256(token);
}
