import { accountOf, type Principal } from "../core/principal.ts";
import {
  documentTools,
  everyScope,
  isOfDocuments,
  missingOwnScope,
  readScopes,
  toolOfResource,
  toolsOfResource,
} from "./own_scopes.ts";

/** Something that a server offers, or the server as a whole, with what its configuration says of who may use it. */
export interface AccessObject {
  readonly kind: "server" | "database" | "pipeline" | "tool" | "resource" | "prompt" | "question";
  readonly name: string;
  /** Usernames, and `group:NAME` for a group; empty or absent: everyone. */
  readonly available_to_users?: readonly string[];
  /** Scopes that an issuer's access token needs all of, if it is bound to scopes. Optional: without it, none. */
  readonly scopes?: readonly string[];
}

/** Scopes that calls of a tool need, by its name. */
export type ScopesByTool = Readonly<Record<string, readonly string[]>>;

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
  const { scopes, missing } = scopesFor(principal, object);
  if (missing.length === 0) return granted;
  const which = `the scope${missing.length === 1 ? "" : "s"} ${missing.join(" ")}`;
  return { kind: "insufficient_scope", scopes, missing: `the access token does not have ${which}` };
}

export function isGranted(principal: Principal, object: AccessObject): boolean {
  return accessTo(principal, object).kind === "granted";
}

/** The objects that a principal may use, in the order given. */
export function grantedTo<T extends AccessObject>(principal: Principal, objects: readonly T[]): T[] {
  return objects.filter((object) => isGranted(principal, object));
}

export function toolOf(name: string, scopesByTool: ScopesByTool = {}): AccessObject {
  return { kind: "tool", name, scopes: scopesByTool[name] ?? [] };
}

/** A resource, which needs the scopes of the tool that tells the same. */
export function resourceOf(name: string, scopesByTool: ScopesByTool = {}): AccessObject {
  return { kind: "resource", name, scopes: scopesByTool[toolOfResource(name)] ?? [] };
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
      return isForToken(principal, kind, name, list.length === 0);
    case "session":
      return isListed(list, accountOf(principal), []);
    case "issuer":
      return isListed(list, accountOf(principal), principal.groups);
  }
}

/**
 * A token that names databases or pipelines reads from these alone; what has a list is not for it, but for its databases.
 * One that names pipelines alone has what tells of documents.
 */
function isForToken(
  { database, limits = {} }: Extract<Principal, { kind: "token" }>,
  kind: AccessObject["kind"],
  name: string,
  isOpen: boolean,
): boolean {
  const { tools, pipelines } = limits;
  const databases = database === undefined ? limits.databases : [database];
  const isOffered = pipelines === undefined || databases !== undefined || isOfDocuments(kind, name);
  switch (kind) {
    case "database":
      return databases?.includes(name) ?? (isOpen && pipelines === undefined);
    case "pipeline": {
      const isAsked = tools === undefined || documentTools.some((tool) => tools.includes(tool));
      return isOpen && (pipelines?.includes(name) ?? (databases === undefined && isAsked));
    }
    case "tool":
      return isOpen && (tools?.includes(name) ?? isOffered);
    case "resource":
      return isOpen &&
        (tools === undefined ? isOffered : toolsOfResource(name).some((tool) => tools.includes(tool)));
    case "prompt":
      return isOpen && tools === undefined;
    default:
      return isOpen;
  }
}

/** Whether a list of users and groups, as of `available_to_users`, names a caller. An empty one names nobody. */
export function isNamedIn(list: readonly string[], principal: Principal): boolean {
  const groups = principal.kind === "issuer" ? principal.groups : [];
  return list.length > 0 && isListed(list, accountOf(principal), groups);
}

/**
 * Whether a caller's token has less than all that its user may do.
 * @param asked all scopes that the configuration asks an issuer's tokens for. Where there are none, those count that are
 * called as Postern's own
 */
export function hasLess(principal: Principal, asked: readonly string[]): boolean {
  if (principal.kind === "local" || principal.kind === "token" || principal.scopes === undefined) {
    return false;
  }
  const { scopes: held } = principal;
  if (isOwn(principal)) return true;
  return asked.length > 0
    ? asked.some((each) => !held.includes(each))
    : !readScopes(held.join(" ")).includes(everyScope);
}

/** Whether a caller's token is one of Postern's. */
function isOwn(principal: Principal): boolean {
  return principal.kind !== "issuer" || principal.grantId !== undefined;
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

/** What a caller's token needs for an object, and what of that it lacks. */
function scopesFor(principal: Principal, { kind, name, scopes = [] }: AccessObject) {
  if (principal.kind === "local" || principal.kind === "token" || principal.scopes === undefined) {
    return { scopes, missing: [] };
  }
  const { scopes: held } = principal;
  if (!isOwn(principal)) return { scopes, missing: scopes.filter((each) => !held.includes(each)) };
  // a configuration's scopes are those of its issuer; of Postern's own, what was granted is to be asked for again
  const missing = missingOwnScope(held, kind, name);
  return missing === undefined
    ? { scopes: held, missing: [] }
    : { scopes: [...held, missing], missing: [missing] };
}
