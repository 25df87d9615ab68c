import { Buffer } from "node:buffer";
import { type Claims, parseClaims } from "../../core/claims.ts";
import { type TokenAlgorithm, type TokenType, tokenTypes } from "./issuer_kinds.ts";

/** Why an issuer's token lets nobody in: the values of a metric's label. */
export const tokenRefusals = [
  "malformed",
  "type",
  "algorithm",
  "issuer",
  "key",
  "signature",
  "audience",
  "expired",
  "not_yet_valid",
  "claims",
  "inactive",
  "account",
] as const;

export type TokenRefusal = (typeof tokenRefusals)[number];

/** Whether a token has the form of a signed JWT (RFC 7515 section 7.1); any other form is opaque. */
export function isJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
}

/** The claims of a JWT as its issuer wrote them: JSON, once the signature has been verified. */
export function payloadText(token: string): string {
  return Buffer.from(token.split(".", 2)[1] ?? "", "base64url").toString();
}

/** What a JWT must say of itself. */
export interface ExpectedToken {
  readonly issuer: string;
  readonly algorithms: readonly TokenAlgorithm[];
  readonly types: readonly TokenType[];
}

/**
 * Why a JWT is refused before any key is looked for, undefined where it is not: RFC 9068 section 4 for type and issuer, RFC
 * 8725 section 3.1 for the algorithm. Nothing in it is trusted yet, so nothing else of it is looked at: `jku`, `x5u` and
 * `jwk` lead nowhere.
 */
export function refuseUnverified(
  token: string,
  { issuer, algorithms, types }: ExpectedToken,
): TokenRefusal | undefined {
  const [first, second, signature] = token.split(".").map(bytesOf);
  const header = first && parseClaims(first.toString());
  const claims = second && parseClaims(second.toString());
  if (header === undefined || claims === undefined || signature === undefined) return "malformed";
  // no extension is understood here (RFC 7515 section 4.1.11)
  if ("crit" in header) return "malformed";
  const { typ, alg } = header;
  const type = typeOf(typ);
  if (type === undefined || !types.includes(type) || (type === "JWT" && isForAnotherPurpose(claims))) {
    return "type";
  }
  if (!algorithms.some((algorithm) => algorithm === alg)) return "algorithm";
  return claims["iss"] === issuer ? undefined : "issuer";
}

function typeOf(typ: unknown): TokenType | undefined {
  if (typ === undefined) return "JWT";
  if (typeof typ !== "string") return undefined;
  const name = typ.toLowerCase().replace(/^application\//, "");
  return tokenTypes.find((type) => type.toLowerCase() === name);
}

/**
 * Whether a token has a claim that only ID tokens have (OpenID Connect Core 1.0, sections 2 and 3.3.2.11; Cognito), or only
 * security events, logout tokens among them (RFC 8417, section 2.2).
 */
function isForAnotherPurpose(claims: Claims): boolean {
  return ["nonce", "at_hash", "c_hash", "events"].some((name) => name in claims) ||
    claims["token_use"] === "id";
}

/** The bytes that a part stands for; undefined where they would be written otherwise (RFC 4648 section 3.5). */
function bytesOf(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, "base64url");
  return bytes.toString("base64url") === part ? bytes : undefined;
}
