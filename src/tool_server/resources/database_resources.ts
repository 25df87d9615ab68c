import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import type { Database } from "../../postgres/database.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";
import { defineResource } from "./builtin_resource.ts";
import { formatAddress } from "./resource_address.ts";

interface DatabaseResourceOptions {
  readonly directory: DatabaseDirectory;
  readonly scopes?: readonly string[] | undefined;
}

// which database is current changes with a call of select_database
const freshness = { ttlMs: 0, cacheScope: "private" } as const;

/** `pg://databases`: those that the caller may use. */
export function databasesResource({ directory, scopes }: DatabaseResourceOptions) {
  return defineResource({
    kind: "databases",
    scopes,
    freshness,
    description: {
      uri: formatAddress({ kind: "databases" }),
      name: "databases",
      title: "Databases",
      description:
        "The databases that you may use, which of them is the current one, and where the schema of each is.",
    },
    read(_address, { principal }) {
      const databases = directory.list(principal).map(({ name, current }) => ({
        name,
        current,
        schema: formatAddress({ kind: "schema", database: name }),
      }));
      const current = databases.find(({ current }) => current)?.name ?? null;
      return Promise.resolve(JSON.stringify({ databases, current }));
    },
  });
}

/** `pg://system_info`: the server of the caller's current database, as PostgreSQL tells of it. */
export function systemInfoResource({ directory, scopes }: DatabaseResourceOptions) {
  return defineResource({
    kind: "system_info",
    scopes,
    freshness,
    isListedFor: (principal) => directory.list(principal).length > 0,
    description: {
      uri: formatAddress({ kind: "system_info" }),
      name: "system_info",
      title: "PostgreSQL server",
      description: "Version and platform of the current database's server, the role that reads, encoding, " +
        "extensions and the settings that decide how statements are read and values written.",
    },
    async read(_address, { principal, signal }) {
      if (directory.list(principal).length === 0) return undefined;
      const database = directory.resolve(principal, undefined);
      const facts = await readFacts(database, principal, signal);
      const { version, ...rest } = facts;
      return JSON.stringify({
        postgresql_version: rest.settings["server_version"],
        version_number: rest.settings["server_version_num"],
        full_version: version,
        ...platformOf(version),
        database: database.name,
        ...rest,
      });
    },
  });
}

interface ServerFacts {
  readonly version: string;
  readonly settings: Readonly<Record<string, string | null>>;
}

async function readFacts(
  database: Database,
  principal: Principal,
  signal: AbortSignal,
): Promise<ServerFacts> {
  const result = await database.read({ principal, signal, sql: factsSql, trusted: true });
  const json = result.ok ? result.rows[0]?.[0] : undefined;
  if (json) return JSON.parse(json);
  const reason = result.ok ? "it tells nothing" : result.error.message;
  const code = !result.ok && result.error.kind === "timeout" ? "timeout" : "upstream";
  throw new AppError(code, `Cannot read about the server of database "${database.name}": ${reason}`);
}

/** What decides how a statement is read, how its values are written, and when it is stopped. */
const shownSettings = [
  "server_version",
  "server_version_num",
  "TimeZone",
  "DateStyle",
  "IntervalStyle",
  "search_path",
  "default_text_search_config",
  "bytea_output",
  "statement_timeout",
];

// read with the timeout of callers' statements, which it shows
const factsSql = `select pg_catalog.json_build_object(
  'version', pg_catalog.version(),
  'user', current_user,
  'is_standby', pg_catalog.pg_is_in_recovery(),
  'encoding', pg_catalog.pg_encoding_to_char(d.encoding),
  'collation', d.datcollate,
  'extensions', coalesce((
    select pg_catalog.json_agg(pg_catalog.json_build_object('name', e.extname, 'version', e.extversion) order by e.extname)
    from pg_catalog.pg_extension e), '[]'),
  'settings', (
    select pg_catalog.json_object_agg(s.name, pg_catalog.current_setting(s.name, true))
    from pg_catalog.unnest('{${shownSettings.join(",")}}'::pg_catalog.text[]) as s(name)))
from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()`;

/** Of `PostgreSQL 15.4 on x86_64-pc-linux-gnu, compiled by gcc (GCC) 11.2.0, 64-bit`. */
function platformOf(version: string) {
  const [, architecture = "", compiler = "", bits = ""] =
    /\bon ([^,]+), compiled by (.+?)(?:, (\d+-bit))?$/.exec(version) ?? [];
  return {
    operating_system: architecture.split("-")[2] ?? "",
    architecture,
    compiler,
    bit_version: bits,
  };
}
