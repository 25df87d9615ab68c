import { randomBytes } from "node:crypto";
import { hiddenCallsFixture, hiddenCallsRows } from "./hidden_calls.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  type TestDatabase,
} from "../../../support/database.ts";

/** A database with everything that an attack needs, a role that may write, and a file that nobody may read. */
export interface HostileServer extends AsyncDisposable {
  readonly database: TestDatabase;
  /** Connects as a role that may write, read files and call what it likes, but is no superuser. */
  readonly writerUrl: string;
  /** What the file holds; in no answer may it appear. */
  readonly canary: string;
  /** Puts this server's own names into a statement. */
  fill(sql: string): string;
  /** Everything that an attack could have changed, as one text. */
  fingerprint(): Promise<string>;
  /** PostgreSQL's major version. */
  readonly version: number;
  /** How often `evil()` has written past a rolled back READ ONLY transaction, since the last time. */
  takeLoot(): Promise<number>;
}

export async function createHostileServer(): Promise<HostileServer> {
  const database = await createTestDatabase();
  try {
    return await fillServer(database);
  } catch (error) {
    await database[Symbol.asyncDispose]();
    throw error;
  }
}

async function fillServer(database: TestDatabase): Promise<HostileServer> {
  const id = randomBytes(6).toString("hex");
  const [role, canary, path] = [`postern_writer_${id}`, `canary-${id}-sings`, `/tmp/postern_${id}`];
  const { hostname, port, password } = new URL(requireTestDatabaseUrl());
  const dsn = `dbname=${database.name} host=${hostname} port=${port || "5432"} user=postgres` +
    (password === "" ? "" : ` password=${password}`);
  const fill = (sql: string) =>
    sql.replaceAll("@canary@", `${path}_canary`).replaceAll("@dir@", path).replaceAll("@dsn@", dsn)
      .replaceAll("@role@", role).replaceAll("@secret@", canary);
  await database.query(fill(fixtureSql));
  // it calls the function, whose own connection has to see the table that it writes to
  await database.query("INSERT INTO tainted_table VALUES (1)");
  await database.query(hiddenCallsFixture);
  await database.query(hiddenCallsRows);
  await database.query(fill(grantSql));
  await database.query("DELETE FROM loot");
  const writerUrl = new URL(database.url);
  writerUrl.username = role;
  writerUrl.password = "writer";
  return {
    database,
    writerUrl: writerUrl.href,
    canary,
    version: Math.floor(Number((await database.query("SHOW server_version_num"))[0]?.[0]) / 10_000),
    fill,
    fingerprint: async () => JSON.stringify(await database.query(fill(fingerprintSql))),
    takeLoot: async () => (await database.query("DELETE FROM loot RETURNING 1")).length,
    async [Symbol.asyncDispose]() {
      await database.query(
        fill("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; rm -f @dir@_*'; DROP OWNED BY @role@"),
      );
      await database[Symbol.asyncDispose]();
      await runSql(requireTestDatabaseUrl(), `DROP ROLE ${role}`);
    },
  };
}

