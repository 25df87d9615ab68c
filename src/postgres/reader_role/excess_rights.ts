import type { Database } from "../database.ts";
import { quoteIfNeeded } from "../sql_text.ts";
import { stateSchema } from "../own_schema.ts";
import { type ReadableRelation, readAsRole, readRelations } from "./readable_relations.ts";
import type { ColumnRefusal } from "../catalog/private_columns.ts";
import { type CallerSettingFault, callerSettingFaults } from "../caller_setting_faults.ts";
import type { DatabaseOptions } from "../database_options.ts";

/** Something that a role may do and a reader need not, with what takes it away. */
interface ExcessRight {
  readonly right: string;
  /** SQL for a person to run, or what to do. */
  readonly remedy: string;
}

const own = `n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'`;
/** A cast to regrole would read the name as an identifier, which folds it. */
const me = "(SELECT oid FROM pg_catalog.pg_roles WHERE rolname = current_user)";

/** Each gives rows of what the right is over, and perhaps a detail of it. */
const questions: readonly {
  readonly sql: string;
  readonly right: (what: string, detail: string) => string;
  readonly remedy: (what: string, role: string, detail: string) => string;
}[] = [
  {
    sql: `SELECT attribute FROM pg_catalog.pg_roles, LATERAL (VALUES
      ('SUPERUSER', rolsuper), ('CREATEROLE', rolcreaterole), ('CREATEDB', rolcreatedb),
      ('REPLICATION', rolreplication), ('BYPASSRLS', rolbypassrls)) AS a (attribute, has)
      WHERE rolname = current_user AND has`,
    right: (what) => `has the attribute ${what}`,
    remedy: (what, role) => `ALTER ROLE ${role} NO${what};`,
  },
  {
    sql: `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname),
        (SELECT string_agg(p.name, ', ' ORDER BY p.place)
          FROM unnest('{INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) WITH ORDINALITY AS p (name, place)
          WHERE has_table_privilege(c.oid, p.name))
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${own} AND c.relowner <> ${me}
        AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')`,
    right: (what, detail) => `may ${detail} on ${what}`,
    remedy: (what, role, detail) => `REVOKE ${detail} ON ${what} FROM ${role}, PUBLIC;`,
  },
  {
    sql: `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = '${stateSchema}' AND has_schema_privilege(n.oid, 'USAGE')
        AND has_table_privilege(c.oid, 'SELECT') AND c.relkind = 'r'`,
    right: (what) => `may read ${what}, where sessions, grants and keys of servers are`,
    remedy: (_what, role) => `REVOKE ALL ON SCHEMA ${stateSchema} FROM ${role}, PUBLIC;`,
  },
  {
    // rights over single columns, which those over the whole table do not tell of
    sql: `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), r.name || ' (' || string_agg(
        quote_ident(a.attname), ', ' ORDER BY a.attnum) || ')'
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      CROSS JOIN (VALUES ('INSERT'), ('UPDATE'), ('REFERENCES')) AS r (name)
      WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND ${own} AND c.relowner <> ${me}
        AND NOT has_table_privilege(c.oid, r.name) AND has_column_privilege(c.oid, a.attnum, r.name)
      GROUP BY n.nspname, c.relname, r.name`,
    right: (what, detail) => `may ${detail} on ${what}`,
    remedy: (what, role, detail) => `REVOKE ${detail} ON ${what} FROM ${role}, PUBLIC;`,
  },
  {
    sql: `SELECT quote_ident(r.rolname) || coalesce(' IN SCHEMA ' || quote_ident(n.nspname), ''),
        string_agg(DISTINCT a.privilege_type, ', ')
      FROM pg_catalog.pg_default_acl d JOIN pg_catalog.pg_roles r ON r.oid = d.defaclrole
      LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace
      CROSS JOIN LATERAL aclexplode(d.defaclacl) a
      WHERE d.defaclobjtype = 'r' AND a.privilege_type <> 'SELECT' AND a.grantee <> d.defaclrole
        AND CASE WHEN a.grantee = 0 THEN true ELSE pg_has_role(a.grantee, 'USAGE') END
      GROUP BY r.rolname, n.nspname`,
    right: (what, detail) => `will have ${detail} on the tables that are made later by ${what}`,
    remedy: (what, role, detail) =>
      `ALTER DEFAULT PRIVILEGES FOR ROLE ${what} REVOKE ${detail} ON TABLES FROM ${role}, PUBLIC;`,
  },
  {
    sql: `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') AND ${own} AND c.relowner = ${me}`,
    right: (what) => `owns ${what}: it may change and drop it, and row-level security does not hold for it`,
    remedy: (what) => `ALTER TABLE ${what} OWNER TO …;`,
  },
  {
    sql: `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname)
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      -- PostgreSQL may ask in any order, and refuses what is no sequence
      WHERE CASE WHEN c.relkind = 'S' AND ${own} AND c.relowner <> ${me}
        THEN has_sequence_privilege(c.oid, 'USAGE, UPDATE') END`,
    right: (what) => `may advance the sequence ${what}`,
    remedy: (what, role) => `REVOKE USAGE, UPDATE ON SEQUENCE ${what} FROM ${role}, PUBLIC;`,
  },
  {
    sql: `SELECT quote_ident(n.nspname) FROM pg_catalog.pg_namespace n
      WHERE ${own} AND has_schema_privilege(n.oid, 'CREATE')`,
    right: (what) => `may create objects in the schema ${what}`,
    remedy: (what, role) => `REVOKE CREATE ON SCHEMA ${what} FROM ${role}, PUBLIC;`,
  },
  {
    sql:
      `SELECT quote_ident(current_database()), privilege FROM (VALUES ('CREATE'), ('TEMPORARY')) AS p (privilege)
      WHERE has_database_privilege(current_database(), privilege)`,
    right: (what, detail) =>
      detail === "CREATE"
        ? `may create schemas in the database ${what}`
        : `may create temporary tables in the database ${what}`,
    remedy: (what, role, detail) => `REVOKE ${detail} ON DATABASE ${what} FROM ${role}, PUBLIC;`,
  },
  {
    sql: `SELECT p.oid::regprocedure::text FROM pg_catalog.pg_proc p
      JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
      WHERE p.prosecdef AND ${own} AND has_function_privilege(p.oid, 'EXECUTE')
        AND has_schema_privilege(n.oid, 'USAGE') AND p.proowner <> ${me}`,
    right: (what) => `may call ${what}, which runs with its owner's rights`,
    remedy: (what, role) => `REVOKE EXECUTE ON ROUTINE ${what} FROM ${role}, PUBLIC;`,
  },
  {
    sql: `SELECT DISTINCT p.oid::regprocedure::text FROM pg_catalog.pg_proc p
      WHERE p.pronamespace = 'pg_catalog'::regnamespace AND has_function_privilege(p.oid, 'EXECUTE')
        AND p.proname IN ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file', 'lo_import', 'lo_export',
          'pg_reload_conf', 'pg_rotate_logfile', 'pg_switch_wal', 'pg_promote')
        AND NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user)`,
    right: (what) => `may call ${what}`,
    remedy: (what, role) => `REVOKE EXECUTE ON ROUTINE ${what} FROM ${role}, PUBLIC;`,
  },
  {
    // PostgreSQL 18 alone has a function for it; where nobody was granted anything, the owner alone may change it
    sql: `SELECT DISTINCT l.oid::text, (l.lomowner = ${me})::text FROM pg_catalog.pg_largeobject_metadata l
      LEFT JOIN LATERAL aclexplode(l.lomacl) a ON a.privilege_type = 'UPDATE'
      WHERE l.lomowner = ${me} OR CASE WHEN a.grantee = 0 THEN true ELSE pg_has_role(a.grantee, 'USAGE') END`,
    right: (what) => `may change the large object ${what}`,
    remedy: (what, role, isOwner) =>
      isOwner === "true"
        ? `ALTER LARGE OBJECT ${what} OWNER TO …;`
        : `REVOKE UPDATE ON LARGE OBJECT ${what} FROM ${role}, PUBLIC;`,
  },
  {
    sql: `SELECT quote_ident(srvname) FROM pg_catalog.pg_foreign_server
      WHERE has_server_privilege(oid, 'USAGE')`,
    right: (what) => `may use the foreign server ${what}`,
    remedy: (what, role) => `REVOKE USAGE ON FOREIGN SERVER ${what} FROM ${role}, PUBLIC;`,
  },
];

