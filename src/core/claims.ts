import { isMap } from "./yaml/value_tree.ts";
import { parseUnambiguous } from "./text/unambiguous_json.ts";

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
