import type { Duplex } from "node:stream";
import type { SslMode, TargetSessionAttrs } from "./connect/connection_kinds.ts";
import { guardedSettings } from "./session_setting_kinds.ts";

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

/**
 * PostgreSQL's settings that every statement of a database runs under, by name. Callers may not change them: `SET` and
 * `set_config` are refused. A connection begins with them (connection.ts). Behind a pooler, where the next transaction may
 * run on another connection, they travel with each transaction (read/read_only_transaction.ts).
 */
export function sessionSettings(
  { statementTimeoutMs }: { readonly statementTimeoutMs: number },
): Readonly<Record<string, string>> {
  return {
    // to compile our own look at what a statement's names mean takes seconds where there are many tables
    jit: "off",
    ...guardedSettings,
    ...timeoutSettings(statementTimeoutMs),
  };
}

/**
 * The settings that a session of a database begins with; undefined where a pooler may put it on another connection at any
 * time, and for the embedded server, whose clients take turns on the one that it has.
 */
export function startSettings(
  options: Pick<DatabaseOptions, "statementTimeoutMs" | "pooler" | "openStream">,
): Readonly<Record<string, string>> | undefined {
  const isShared = options.pooler === "transaction" || options.openStream !== undefined;
  return isShared ? undefined : sessionSettings(options);
}

// The timeout of a database, its `statement_timeout` (config/schema/databases.ts; of a pipeline: app/rag/open_pipelines.ts),
// or of a statement of our own. It holds in three places: PostgreSQL stops what runs longer (the settings below, which
// startSettings() brings into force); no further part of an answer is fetched after it (readBoundedAnswer()); and where
// the server does not keep to it, the connection is given up (stop_statement.ts).

/** Waiting for a lock is waiting for a writer; a reader need not wait as long as it may run. */
const maxLockTimeoutMs = 5_000;

/** How much longer than the timeout the server waits for the next message of a transaction. */
const idleGraceMs = 10_000;

/** PostgreSQL's settings that bound a statement which may run so long, by name. */
export function timeoutSettings(timeoutMs: number): Readonly<Record<string, string>> {
  const ms = Math.round(timeoutMs);
  return {
    statement_timeout: String(ms),
    lock_timeout: String(Math.min(ms, maxLockTimeoutMs)),
    idle_in_transaction_session_timeout: String(ms + idleGraceMs),
  };
}
