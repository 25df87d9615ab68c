import { AppError } from "../core/app_error.ts";
import type { SettingPath } from "../core/document/value_tree.ts";
import { serverItself } from "../core/principal.ts";
import type { Database } from "./database.ts";
import type { CallerOptions } from "./read/caller_settings.ts";
import { isFilledIn } from "./read/session_setting_kinds.ts";
import { arrayText, quoteIdentifier, quoteIfNeeded } from "./sql_text.ts";

/** Something of `allowed_roles` or `session_settings` that PostgreSQL refuses, so that callers' statements fail. */
export interface CallerSettingFault {
  /** In the entry of the database or pipeline: `["allowed_roles", 1]`. */
  readonly path: SettingPath;
  readonly message: string;
  /** SQL; text for the reader stands in lines that begin with `-- `. */
  readonly remedy: string;
}

type Settings = Pick<CallerOptions, "allowedRoles" | "sessionSettings">;

/** Whether there is anything to look at. */
export function hasCallerSettings({ allowedRoles = [], sessionSettings }: Settings): boolean {
  return allowedRoles.length > 0 || Object.keys(sessionSettings).length > 0;
}

/**
 * Which roles the login may not take, and which settings it may not set; none where callers' statements begin as they
 * should. Each setting is tried in a transaction that is rolled back.
 *
 * @throws {AppError} `unavailable` where the database cannot be reached
 */
export async function callerSettingFaults(
  database: Database,
  { allowedRoles = [], sessionSettings }: Settings,
  signal: AbortSignal,
): Promise<CallerSettingFault[]> {
  const faults = allowedRoles.length === 0 ? [] : await roleFaults(database, allowedRoles, signal);
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
  const result = await database.read({
    principal: serverItself,
    trusted: true,
    sql: rolesSql,
    parameters: [arrayText(roles)],
    signal,
  });
  if (!result.ok) throw cannotLook(database, result.error.message);
  return result.rows.map(([at, name, exists, login, hasOption]) => {
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
  if (kind !== "failed" || sqlState === undefined) throw cannotLook(database, message);
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

function cannotLook({ name }: Database, reason: string): AppError {
  return new AppError("unavailable", `Cannot read from database "${name}": ${reason}`);
}
