import type { TLSSocket } from "node:tls";
import type { Logger } from "../../core/logger.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { connect } from "../../postgres/connect/connect.ts";
import type { Database } from "../../postgres/database.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { quoteIdentifier } from "../../postgres/sql_text.ts";
import { readRows } from "../../postgres/read/read_trusted.ts";
import { type Check, type CheckResult, createCheck, note, warning } from "./check.ts";
import { expiryResults } from "./file_checks.ts";

/**
 * Whether as many connections may be opened as a pool may have.
 *
 * @param sharers who share a pool
 */
export function limitCheck(
  database: Database,
  { poolMaxConns }: DatabaseOptions,
  sharers: "each caller" | "all of its callers together",
): Check {
  return createCheck("connections", async (signal) => {
    const [row] = await readRows(database, signal, limitSql);
    const [role = "", name = "", ...limits] = row ?? [];
    const [ofRole = -1, ofDatabase = -1, ofServer = -1] = limits.map(Number);
    const [roleName, databaseName] = [role, name].map((text) => quoteIdentifier(text ?? ""));
    const bounds = [
      [`Role "${role}"`, ofRole, `ALTER ROLE ${roleName} CONNECTION LIMIT ${poolMaxConns};`],
      [`Database "${name}"`, ofDatabase, `ALTER DATABASE ${databaseName} CONNECTION LIMIT ${poolMaxConns};`],
      ["The server", ofServer, "-- Raise max_connections in postgresql.conf, and restart it"],
    ] as const;
    const set = bounds.filter(([, limit]) => limit >= 0);
    const found = set.filter(([, limit]) => limit < poolMaxConns).map(([what, limit, remedy]) =>
      warning(
        `${what} may have ${limit} connections, fewer than pool_max_conns (${poolMaxConns}) for ${sharers}: requests ` +
          "wait for those that are open",
        `${remedy}\n-- Or lower pool_max_conns, which is ${poolMaxConns}`,
      )
    );
    if (found.length > 0) return found;
    const least = Math.min(...set.map(([, limit]) => limit));
    return [note(`at most ${least}; pool_max_conns is ${poolMaxConns} for ${sharers}`)];
  });
}

// superusers may use the reserved ones too, but no role of ours should be one
const limitSql = `SELECT r.rolname, d.datname, r.rolconnlimit, d.datconnlimit,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
      - coalesce(current_setting('reserved_connections', true), '0')::int
  FROM pg_roles r, pg_database d WHERE r.rolname = current_user AND d.datname = current_database()`;

/** Whether what passes between the machines is encrypted, and until when the certificates are valid. */
export function encryptionCheck(options: DatabaseOptions, logger: Logger, now: () => number): Check {
  return createCheck("TLS", async (signal) => {
    if (options.openStream !== undefined) return [note("none is needed: the database is in this process")];
    await using connection = await connect(options, { signal, logger });
    const { rows } = await connection.client.query<(string | null)[]>({
      text: encryptionSql,
      rowMode: "array",
    });
    const [version, isNear] = rows[0] ?? [];
    const stream: unknown = Reflect.get(Reflect.get(connection.client, "connection"), "stream");
    return [
      ...encryptionResults(options, isTls(stream) ? version ?? "TLS" : undefined, isNear === "true"),
      ...serverCertificate(stream, now),
      ...await clientCertificate(options, now),
    ];
  });
}

// a pooler's own connection to the server may be another; what matters is who can listen in from here
const encryptionSql = `SELECT (SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl),
  (inet_client_addr() IS NULL OR inet_client_addr() <<= '127.0.0.0/8' OR inet_client_addr() = '::1')::text`;

function encryptionResults(
  { sslMode, hosts }: DatabaseOptions,
  version: string | undefined,
  isNear: boolean,
): CheckResult[] {
  if (version === undefined) {
    return isNear ? [note("not encrypted, but it stays on this machine")] : [warning(
      "The connection is not encrypted: whoever is between can read passwords and rows",
      "-- Set sslmode: verify-full and sslrootcert in the database's settings, and ssl = on in postgresql.conf",
    )];
  }
  const isChecked = sslMode === "verify-ca" || sslMode === "verify-full";
  if (isChecked || isNear) return [note(`${version}, sslmode ${sslMode}`)];
  return [warning(
    `${version}, but sslmode ${sslMode} does not check whose certificate it is`,
    `-- Set sslmode: verify-full and sslrootcert, the certificate of the authority that signed that of ${
      hosts.map(({ host }) => host).join(" and ")
    }`,
  )];
}

function serverCertificate(stream: unknown, now: () => number): CheckResult[] {
  if (!isTls(stream)) return [];
  // node:tls of Deno before 2.9 does not tell
  const { valid_to: validTo } = stream.getPeerCertificate() as { valid_to?: string };
  return validTo === undefined ? [] : expiryResults("The server's certificate", Date.parse(validTo), now());
}

function isTls(stream: unknown): stream is Pick<TLSSocket, "getPeerCertificate"> {
  return typeof stream === "object" && stream !== null && "getPeerCertificate" in stream;
}

async function clientCertificate(
  { sslCertFile }: DatabaseOptions,
  now: () => number,
): Promise<CheckResult[]> {
  if (sslCertFile === undefined) return [];
  const { X509Certificate } = await import("node:crypto");
  const { validTo } = new X509Certificate(await readRegularFile(sslCertFile));
  return expiryResults(`The client certificate ${sslCertFile}`, Date.parse(validTo), now());
}

/** Whether this machine and the database's agree on the time: tokens, sessions and certificates end by this one's. */
export function clockCheck(database: Database, now: () => number): Check {
  return createCheck("clocks", async (signal) => {
    const before = now();
    const [row] = await readRows(database, signal, clockSql);
    const after = now();
    const skewMs = Number(row?.[0]) - (before + after) / 2;
    // the answer was on its way for a part of that time
    const uncertainMs = (after - before) / 2;
    const text = `${Math.abs(skewMs / 1_000).toFixed(1)} s ${skewMs > 0 ? "behind" : "ahead of"}`;
    if (Math.abs(skewMs) - uncertainMs > mostSkewMs) {
      return [warning(
        `This machine's clock is ${text} the database server's: tokens and sessions end too early or too late`,
        "-- Have both machines keep their clocks by NTP: timedatectl set-ntp true",
      )];
    }
    return [note("both agree")];
  });
}

const mostSkewMs = 5_000;
const clockSql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
