import { AppError } from "../../core/app_error.ts";
import { type DatabaseOptions, timeoutSettings } from "../database_options.ts";
import { quoteIdentifier, quoteIfNeeded, quoteLiteral } from "../sql_text.ts";
import type { ReadableRelation } from "./readable_relations.ts";

/** What sorts and joins of one session may write to temporary files: a reader that wants more has asked for too much. */
const tempFileLimit = "1GB";

interface SetupOptions {
  readonly role: string;
  readonly options: Pick<DatabaseOptions, "name" | "database" | "hosts" | "statementTimeoutMs">;
  readonly relations: readonly ReadableRelation[];
  /** Whether the SQL before this made the role, on the same server. */
  readonly isMade: boolean;
  /** Whether statements of callers run under roles that it takes. */
  readonly takesRoles: boolean;
}

/**
 * SQL that makes a role which may only read a database, for a person to look at and run with psql.
 * @throws {AppError} `invalid` for a database whose name holds a line end
 */
export function setupSql({ role, options, relations, isMade, takesRoles }: SetupOptions): string {
  const name = quoteIfNeeded(role);
  const servers = options.hosts.map(({ host, port }) => `${host}:${port}`).join(", ");
  const schemas = Map.groupBy(relations, ({ schema }) => schema);
  return [
    `-- Database ${comment(options.name)}: ${comment(options.database)} on ${comment(servers)}.`,
    connectCommand(options.database),
    "",
    ...(isMade ? [] : roleSql(role, takesRoles, options.statementTimeoutMs)),
    "BEGIN;",
    `GRANT CONNECT ON DATABASE ${quoteIfNeeded(options.database)} TO ${name};`,
    ...[...schemas].flatMap(([schema, members]) => ["", ...schemaSql(schema, members, name)]),
    "COMMIT;",
    "",
  ].join("\n");
}

/**
 * psql's own command, which ends with its line, whatever is quoted in it: the rest of a name would be the next command, and
 * `\\!` runs programs. A name with `=` or `://` would say what server to connect to, so it stands in a connection string.
 * @throws {AppError} as {@linkcode setupSql}
 */
function connectCommand(database: string): string {
  if (/[\r\n]/.test(database)) {
    const reason = `psql cannot connect to ${JSON.stringify(database)}, whose name holds a line end`;
    throw new AppError("invalid", `Cannot print a role's SQL: ${reason}`);
  }
  if (!/=|:\/\//.test(database)) return `\\connect ${quoteIdentifier(database)}`;
  const value = database.replaceAll(/['\\]/g, "\\$&");
  return `\\connect -reuse-previous=on ${quoteIdentifier(`dbname='${value}'`)}`;
}

function roleSql(role: string, takesRoles: boolean, statementTimeoutMs: number): string[] {
  const name = quoteIfNeeded(role);
  const settings = {
    default_transaction_read_only: "on",
    ...timeoutSettings(statementTimeoutMs),
  };
  const inherit = takesRoles ? " NOINHERIT" : "";
  return [
    ...makeOnce(
      role,
      `CREATE ROLE ${name} LOGIN${inherit} NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;`,
    ),
    ...(takesRoles
      ? [
        `-- It takes the roles of callers, and has no rights of theirs before. Grant each:  GRANT … TO ${name};`,
        "-- Where it was there before, and inherits, with PostgreSQL 16 or later:",
        `--   GRANT … TO ${name} WITH INHERIT FALSE, SET TRUE;`,
      ]
      : []),
    `-- Give it a password, which psql asks for:  \\password ${name}`,
    ...Object.entries(settings).map(([setting, value]) =>
      `ALTER ROLE ${name} SET ${setting} = ${quoteLiteral(value)};`
    ),
    "-- Only a superuser may set this one:",
    `ALTER ROLE ${name} SET temp_file_limit = '${tempFileLimit}';`,
    "",
  ];
}

/** A role that is there keeps its attributes: who is no superuser may not even name them. */
function makeOnce(role: string, create: string): string[] {
  const tags = ["$make$", ...Array.from({ length: role.length }, (_, at) => `$make${at}$`)];
  // the tags differ in more places than the name has
  const tag = tags.find((each) => !create.includes(each));
  return [
    `DO ${tag} BEGIN`,
    `  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = ${quoteLiteral(role)}) THEN`,
    `    ${create}`,
    "  END IF;",
    `END ${tag};`,
  ];
}

function schemaSql(schema: string, relations: readonly ReadableRelation[], role: string): string[] {
  const inSchema = `IN SCHEMA ${quoteIfNeeded(schema)}`;
  const usage = `GRANT USAGE ON SCHEMA ${quoteIfNeeded(schema)} TO ${role};`;
  const isWhole = relations.every(({ excluded, shows }) => excluded.length === 0 && shows.length === 0);
  if (isWhole) {
    return [
      usage,
      `GRANT SELECT ON ALL TABLES ${inSchema} TO ${role};`,
      "-- For the tables that whoever runs this makes later, with all their columns:",
      `ALTER DEFAULT PRIVILEGES ${inSchema} GRANT SELECT ON TABLES TO ${role};`,
    ];
  }
  return [
    usage,
    "-- Columns are left out here, so tables that are made later need grants of their own. What was granted before ends:",
    `ALTER DEFAULT PRIVILEGES ${inSchema} REVOKE SELECT ON TABLES FROM ${role};`,
    `REVOKE ALL ON ALL TABLES ${inSchema} FROM ${role};`,
    ...relations.map((relation) => relationSql(relation, role)),
  ];
}

function relationSql({ schema, name, columns, excluded, shows }: ReadableRelation, role: string): string {
  const relation = `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`;
  if (shows.length > 0) return `-- Not granted: ${comment(relation)} shows ${comment(shows.join(", "))}.`;
  const left = columns.filter((column) => !excluded.includes(column));
  if (left.length === 0) return `-- Not granted: all columns of ${comment(relation)} are left out.`;
  const some = excluded.length === 0 ? "" : ` (${left.map(quoteIfNeeded).join(", ")})`;
  return `GRANT SELECT${some} ON ${relation} TO ${role};`;
}

/** A name may hold a line end, which would end a comment. */
function comment(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]/gu, " ");
}
