import { defined } from "./defined.ts";
/**
 * Who is calling. `local` is the one caller of stdio and of a server started without authentication;
 * `token` an API token, perhaps bound to one database for its whole life; `session` a user who logged in;
 * `issuer` somebody for whom an identity provider elsewhere vouches, known by issuer and subject together.
 */
export type Principal =
  | {
    readonly kind: "local";
    /** The client's, where it came over a network: nothing else tells such callers apart. */
    readonly address?: string;
    /** Whether the server reads for itself: it has none of a caller's settings. */
    readonly isServer?: true;
    /** Whom the server reads for over connections of its own: bounds count the read to that caller, and it has the rights. */
    readonly onBehalfOf?: Principal;
  }
  | {
    readonly kind: "token";
    readonly id: string;
    readonly database?: string;
    readonly limits?: TokenLimits;
  }
  | {
    readonly kind: "session";
    readonly id: string;
    readonly username: string;
    /** When the account was made, in milliseconds since 1970: tells it from an earlier one of the same name. */
    readonly accountSince?: number;
    /** What its access token is good for. Optional: without it, everything that the user may do. */
    readonly scopes?: readonly string[];
  }
  | {
    readonly kind: "issuer";
    /** The issuer's URL, which has no fragment (OpenID Connect Discovery 1.0, section 3); or a proxy's `proxy:HEADER`. */
    readonly issuer: string;
    /** Unique at this issuer, and never given to another person there. */
    readonly subject: string;
    /** What the issuer calls the caller, for people; others may have the same name. */
    readonly name?: string;
    readonly groups: readonly string[];
    readonly scopes?: readonly string[];
    /** Of the verified token, or vouched for by a trusted proxy. */
    readonly claims?: Readonly<Record<string, unknown>>;
    /** They as they came, where policies are to have them to the letter. */
    readonly claimsText?: string;
    /** The username of the account whose rights the caller has besides. */
    readonly account?: string;
    /** When the caller's token ends, in milliseconds since 1970, and with it what it began. Optional: without it, never. */
    readonly endsAt?: number;
    /** Of whoever logged in at the issuer through the built-in authorization server: the grant, which its user can end. */
    readonly grantId?: string;
  };

/** The only ones that an API token may use. Optional: of what is absent, all that other tokens may. */
export interface TokenLimits {
  readonly tools?: readonly string[];
  readonly databases?: readonly string[];
  readonly pipelines?: readonly string[];
  /** Addresses and CIDR blocks that it may come from. */
  readonly networks?: readonly string[];
}

/** The principal of what a server reads for a caller over connections of its own. */
export function readerFor(caller: Principal | undefined): Principal {
  return { kind: "local", ...defined({ onBehalfOf: caller }) };
}

/** Reads what the server has to know of a database, such as the columns of a pipeline's tables. */
export const serverItself: Principal = { kind: "local", isServer: true };

/** Whose rights a read has. */
export function identityOf(principal: Principal): Principal {
  return principal.kind === "local" ? principal.onBehalfOf ?? principal : principal;
}

/** What records know a principal by. No two principals share one. */
export function principalKey(principal: Principal): string {
  switch (principal.kind) {
    case "local":
      return "local";
    case "issuer":
      return `issuer:${principalName(principal)}`;
    default:
      return `${principal.kind}:${principal.id}`;
  }
}

/**
 * The key under which is kept what a token or a session began: connections, choices, calls, tasks. A person's other grants
 * have others, and so have an issuer's tokens of other scopes; those of the same scopes follow each other.
 */
export function bearerKey(principal: Principal): string {
  if (principal.kind !== "issuer") return principalKey(principal);
  const { grantId, scopes = [] } = principal;
  return `${principalKey(principal)} ${grantId ?? scopes.toSorted().join(" ")}`;
}

/**
 * The key under which bounds count callers, those of connections and of calls at once: all sessions of a user are one
 * caller, and without authentication all calls from one address.
 */
export function callerKey(principal: Principal): string {
  switch (principal.kind) {
    case "local":
      if (principal.onBehalfOf !== undefined) return callerKey(principal.onBehalfOf);
      return principal.address === undefined ? "local" : `address:${principal.address}`;
    case "session":
      return `user:${principal.username}`;
    default:
      return principalKey(principal);
  }
}

/** The name that a log line knows the principal by. */
export function principalName(principal: Principal): string {
  switch (principal.kind) {
    case "local":
      return "local";
    case "token":
      return principal.id;
    case "session":
      return principal.username;
    case "issuer":
      // the first # ends the issuer, so that no two pairs have one text
      return `${principal.issuer}#${principal.subject}`;
  }
}

/** The id of the session or grant that a principal's token is of; undefined where it is of none. */
export function sessionIdOf(principal: Principal): string | undefined {
  if (principal.kind === "session") return principal.id;
  return principal.kind === "issuer" ? principal.grantId : undefined;
}

/** When what a principal began ends by itself, in milliseconds since 1970; Infinity where something else says when. */
export function endOf(principal: Principal): number {
  return principal.kind === "issuer" ? principal.endsAt ?? Infinity : Infinity;
}

/** The username of the account whose rights a principal has; undefined where it has none. */
export function accountOf(principal: Principal): string | undefined {
  switch (principal.kind) {
    case "session":
      return principal.username;
    case "issuer":
      return principal.account;
    default:
      return undefined;
  }
}

/** The name that stands for a principal's rights in a database: of a role, and in settings of row-level policies. */
export function roleNameOf(principal: Principal): string {
  return accountOf(principal) ?? principalName(principal);
}
