import { isMap } from "./yaml/value_tree.ts";

/** What an issuer or a trusted proxy says of a caller, by name. */
export type Claims = Readonly<Record<string, unknown>>;

/** A claim by its name; undefined where there is none, for the names of `Object.prototype` too. */
export function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** Undefined for what is no JSON object, or has a name twice. */
export function parseClaims(text: string): Claims | undefined {
  try {
    const value: unknown = parseUnambiguous(text);
    return isMap(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Of OpenID Connect Core 1.0, section 2, for a subject; for names too, since they stand in logs and lists. */
const longestName = 255;

/** Whether a claim is a text of one line that can stand in logs and lists as it is. */
export function isName(claim: unknown): claim is string {
  return typeof claim === "string" && claim !== "" && claim.length <= longestName && claim.isWellFormed() &&
    !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(claim) && claim.trim() === claim;
}

/** A string of JSON, with the colon that makes it a name; or where an object or a list begins or ends. */
const tokens = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|[{}[\]]/g;

/**
 * Reads JSON that somebody else wrote, and on which rights hang. It refuses an object that has a name twice, at any depth:
 * parsers differ in which of the two they take, so whoever vouched for the text may have read the other one (RFC 8259
 * section 4, RFC 7519 section 4). Names are compared as they are read, without their escapes.
 *
 * @throws {SyntaxError} whose message may quote the text
 */
export function parseUnambiguous(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const namesOfOpen: (Set<string> | undefined)[] = [];
  for (const [mark, string, colon] of text.matchAll(tokens)) {
    if (mark === "{") namesOfOpen.push(new Set());
    else if (mark === "[") namesOfOpen.push(undefined);
    else if (string === undefined) namesOfOpen.pop();
    else if (colon !== undefined) {
      const name = string.includes("\\") ? String(JSON.parse(string)) : string.slice(1, -1);
      const names = namesOfOpen.at(-1);
      if (names?.has(name)) throw new SyntaxError("an object has a name twice");
      names?.add(name);
    }
  }
  return value;
}
