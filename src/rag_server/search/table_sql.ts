/** Of a relation by its name as SQL: oid, qualified name, kind. */
export const relationSql = `
  SELECT c.oid, format('%I.%I', n.nspname, c.relname), c.relkind
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')`;

/**
 * Of a relation's columns: name, quoted name, modifier, and of its type, domains taken off: catalog name, SQL, name
 * with schema, category, labels; then the same of an array's element without its labels.
 */
export const columnSql = `
  SELECT a.attname, quote_ident(a.attname), a.atttypmod,
    CASE WHEN t.typnamespace = 'pg_catalog'::regnamespace THEN t.typname END, format_type(t.oid, -1),
    format('%I.%I', n.nspname, t.typname), t.typname, t.typcategory,
    CASE WHEN t.typtype = 'e' THEN (SELECT json_agg(e.enumlabel) FROM pg_enum e WHERE e.enumtypid = t.oid) END,
    CASE WHEN s.typnamespace = 'pg_catalog'::regnamespace THEN s.typname END, format_type(s.oid, -1), s.typcategory,
    CASE WHEN s.typtype = 'e' THEN (SELECT json_agg(e.enumlabel) FROM pg_enum e WHERE e.enumtypid = s.oid) END
  FROM pg_attribute a
  CROSS JOIN LATERAL (
    WITH RECURSIVE chain(oid, base) AS (
      SELECT oid, typbasetype FROM pg_type WHERE oid = a.atttypid
      UNION ALL SELECT d.oid, d.typbasetype FROM chain JOIN pg_type d ON d.oid = chain.base
    ) SELECT oid FROM chain WHERE base = 0
  ) b
  JOIN pg_type t ON t.oid = b.oid JOIN pg_namespace n ON n.oid = t.typnamespace
  LEFT JOIN pg_type s ON s.oid = t.typelem AND t.typcategory = 'A'
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY a.attnum`;

/** The column of a primary key that has one only. */
export const primaryKeySql = `
  SELECT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = $1::oid AND i.indisprimary AND i.indnkeyatts = 1`;

/** Of pgvector: its version and its schema. */
export const extensionSql = `
  SELECT e.extversion, quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
  WHERE e.extname = 'vector'`;

/** The relation itself, and the tables below it where it is a view or has partitions. */
const basesSql = (relation: string) => `
  WITH RECURSIVE bases(oid) AS (
    SELECT ${relation}::oid
    UNION
    SELECT below.oid FROM bases CROSS JOIN LATERAL (
      SELECT d.refobjid AS oid FROM pg_rewrite w JOIN pg_class v ON v.oid = w.ev_class AND v.relkind = 'v'
      JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
      WHERE w.ev_class = bases.oid
      UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = bases.oid
    ) below
  )`;

/**
 * Of the vector indexes on a relation or below it, the most useful first: qualified name, access method, operator class,
 * key as SQL, whether the key is a bare column, options, condition. In a view the column may have another name than in
 * its table.
 */
export const vectorIndexSql = `${basesSql("$1")}
  SELECT format('%I.%I', n.nspname, x.relname), m.amname, o.opcname, pg_get_indexdef(i.indexrelid, 1, false),
    i.indkey[0] <> 0, array_to_string(x.reloptions, ','), pg_get_expr(i.indpred, i.indrelid)
  FROM bases JOIN pg_index i ON i.indrelid = bases.oid
  JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = x.relnamespace
  JOIN pg_am m ON m.oid = x.relam JOIN pg_opclass o ON o.oid = i.indclass[0]
  WHERE i.indisvalid AND o.opcname ~ '^(vector|halfvec|sparsevec)_(cosine|l2|ip|l1)_ops$'
  ORDER BY i.indpred IS NOT NULL, i.indkey[0] = 0, o.opcname !~ '_cosine_', m.amname = 'ivfflat',
    x.relispartition, i.indexrelid`;

/**
 * How much there is to read of a relation, by its qualified name: rows, as the planner guesses them (of a table that has
 * not been analysed, by its size), and bytes without the indexes.
 */
export const volumeSql = `${basesSql("$1::regclass")}
  SELECT coalesce(ceil(sum(CASE WHEN c.relpages > 0 AND c.reltuples >= 0
      THEN c.reltuples / c.relpages * pg_relation_size(c.oid) / current_setting('block_size')::int
      ELSE pg_relation_size(c.oid) / 2048 END)), 0)::bigint, coalesce(sum(pg_table_size(c.oid)), 0)
  FROM bases JOIN pg_class c ON c.oid = bases.oid WHERE c.relkind IN ('r', 'm')`;
