import { nameOf, quoteLiteral } from "../../postgres/sql_text.ts";
import { type IndexObjects, type IndexRecord, indexTable } from "./index_record.ts";
import { type IndexSource, keyMatchesSql, rowConfigSql } from "./index_source.ts";
import { documentSql, entrySql, impactOf, termOf } from "./term_sql.ts";

/**
 * The function that keeps an index in step with its source, row by row, so that it holds for COPY, upserts and
 * partitions, those made later too. It runs as its owner, so that writers need no rights of their own, and writes rows
 * only of its own documents, so that writers never wait for each other. It fails where PostgreSQL itself does (a full
 * disk, a deadlock) and then the write fails with it, as with any index: a source and an index that disagree would be
 * worse. A column that was renamed or dropped, or an id of another type, fails nothing: the index is marked as broken
 * and no longer kept.
 */
export function triggerFunctionSql(
  { id, baseLength, grams, objects }: IndexRecord,
  source: IndexSource,
): string {
  const { documents, lists, recent, triggerFunction } = objects;
  const values = quoteLiteral(valuesSql(source));
  const term = termOf("e");
  const entry = entrySql("e", "d.length", "d.doc", baseLength);
  // planned once a session, maybe while the tables are empty: only the plan by index is right for all sizes
  return `CREATE OR REPLACE FUNCTION ${triggerFunction}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp
  SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
  AS $maintain$
DECLARE
  old_key ${documents}.key%TYPE;
  new_key ${documents}.key%TYPE;
  old_text text;
  new_text text;
  old_config text;
  new_config text;
  row_config text;
  is_taken bool := false;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE ${documents}, ${lists}, ${recent};
    RETURN NULL;
  END IF;
  IF NOT ${followsSql(objects, source)} THEN
    UPDATE ${indexTable} SET state = 'broken' WHERE id = ${id} AND state <> 'broken';
    RETURN NULL;
  END IF;
  -- by EXECUTE, since a session's plans know the columns' types as they were when it began
  IF TG_OP <> 'INSERT' THEN
    EXECUTE ${values} INTO old_key, old_text, old_config USING OLD;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    EXECUTE ${values} INTO new_key, new_text, new_config USING NEW;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF (old_key::text, old_text, old_config) IS NOT DISTINCT FROM (new_key::text, new_text, new_config) THEN
      RETURN NULL;
    END IF;
    -- where ids change places, the old one may by now be another row's
    IF old_key IS DISTINCT FROM new_key THEN
      EXECUTE (SELECT format('SELECT EXISTS (SELECT FROM %s WHERE %I = $1)', source, id_column)
        FROM ${indexTable} WHERE id = ${id}) INTO is_taken USING old_key;
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' AND NOT is_taken THEN
    WITH gone AS (DELETE FROM ${documents} d WHERE d.key = old_key RETURNING d.doc, d.length, d.terms)
    DELETE FROM ${recent} r USING gone d CROSS JOIN LATERAL unnest(d.terms) e
    WHERE r.term = ${term} AND r.entry = ${entry};
  END IF;
  IF TG_OP <> 'DELETE' AND new_key IS NOT NULL THEN
    row_config := ${rowConfigSql(source, "new_config")};
    ${source.configColumn === undefined ? "" : noteConfigSql(id)}
    -- the document's number is new, so its entries clash with none but each other
    WITH added AS (
      INSERT INTO ${documents} (key, length, terms)
      SELECT new_key, a.length, a.terms FROM (${documentSql("new_text", "row_config", grams)}) a
      ON CONFLICT (key) DO UPDATE SET doc = DEFAULT, length = excluded.length, terms = excluded.terms
      RETURNING doc, length, terms)
    INSERT INTO ${recent} (term, entry)
    SELECT DISTINCT a.term, a.entry
    FROM (SELECT ${term} AS term, ${entry} AS entry FROM added d CROSS JOIN LATERAL unnest(d.terms) e) a
    WHERE ${impactOf("a.entry")} >= coalesce((SELECT l.floor FROM ${lists} l WHERE l.term = a.term), 0);
  END IF;
  RETURN NULL;
END $maintain$`;
}

function noteConfigSql(id: number): string {
  return `IF NOT EXISTS (SELECT FROM ${indexTable} WHERE id = ${id} AND row_config = ANY (configs)) THEN
      UPDATE ${indexTable} SET configs = configs || row_config WHERE id = ${id} AND row_config <> ALL (configs);
    END IF;`;
}

/** Functions with a smaller one came with PostgreSQL. */
const firstOwnOid = 16_384;

/** A row's id, text and the name of its configuration. */
function valuesSql({ idColumn, textColumn, configColumn }: IndexSource): string {
  const config = configColumn === undefined ? "NULL::text" : `($1).${configColumn}::text`;
  return `SELECT ($1).${idColumn}, ($1).${textColumn}::text, ${config}`;
}

/**
 * Whether the table that was written to still has the columns that the index was made for, and reads them by no cast of
 * somebody's, whose function would run with the rights of this one's owner.
 */
function followsSql(
  { documents }: IndexObjects,
  { idColumn, textColumn, configColumn }: IndexSource,
): string {
  const texts = [textColumn, ...(configColumn === undefined ? [] : [configColumn])];
  const keyMatches = keyMatchesSql("TG_RELID", nameLiteral(idColumn), `'${documents}'::regclass`);
  return `(${keyMatches} AND (SELECT count(*) FROM pg_attribute WHERE attrelid = TG_RELID AND NOT attisdropped
      AND attname IN (${texts.map(nameLiteral).join(", ")})
      AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = atttypid AND casttarget = 'text'::regtype
        AND castfunc >= ${firstOwnOid})) = ${texts.length})`;
}

/**
 * The triggers, to be made in one transaction. They name no column, or the column could be neither dropped nor altered.
 */
export function triggerSql(objects: IndexObjects, { table }: IndexSource): string[] {
  const run = `EXECUTE FUNCTION ${objects.triggerFunction}()`;
  return [
    `CREATE TRIGGER ${objects.trigger}_row AFTER INSERT OR UPDATE OR DELETE ON ${table} FOR EACH ROW ${run}`,
    `CREATE TRIGGER ${objects.trigger}_truncate AFTER TRUNCATE ON ${table} FOR EACH STATEMENT ${run}`,
  ];
}

function nameLiteral(identifier: string): string {
  return quoteLiteral(nameOf(identifier));
}
