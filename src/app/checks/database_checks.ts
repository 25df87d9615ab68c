import { ownCommand, shellWord } from "../../core/own_command.ts";
import { AppError } from "../../core/app_error.ts";
import { callerSettingFaults, hasCallerSettings } from "../../postgres/caller_setting_faults.ts";
import { type LoginRefusal, loginRefusal } from "../../postgres/connect/connect_error.ts";
import { type ColumnRefusal, unmatchedColumnWarnings } from "../../postgres/catalog/private_columns.ts";
import type { Database } from "../../postgres/database.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import { type CallerOptions, isReadAsCallers } from "../../postgres/read/caller_settings.ts";
import { defaultLagMs, type HostReport, lagText } from "../../postgres/pool/host_choice.ts";
import { arrayText, quoteIfNeeded } from "../../postgres/sql_text.ts";
import { readRows } from "../../postgres/read/read_trusted.ts";
import { findRelation, isIterative } from "../../rag_server/search/document_table.ts";
import { rightsOfRoles } from "../../postgres/reader_role/excess_rights.ts";
import type { SettingPath } from "../../core/yaml/value_tree.ts";
import { type Check, type CheckResult, createCheck, error, note, warning } from "./check.ts";
import { type RelationName, relationName } from "./tables/table_subject.ts";
import {
  type IsolationFault,
  isolationFaults,
  rolesOf,
} from "../../rag_server/row_security/isolation_faults.ts";

/** Whether a database answers, and which of its hosts did; what each is where callers are spread over them. All that needs it follows. */
export function databaseCheck(
  database: Database,
  options: DatabaseOptions,
  next: readonly Check[],
): Check {
  return createCheck("database", async (signal) => {
    try {
      const [row] = await readRows(database, signal, serverSql);
      const [version, address, port, isStandby] = row ?? [];
      const place = address ? `at ${address}:${port}` : "over a local socket";
      const role = isStandby === "t" ? ", a standby" : "";
      const hosts = database.hosts().map((host) => hostResult(host, options));
      return [note(`PostgreSQL ${version} answers ${place}${role}`), ...hosts, ...next];
    } catch (thrown) {
      if (!(thrown instanceof AppError)) throw thrown;
      return [unreachable(thrown, options)];
    }
  });
}

function hostResult(
  { host, role, lagMs }: HostReport,
  { maxReplicaLagMs = defaultLagMs }: DatabaseOptions,
): CheckResult {
  const what = `${host}: ${role}${role === "standby" ? `, ${lagText(lagMs)}` : ""}`;
  return lagMs <= maxReplicaLagMs ? note(what) : warning(`${what}: it serves no callers`, hostRemedy);
}

const hostRemedy = "-- Start it, or take it out of hosts. Of a standby that runs, see whether it streams:\n" +
  "SELECT status, pg_is_wal_replay_paused() FROM pg_stat_wal_receiver;";

const serverSql = `SELECT current_setting('server_version'), host(inet_server_addr()), inet_server_port(),
  pg_is_in_recovery()`;

const remedies: Readonly<Record<LoginRefusal, (user: string, database: string) => string>> = {
  no_password: () =>
    "-- Write the password into a file that only you may read, and name it: password_file in the database's settings\n" +
    "-- Or set PGPASSWORD, or write a line into ~/.pgpass: HOST:PORT:DATABASE:ROLE:PASSWORD",
  wrong_password: (user) =>
    "-- Correct the password: password_file, password, PGPASSWORD or ~/.pgpass. PostgreSQL says the same of a role that\n" +
    `-- does not exist, has no password, or is past VALID UNTIL: ALTER ROLE ${user} PASSWORD '…'`,
  no_role: (user) =>
    "-- Correct user in the database's settings, or make the role: " +
    `${ownCommand().name} -setup-role NAME prints the SQL, as does\n` +
    `CREATE ROLE ${user} LOGIN PASSWORD '…';`,
  no_login: (user) => `ALTER ROLE ${user} LOGIN;`,
  no_host_rule: (user, database) =>
    "-- Allow it in the server's pg_hba.conf, then SELECT pg_reload_conf(). hostssl needs an sslmode with TLS:\n" +
    `host ${database} ${user} ADDRESS/32 scram-sha-256`,
  other_method: () =>
    "-- pg_hba.conf asks for something else than a password from here (peer, ident, cert, ldap …): name a host in place\n" +
    "-- of a socket's folder, or change the method of that line to scram-sha-256, then SELECT pg_reload_conf()",
  no_database: (_user, database) =>
    `-- Correct database in its settings, or make it: CREATE DATABASE ${database};`,
  no_connect_right: (user, database) => `GRANT CONNECT ON DATABASE ${database} TO ${user};`,
};

const shortageRemedy =
  "-- Raise the role's limit (ALTER ROLE … CONNECTION LIMIT …) or max_connections of the server, or lower pool_max_conns";

