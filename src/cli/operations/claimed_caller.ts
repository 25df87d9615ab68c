import { claimOf, parseClaims } from "../../core/claims.ts";
import type { Principal } from "../../core/principal.ts";

/**
 * Whom `-claims` describes, as an identity provider or a proxy would; the claim `sub` is the caller's name.
 *
 * @param claimsText a JSON object
 */
export function claimedCaller(claimsText: string): Principal {
  const claims = parseClaims(claimsText) ?? {};
  const subject = claimOf(claims, "sub");
  const name = typeof subject === "string" && subject !== "" ? { account: subject } : {};
  return { kind: "issuer", issuer: "-claims", subject: "", groups: [], claims, claimsText, ...name };
}
