/**
 * The tables of the state, in SQL that PostgreSQL and SQLite both understand.
 *
 * `clock` has one row, which every change counts up first: so changes happen one after the other, each with a version of its
 * own, and whoever knows all up to a version can ask for what came after it. `ended` remembers for a while which records
 * are gone.
 */
export const tables = [
  "CREATE TABLE clock (version BIGINT NOT NULL)",
  "INSERT INTO clock (version) VALUES (1)",
  `CREATE TABLE records (
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
)`,
  "CREATE INDEX records_by_alias ON records (kind, alias)",
  "CREATE INDEX records_by_part ON records (part_of, kind)",
  "CREATE INDEX records_by_owner ON records (kind, owner)",
  "CREATE INDEX records_by_client ON records (client, kind)",
  "CREATE INDEX records_by_end ON records (expires_at)",
  "CREATE INDEX records_by_version ON records (version)",
  `CREATE TABLE ended (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  version BIGINT NOT NULL
)`,
  "CREATE INDEX ended_by_version ON ended (version)",
  `CREATE TABLE usage (
  caller TEXT NOT NULL,
  counted TEXT NOT NULL,
  start BIGINT NOT NULL,
  used BIGINT NOT NULL,
  version BIGINT NOT NULL,
  PRIMARY KEY (caller, counted)
)`,
  "CREATE INDEX usage_by_version ON usage (version)",
] as const;

/** Counts up with every change of the tables. */
export const layoutVersion = 1;

/** Fail where the tables are others. */
export const probes = [
  "SELECT kind, id, alias, part_of, owner, client, value, created_at, used_at, expires_at, version FROM records LIMIT 0",
  "SELECT kind, id, at, version FROM ended LIMIT 0",
  "SELECT caller, counted, start, used, version FROM usage LIMIT 0",
  "SELECT version FROM clock LIMIT 0",
] as const;
