import { z } from "zod";
import { targetSessionAttrs } from "../../postgres/connect/session_kinds.ts";
import { sslModes } from "../../postgres/connect/ssl_kinds.ts";
import {
  choice,
  duration,
  filePath,
  host,
  integer,
  list,
  port,
  section,
  size,
  text,
  textMap,
  toggle,
} from "./field_types.ts";

/** One server of several, tried in order. */
export const hostEntry = section({
  host: host().describe("Host name, address, or folder of a Unix socket"),
  port: port().prefault(5432).describe("Port"),
});

/** A database that the tools may read. */
export const database = section({
  name: text().describe("Name under which tools, tokens and lists know the database"),
  host: host().prefault("localhost").describe("Host name, address, or folder of a Unix socket"),
  port: port().prefault(5432).describe("Port"),
  hosts: list(hostEntry).min(1, { error: "expected at least one host" }).optional()
    .describe("Several servers, tried in order, in place of host and port"),
  target_session_attrs: choice(...targetSessionAttrs).prefault("any").describe(
    "Which of the servers will do",
  ),
  embedded: filePath("memory").optional()
    .describe("An embedded PostgreSQL in place of a server: memory, or the folder that it keeps its data in"),
  database: text().prefault("postgres").describe("Database on the server"),
  user: text().prefault("postgres").describe("Role to connect as"),
  password: text().optional().describe(
    "Password; without one POSTERN_DB_PASSWORD, PGPASSWORD, then ~/.pgpass",
  ),
  password_file: filePath().optional().describe(
    "File that holds the password, read anew for each connection",
  ),
  sslmode: choice(...sslModes).prefault("prefer").describe("TLS to the server, as in libpq"),
  sslcert: filePath().optional().describe("Client certificate, PEM"),
  sslkey: filePath().optional().describe("Private key of the client certificate, PEM"),
  sslrootcert: filePath().optional().describe(
    "Authorities that the server's certificate is checked against, PEM",
  ),
  available_to_users: list(text()).prefault([]).describe(
    "Users who may use it; empty: everyone who is let in",
  ),
  pool_max_conns: integer(1, 1000).prefault(4).describe(
    "Connections that one token or session may have open, with those whose statement PostgreSQL does not stop",
  ),
  pool_max_conn_idle_time: duration().prefault("30m").describe("Idle time after which a connection closes"),
  connect_timeout: duration().prefault("10s").describe("Longest wait for a connection"),
  statement_timeout: duration().prefault("30s").describe("Longest run of one statement"),
  max_rows: integer(1).prefault(1000).describe("Rows of one answer, at most"),
  max_bytes: size().prefault("1 MiB").describe("Bytes of one answer, at most"),
  allowed_functions: list(text()).prefault([])
    .describe("VOLATILE functions of your own that queries may call: name or schema.name"),
  role_from_user: toggle().prefault(false).describe(
    "Run statements under the PostgreSQL role with the caller's name",
  ),
  session_settings: textMap().prefault({}).describe(
    "PostgreSQL settings for each statement; {username} is the caller",
  ),
});

export const databases = z.array(database, { error: "expected a list" });
