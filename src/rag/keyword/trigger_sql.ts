import { quoteLiteral } from "../../postgres/quote_literal.ts";
import { type IndexObjects, type IndexSource, indexTable } from "./index_objects.ts";
import { documentSql, entrySql, impactOf, termOf } from "./term_sql.ts";

/** The configuration of a row of the source, as SQL for a qualified name; `row` is what its columns are qualified with. */
export function rowConfigSql(source: IndexSource, row: string): string {
  const fallback = `${quoteLiteral(source.config)}::text`;
  if (source.configColumn === undefined) return fallback;
  const name = `lower(${row}.${source.configColumn}::text)`;
  return `coalesce((SELECT format('%I.%I', n.nspname, c.cfgname)
    FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
    WHERE ${name} IN (c.cfgname, n.nspname || '.' || c.cfgname)
    ORDER BY n.nspname <> 'pg_catalog', n.nspname LIMIT 1), ${fallback})`;
}

/**
 * The function that keeps an index in step with its source, row by row, so that it holds for COPY, upserts and
 * partitions, those made later too. It runs as its owner, so that writers need no rights of their own, and writes rows
 * of its own documents only, so that writers never wait for each other. It fails where PostgreSQL itself does (a full
 * disk, a deadlock) and then the write fails with it, as with any index: a source and an index that disagree would be
 * worse. A column that was renamed or dropped fails nothing: the index is marked as broken and no longer kept.
 */
export function triggerFunctionSql(
  objects: IndexObjects,
  source: IndexSource,
  index: { readonly id: number; readonly baseLength: number },
): string {
  const { documents, lists, recent, triggerFunction } = objects;
  const { idColumn, textColumn, configColumn } = source;
  const columns = [idColumn, textColumn, ...(configColumn === undefined ? [] : [configColumn])];
  const entry = entrySql("e", "d.length", "d.doc", index.baseLength);
  // planned once a session, maybe while the tables are empty: only the plan by index is right for all sizes
  return `CREATE OR REPLACE FUNCTION ${triggerFunction}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
  AS $maintain$
DECLARE
  row_config text;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE ${documents}, ${lists}, ${recent};
    RETURN NULL;
  END IF;
  IF (SELECT count(*) FROM pg_attribute WHERE attrelid = TG_RELID AND NOT attisdropped
      AND attname IN (${columns.map(nameLiteral).join(", ")})
    ) < ${columns.length} THEN
    UPDATE ${indexTable} SET state = 'broken' WHERE id = ${index.id} AND state <> 'broken';
    RETURN NULL;
  END IF;
  IF TG_OP <> 'INSERT' THEN
    -- where ids change places, the id may by now be another row's
    WITH gone AS (
      DELETE FROM ${documents} d WHERE d.key = OLD.${idColumn} AND (TG_OP = 'DELETE'
        OR OLD.${idColumn} = NEW.${idColumn}
        OR NOT EXISTS (SELECT FROM ${source.table} s WHERE s.${idColumn} = OLD.${idColumn}))
      RETURNING d.doc, d.length, d.terms)
    DELETE FROM ${recent} r USING gone d CROSS JOIN LATERAL unnest(d.terms) e
    WHERE r.term = ${termOf("e")} AND r.entry = ${entry};
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.${idColumn} IS NOT NULL THEN
    row_config := ${rowConfigSql(source, "NEW")};
    ${configColumn === undefined ? "" : noteConfigSql(index.id)}
    WITH added AS (
      INSERT INTO ${documents} (key, length, terms)
      SELECT NEW.${idColumn}, a.length, a.terms FROM (${
    documentSql(`NEW.${textColumn}::text`, "row_config")
  }) a
      ON CONFLICT (key) DO UPDATE SET doc = DEFAULT, length = excluded.length, terms = excluded.terms
      RETURNING doc, length, terms)
    INSERT INTO ${recent} (term, entry)
    SELECT a.term, a.entry
    FROM (SELECT ${
    termOf("e")
  } AS term, ${entry} AS entry FROM added d CROSS JOIN LATERAL unnest(d.terms) e) a
    WHERE ${impactOf("a.entry")} >= coalesce((SELECT l.floor FROM ${lists} l WHERE l.term = a.term), 0)
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $maintain$`;
}

function noteConfigSql(id: number): string {
  return `IF NOT EXISTS (SELECT FROM ${indexTable} WHERE id = ${id} AND row_config = ANY (configs)) THEN
      UPDATE ${indexTable} SET configs = configs || row_config WHERE id = ${id} AND row_config <> ALL (configs);
    END IF;`;
}

/** The triggers, to be made in one transaction. */
export function triggerSql(objects: IndexObjects, source: IndexSource): string[] {
  const { table, idColumn, textColumn, configColumn } = source;
  const watched = [idColumn, textColumn, ...(configColumn === undefined ? [] : [configColumn])];
  const changed = watched.map((name) => `OLD.${name}::text IS DISTINCT FROM NEW.${name}::text`).join(" OR ");
  const run = `EXECUTE FUNCTION ${objects.triggerFunction}()`;
  return [
    `CREATE TRIGGER ${objects.trigger}_row AFTER INSERT OR DELETE ON ${table} FOR EACH ROW ${run}`,
    // not UPDATE OF: a BEFORE trigger may change a column that the statement does not name
    `CREATE TRIGGER ${objects.trigger}_update AFTER UPDATE ON ${table} FOR EACH ROW WHEN (${changed}) ${run}`,
    `CREATE TRIGGER ${objects.trigger}_truncate AFTER TRUNCATE ON ${table} FOR EACH STATEMENT ${run}`,
  ];
}

function nameLiteral(identifier: string): string {
  return quoteLiteral(identifier.slice(1, -1).replaceAll('""', '"'));
}
