import { z } from "zod";
import {
  callers,
  choice,
  duration,
  filePath,
  host,
  integer,
  list,
  listOfSome,
  port,
  section,
  size,
  text,
  textMap,
  toggle,
} from "./field_types.ts";
import { lifetime } from "./auth.ts";
import { sslModes, targetSessionAttrs } from "../../postgres/connect/connection_kinds.ts";

/** What tells the row-level security of a database, or of a pipeline's, who asks. */
export const rowSecurity = {
  role_from_user: toggle().prefault(false).describe(
    "Run statements under the PostgreSQL role that has the caller's name",
  ),
  role_from_claim: text().optional().describe(
    "Run statements under the PostgreSQL role that this claim of the caller's token names",
  ),
  allowed_roles: list(text()).optional().describe("Roles that role_from_claim may name"),
  session_settings: textMap().prefault({}).describe(
    "PostgreSQL settings for each statement; {username} stands for the caller's name, {claim:NAME} for a claim of the caller's token, {claims} for all of them as JSON",
  ),
};

/** One server of several, tried in order. */
const hostEntry = section({
  host: host().describe("Host name, IP address, or folder of a Unix socket"),
  port: port().prefault(5432).describe("Port"),
});

export const hosts = () =>
  listOfSome("host", hostEntry).optional().describe(
    "Several servers instead of host and port; Postern tries them in order",
  );

/** Where the role's password is, if not in the configuration. */
export const passwords = {
  password_file: filePath().optional().describe(
    "File that holds the password; Postern reads it for each connection",
  ),
  password_command: listOfSome("program", text()).optional().describe(
    "Program and its arguments that print the password",
  ),
  password_lifetime: lifetime().optional().describe("How long a printed password is used; without it, 5m"),
  password_from: choice("aws_rds_iam").optional().describe("aws_rds_iam: tokens for RDS and Aurora"),
  aws_region: text().optional().describe("Region of the database, for password_from"),
};

/** Files of TLS, as libpq names them. */
export const certificates = {
  sslcert: filePath().optional().describe("Client certificate, PEM"),
  sslkey: filePath().optional().describe("Private key of the client certificate, PEM"),
  sslrootcert: filePath().optional().describe(
    "Certificate authorities that may have signed the server's certificate, PEM",
  ),
};

/** Lag is measured once a second. */
export const replicaLag = () =>
  duration().refine((ms) => ms >= 2_000 && ms <= 86_400_000, { error: "expected a duration from 2s to 1d" })
    .optional().describe(
      "How far a standby may be behind where callers are spread over standbys; without it, 1m",
    );

/** A database that the tools may read. */
export const database = section({
  name: text().describe("Name of the database in tools, tokens and lists"),
  host: host().prefault("localhost").describe("Host name, IP address, or folder of a Unix socket"),
  port: port().prefault(5432).describe("Port"),
  hosts: hosts(),
  target_session_attrs: choice(...targetSessionAttrs).prefault("any").describe(
    "Which servers Postern accepts, as in libpq; with prefer-standby, callers are spread over the standbys",
  ),
  max_replica_lag: replicaLag(),
  embedded: filePath("memory").optional()
    .describe("An embedded PostgreSQL instead of a server: memory, or the folder for its data"),
  database: text().prefault("postgres").describe("Name of the database on the server"),
  user: text().prefault("postgres").describe("PostgreSQL role to connect as"),
  password: text().optional().describe(
    "Password of the role; without one, POSTERN_DB_PASSWORD, then PGPASSWORD, then ~/.pgpass",
  ),
  ...passwords,
  sslmode: choice(...sslModes).prefault("prefer").describe(
    "Whether to use TLS and check the server's certificate, as in libpq",
  ),
  ...certificates,
  available_to_users: callers().prefault([]).describe(
    "Users who may use the database, and group:NAME for groups; empty: everyone",
  ),
  pool_max_conns: integer(1, 1000).prefault(4).describe(
    "Most connections of one token or session, those with a stuck statement included",
  ),
  pool_max_conn_idle_time: duration().prefault("30m").describe("A connection closes after this idle time"),
  pooler: choice("none", "transaction").prefault("none").describe(
    "transaction: a pooler such as PgBouncer may run each transaction on another connection",
  ),
  connect_timeout: duration().prefault("10s").describe(
    "How long a server may take to accept a connection; 0: no limit",
  ),
  statement_timeout: duration().prefault("30s").describe("How long a statement may run"),
  max_rows: integer(1).prefault(1000).describe("Most rows of an answer"),
  max_bytes: size().prefault("1 MiB").describe("Most bytes of an answer"),
  allowed_functions: list(text()).prefault([])
    .describe("Your own VOLATILE functions that statements may call: name or schema.name"),
  ...rowSecurity,
});

export const databases = z.array(database, { error: "expected a list" });

/** Where a server keeps what it must remember. */
export const state = section({
  database: text().optional().describe(
    "PostgreSQL database that keeps sessions, grants, usage and history for all servers that name it: a name of `databases`, or with state.host the name of one there; without it, `data_dir` keeps them",
  ),
  host: host().optional().describe(
    "Host name, IP address, or folder of a Unix socket; without it, the server of that entry of `databases`",
  ),
  port: port().prefault(5432).describe("Port of state.host"),
  user: text().prefault("postern_state").describe(
    "PostgreSQL role that reads and writes the state, and may do nothing else: `-setup-state` prints the SQL for it",
  ),
  password: text().optional().describe("Password of the role; without one, ~/.pgpass"),
  ...passwords,
  sslmode: choice(...sslModes).optional().describe(
    "Whether to use TLS and check the server's certificate, as in libpq; without it, as for that entry of `databases`, or prefer",
  ),
  ...certificates,
  pooler: choice("none", "transaction").optional().describe(
    "transaction: a pooler stands between, and servers ask for changes every second in place of being told",
  ),
  grace: duration().prefault("60s").describe(
    "How long sessions and OAuth tokens that a server knows go on where the state's database does not answer",
  ),
});
