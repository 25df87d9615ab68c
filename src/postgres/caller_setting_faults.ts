import { AppError } from "../core/app_error.ts";
import { serverItself } from "../core/principal.ts";
import type { Database } from "./database.ts";
import type { CallerOptions } from "./read/caller_settings.ts";
import { readRows } from "./read/read_trusted.ts";
import { arrayText, quoteIdentifier, quoteIfNeeded } from "./sql_text.ts";
import { isFilledIn } from "./session_setting_kinds.ts";
import type { SettingPath } from "../core/yaml/value_tree.ts";

/** Something of `allowed_roles` or `session_settings` that PostgreSQL refuses, so that callers' statements fail. */
export interface CallerSettingFault {
  /** In the entry of the database or pipeline: `["allowed_roles", 1]`. */
  readonly path: SettingPath;
  readonly message: string;
  /** SQL; text for the reader stands in lines that begin with `-- `. */
  readonly remedy: string;
}

type Settings = Pick<CallerOptions, "allowedRoles" | "sessionSettings"> & { readonly roleFromUser?: boolean };

/** Whether there is anything to look at. */
export function hasCallerSettings(
  { allowedRoles = [], sessionSettings, roleFromUser = false }: Settings,
): boolean {
  return allowedRoles.length > 0 || roleFromUser || Object.keys(sessionSettings).length > 0;
}

/**
 * Which roles the login may not take, and which settings it may not set; none where callers' statements begin as they
 * should. Each setting is tried in a transaction that is rolled back. With `role_from_user` it tells too which roles the
 * login inherits policies of, as callers without a name read as the login.
 *
 * @throws {AppError} `unavailable` where the database cannot be reached, `upstream` where it refuses
 */
export async function callerSettingFaults(
  database: Database,
  { allowedRoles = [], sessionSettings, roleFromUser = false }: Settings,
  signal: AbortSignal,
): Promise<CallerSettingFault[]> {
  const faults = allowedRoles.length === 0 ? [] : await roleFaults(database, allowedRoles, signal);
  if (roleFromUser) faults.push(...await inheritanceFaults(database, signal));
  for (const [name, template] of Object.entries(sessionSettings)) {
    const fault = await settingFault(database, name, template, signal);
    if (fault !== undefined) faults.push(fault);
  }
  return faults;
}

/** The option SET of a membership came with PostgreSQL 16. */
const rolesSql = `SELECT a.at - 1, a.name, r.oid IS NOT NULL, session_user, v.has_option
  FROM (SELECT current_setting('server_version_num')::int >= 160000) AS v (has_option)
  CROSS JOIN unnest($1::text[]) WITH ORDINALITY AS a (name, at)
  LEFT JOIN pg_catalog.pg_roles r ON r.rolname = a.name
  WHERE r.oid IS NULL
    OR NOT pg_has_role(session_user, r.oid, CASE WHEN v.has_option THEN 'SET' ELSE 'MEMBER' END)
  ORDER BY a.at`;

async function roleFaults(
  database: Database,
  roles: readonly string[],
  signal: AbortSignal,
): Promise<CallerSettingFault[]> {
  const rows = await readRows(database, signal, rolesSql, [arrayText(roles)]);
  return rows.map(([at, name, exists, login, hasOption]) => {
    const role = quoteIfNeeded(name ?? "");
    const option = hasOption === "t" ? " WITH SET TRUE" : "";
    const grant = `GRANT ${role} TO ${quoteIfNeeded(login ?? "")}${option};`;
    return {
      path: ["allowed_roles", Number(at)],
      ...(exists === "t"
        ? {
          message: `the login "${login}" may not take the role "${name}": it is no member that may set it`,
          remedy: grant,
        }
        : {
          message: `PostgreSQL has no role "${name}"`,
          remedy: `-- Correct the name, or make the role:\nCREATE ROLE ${role} NOLOGIN;\n${grant}`,
        }),
    };
  });
}