/**
 * What a role may do beyond reading, and which excluded columns it may read; empty for a role as it should be.
 * @throws {AppError} as `readRelations` does
 */
async function findExcessRights(
  database: Database,
  { relations, callersRole, neededRoles, signal }: {
    /** As `readRelations` gives them for the role. */
    readonly relations: readonly ReadableRelation[];
    /** A role that callers read as, in place of the database's own. */
    readonly callersRole: string | undefined;
    /** Roles that it must be a member of, since callers read as they. */
    readonly neededRoles: readonly string[];
    readonly signal: AbortSignal;
  },
) {
  const read = (sql: string) => readAsRole(database, sql, signal, callersRole);
  const [[name] = []] = await read("SELECT current_user");
  const role = quoteIfNeeded(name ?? "");
  const hasSecrets = relations.some(({ excluded }) => excluded.length > 0);
  const harmless = [...harmlessRoles, ...(hasSecrets ? [] : ["pg_read_all_data"]), ...neededRoles];
  const excess: ExcessRight[] = (await rolesOf(database, signal, callersRole))
    .filter((member) => !harmless.includes(member))
    .map((member) => ({
      right: `is a member of the role ${member}, and may do what that may`,
      remedy: `REVOKE ${quoteIfNeeded(member)} FROM ${role};`,
    }));
  for (const { sql, right, remedy } of questions) {
    for (const [what, detail] of await read(`${sql} ORDER BY 1`)) {
      const [object, more] = [what ?? "", detail ?? ""];
      excess.push({ right: right(object, more), remedy: remedy(object, role, more) });
    }
  }
  return {
    role: name ?? "",
    excess: [...excess, ...relations.flatMap((each) => readableSecrets(each, role))],
  };
}