const fixtureSql = `
CREATE ROLE @role@ LOGIN PASSWORD 'writer';
GRANT pg_read_server_files, pg_write_server_files, pg_execute_server_program, pg_signal_backend TO @role@;
GRANT ALL ON SCHEMA public TO @role@;
COPY (SELECT '@secret@') TO '@canary@';
CREATE EXTENSION dblink; CREATE EXTENSION file_fdw; CREATE EXTENSION tablefunc; CREATE EXTENSION xml2;
CREATE EXTENSION pageinspect; CREATE EXTENSION pg_prewarm; CREATE EXTENSION pg_trgm; CREATE EXTENSION postgres_fdw;
CREATE EXTENSION amcheck;
DO $$ BEGIN
  -- PostgreSQL 17 has it no more
  IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'adminpack') THEN CREATE EXTENSION adminpack; END IF;
END $$;
CREATE TABLE loot (a int);
CREATE TABLE orders (id bigserial PRIMARY KEY, customer text, total numeric);
INSERT INTO orders (customer, total) VALUES ('ann', 10), ('bob', 20), ('cleo', 30);
CREATE MATERIALIZED VIEW totals AS SELECT sum(total) FROM orders;
CREATE FUNCTION insert_order() RETURNS int LANGUAGE plpgsql AS $$
  BEGIN INSERT INTO orders (customer, total) VALUES ('x', 1); RETURN 1; END $$;
CREATE PROCEDURE wipe() LANGUAGE plpgsql AS $$ BEGIN DELETE FROM orders; COMMIT; END $$;
-- what neither READ ONLY nor ROLLBACK stops: a second connection, of the owner's
CREATE FUNCTION evil() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$
  BEGIN PERFORM dblink_exec('@dsn@', 'INSERT INTO loot VALUES (1)'); RETURN 1; END $$;
CREATE FUNCTION evil(x int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION evil(VARIADIC xs int[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION long_long_long_long_long_long_long_long_long_long_long_long_evi() RETURNS int LANGUAGE plpgsql AS $$
  BEGIN RETURN evil(); END $$;
CREATE FUNCTION touched(orders) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION evil_both(int, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE FUNCTION evil_one(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE OPERATOR |+| (LEFTARG = int, RIGHTARG = int, FUNCTION = evil_both);
CREATE OPERATOR |+| (RIGHTARG = int, FUNCTION = evil_one);
CREATE OPERATOR |<| (LEFTARG = int, RIGHTARG = int, FUNCTION = evil_both);
CREATE TYPE secret AS ENUM ('x', 'y', 'z');
CREATE TABLE secrets (s secret);
INSERT INTO secrets VALUES ('x');
CREATE FUNCTION evil_equal(secret, secret) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE OPERATOR = (LEFTARG = secret, RIGHTARG = secret, FUNCTION = evil_equal);
CREATE FUNCTION secret_to_int(secret) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE CAST (secret AS int) WITH FUNCTION secret_to_int(secret) AS IMPLICIT;
CREATE TYPE shadow AS ENUM ('x');
CREATE FUNCTION lower(shadow) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN evil()::text; END $$;
CREATE FUNCTION evil_check(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE DOMAIN tainted AS int CHECK (evil_check(VALUE));
CREATE TYPE tainted_row AS (a tainted);
CREATE TABLE tainted_table (a tainted);
CREATE FUNCTION takes_tainted(tainted) RETURNS int LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN 1; END $$;
CREATE FUNCTION evil_step(int, int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE AGGREGATE evil_sum(int) (SFUNC = evil_step, STYPE = int, INITCOND = 0);
CREATE FUNCTION with_default(x int DEFAULT evil()) RETURNS int LANGUAGE sql STABLE AS 'SELECT x';
CREATE VIEW evil_view AS SELECT evil() AS x;
CREATE VIEW evil_view_of_view AS SELECT v.x, o.id FROM orders o CROSS JOIN (SELECT x FROM evil_view) v;
CREATE VIEW evil_cast_view AS SELECT s::int AS x FROM secrets;
CREATE VIEW evil_operator_view AS SELECT 1 |+| 2 AS x;
CREATE VIEW evil_domain_view AS SELECT id::int::tainted AS x FROM orders;
CREATE VIEW evil_record_view AS SELECT a::int AS x FROM json_to_record('{"a": 5}') AS r (a tainted);
CREATE VIEW evil_filled_view AS SELECT jsonb_populate_record(NULL::tainted_row, '{"a": 5}') AS x;
CREATE VIEW file_view AS SELECT pg_read_file('@canary@') AS x;
CREATE VIEW text_view AS SELECT table_to_xml('orders', true, false, '') AS x;
CREATE VIEW next_order AS SELECT nextval('orders_id_seq') AS x;
CREATE TABLE guarded (a int);
INSERT INTO guarded VALUES (1);
ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;
CREATE POLICY evil_policy ON guarded USING (evil() = 1);
CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;
CREATE FOREIGN TABLE canary_file (line text) SERVER files OPTIONS (filename '@canary@');
CREATE FOREIGN TABLE canary_program (line text) SERVER files OPTIONS (program 'cat @canary@; touch @dir@_program');
CREATE TABLE mixed (line text) PARTITION BY LIST (line);
CREATE FOREIGN TABLE mixed_file PARTITION OF mixed DEFAULT SERVER files OPTIONS (filename '@canary@');
CREATE VIEW canary_view AS SELECT upper(line) AS line FROM canary_file;
`;

const grantSql = `
GRANT ALL ON ALL TABLES IN SCHEMA public TO @role@;
GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO @role@;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO @role@;
`;

const fingerprintSql = `
SELECT (SELECT json_agg(o ORDER BY o.id) FROM orders o), (SELECT count(*) FROM loot),
  (SELECT last_value || ' ' || is_called FROM orders_id_seq),
  (SELECT json_agg(c.relname ORDER BY c.relname) FROM pg_class c WHERE relnamespace = 'public'::regnamespace),
  (SELECT json_agg(p.proname || p.provolatile::text ORDER BY p.oid) FROM pg_proc p WHERE pronamespace = 'public'::regnamespace),
  (SELECT count(*) FROM pg_namespace), (SELECT count(*) FROM pg_extension), (SELECT count(*) FROM pg_description),
  (SELECT count(*) FROM pg_largeobject_metadata),
  (SELECT count(*) FROM pg_db_role_setting WHERE setrole IN (0, '@role@'::regrole, 'postgres'::regrole)
    AND setdatabase IN (SELECT 0 UNION ALL SELECT oid FROM pg_database WHERE datname IN (current_database(), 'postgres'))),
  (SELECT json_agg(r) FROM pg_authid r WHERE rolname IN ('@role@', 'loot2')),
  (SELECT count(*) FROM pg_auth_members WHERE member = '@role@'::regrole),
  (SELECT count(*) FROM pg_database WHERE datname IN ('loot2')),
  (SELECT count(*) FROM pg_replication_slots WHERE slot_name = 'postern'),
  (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()),
  (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
  (SELECT json_agg(f ORDER BY f) FROM pg_ls_dir('/tmp') f WHERE '/tmp/' || f LIKE '@dir@%'),
  (SELECT md5(pg_read_file('@canary@'))), (SELECT md5(pg_read_file('postgresql.auto.conf'))),
  (SELECT stats_reset FROM pg_stat_database WHERE datname = current_database()),
  (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name <> 'postern'
    AND pid <> pg_backend_pid() AND backend_type = 'client backend')`;
