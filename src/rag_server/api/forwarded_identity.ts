import { Buffer } from "node:buffer";
import { canonicalIpAddress, isInBlocks, requireAddressBlock } from "../../core/address.ts";
import { claimOf, isName, parseClaims } from "../../core/claims.ts";
import type { Principal } from "../../core/principal.ts";
import { namesNoRole } from "../../postgres/read/caller_settings.ts";
import type { IdentityRefusal } from "./rag_errors.ts";
import { redactText } from "../../core/text/redact.ts";
import { sha256 } from "../../core/text/sha256.ts";

export interface ForwardedIdentityOptions {
  /** Holds claims as a JSON object. Optional: without it, nothing does. */
  readonly claimsHeader?: string;
  /** Names the caller where there are no claims. Optional: without it, nothing does. */
  readonly subjectHeader?: string;
  readonly subjectClaim: string;
  /** May name a role. Optional: without it, no claim does. */
  readonly roleClaim?: string;
  readonly allowedRoles: readonly string[];
  /** Addresses and CIDR blocks of the network peers whose headers count. */
  readonly trustedProxies: readonly string[];
}

type ForwardedIdentityResult =
  | { readonly kind: "caller"; readonly principal: Principal }
  | { readonly kind: "refused"; readonly reason: IdentityRefusal };

/** Who asks, by a request's headers; `peer` is the other end of the connection. */
export type ForwardedIdentity = (peer: string, headers: Headers) => ForwardedIdentityResult;

const maxHeaderBytes = 8 * 1024;

/**
 * Reads callers' claims from the headers of trusted proxies, which have verified them. Nobody else's are read, and who has
 * none is refused.
 *
 * @throws AppError `invalid` naming an entry of `trustedProxies` that is no block
 */
export function createForwardedIdentity(options: ForwardedIdentityOptions): ForwardedIdentity {
  const { claimsHeader, subjectHeader, subjectClaim, roleClaim, allowedRoles } = options;
  const trusted = options.trustedProxies.map(requireAddressBlock);

  return (peer, headers) => {
    const address = canonicalIpAddress(peer);
    if (address === undefined || !isInBlocks(address, trusted)) return refused("untrusted");
    const value = claimsHeader === undefined ? undefined : headers.get(claimsHeader) || undefined;
    const subject = subjectHeader === undefined ? undefined : headers.get(subjectHeader) || undefined;
    const used = value ?? subject;
    if (used === undefined) return refused("required");
    const text = used.length > maxHeaderBytes ? undefined : textOf(used);
    if (text === undefined) return refused("malformed");
    const claimsText = value === undefined ? JSON.stringify({ [subjectClaim]: text }) : text;
    const claims = parseClaims(claimsText);
    if (claims === undefined) return refused("malformed");
    const role = roleClaim === undefined ? undefined : claimOf(claims, roleClaim);
    if (!namesNoRole(role) && !allowedRoles.some((each) => each === role)) return refused("role");
    const known = knownBy(claimOf(claims, subjectClaim), claimsText);
    const issuer = `${known.as}:${claimsHeader ?? subjectHeader}`;
    return {
      kind: "caller",
      principal: { kind: "issuer", issuer, subject: known.subject, groups: [], claims, claimsText },
    };
  };
}

/**
 * What a caller counts as, and is called in logs and the audit trail. A name that cannot stand there counts by its SHA-256,
 * and a caller without a name by that of the claims. `as` says which it is: no name passes for a hash.
 */
function knownBy(name: unknown, claimsText: string): { readonly as: string; readonly subject: string } {
  // beyond the safe integers one number stands for several that were written
  const text = Number.isSafeInteger(name) ? String(name) : name;
  // in UTF-8 all lone surrogates are one
  if (typeof text !== "string" || text === "" || !text.isWellFormed()) {
    return { as: "proxy-claims-sha256", subject: sha256(claimsText) };
  }
  return isName(text) && redactText(text) === text
    ? { as: "proxy", subject: text }
    : { as: "proxy-subject-sha256", subject: sha256(text) };
}

function refused(reason: IdentityRefusal): ForwardedIdentityResult {
  return { kind: "refused", reason };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A header's text has a character for each of its bytes (Fetch, section 2.2.2); these are UTF-8. */
function textOf(header: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(header, "latin1"));
  } catch {
    return undefined;
  }
}
