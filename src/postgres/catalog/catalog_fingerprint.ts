import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import type { Database } from "../database.ts";

const timeoutMs = 15_000;

/**
 * A text that differs whenever what a catalog is made of, or what the caller's role may see of it, has changed: tables,
 * views, columns, comments, types, enumerations, constraints, indexes, owners, grants, row-level security and the
 * role's memberships. Statistics are not part of it.
 *
 * @throws {AppError} `unavailable`, `timeout` or `upstream` where it cannot be read
 */
export async function readFingerprint(
  database: Database,
  request: { principal: Principal; signal: AbortSignal },
): Promise<string> {
  const result = await database.read({
    ...request,
    sql: `select ${fingerprintSql}`,
    trusted: true,
    timeoutMs,
  });
  if (result.ok) return result.rows[0]?.[0] ?? "";
  const { kind, message } = result.error;
  const reason = `Cannot check the catalog of database "${database.name}" for changes: ${message}`;
  throw new AppError(kind === "timeout" ? "timeout" : "upstream", reason);
}

// What changes all the time without meaning anything stays out: temporary tables and their types, statistics, the
// storage of a table. TRUNCATE, REFRESH MATERIALIZED VIEW and VACUUM FULL give a table new storage, and write a new version
// of its row in pg_class. So pg_class goes in by its columns, and not by xmin. So do pg_attribute and pg_namespace: their
// columns tell a change even after a failover that lost transactions, where numbers of transactions are used again. Of the
// other tables, whose contents are long, xmin tells a row's version: freezing keeps it. Every row is counted, since a
// maximum of xmin would not see a transaction that began first and committed last.
// Rights are the roles that the current one has the privileges of, and not pg_auth_members: roles of others come and
// go. A superuser needs none.
const rows = (columns: string, from: string) =>
  `(select pg_catalog.sum(pg_catalog.hash_record_extended(row(${columns}), 0)) from pg_catalog.${from})`;

const relations = `(select oid from fingerprint_relations)`;

/** A scalar expression of SQL. */
export const fingerprintSql = `(
with fingerprint_relations as materialized (
  select oid from pg_catalog.pg_class
  where relkind in ('r', 'v', 'm', 'f', 'p', 'c') and relpersistence <> 't' and oid >= 16384
)
select pg_catalog.concat_ws('.',
  (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()),
  ${rows("oid, nspname, nspowner, nspacl", "pg_namespace where nspname !~ '^pg_'")},
  ${
  rows(
    "oid, relname, relnamespace, relkind, relowner, relacl, reloptions, relispartition, relrowsecurity, " +
      "relforcerowsecurity",
    "pg_class where relkind in ('r', 'v', 'm', 'f', 'p', 'c', 'i', 'I', 'S') and relpersistence <> 't' " +
      "and oid >= 16384",
  )
},
  ${
  rows(
    "attrelid, attnum, attname, atttypid, atttypmod, attnotnull, atthasdef, attidentity, attgenerated, " +
      "attisdropped, attacl",
    `pg_attribute where attnum > 0 and attrelid in ${relations}`,
  )
},
  ${rows("oid, xmin", `pg_attrdef where adrelid in ${relations}`)},
  ${rows("oid, xmin", `pg_constraint where contypid <> 0 or conrelid in ${relations}`)},
  ${rows("indexrelid, indisunique, indisprimary, indisvalid", `pg_index where indrelid in ${relations}`)},
  ${
  rows(
    "objoid, objsubid, xmin",
    `pg_description where classoid = 'pg_catalog.pg_class'::pg_catalog.regclass and objoid in ${relations}`,
  )
},
  ${rows("oid, xmin", "pg_type where typtype <> 'c' and typcategory <> 'A' and oid >= 16384")},
  ${rows("oid, xmin", "pg_enum")},
  (select pg_catalog.sum(pg_catalog.hash_record_extended(row(r.oid, r.rolsuper, r.rolbypassrls), 0))
    from pg_catalog.pg_roles r where r.rolname = current_user),
  (select pg_catalog.sum(pg_catalog.hash_record_extended(row(r.oid), 0)) from pg_catalog.pg_roles r
    where not (select s.rolsuper from pg_catalog.pg_roles s where s.rolname = current_user)
      and pg_catalog.pg_has_role(r.oid, 'USAGE'))
))`;
