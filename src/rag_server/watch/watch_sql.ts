import { ownSchemaSql } from "../../postgres/own_schema.ts";
import { quoteIdentifier, quoteLiteral } from "../../postgres/sql_text.ts";
import { embeddedColumns, type WatchedColumn } from "./embedded_columns.ts";

/** The rows that wait for their vectors, by the column's name and the row's id. A row is there once, however often it changes. */
export const queueTable = "postern.embedding_queue";
/** What of them anyone may know who reads the tables: how many and since when, not which. */
export const stateView = "postern.embedding_state";
/** Of the notices for a worker that has nothing to do. */
export const channel = "postern_embedding";

/** What makes the queue of a column. */
export interface WatchSql {
  /** May be run again, each outside of a transaction. */
  readonly before: readonly string[];
  /** The triggers, for one transaction, which waits for writers to the table. */
  readonly locking: readonly string[];
  /** After those: what has no vector yet, and who may read what. */
  readonly after: readonly string[];
}

/**
 * Triggers that put what changes in a table into the queue, row by row, so that they hold for COPY, upserts and partitions.
 * They run as their owner, so that writers need no rights of their own, and read nothing but the row.
 *
 * `not_before` is when a worker may take a row: a claim moves it ahead for as long as the worker has it.
 */
export function watchSql(
  { name, relation, textColumn, vectorColumn, key, model, kind, isRequired }: WatchedColumn,
  { reader, worker }: { readonly reader: string; readonly worker?: string | undefined },
): WatchSql {
  const [ofName, vector] = [quoteLiteral(name), quoteIdentifier(vectorColumn)];
  const run = `EXECUTE FUNCTION ${functionOf(name)}()`;
  // of a row that moves to another partition PostgreSQL says that it is deleted there and inserted here, with its old vector
  const isNew = kind === "p" ? "" : ` AND NEW.${vector} IS NULL`;
  // a collation may take different texts for equal
  const text = (row: string) => `${row}.${textColumn}::text COLLATE "C"`;
  const triggers: Readonly<Record<string, string>> = {
    insert: `AFTER INSERT ON ${relation} FOR EACH ROW WHEN (NEW.${textColumn} IS NOT NULL${isNew}) ${run}`,
    update: `AFTER UPDATE ON ${relation} FOR EACH ROW
  WHEN (${text("OLD")} IS DISTINCT FROM ${
      text("NEW")
    } OR OLD.${key.column} IS DISTINCT FROM NEW.${key.column}) ${run}`,
    delete: `AFTER DELETE ON ${relation} FOR EACH ROW ${run}`,
    truncate: `AFTER TRUNCATE ON ${relation} FOR EACH STATEMENT ${run}`,
  };
  return {
    before: [
      // the function runs as its owner, and casts the table's id
      `DO $owner$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = ${quoteLiteral(relation)}::regclass
    AND pg_get_userbyid(relowner) = current_user) THEN
    RAISE EXCEPTION 'run this as the owner of %', ${quoteLiteral(relation)};
  END IF;
END $owner$`,
      ...tablesSql,
    ],
    locking: [
      // of a table that was dropped and made again
      `INSERT INTO ${embeddedColumns} AS c (name, target, vector_column, model)
  VALUES (${ofName}, ${quoteLiteral(relation)}::regclass, ${quoteLiteral(vectorColumn)}, ${
        quoteLiteral(model)
      })
  ON CONFLICT (name) DO UPDATE SET target = excluded.target, model = excluded.model, is_current = false
  WHERE c.target <> excluded.target`,
      ...(isRequired ? [`ALTER TABLE ${relation} ALTER COLUMN ${vector} DROP NOT NULL`] : []),
      functionSql(name, key),
      `REVOKE ALL ON FUNCTION ${functionOf(name)}() FROM PUBLIC`,
      ...Object.entries(triggers).flatMap(([event, sql]) => {
        const trigger = `postern_embed_${name}_${event}`;
        return [`DROP TRIGGER IF EXISTS ${trigger} ON ${relation}`, `CREATE TRIGGER ${trigger} ${sql}`];
      }),
    ],
    after: [
      "BEGIN",
      ...["row_security = off", ...idSettings].map((setting) => `SET LOCAL ${setting}`),
      `INSERT INTO ${queueTable} (name, key) SELECT ${ofName}, t.${key.column}::text FROM ${relation} t
  WHERE t.${vector} IS NULL AND t.${textColumn} IS NOT NULL AND t.${key.column} IS NOT NULL ON CONFLICT DO NOTHING`,
      "COMMIT",
      ...[reader, ...(worker === undefined ? [] : [worker])].map(quoteIdentifier).flatMap((role) => [
        `GRANT USAGE ON SCHEMA postern TO ${role}`,
        `GRANT SELECT ON ${embeddedColumns}, ${stateView} TO ${role}`,
      ]),
      ...(worker === undefined ? [] : [
        `GRANT SELECT, UPDATE, DELETE ON ${queueTable} TO ${quoteIdentifier(worker)}`,
        `GRANT SELECT, UPDATE (${vector}) ON ${relation} TO ${quoteIdentifier(worker)}`,
      ]),
    ],
  };
}

