import { AppError } from "../core/app_error.ts";
import type { Database } from "../postgres/database.ts";
import { type Check, error, type Finding, note } from "../rag_server/checks/check.ts";
import { readRows } from "../rag_server/checks/read_rows.ts";

/** Whether a database answers, and which of its hosts did; all that needs it follows. */
export function databaseCheck(database: Database, next: readonly Check[]): Check {
  return {
    name: "database",
    async run(signal) {
      try {
        const [row] = await readRows(database, signal, serverSql);
        const [version, address, port, isStandby] = row ?? [];
        const place = address ? `at ${address}:${port}` : "over a local socket";
        const role = isStandby === "t" ? ", a standby" : "";
        return { findings: [note(`PostgreSQL ${version} answers ${place}${role}`)], next };
      } catch (thrown) {
        if (!(thrown instanceof AppError)) throw thrown;
        return { findings: [unreachable(thrown)] };
      }
    },
  };
}

const serverSql = `SELECT current_setting('server_version'), host(inet_server_addr()), inet_server_port(),
  pg_is_in_recovery()`;

const remedies: Readonly<Record<string, string>> = {
  "28P01": "-- Correct the password of the database's settings, or the role's: ALTER ROLE … PASSWORD '…'",
  "28000": "-- Let the role in from this machine: a line in pg_hba.conf, then SELECT pg_reload_conf()",
  "3D000": "-- Correct the database's name in its settings, or make it: CREATE DATABASE …",
  "53300": "-- Raise max_connections of the server, or lower pool_max_conns",
};

function unreachable({ message, data }: AppError): Finding {
  const remedy = remedies[String(data?.["sqlState"])] ??
    "-- Correct host, port and TLS of the database's settings, and see that PostgreSQL listens there: pg_isready -h HOST -p PORT";
  return error(message, remedy);
}
