import { Buffer } from "node:buffer";
import { claimOf } from "../../core/claims.ts";
import { identityOf, type Principal, roleNameOf } from "../../core/principal.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { isFilledIn, longestRoleBytes, placeholder } from "../session_setting_kinds.ts";
import { AppError } from "../../core/app_error.ts";

export type CallerOptions = Pick<
  DatabaseOptions,
  "name" | "roleFromUser" | "roleFromClaim" | "isRoleOptional" | "allowedRoles" | "sessionSettings"
>;

/**
 * What makes a transaction a caller's: PostgreSQL's settings by name, and the role. What the server reads for itself has
 * neither.
 *
 * @throws {UntoldCallerError} where the caller has no such claim, or one that names no allowed role
 */
export function callerSettings(database: CallerOptions, principal: Principal): {
  readonly settings: readonly (readonly [name: string, value: string])[];
  readonly role: string | undefined;
} {
  if (isServerItself(principal)) return { settings: [], role: undefined };
  const caller = identityOf(principal);
  const settings = Object.entries(database.sessionSettings).map(([name, template]) =>
    [name, filledIn(template, caller, database)] as const
  );
  return { settings, role: roleOf(database, caller) };
}

/** Whether what is read depends on who asks. */
export function isReadAsCallers(
  { roleFromUser, roleFromClaim, sessionSettings }: Omit<CallerOptions, "name">,
): boolean {
  return roleFromUser || roleFromClaim !== undefined ||
    Object.values(sessionSettings).some(isFilledIn);
}

/** A key that two callers share only if their settings are the same, and so all that they may read. */
export function callerRights(database: CallerOptions, principal: Principal): string {
  if (!isReadAsCallers(database)) return "";
  const kind = isServerItself(principal)
    ? "server"
    : identityOf(principal).kind === "local"
    ? "local"
    : "caller";
  try {
    return `${kind}: ${JSON.stringify(callerSettings(database, principal))}`;
  } catch (error) {
    // who may read nothing shares nothing
    if (error instanceof UntoldCallerError) return `refused: ${error.message}`;
    throw error;
  }
}

function isServerItself(principal: Principal): boolean {
  return principal.kind === "local" && principal.isServer === true;
}

function filledIn(template: string, caller: Principal, { name }: CallerOptions): string {
  return template.replaceAll(placeholder, (_, username, claims, claim) => {
    if (username !== undefined) return roleNameOf(caller);
    if (claims === undefined) return claimText(caller, claim, name);
    if (caller.kind !== "issuer" || caller.claims === undefined) throw missing("claims", name);
    return caller.claimsText ?? exactJson(caller.claims, "claims", name);
  });
}

/**
 * Text as it is, anything else as JSON.
 * @throws {UntoldCallerError} for a claim that is missing, null or empty, or that could become another's
 */
function claimText(caller: Principal, claim: string, database: string): string {
  const value = callersClaim(caller, claim);
  const what = `claim ${JSON.stringify(claim)}`;
  if (value === undefined || value === null || value === "") throw missing(what, database);
  if (typeof value !== "string") return exactJson(value, what, database);
  // PostgreSQL's texts hold neither, and in UTF-8 all lone surrogates are one
  if (value.includes("\0") || !value.isWellFormed()) {
    throw unfit(what, "a character that PostgreSQL does not know", database);
  }
  return value;
}

/** @throws {UntoldCallerError} for a number that stands for several: what was written is not known any more */
function exactJson(value: unknown, what: string, database: string): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part !== "number" || Number.isSafeInteger(part)) return part;
    if (Number.isFinite(part) && !Number.isInteger(part)) return part;
    throw unfit(what, "a number beyond 2^53, which has to come as text", database);
  });
}

function callersClaim(caller: Principal, claim: string): unknown {
  return caller.kind === "issuer" && caller.claims !== undefined ? claimOf(caller.claims, claim) : undefined;
}

function missing(what: string, database: string): UntoldCallerError {
  const reason = `the caller has no ${what}, by which the database decides what may be read`;
  return new UntoldCallerError(database, "claim", reason);
}

function unfit(what: string, why: string, database: string): UntoldCallerError {
  return new UntoldCallerError(database, "claim", `the caller's ${what} holds ${why}`);
}

function roleOf(database: CallerOptions, caller: Principal): string | undefined {
  const { roleFromUser, roleFromClaim, isRoleOptional = false, allowedRoles = [] } = database;
  if (roleFromClaim !== undefined) {
    if (isRoleOptional && namesNoRole(callersClaim(caller, roleFromClaim))) return undefined;
    const role = claimText(caller, roleFromClaim, database.name);
    if (allowedRoles.includes(role)) return role;
    const reason = "the caller's claims name a role that is not allowed";
    throw new UntoldCallerError(database.name, "role", reason);
  }
  return roleFromUser && caller.kind !== "local" ? roleName(roleNameOf(caller), database.name) : undefined;
}

/** Whether a claim that need not name a role names none; one that is no text would name one. */
export function namesNoRole(claim: unknown): boolean {
  return claim === undefined || claim === null || claim === "";
}

function roleName(username: string, database: string): string {
  const untold = (reason: string) => new UntoldCallerError(database, "role", reason);
  // to PostgreSQL it means the login's own role, quoted or not
  if (username === "none") throw untold('the caller has the name "none", which PostgreSQL reserves');
  // PostgreSQL would cut it off, and so give one role to all whose names begin alike
  if (Buffer.byteLength(username) > longestRoleBytes) {
    throw untold(`the caller's name is longer than the ${longestRoleBytes} bytes of a role's name`);
  }
  return username;
}

/** Who asks cannot be told to a database that reads as its callers, so that nothing is read. */
export class UntoldCallerError extends AppError {
  /**
   * @param what of the caller does not do: a claim, or the role that is to be taken
   * @param reason begins with what is wrong; holds the names of claims, and none of their values
   */
  constructor(database: string, readonly what: "claim" | "role", readonly reason: string) {
    super("forbidden", `Cannot read from database ${JSON.stringify(database)}: ${reason}`);
  }
}