/** What takes it all away again, but for the tables that other columns may use. */
export function unwatchSql({ name }: Pick<WatchedColumn, "name">): string[] {
  return [
    `DROP FUNCTION ${functionOf(name)}() CASCADE`,
    `DELETE FROM ${queueTable} WHERE name = ${quoteLiteral(name)}`,
    `DELETE FROM ${embeddedColumns} WHERE name = ${quoteLiteral(name)}`,
  ];
}

const functionOf = (name: string) => `postern.embed_${name}`;

/** What an id's text depends on besides the id: it must be the same whoever writes the row, or prints the queue. */
const idSettings =
  "bytea_output = hex, datestyle = ISO, extra_float_digits = 1, intervalstyle = iso_8601, lc_monetary = 'C', timezone = UTC"
    .split(", ");

/** A failed write would be worse than a vector that is late, so it waits for nobody but writers of the same row. */
function functionSql(name: string, key: WatchedColumn["key"]): string {
  const ofName = quoteLiteral(name);
  const isPlain = /^(smallint|integer|bigint|numeric|uuid|text|character)\b/.test(key.type);
  const settings = isPlain ? "" : idSettings.map((setting) => ` SET ${setting}`).join("");
  return `CREATE OR REPLACE FUNCTION ${functionOf(name)}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp${settings} AS $postern$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM ${queueTable} WHERE name = ${ofName};
    RETURN NULL;
  END IF;
  -- another row may have the id: whether none has is for a worker to find out
  IF TG_OP <> 'INSERT' AND OLD.${key.column} IS DISTINCT FROM NEW.${key.column} THEN
    UPDATE ${queueTable} SET reason = NULL, attempts = 0, since = clock_timestamp(), not_before = clock_timestamp()
      WHERE name = ${ofName} AND key = OLD.${key.column}::text AND reason IS NOT NULL;
  END IF;
  IF NEW.${key.column} IS NOT NULL THEN
    -- commits that notify wait for each other, so only the first tells a worker that has nothing to do
    IF NOT EXISTS (SELECT FROM ${queueTable} WHERE name = ${ofName} AND reason IS NULL) THEN
      PERFORM pg_notify('${channel}', ${ofName});
    END IF;
    INSERT INTO ${queueTable} AS q (name, key) VALUES (${ofName}, NEW.${key.column}::text)
    ON CONFLICT (name, key) DO UPDATE SET change = DEFAULT, attempts = 0, reason = NULL,
      since = CASE WHEN q.reason IS NULL THEN q.since ELSE excluded.since END,
      not_before = CASE WHEN q.reason IS NULL THEN q.not_before ELSE excluded.not_before END;
  END IF;
  RETURN NULL;
END $postern$`;
}

const tablesSql = [
  ...ownSchemaSql,
  `CREATE TABLE IF NOT EXISTS ${embeddedColumns} (
  name text PRIMARY KEY,
  target regclass NOT NULL,
  vector_column text NOT NULL,
  model text NOT NULL,
  is_current boolean NOT NULL DEFAULT false,
  format int NOT NULL DEFAULT 1,
  UNIQUE (target, vector_column))`,
  `CREATE TABLE IF NOT EXISTS ${queueTable} (
  name text NOT NULL,
  key text NOT NULL,
  change bigint GENERATED ALWAYS AS IDENTITY,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  not_before timestamptz NOT NULL DEFAULT clock_timestamp(),
  attempts int NOT NULL DEFAULT 0,
  reason text,
  PRIMARY KEY (name, key))`,
  `CREATE INDEX IF NOT EXISTS embedding_queue_next ON ${queueTable} (name, not_before) WHERE reason IS NULL`,
  `CREATE OR REPLACE VIEW ${stateView} AS
  SELECT c.name, c.target, c.vector_column, q.waiting, q.oldest, q.set_aside
  FROM ${embeddedColumns} c CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE reason IS NULL) AS waiting, min(since) FILTER (WHERE reason IS NULL) AS oldest,
      count(reason) AS set_aside
    FROM ${queueTable} WHERE name = c.name) q`,
];
