/**
 * Who is calling. `local` is the one caller of stdio and of a server started without authentication;
 * `token` an API token, perhaps bound to one database for its whole life; `session` a user who logged in.
 */
export type Principal =
  | {
    readonly kind: "local";
    /** The client's, where it came over a network: nothing else tells such callers apart. */
    readonly address?: string;
  }
  | { readonly kind: "token"; readonly id: string; readonly database?: string }
  | {
    readonly kind: "session";
    readonly id: string;
    readonly username: string;
    /** When the account was made, in milliseconds since 1970: tells it from an earlier one of the same name. */
    readonly accountSince?: number;
  };

/** The key under which a principal's connections and choices are kept. No two principals share one. */
export function principalKey(principal: Principal): string {
  return principal.kind === "local" ? "local" : `${principal.kind}:${principal.id}`;
}

/**
 * The key under which bounds count callers, those of connections and of calls at once: all sessions of a user are one
 * caller, and without authentication all calls from one address.
 */
export function callerKey(principal: Principal): string {
  switch (principal.kind) {
    case "local":
      return principal.address === undefined ? "local" : `address:${principal.address}`;
    case "token":
      return principalKey(principal);
    case "session":
      return `user:${principal.username}`;
  }
}

/** The name that a database role or a log line knows the principal by. */
export function principalName(principal: Principal): string {
  switch (principal.kind) {
    case "local":
      return "local";
    case "token":
      return principal.id;
    case "session":
      return principal.username;
  }
}
