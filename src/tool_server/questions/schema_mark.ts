import { createHmac, randomBytes } from "node:crypto";

/** Gives a fence's mark for a text: the same for the same text. */
export type MarkOf = (text: string) => string;

/**
 * Marks that stay the same from prompt to prompt as long as what they fence does, so that a provider can keep the
 * beginning of a prompt in its cache. Nobody without the key, which never leaves this process, can put a text's mark into
 * the text: with another mark in it, it is another text, and has another mark.
 */
export function createMarks(): MarkOf {
  const key = randomBytes(32);
  return (text) => createHmac("sha256", key).update(text).digest("hex").slice(0, 32);
}
