import { Buffer } from "node:buffer";
import { randomBytes, timingSafeEqual } from "node:crypto";
import { sha256 } from "../core/text/sha256.ts";

/** A token that a caller presented, hashed once for all places where it is looked for. */
export interface PresentedToken {
  readonly digest: Uint8Array;
  /** The digest in 64 lower-case hex digits. */
  readonly hash: string;
}

/**
 * What all begins with that Postern gives out and that lets somebody in: API tokens, and the authorization server's tokens
 * and codes. So they are known, also when they have ended, and no other server is asked about them. A session's token does
 * not begin with it, nor need an API token that another tool made.
 */
export const tokenPrefix = "pst_";

/** A new one: the prefix and 43 base64url characters. */
export function makeToken(): string {
  return tokenPrefix + randomBytes(32).toString("base64url");
}

/** Whether a token has the form of a session's, wherever that was begun. Issuers as a rule write Base64 for URLs, without the `=`. */
export function isSessionToken(token: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(token);
}

const longestToken = 512;

/**
 * Hashes what a caller presented; undefined for what is too long or not of the form that RFC 6750, section 2.1, gives
 * tokens, which is not hashed at all.
 */
export function presentToken(token: string): PresentedToken | undefined {
  if (token.length > longestToken || !/^[A-Za-z0-9\-._~+/]+=*$/.test(token)) return undefined;
  const hash = sha256(token);
  return { digest: digestOfHash(hash), hash };
}

/** The digest that a hash in hex digits stands for, to compare others with. */
export function digestOfHash(hash: string): Uint8Array {
  return Buffer.from(hash, "hex");
}

const noDigest = new Uint8Array(32);

/** Whether a digest that was found is that of the presented token; compares in constant time, also where none was found. */
export function isPresented(
  found: Uint8Array | undefined,
  presented: PresentedToken,
  equal: (found: Uint8Array, presented: Uint8Array) => boolean = timingSafeEqual,
): boolean {
  return equal(found ?? noDigest, presented.digest) && found !== undefined;
}
