import { createHash, type Hash } from "node:crypto";

/** The SHA-256 of bytes, or of a text as UTF-8, in 64 lower-case hex digits. */
export function sha256(data: string | Uint8Array): string {
  return startSha256().update(data).digest("hex");
}

/** For what comes in pieces. */
export function startSha256(): Hash {
  return createHash("sha256");
}
