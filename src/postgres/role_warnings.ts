import type { Row } from "./read/portal.ts";

/** One row: the role, then whether it has each of the privileges that `warningsOf` names, in that order. */
export const privilegeQuery = `
SELECT current_user,
  (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
  EXISTS (
    SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
      AND has_table_privilege(c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE')),
  EXISTS (
    SELECT FROM pg_namespace
    WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' AND has_schema_privilege(oid, 'CREATE')),
  EXISTS (
    SELECT FROM pg_roles
    WHERE rolname IN ('pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program',
      'pg_signal_backend', 'pg_signal_autovacuum_worker', 'pg_maintain', 'pg_checkpoint', 'pg_create_subscription')
      AND pg_has_role(oid, 'MEMBER')),
  (SELECT rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = current_user)`;

const advice = "give Postern a role that may only SELECT";

/** Tells rights of a database's role that a reader need not have. */
export function warningsOf(database: string, rows: readonly Row[]): string[] {
  const [role, isSuperuser, mayWrite, mayCreate, hasServerRole, hasAttribute] = rows[0] ?? [];
  const who = `Role "${role}" of database "${database}"`;
  if (isSuperuser === "t") return [`${who} is a superuser: ${advice}`];
  return [
    mayWrite === "t" ? `${who} may write to tables: ${advice}` : undefined,
    mayCreate === "t" ? `${who} may create objects in a schema: revoke CREATE on it` : undefined,
    hasServerRole === "t"
      ? `${who} is a member of a pg_ role that reaches files, programs or all data: revoke it`
      : undefined,
    hasAttribute === "t"
      ? `${who} has CREATEROLE, CREATEDB, REPLICATION or BYPASSRLS: remove it with ALTER ROLE`
      : undefined,
  ].filter((text) => text !== undefined);
}
