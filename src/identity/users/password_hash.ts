import bcrypt from "bcryptjs";
import { AppError } from "../../core/app_error.ts";
import { longestPasswordBytes } from "./password_limits.ts";

/** What a new password costs to check: 2^12 rounds of bcrypt's key schedule. */
export const passwordCost = 12;

/** The costs of hashes that are taken; what is dearer would take a caller's login many seconds. */
export const hashCosts = { least: 4, most: 15 } as const;

/**
 * Checks a password that is to be set.
 *
 * @throws AppError `invalid` with the reason
 */
export function checkNewPassword(password: string, minLength: number): void {
  const reason = newPasswordFault(password, minLength);
  if (reason !== undefined) throw new AppError("invalid", `Cannot set the password: ${reason}`);
}

function newPasswordFault(password: string, minLength: number): string | undefined {
  if (password === "") return "it is empty";
  if (password.includes("\0")) return "it holds a NUL character";
  if (!password.isWellFormed()) return "it is not well-formed Unicode";
  const length = [...password].length;
  if (length < minLength) return `it has ${length} characters, and at least ${minLength} are needed`;
  const bytes = byteLength(password);
  if (bytes <= longestPasswordBytes) return undefined;
  return `it has ${bytes} bytes, and bcrypt uses only the first ${longestPasswordBytes}`;
}

/** Whether a password could have been set at all; what could not is never compared, as bcrypt would cut or change it. */
export function isPossiblePassword(password: string): boolean {
  return !password.includes("\0") && password.isWellFormed() && byteLength(password) <= longestPasswordBytes;
}

/** The bcrypt hash of a password, `$2b$12$…`. It takes a quarter of a second, in which nothing else runs here. */
export function hashPassword(password: string): string {
  return bcrypt.hashSync(password, passwordCost);
}

/**
 * Whether a password is the one that a hash was made of. The time that it takes is that of `totalCost`, which is no less
 * than the hash's own cost, whatever the outcome: a comparison at each cost from c on to n - 1 fills what one of cost c
 * leaves of one of cost n.
 */
export function verifyPassword(password: string, hash: string, totalCost: number): boolean {
  const matches = bcrypt.compareSync(password, hash);
  for (let cost = costOf(hash); cost < totalCost; cost++) bcrypt.compareSync(password, dummyHash(cost));
  return matches;
}

/** A hash that no password has. */
export function dummyHash(cost: number): string {
  // the last character would stand for bits that a real hash never sets
  return `$2b$${String(cost).padStart(2, "0")}$${".".repeat(52)}/`;
}

/** The cost of a bcrypt hash. */
export function costOf(hash: string): number {
  return Number(hash.slice(4, 6));
}

/** Why a text is no bcrypt hash that can be checked; quotes nothing of it but a scheme's name. */
export function passwordHashFault(text: string): string | undefined {
  const expected = "expected a bcrypt hash ($2a$, $2b$ or $2y$)";
  const scheme = /^\$(argon2[a-z]{1,2}|scrypt|y|7|pbkdf2[a-z0-9-]{0,10}|[156]|sha1|apr1|2x?)\$/.exec(text)
    ?.[1];
  if (scheme !== undefined) return `${expected}, got one of the scheme ${scheme}`;
  const match = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(text);
  if (match === null) return `${expected} of 60 characters`;
  const cost = Number(match[1]);
  if (cost >= hashCosts.least && cost <= hashCosts.most) return undefined;
  return `its cost is ${cost}; expected ${hashCosts.least} to ${hashCosts.most}`;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}
