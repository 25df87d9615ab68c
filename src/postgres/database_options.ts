import type { Duplex } from "node:stream";
import type { SslMode, TargetSessionAttrs } from "./connect/connection_kinds.ts";

export interface DatabaseHost {
  /** A name, an address, or a directory that holds a Unix socket (it begins with `/`). */
  readonly host: string;
  readonly port: number;
}

/** Who gives out passwords that last for a while, with the variables of the environment that it may see. */
export type PasswordIssuer =
  & { readonly env: Readonly<Record<string, string>> }
  & (
    | { readonly by: "password_command"; readonly command: readonly string[]; readonly lifetimeMs: number }
    | { readonly by: "aws_rds_iam"; readonly region: string }
  );

/** One database as its adapter needs it: nothing is read from elsewhere but the files that it names. */
export interface DatabaseOptions {
  /** The name by which callers know the database. */
  readonly name: string;
  /** Tried in order. */
  readonly hosts: readonly DatabaseHost[];
  readonly database: string;
  readonly user: string;
  /** Where it is absent, `passwordFile` and then `passFile` are asked. */
  readonly password?: string;
  /** A file that holds the password and nothing else, read anew for each connection. */
  readonly passwordFile?: string;
  /** Counts before `passwordFile`. */
  readonly passwordIssuer?: PasswordIssuer;
  /** A file in the format of `.pgpass`; no file where it is absent. */
  readonly passFile?: string;
  readonly sslMode: SslMode;
  /** PEM; `system`, as in libpq, and an absent one mean the system's store. */
  readonly sslRootCertFile?: string;
  readonly sslCertFile?: string;
  readonly sslKeyFile?: string;
  readonly targetSessionAttrs: TargetSessionAttrs;
  /** Optional: how old a standby's rows may be where `prefer-standby` spreads callers over `hosts`. The default is a minute. */
  readonly maxReplicaLagMs?: number;
  /** Of a database with several hosts, on one of them alone: `HOST:PORT`, for the log. */
  readonly hostName?: string;
  /** The most connections of one principal. */
  readonly poolMaxConns: number;
  readonly poolMaxConnIdleTimeMs: number;
  /** For one host, from the first packet to the end of the login; 0 waits for ever. */
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  readonly maxRows: number;
  readonly maxBytes: number;
  /** User-defined VOLATILE functions that may be called: `name` or `schema.name`. */
  readonly allowedFunctions: readonly string[];
  /** Statements run under the role that has the caller's name. */
  readonly roleFromUser: boolean;
  /** Statements run under the role that this claim of the caller's names, which must be one of `allowedRoles`. */
  readonly roleFromClaim?: string;
  readonly allowedRoles?: readonly string[];
  /** A caller without that claim, or with one that is no text, keeps the login's role. */
  readonly isRoleOptional?: boolean;
  /** Set for each transaction; a value may hold `{username}`, `{claim:NAME}` and `{claims}`. */
  readonly sessionSettings: Readonly<Record<string, string>>;
  /** `transaction`: a pooler such as PgBouncer may run each transaction on another connection. */
  readonly pooler: "none" | "transaction";
  /** The embedded server's socket, in place of the network: `hosts` and `sslMode` are not looked at. */
  readonly openStream?: () => Duplex;
}
