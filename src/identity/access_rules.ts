import { accountOf, type Principal } from "../core/principal.ts";

/** Something that a server offers, or the server as a whole, with what its configuration says of who may use it. */
export interface AccessObject {
  readonly kind: "server" | "database" | "pipeline" | "tool" | "resource" | "prompt" | "question";
  readonly name: string;
  /** Usernames, and `group:NAME` for a group; empty or absent: everyone. */
  readonly available_to_users?: readonly string[];
  /** Scopes that a caller needs all of, if its access token is bound to scopes. Optional: without it, none. */
  readonly scopes?: readonly string[];
}

export type Access =
  | { readonly kind: "granted" }
  /** It is to the caller as if it did not exist: neither listed nor told from what is not there. */
  | { readonly kind: "hidden" }
  /** The caller may know of it, and use it with an access token that has all of `scopes`; `missing` says which it lacks. */
  | { readonly kind: "insufficient_scope"; readonly scopes: readonly string[]; readonly missing: string };

const granted: Access = { kind: "granted" };
const hidden: Access = { kind: "hidden" };

/** The rules of both servers: whether a principal may see and use an object. */
export function accessTo(principal: Principal, object: AccessObject): Access {
  if (!isVisible(principal, object)) return hidden;
  const { scopes = [] } = object;
  const missing = missingScopes(principal, scopes);
  if (missing.length === 0) return granted;
  const which = `the scope${missing.length === 1 ? "" : "s"} ${missing.join(" ")}`;
  return { kind: "insufficient_scope", scopes, missing: `the access token does not have ${which}` };
}

/** The objects that a principal may use, in the order given. */
export function grantedTo<T extends AccessObject>(principal: Principal, objects: readonly T[]): T[] {
  return objects.filter((object) => accessTo(principal, object).kind === "granted");
}

/** The objects that a principal may know of, in the order given. */
export function visibleTo<T extends AccessObject>(principal: Principal, objects: readonly T[]): T[] {
  return objects.filter((object) => accessTo(principal, object).kind !== "hidden");
}

function isVisible(
  principal: Principal,
  { kind, name, available_to_users: list = [] }: AccessObject,
): boolean {
  switch (principal.kind) {
    case "local":
      return true;
    case "token":
      if (principal.database === undefined) return list.length === 0;
      // a bound token reads from its database alone, and what else has a list is not for it
      if (kind === "database") return principal.database === name;
      return kind !== "pipeline" && list.length === 0;
    case "session":
      return isListed(list, accountOf(principal), []);
    case "issuer":
      return isListed(list, accountOf(principal), principal.groups);
  }
}

/** Whether a list of users and groups, as of `available_to_users`, names a caller. An empty one names nobody. */
export function isNamedIn(list: readonly string[], principal: Principal): boolean {
  const groups = principal.kind === "issuer" ? principal.groups : [];
  return list.length > 0 && isListed(list, accountOf(principal), groups);
}

/** Of an entry that names a group, what stands before its name. No entry that begins so names a user. */
const groupPrefix = "group:";

function isListed(
  list: readonly string[],
  username: string | undefined,
  groups: readonly string[],
): boolean {
  return list.length === 0 ||
    list.some((entry) =>
      entry.startsWith(groupPrefix) ? groups.includes(entry.slice(groupPrefix.length)) : entry === username
    );
}

function missingScopes(principal: Principal, needed: readonly string[]): readonly string[] {
  if (principal.kind === "local" || principal.kind === "token" || principal.scopes === undefined) return [];
  const { scopes } = principal;
  return needed.filter((scope) => !scopes.includes(scope));
}
