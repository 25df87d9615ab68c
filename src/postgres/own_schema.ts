/**
 * Makes the schema `postern`, unless another role may have put something into it: functions that run as their owner must
 * write to nobody else's tables, whose triggers would run with that owner's rights. A superuser's are nobody else's.
 */
export const ownSchemaSql = [
  `DO $own$
DECLARE other text := (
  SELECT r.rolname FROM (
    SELECT nspowner AS owner FROM pg_namespace WHERE nspname = 'postern'
    UNION SELECT relowner FROM pg_class WHERE relnamespace = to_regnamespace('postern')
  ) o JOIN pg_roles r ON r.oid = o.owner WHERE NOT r.rolsuper AND r.rolname <> current_user LIMIT 1);
BEGIN
  IF other IS NOT NULL THEN
    RAISE EXCEPTION 'role % owns the schema postern, or a part of it: run this as that role', other;
  END IF;
END $own$`,
  "CREATE SCHEMA IF NOT EXISTS postern",
];

/** Where servers that share their state keep sessions, grants and keys: no caller's statement reads it. */
export const stateSchema = "postern_state";