/** That a database cannot be reached or logged in to, with what mends it. */
export function unreachable(
  { message, data, cause }: AppError,
  options: DatabaseOptions,
): CheckResult & { readonly ok: false } {
  const refusal = loginRefusal(cause);
  if (refusal !== undefined) {
    const [user, database] = [options.user, options.database].map(quoteIfNeeded);
    return error(message, remedies[refusal](user ?? "", database ?? ""));
  }
  if (data?.["sqlState"] === "53300") return error(message, shortageRemedy);
  if (/: (?:password_file|password_command|aws_rds_iam): /.test(message)) {
    return error(
      message,
      "-- Correct the password file, program or credentials, or the setting that names them",
    );
  }
  const asked = options.hosts.map(({ host, port }) => `pg_isready -h ${shellWord(host)} -p ${port}`);
  return error(
    message,
    `-- Correct host, port and TLS of the database's settings, and check that PostgreSQL listens there:\n${
      asked.join("\n")
    }`,
  );
}

/** Whether pgvector is there, and new enough; what needs vectors follows. */
export function extensionCheck(database: Database, next: readonly Check[]): Check {
  return createCheck("pgvector", async (signal) => {
    const [row] = await readRows(database, signal, extensionSql);
    const [installed, available] = (row ?? []).map((version) => version ?? undefined);
    if (installed === undefined) return [missing(available)];
    if (isIterative(installed)) return [note(`pgvector ${installed}`), ...next];
    const update = available !== undefined && isIterative(available)
      ? "ALTER EXTENSION vector UPDATE;"
      : "-- Install pgvector 0.8 or later on the database's server\nALTER EXTENSION vector UPDATE;";
    const message =
      `pgvector ${installed} may find too few rows under a filter; 0.8 searches on until it has enough`;
    return [warning(message, update), ...next];
  });
}

const extensionSql = `SELECT (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
  (SELECT default_version FROM pg_available_extensions WHERE name = 'vector')`;

function missing(available: string | undefined) {
  const install = available === undefined
    ? "-- Install the package of pgvector on the database's server (Debian: postgresql-NN-pgvector)\n"
    : "";
  return error("The database does not have the extension vector", `${install}CREATE EXTENSION vector;`);
}

/** Whether a role that reads a database of the tool server may do more than read. What that is, `-check-role` lists. */
export function readersCheck(database: Database, options: DatabaseOptions, isExcluded: ColumnRefusal): Check {
  return createCheck("role", async (signal) => {
    const { roles } = await rightsOfRoles(database, options, isExcluded, signal);
    const [most, ...others] = roles.filter(({ excess }) => excess.length > 0)
      .toSorted((a, b) => b.excess.length - a.excess.length);
    if (most === undefined) return [];
    const { role, excess } = most;
    const worst = excess.find(({ right }) => right.endsWith(" SUPERUSER")) ?? excess[0];
    const more = excess.length - 1;
    return [warning(
      `Role "${role}" ${worst?.right}` +
        (more === 0 ? "" : `; rights beyond reading besides: ${more}`) +
        (others.length === 0 ? "" : `; other roles with such rights: ${others.length}`),
      `-- ${ownCommand().name} -check-role lists each right, with the SQL that takes it away\n` +
        `-- ${ownCommand().name} -setup-role ROLE prints the SQL that makes a role which may only read`,
    )];
  });
}

/** Whether the role of a pipeline may do far more than read: `tables` are as they are configured. */
export function roleCheck(database: Database, tables: readonly string[]): Check {
  return createCheck("role", async (signal) => {
    const warnings = await database.warnings(signal);
    // the sentence ends with advice; the remedy has it in full
    return warnings.map((text) => warning(text.replace(/: [^:]*$/, ""), readerSql(tables)));
  });
}

/** Whether each pattern of columns to exclude matches a column of some database. */
export function excludedColumnsChecks(patterns: readonly string[], databases: readonly Database[]): Check[] {
  if (patterns.length === 0 || databases.length === 0) return [];
  return [createCheck("llm.excluded_columns", async (signal) => {
    const warnings = await unmatchedColumnWarnings(patterns, databases, signal);
    return warnings.map((text) => warning(text, "-- Correct the entry, or take it out"));
  })];
}

/** Whether PostgreSQL takes what callers' statements begin with: their roles and `session_settings`. */
export function callerSettingsChecks(
  database: Database,
  options: DatabaseOptions,
  settingAt: (path: SettingPath) => string,
): Check[] {
  if (!hasCallerSettings(options)) return [];
  return [createCheck("callers' settings", async (signal) => {
    const faults = await callerSettingFaults(database, options, signal);
    return faults.map(({ path, message, remedy }) => error(`${settingAt(path)}: ${message}`, remedy));
  })];
}

const sharedTablesShown = 5;