/**
 * How the login comes to the rights of a role without taking it, as JSON for {@linkcode keepFromInheriting}; NULL where it
 * does not. A superuser has those of all roles, which is a fault of its own.
 * @param role SQL for an oid
 */
export const inheritanceSql = (role: string) =>
  `CASE WHEN current_setting('is_superuser') = 'off' AND pg_has_role(current_user, ${role}, 'USAGE') THEN (
    SELECT json_build_object('login', quote_ident(current_user), 'via', string_agg(quote_ident(g.rolname), ', ' ORDER BY g.rolname),
      'isByGrant', current_setting('server_version_num')::int >= 160000)
    FROM pg_auth_members m JOIN pg_roles u ON u.oid = m.member JOIN pg_roles g ON g.oid = m.roleid
    WHERE u.rolname = current_user AND pg_has_role(current_user, g.oid, 'USAGE') AND pg_has_role(g.oid, ${role}, 'USAGE')
    HAVING count(*) > 0) END`;

export interface Inheritance {
  /** Quoted for SQL. */
  readonly login: string;
  /** The roles that it is a member of itself, quoted and with commas. */
  readonly via: string;
  /** Whether each grant says if it is inherited, as since PostgreSQL 16. */
  readonly isByGrant: boolean;
}

/** SQL that lets a login take roles and not have their rights before. */
export function keepFromInheriting({ login, via, isByGrant }: Inheritance): string {
  return isByGrant
    ? `GRANT ${via} TO ${login} WITH INHERIT FALSE, SET TRUE;`
    : `-- What it inherits from other roles ends too:\nALTER ROLE ${login} NOINHERIT;`;
}

const inheritedSql = `SELECT json_build_object('role', quote_ident(r.rolname), 'how', i.how)
  FROM pg_roles r CROSS JOIN LATERAL (SELECT ${inheritanceSql("r.oid")}) i(how)
  WHERE r.rolname <> current_user AND i.how IS NOT NULL
    AND EXISTS (SELECT FROM pg_policy p WHERE r.oid = ANY (p.polroles)) ORDER BY r.rolname`;

async function inheritanceFaults(database: Database, signal: AbortSignal): Promise<CallerSettingFault[]> {
  return (await readRows(database, signal, inheritedSql)).map(([json]) => {
    const { role, how }: { role: string; how: Inheritance } = JSON.parse(json ?? "null");
    return {
      path: ["role_from_user"],
      message:
        `the login ${how.login} inherits the policies of role ${role}, and callers without a name read ` +
        "as the login",
      remedy: keepFromInheriting(how),
    };
  });
}

/** What a caller fills in is not known yet: then the setting is given the value that it has. */
const sameValueSql =
  "SELECT pg_catalog.set_config($1, coalesce(pg_catalog.current_setting($1, true), ''), true)";

async function settingFault(
  database: Database,
  name: string,
  template: string,
  signal: AbortSignal,
): Promise<CallerSettingFault | undefined> {
  const result = await database.read({
    principal: serverItself,
    trusted: true,
    signal,
    ...(isFilledIn(template)
      ? { sql: sameValueSql, parameters: [name] }
      : { sql: "SELECT", settings: { [name]: template } }),
  });
  if (result.ok) return undefined;
  const { kind, message, sqlState } = result.error;
  if (kind !== "failed" || sqlState === undefined) {
    throw new AppError("unavailable", `Cannot read from database "${database.name}": ${message}`);
  }
  return {
    path: ["session_settings", name],
    message: `PostgreSQL refuses the setting: ${message}`,
    remedy: sqlState === insufficientPrivilege
      ? `-- Take it out, or with PostgreSQL 15 or later:\nGRANT SET ON PARAMETER ${
        quoteIdentifier(name)
      } TO …;`
      : "-- Take it out, or correct it; a setting of your own has a dot in its name, such as app.tenant",
  };
}

const insufficientPrivilege = "42501";
