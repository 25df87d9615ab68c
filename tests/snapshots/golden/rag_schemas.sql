SCHEMA postern ACL {postgres=UC/postgres}
r p postern.ingested_chunks (file bigint NOT NULL, "position" integer NOT NULL, key text NOT NULL, hash text NOT NULL)
r p postern.ingested_files (id bigint NOT NULL IDENTITY a, target regclass NOT NULL, source_id bigint NOT NULL, path text NOT NULL, hash text NOT NULL, ingested_at timestamp with time zone NOT NULL)
r p postern.ingested_sources (id bigint NOT NULL IDENTITY a, target regclass NOT NULL, name text NOT NULL, folder text NOT NULL, is_whole boolean NOT NULL)
r p postern.keyword_1_documents (key bigint NOT NULL, doc bigint NOT NULL IDENTITY a, length integer NOT NULL, terms bigint[] NOT NULL STORAGE e) ACL {postgres=arwdDxt/postgres}
r p postern.keyword_1_lists (term bigint NOT NULL, df bigint NOT NULL, floor smallint NOT NULL, entries bigint[] NOT NULL STORAGE e) ACL {postgres=arwdDxt/postgres}
r p postern.keyword_1_recent (term bigint NOT NULL, entry bigint NOT NULL) ACL {postgres=arwdDxt/postgres}
r p postern.keyword_2_documents (key text NOT NULL, doc bigint NOT NULL IDENTITY a, length integer NOT NULL, terms bigint[] NOT NULL STORAGE e) ACL {postgres=arwdDxt/postgres}
r p postern.keyword_2_lists (term bigint NOT NULL, df bigint NOT NULL, floor smallint NOT NULL, entries bigint[] NOT NULL STORAGE e) ACL {postgres=arwdDxt/postgres}
r p postern.keyword_2_recent (term bigint NOT NULL, entry bigint NOT NULL) ACL {postgres=arwdDxt/postgres}
r p postern.keyword_indexes (id integer NOT NULL IDENTITY a, format integer NOT NULL, source regclass NOT NULL, text_column text NOT NULL, id_column text NOT NULL, config text NOT NULL, config_column text, configs text[] NOT NULL, base_length double precision NOT NULL DEFAULT 0, state text NOT NULL DEFAULT 'new'::text, cursor text, documents bigint NOT NULL DEFAULT 0, average_length double precision NOT NULL DEFAULT 1, refreshed_at timestamp with time zone) ACL {postgres=arwdDxt/postgres}
r p public.chunks (id bigint NOT NULL IDENTITY a, source text NOT NULL, title text NOT NULL, "position" integer NOT NULL, content text NOT NULL, embedding vector(8) NOT NULL)
r p public.rules (code text NOT NULL, body text, language text, embedding vector) ACL {postgres=arwdDxt/postgres,=r/postgres}
CONSTRAINT chunks chunks_pkey PRIMARY KEY (id)
CONSTRAINT postern.ingested_chunks ingested_chunks_file_fkey FOREIGN KEY (file) REFERENCES postern.ingested_files(id) ON DELETE CASCADE
CONSTRAINT postern.ingested_chunks ingested_chunks_pkey PRIMARY KEY (file, "position")
CONSTRAINT postern.ingested_files ingested_files_pkey PRIMARY KEY (id)
CONSTRAINT postern.ingested_files ingested_files_source_id_fkey FOREIGN KEY (source_id) REFERENCES postern.ingested_sources(id) ON DELETE CASCADE
CONSTRAINT postern.ingested_files ingested_files_source_id_path_key UNIQUE (source_id, path)
CONSTRAINT postern.ingested_sources ingested_sources_pkey PRIMARY KEY (id)
CONSTRAINT postern.ingested_sources ingested_sources_target_name_key UNIQUE (target, name)
CONSTRAINT postern.keyword_1_documents keyword_1_documents_key_key UNIQUE (key)
CONSTRAINT postern.keyword_1_documents keyword_1_documents_pkey PRIMARY KEY (doc)
CONSTRAINT postern.keyword_1_lists keyword_1_lists_pkey PRIMARY KEY (term)
CONSTRAINT postern.keyword_1_recent keyword_1_recent_pkey PRIMARY KEY (term, entry)
CONSTRAINT postern.keyword_2_documents keyword_2_documents_key_key UNIQUE (key)
CONSTRAINT postern.keyword_2_documents keyword_2_documents_pkey PRIMARY KEY (doc)
CONSTRAINT postern.keyword_2_lists keyword_2_lists_pkey PRIMARY KEY (term)
CONSTRAINT postern.keyword_2_recent keyword_2_recent_pkey PRIMARY KEY (term, entry)
CONSTRAINT postern.keyword_indexes keyword_indexes_pkey PRIMARY KEY (id)
CONSTRAINT postern.keyword_indexes keyword_indexes_source_text_column_key UNIQUE (source, text_column)
CONSTRAINT rules rules_pkey PRIMARY KEY (code)
CREATE INDEX chunks_embedding_idx ON public.chunks USING hnsw (embedding vector_cosine_ops)
CREATE INDEX rules_embedding_idx ON public.rules USING hnsw (((embedding)::vector(8)) vector_cosine_ops) WHERE (vector_dims(embedding) = 8)
CREATE UNIQUE INDEX chunks_pkey ON public.chunks USING btree (id)
CREATE UNIQUE INDEX ingested_chunks_pkey ON postern.ingested_chunks USING btree (file, "position")
CREATE UNIQUE INDEX ingested_files_pkey ON postern.ingested_files USING btree (id)
CREATE UNIQUE INDEX ingested_files_source_id_path_key ON postern.ingested_files USING btree (source_id, path)
CREATE UNIQUE INDEX ingested_sources_pkey ON postern.ingested_sources USING btree (id)
CREATE UNIQUE INDEX ingested_sources_target_name_key ON postern.ingested_sources USING btree (target, name)
CREATE UNIQUE INDEX keyword_1_documents_key_key ON postern.keyword_1_documents USING btree (key)
CREATE UNIQUE INDEX keyword_1_documents_pkey ON postern.keyword_1_documents USING btree (doc)
CREATE UNIQUE INDEX keyword_1_lists_pkey ON postern.keyword_1_lists USING btree (term)
CREATE UNIQUE INDEX keyword_1_recent_pkey ON postern.keyword_1_recent USING btree (term, entry)
CREATE UNIQUE INDEX keyword_2_documents_key_key ON postern.keyword_2_documents USING btree (key)
CREATE UNIQUE INDEX keyword_2_documents_pkey ON postern.keyword_2_documents USING btree (doc)
CREATE UNIQUE INDEX keyword_2_lists_pkey ON postern.keyword_2_lists USING btree (term)
CREATE UNIQUE INDEX keyword_2_recent_pkey ON postern.keyword_2_recent USING btree (term, entry)
CREATE UNIQUE INDEX keyword_indexes_pkey ON postern.keyword_indexes USING btree (id)
CREATE UNIQUE INDEX keyword_indexes_source_text_column_key ON postern.keyword_indexes USING btree (source, text_column)
CREATE UNIQUE INDEX rules_pkey ON public.rules USING btree (code)
CREATE OR REPLACE FUNCTION postern.keyword_1_maintain()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
DECLARE
  old_key postern.keyword_1_documents.key%TYPE;
  new_key postern.keyword_1_documents.key%TYPE;
  old_text text;
  new_text text;
  old_config text;
  new_config text;
  row_config text;
  is_taken bool := false;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE postern.keyword_1_documents, postern.keyword_1_lists, postern.keyword_1_recent;
    RETURN NULL;
  END IF;
  IF NOT (EXISTS (SELECT FROM pg_attribute s JOIN pg_attribute k USING (atttypid, atttypmod, attcollation)
    WHERE s.attrelid = TG_RELID AND s.attname = 'id' AND NOT s.attisdropped
      AND k.attrelid = 'postern.keyword_1_documents'::regclass AND k.attname = 'key') AND (SELECT count(*) FROM pg_attribute WHERE attrelid = TG_RELID AND NOT attisdropped
      AND attname IN ('content')) = 1) THEN
    UPDATE postern.keyword_indexes SET state = 'broken' WHERE id = 1 AND state <> 'broken';
    RETURN NULL;
  END IF;
  -- by EXECUTE, since a session's plans know the columns' types as they were when it began
  IF TG_OP <> 'INSERT' THEN
    EXECUTE 'SELECT ($1)."id", ($1)."content"::text, NULL::text' INTO old_key, old_text, old_config USING OLD;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    EXECUTE 'SELECT ($1)."id", ($1)."content"::text, NULL::text' INTO new_key, new_text, new_config USING NEW;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF (old_key::text, old_text, old_config) IS NOT DISTINCT FROM (new_key::text, new_text, new_config) THEN
      RETURN NULL;
    END IF;
    -- where ids change places, the old one may by now be another row's
    IF old_key IS DISTINCT FROM new_key THEN
      EXECUTE (SELECT format('SELECT EXISTS (SELECT FROM %s WHERE %I = $1)', source, id_column)
        FROM postern.keyword_indexes WHERE id = 1) INTO is_taken USING old_key;
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' AND NOT is_taken THEN
    WITH gone AS (DELETE FROM postern.keyword_1_documents d WHERE d.key = old_key RETURNING d.doc, d.length, d.terms)
    DELETE FROM postern.keyword_1_recent r USING gone d CROSS JOIN LATERAL unnest(d.terms) e
    WHERE r.term = (e & -65536) AND r.entry = ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 1.2 * (0.6 + 0.4 * d.length / 8::float8)))::bigint << 48 | d.doc);
  END IF;
  IF TG_OP <> 'DELETE' AND new_key IS NOT NULL THEN
    row_config := 'pg_catalog.english'::text;
    
    -- the document's number is new, so its entries clash with none but each other
    WITH added AS (
      INSERT INTO postern.keyword_1_documents (key, length, terms)
      SELECT new_key, a.length, a.terms FROM (SELECT coalesce(array_agg(l.term | l.count ORDER BY l.term | l.count), '{}') AS terms,
      coalesce(sum(l.count), 0)::int AS length
    FROM (SELECT hashtextextended(u.lexeme COLLATE "C", hashtextextended(row_config COLLATE "C", 0)) & -65536 AS term,
      least(coalesce(cardinality(u.positions), 1), 65535) AS count, u.positions[1] AS place
    FROM unnest((SELECT whole || coalesce(ts_delete(parts, tsvector_to_array(whole)), '')
    FROM (SELECT left(new_text, 100000) AS body OFFSET 0) readable
    CROSS JOIN LATERAL (SELECT to_tsvector(row_config::regconfig, body) AS whole, to_tsvector(row_config::regconfig, (SELECT string_agg(array_to_string(parts.found, ' '), ' ')
    FROM regexp_matches(body COLLATE "C", E'<[[:alpha:]/!][^<>]*>|[^[:space:]<>]*(?:[-/.+~][^[:space:]<>]*[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]|://)[^[:space:]<>]*', 'g') compounds(found)
    CROSS JOIN LATERAL regexp_matches(compounds.found[1], E'[vV]?((?:[0-9]{1,3}|([0-9]{4,}))[.](?:[0-9]+[.])*(?:[0-9]{1,3}|([0-9]{4,})))(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|([^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]{2,}|[0-9\\u2E80-\\U0010FFFF]|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?:[./][^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF])+(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?=[+#]|-[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]+(?:-[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]))+)', 'g') parts(found)
    WHERE compounds.found[1] NOT LIKE '<%')) AS parts OFFSET 0) vectors)) u) l) a
      ON CONFLICT (key) DO UPDATE SET doc = DEFAULT, length = excluded.length, terms = excluded.terms
      RETURNING doc, length, terms)
    INSERT INTO postern.keyword_1_recent (term, entry)
    SELECT DISTINCT a.term, a.entry
    FROM (SELECT (e & -65536) AS term, ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 1.2 * (0.6 + 0.4 * d.length / 8::float8)))::bigint << 48 | d.doc) AS entry FROM added d CROSS JOIN LATERAL unnest(d.terms) e) a
    WHERE (a.entry >> 48) >= coalesce((SELECT l.floor FROM postern.keyword_1_lists l WHERE l.term = a.term), 0);
  END IF;
  RETURN NULL;
