import { basesSql } from "./vector_index.ts";

/** How much there is to search in a table, or in the tables below it where it is a view or has partitions. */
export interface TableVolume {
  /** A guess; 0 where nothing is known, as of a foreign table. */
  readonly rows: number;
  /** Without the indexes. */
  readonly bytes: number;
}

/**
 * Of a relation by its oid: rows, bytes, and whether a view or a row-level policy may hide some of the rows. Rows are what
 * the last ANALYZE counted, with as many more as the table has grown by since. Of a table that was never analysed they are
 * what the activity statistics count, or else a guess by its size.
 */
export const volumeSql = `${basesSql("$1")}
  SELECT coalesce(ceil(sum(CASE WHEN c.relpages > 0 AND c.reltuples >= 0
      THEN c.reltuples / c.relpages * pg_relation_size(c.oid) / current_setting('block_size')::int
      ELSE greatest(pg_stat_get_live_tuples(c.oid), pg_relation_size(c.oid) / 2048) END)), 0)::bigint,
    coalesce(sum(pg_table_size(c.oid)), 0),
    (SELECT bool_or(c.relkind = 'v' OR row_security_active(c.oid)) FROM bases JOIN pg_class c USING (oid))
  FROM bases JOIN pg_class c USING (oid) WHERE c.relkind IN ('r', 'm')`;