/** Built-in roles without rights over tables. What the owner of the database may do is told of by itself. */
const harmlessRoles = [
  "pg_read_all_settings",
  "pg_read_all_stats",
  "pg_stat_scan_tables",
  "pg_monitor",
  "pg_database_owner",
];

/**
 * The roles that a role is a member of, directly or by way of others, whether or not it inherits; none for a superuser.
 * @param role in place of the database's own
 * @throws {AppError} as `readRelations` does
 */
export async function rolesOf(database: Database, signal: AbortSignal, role?: string): Promise<string[]> {
  const sql = `SELECT rolname FROM pg_catalog.pg_roles
    WHERE rolname <> current_user AND pg_has_role(oid, 'MEMBER')
      AND NOT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) ORDER BY rolname`;
  return (await readAsRole(database, sql, signal, role)).map(([name]) => name ?? "");
}

function readableSecrets(relation: ReadableRelation, role: string): ExcessRight[] {
  const { schema, name, excluded, shows, mayRead } = relation;
  const path = `${quoteIfNeeded(schema)}.${quoteIfNeeded(name)}`;
  const revoke = `REVOKE SELECT ON ${path} FROM ${role}, PUBLIC;`;
  const direct = excluded.filter((column) => mayRead.includes(column));
  const left = relation.columns.filter((column) => !excluded.includes(column));
  return [
    ...direct.map((column) => ({
      right: `may read the excluded column ${path}.${quoteIfNeeded(column)}`,
      remedy: left.length === 0
        ? revoke
        : `${revoke} GRANT SELECT (${left.map(quoteIfNeeded).join(", ")}) ON ${path} TO ${role};`,
    })),
    ...(mayRead.length === 0 ? [] : shows.map((column) => ({
      right: `may read the excluded column ${column} through the view ${path}`,
      remedy: revoke,
    }))),
  ];
}

/** What one of the roles that read a database may do beyond reading. */
type RightsOfRole = Awaited<ReturnType<typeof findExcessRights>>;

/**
 * Looks at the role of a database, which comes first, and at those that callers read as.
 *
 * @throws {AppError} `unavailable` where the database cannot be reached, `upstream` where it refuses
 */
export async function rightsOfRoles(
  database: Database,
  options: Pick<DatabaseOptions, "allowedRoles" | "roleFromUser" | "sessionSettings">,
  isExcluded: ColumnRefusal,
  signal: AbortSignal,
): Promise<{ readonly roles: readonly RightsOfRole[]; readonly faults: readonly CallerSettingFault[] }> {
  const faults = await callerSettingFaults(database, options, signal);
  const missing = faults.map(({ path: [section, at] }) => section === "allowed_roles" ? at : undefined);
  // which names callers have is not known: each role that the login may take may be one, but no built-in role
  const callersRoles = options.roleFromUser
    ? (await rolesOf(database, signal)).filter((role) => !role.startsWith("pg_"))
    : (options.allowedRoles ?? []).filter((_, at) => !missing.includes(at));
  const roles: RightsOfRole[] = [];
  for (const callersRole of [undefined, ...callersRoles]) {
    const relations = await readRelations(database, isExcluded, signal, callersRole);
    const neededRoles = callersRole === undefined ? callersRoles : [];
    roles.push(await findExcessRights(database, { relations, callersRole, neededRoles, signal }));
  }
  return { roles, faults };
}
