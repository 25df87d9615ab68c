import { certificates, passwordFile } from "./databases.ts";
import { choice, duration, host, port, section, text } from "./field_types.ts";
import { sslModes } from "../../postgres/connect/connection_kinds.ts";

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
  password_file: passwordFile(),
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
