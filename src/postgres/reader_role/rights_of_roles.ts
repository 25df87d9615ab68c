import type { ColumnRefusal } from "../catalog/private_columns.ts";
import { type CallerSettingFault, callerSettingFaults } from "../caller_setting_faults.ts";
import type { Database } from "../database.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { type ExcessRight, findExcessRights, rolesOf } from "./excess_rights.ts";
import { readRelations } from "./readable_relations.ts";

/** What one of the roles that read a database may do beyond reading. */
interface RightsOfRole {
  readonly role: string;
  readonly excess: readonly ExcessRight[];
}

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
    const found = await findExcessRights(database, {
      relations,
      ...(callersRole !== undefined && { callersRole }),
      neededRoles: callersRole === undefined ? callersRoles : [],
      signal,
    });
    roles.push(found);
  }
  return { roles, faults };
}
