import { claimOf, type Claims, isName } from "../../core/claims.ts";
import type { Principal } from "../../core/principal.ts";

/** Which claims are read, and how a caller is known by them. */
export interface ClaimNames {
  /** Of the user's name. */
  readonly usernameClaim: string;
  /** Of the names of the user's groups. Optional: none where tokens give no groups. */
  readonly groupsClaim?: string | undefined;
}

export type IssuerPrincipal = Extract<Principal, { kind: "issuer" }>;

const mostGroups = 1_000;

/**
 * Whom the claims of a verified token, or an introspection's answer, stand for; undefined where they have no subject. A name
 * or a group that is no text of one line is left out.
 */
export function principalOfClaims(
  issuer: string,
  claims: Claims,
  { usernameClaim, groupsClaim }: ClaimNames,
): IssuerPrincipal | undefined {
  const subject = claims["sub"];
  if (!isName(subject)) return undefined;
  const name = claimOf(claims, usernameClaim);
  const groups = groupsClaim === undefined ? [] : [claimOf(claims, groupsClaim)].flat();
  const { scope = claims["scp"] } = claims;
  return {
    kind: "issuer",
    issuer,
    subject,
    ...(isName(name) ? { name } : {}),
    groups: [...new Set(groups.filter(isName).slice(0, mostGroups))],
    scopes: scopesOf(scope),
    claims,
  };
}

/** Of `scope` (RFC 9068 section 2.2.3), or of `scp`, where Entra ID has a text and Okta a list. */
function scopesOf(scope: unknown): string[] {
  const scopes = typeof scope === "string" ? scope.split(" ") : Array.isArray(scope) ? scope : [];
  return scopes.filter((each) => typeof each === "string" && each !== "");
}