END $function$
ACL {postgres=X/postgres}
CREATE OR REPLACE FUNCTION postern.keyword_2_maintain()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET enable_hashjoin TO 'off'
 SET enable_mergejoin TO 'off'
 SET enable_bitmapscan TO 'off'
AS $function$
DECLARE
  old_key postern.keyword_2_documents.key%TYPE;
  new_key postern.keyword_2_documents.key%TYPE;
  old_text text;
  new_text text;
  old_config text;
  new_config text;
  row_config text;
  is_taken bool := false;
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    TRUNCATE postern.keyword_2_documents, postern.keyword_2_lists, postern.keyword_2_recent;
    RETURN NULL;
  END IF;
  IF NOT (EXISTS (SELECT FROM pg_attribute s JOIN pg_attribute k USING (atttypid, atttypmod, attcollation)
    WHERE s.attrelid = TG_RELID AND s.attname = 'code' AND NOT s.attisdropped
      AND k.attrelid = 'postern.keyword_2_documents'::regclass AND k.attname = 'key') AND (SELECT count(*) FROM pg_attribute WHERE attrelid = TG_RELID AND NOT attisdropped
      AND attname IN ('body', 'language')) = 2) THEN
    UPDATE postern.keyword_indexes SET state = 'broken' WHERE id = 2 AND state <> 'broken';
    RETURN NULL;
  END IF;
  -- by EXECUTE, since a session's plans know the columns' types as they were when it began
  IF TG_OP <> 'INSERT' THEN
    EXECUTE 'SELECT ($1)."code", ($1)."body"::text, ($1)."language"::text' INTO old_key, old_text, old_config USING OLD;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    EXECUTE 'SELECT ($1)."code", ($1)."body"::text, ($1)."language"::text' INTO new_key, new_text, new_config USING NEW;
  END IF;
  IF TG_OP = 'UPDATE' THEN
    IF (old_key::text, old_text, old_config) IS NOT DISTINCT FROM (new_key::text, new_text, new_config) THEN
      RETURN NULL;
    END IF;
    -- where ids change places, the old one may by now be another row's
    IF old_key IS DISTINCT FROM new_key THEN
      EXECUTE (SELECT format('SELECT EXISTS (SELECT FROM %s WHERE %I = $1)', source, id_column)
        FROM postern.keyword_indexes WHERE id = 2) INTO is_taken USING old_key;
    END IF;
  END IF;
  IF TG_OP <> 'INSERT' AND NOT is_taken THEN
    WITH gone AS (DELETE FROM postern.keyword_2_documents d WHERE d.key = old_key RETURNING d.doc, d.length, d.terms)
    DELETE FROM postern.keyword_2_recent r USING gone d CROSS JOIN LATERAL unnest(d.terms) e
    WHERE r.term = (e & -65536) AND r.entry = ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 1.2 * (0.6 + 0.4 * d.length / 3::float8)))::bigint << 48 | d.doc);
  END IF;
  IF TG_OP <> 'DELETE' AND new_key IS NOT NULL THEN
    row_config := coalesce((SELECT format('%I.%I', n.nspname, c.cfgname)
    FROM pg_ts_config c JOIN pg_namespace n ON n.oid = c.cfgnamespace
    WHERE lower(new_config) IN (c.cfgname, n.nspname || '.' || c.cfgname)
    ORDER BY n.nspname <> 'pg_catalog', n.nspname LIMIT 1), 'pg_catalog.english'::text);
    IF NOT EXISTS (SELECT FROM postern.keyword_indexes WHERE id = 2 AND row_config = ANY (configs)) THEN
      UPDATE postern.keyword_indexes SET configs = configs || row_config WHERE id = 2 AND row_config <> ALL (configs);
    END IF;
    -- the document's number is new, so its entries clash with none but each other
    WITH added AS (
      INSERT INTO postern.keyword_2_documents (key, length, terms)
      SELECT new_key, a.length, a.terms FROM (SELECT coalesce(array_agg(l.term | l.count ORDER BY l.term | l.count), '{}') AS terms,
      coalesce(sum(l.count), 0)::int AS length
    FROM (SELECT hashtextextended(u.lexeme COLLATE "C", hashtextextended(row_config COLLATE "C", 0)) & -65536 AS term,
      least(coalesce(cardinality(u.positions), 1), 65535) AS count, u.positions[1] AS place
    FROM unnest((SELECT whole || coalesce(ts_delete(parts, tsvector_to_array(whole)), '')
    FROM (SELECT left(new_text, 100000) AS body OFFSET 0) readable
    CROSS JOIN LATERAL (SELECT to_tsvector(row_config::regconfig, body) AS whole, to_tsvector(row_config::regconfig, (SELECT string_agg(array_to_string(parts.found, ' '), ' ')
    FROM regexp_matches(body COLLATE "C", E'<[[:alpha:]/!][^<>]*>|[^[:space:]<>]*(?:[-/.+~][^[:space:]<>]*[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]|://)[^[:space:]<>]*', 'g') compounds(found)
    CROSS JOIN LATERAL regexp_matches(compounds.found[1], E'[vV]?((?:[0-9]{1,3}|([0-9]{4,}))[.](?:[0-9]+[.])*(?:[0-9]{1,3}|([0-9]{4,})))(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|([^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]{2,}|[0-9\\u2E80-\\U0010FFFF]|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?:[./][^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF])+(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?=[+#]|-[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]+(?:-[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]))+)', 'g') parts(found)
    WHERE compounds.found[1] NOT LIKE '<%')) AS parts OFFSET 0) vectors)) u) l) a
      ON CONFLICT (key) DO UPDATE SET doc = DEFAULT, length = excluded.length, terms = excluded.terms
      RETURNING doc, length, terms)
    INSERT INTO postern.keyword_2_recent (term, entry)
    SELECT DISTINCT a.term, a.entry
    FROM (SELECT (e & -65536) AS term, ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 1.2 * (0.6 + 0.4 * d.length / 3::float8)))::bigint << 48 | d.doc) AS entry FROM added d CROSS JOIN LATERAL unnest(d.terms) e) a
    WHERE (a.entry >> 48) >= coalesce((SELECT l.floor FROM postern.keyword_2_lists l WHERE l.term = a.term), 0);
  END IF;
  RETURN NULL;
END $function$
ACL {postgres=X/postgres}
CREATE TRIGGER postern_keyword_1_row AFTER INSERT OR DELETE OR UPDATE ON public.chunks FOR EACH ROW EXECUTE FUNCTION postern.keyword_1_maintain()
CREATE TRIGGER postern_keyword_1_truncate AFTER TRUNCATE ON public.chunks FOR EACH STATEMENT EXECUTE FUNCTION postern.keyword_1_maintain()
CREATE TRIGGER postern_keyword_2_row AFTER INSERT OR DELETE OR UPDATE ON public.rules FOR EACH ROW EXECUTE FUNCTION postern.keyword_2_maintain()
CREATE TRIGGER postern_keyword_2_truncate AFTER TRUNCATE ON public.rules FOR EACH STATEMENT EXECUTE FUNCTION postern.keyword_2_maintain()