/** Which tables show each caller all of their rows, though a database tells its callers apart. They may be meant to. */
export function sharedTablesChecks(database: Database, options: DatabaseOptions): Check[] {
  if (!isReadAsCallers(options)) return [];
  return [createCheck("row-level security", async (signal) => {
    const tables = (await readRows(database, signal, sharedTablesSql)).map(([name]) => name);
    if (tables.length === 0) return [];
    const more = tables.length - sharedTablesShown;
    const shown = tables.slice(0, sharedTablesShown).join(", ") + (more > 0 ? ` and ${more} more` : "");
    return [
      note(`each caller who may read ${shown} sees all rows: row-level security is not enabled there`),
    ];
  })];
}

/** Partitions are read by their parents' policies. */
const sharedTablesSql = `SELECT format('%I.%I', n.nspname, c.relname)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind IN ('r', 'p') AND NOT c.relrowsecurity AND NOT c.relispartition
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND NOT pg_is_other_temp_schema(n.oid)
    AND EXISTS (SELECT FROM pg_roles r WHERE pg_has_role(session_user, r.oid, 'MEMBER')
      AND has_schema_privilege(r.oid, n.oid, 'USAGE') AND has_any_column_privilege(r.oid, c.oid, 'SELECT'))
  ORDER BY 1`;

function namesOf(table: string): RelationName[] {
  const [first = "", second] = table.split(".");
  // it may be folded to small letters, which quotes would prevent
  if (/^[\w$.]+$/.test(table)) {
    return [second === undefined ? { relation: table } : { relation: table, schema: first }];
  }
  const name = relationName(table);
  return name === undefined ? [] : [name];
}

function readerSql(tables: readonly string[]): string {
  const names = tables.flatMap(namesOf);
  const schemas = new Set(names.map(({ schema = "public" }) => schema));
  const grants = [
    ...Array.from(schemas, (schema) => `GRANT USAGE ON SCHEMA ${schema} TO postern_reader;`),
    ...(names.length === 0
      ? []
      : [`GRANT SELECT ON ${names.map(({ relation }) => relation).join(", ")} TO postern_reader;`]),
  ];
  return [
    "CREATE ROLE postern_reader LOGIN PASSWORD '…';",
    ...grants,
    "-- Then set it as the database's user. -ingest and -index-pipeline need a role that may write.",
  ].join("\n");
}

/** Whether PostgreSQL's policies hold all who read from a pipeline; nothing where rows do not depend on the caller. */
export function rowSecurityChecks(
  database: Database,
  options: DatabaseOptions,
  tables: readonly string[],
): Check[] {
  if (!isReadAsCallers(options)) return [];
  return [createCheck("row-level security", async (signal) => {
    const faults = await isolationFaults(database, tables, rolesOf(options), signal);
    const unread = await readingFaults(database, tables, options, signal);
    return [
      ...faults.map(({ message, remedy }) => error(`The pipeline does not serve: ${message}`, remedy)),
      ...unread.map(({ message, remedy }) =>
        error(`Every question of its callers fails: ${message}`, remedy)
      ),
    ];
  })];
}

/**
 * Which roles that callers' claims may name may not read the tables, so that every question of theirs fails. A role or a
 * table that does not exist has no fault here.
 *
 * @param tables as they are configured
 * @throws {AppError} where the catalog cannot be read
 */
export async function readingFaults(
  database: Database,
  tables: readonly string[],
  { roleFromClaim, allowedRoles = [] }: Pick<CallerOptions, "roleFromClaim" | "allowedRoles">,
  signal: AbortSignal,
): Promise<IsolationFault[]> {
  if (roleFromClaim === undefined || allowedRoles.length === 0) return [];
  const read = (text: string, parameters: readonly string[] = []) =>
    readRows(database, signal, text, parameters);
  const ofTables = await Promise.all([...new Set(tables)].map(async (table) => {
    const found = await findRelation(read, table);
    return found === undefined ? [] : await read(rightsSql, [found.oid, arrayText(allowedRoles)]);
  }));
  return ofTables.flat().map(([role, relation, schema, mayUse, mayRead]) => ({
    message: `role ${role} of allowed_roles may not read ${relation}`,
    remedy: [
      ...(mayUse === "t" ? [] : [`GRANT USAGE ON SCHEMA ${schema} TO ${role};`]),
      ...(mayRead === "t" ? [] : [`GRANT SELECT ON ${relation} TO ${role};`]),
    ].join("\n"),
  }));
}

// some columns are enough: which of them a search needs, the checks of the table tell
const rightsSql = `SELECT * FROM (
  SELECT quote_ident(r.rolname), format('%I.%I', n.nspname, c.relname), quote_ident(n.nspname),
    has_schema_privilege(r.oid, n.oid, 'USAGE') AS may_use, has_any_column_privilege(r.oid, c.oid, 'SELECT') AS may_read
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_roles r
  WHERE c.oid = $1 AND r.rolname = ANY($2::text[])
) rights WHERE NOT (may_use AND may_read) ORDER BY 1`;
