-- Postern prints this and runs none of it. Read it, then run it with psql in the database that keeps the state,
-- as a role that may make schemas and roles. It may be run again. Give a new role a password with \password.
-- What PUBLIC may do holds for this role too.
DO $setup$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'postern_state') THEN
    CREATE ROLE "postern_state" LOGIN;
  END IF;
END $setup$;
BEGIN;
CREATE SCHEMA IF NOT EXISTS postern_state;
REVOKE ALL ON SCHEMA postern_state FROM PUBLIC;
SET LOCAL search_path = postern_state;
CREATE TABLE IF NOT EXISTS layout (version INT NOT NULL PRIMARY KEY, usable_from INT NOT NULL);
DO $setup$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('postern_state'));
  IF NOT EXISTS (SELECT FROM layout WHERE version >= 1) THEN
    CREATE TABLE clock (version BIGINT NOT NULL);
    INSERT INTO clock (version) VALUES (1);
    CREATE TABLE records (
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      alias TEXT,
      part_of TEXT,
      owner TEXT,
      client TEXT,
      value TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      used_at BIGINT,
      expires_at BIGINT NOT NULL,
      version BIGINT NOT NULL,
      PRIMARY KEY (kind, id)
    );
    CREATE INDEX records_by_alias ON records (kind, alias);
    CREATE INDEX records_by_part ON records (part_of, kind);
    CREATE INDEX records_by_owner ON records (kind, owner);
    CREATE INDEX records_by_client ON records (client, kind);
    CREATE INDEX records_by_end ON records (expires_at);
    CREATE INDEX records_by_version ON records (version);
    CREATE TABLE ended (
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      at BIGINT NOT NULL,
      version BIGINT NOT NULL
    );
    CREATE INDEX ended_by_version ON ended (version);
    CREATE TABLE usage (
      caller TEXT NOT NULL,
      counted TEXT NOT NULL,
      start BIGINT NOT NULL,
      used BIGINT NOT NULL,
      version BIGINT NOT NULL,
      PRIMARY KEY (caller, counted)
    );
    CREATE INDEX usage_by_version ON usage (version);
    INSERT INTO layout (version, usable_from) VALUES (1, 1);
  END IF;
END $setup$;
GRANT USAGE ON SCHEMA postern_state TO "postern_state";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA postern_state TO "postern_state";
REVOKE INSERT, UPDATE, DELETE ON layout FROM "postern_state";
COMMIT;

