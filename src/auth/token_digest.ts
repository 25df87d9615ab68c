import { createHash } from "node:crypto";
import type { Buffer } from "node:buffer";

const longestToken = 512;

/**
 * The SHA-256 of a token, of the API or of a session; undefined for what is too long or not of the form that RFC 6750,
 * section 2.1, gives tokens, which is not hashed at all.
 */
export function tokenDigest(token: string): Buffer | undefined {
  return token.length <= longestToken && /^[A-Za-z0-9\-._~+/]+=*$/.test(token) ? sha256(token) : undefined;
}

/** The SHA-256 of a token in 64 lower-case hex digits, as a token file keeps it. */
export function hashToken(token: string): string {
  return sha256(token).toString("hex");
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
