-- What the program wrote for a folder with two files, by -ingest and -index-pipeline, as pg_dump has it:
-- records of layout 2, a keyword index of format 3. FOLDER is replaced; the vectors' values do not matter.
SET check_function_bodies = false;
CREATE SCHEMA postern;
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE FUNCTION postern.keyword_1_maintain() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $_$
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
    WHERE r.term = (e & -65536) AND r.entry = ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 2 * (0.25 + 0.75 * d.length / 6::float8)))::bigint << 48 | d.doc);
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
    FROM (SELECT (e & -65536) AS term, ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 2 * (0.25 + 0.75 * d.length / 6::float8)))::bigint << 48 | d.doc) AS entry FROM added d CROSS JOIN LATERAL unnest(d.terms) e) a
    WHERE (a.entry >> 48) >= coalesce((SELECT l.floor FROM postern.keyword_1_lists l WHERE l.term = a.term), 0);
  END IF;
  RETURN NULL;
END $_$;
CREATE TABLE postern.ingested_chunks (
    file bigint NOT NULL,
    "position" integer NOT NULL,
    key text NOT NULL,
    hash text NOT NULL
);
CREATE TABLE postern.ingested_files (
    id bigint NOT NULL,
    target regclass NOT NULL,
    source_id bigint,
    path text NOT NULL,
    former_path text,
    hash text NOT NULL,
    ingested_at timestamp with time zone NOT NULL
);
ALTER TABLE postern.ingested_files ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postern.ingested_files_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE postern.ingested_sources (
    id bigint NOT NULL,
    target regclass NOT NULL,
    name text NOT NULL,
    folder text NOT NULL,
    is_whole boolean NOT NULL
);
ALTER TABLE postern.ingested_sources ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postern.ingested_sources_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE postern.keyword_1_documents (
    key bigint NOT NULL,
    doc bigint NOT NULL,
    length integer NOT NULL,
    terms bigint[] NOT NULL
);
ALTER TABLE ONLY postern.keyword_1_documents ALTER COLUMN terms SET STORAGE EXTERNAL;
ALTER TABLE postern.keyword_1_documents ALTER COLUMN doc ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postern.keyword_1_documents_doc_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE postern.keyword_1_lists (
    term bigint NOT NULL,
    df bigint NOT NULL,
    floor smallint NOT NULL,
    entries bigint[] NOT NULL
);
ALTER TABLE ONLY postern.keyword_1_lists ALTER COLUMN entries SET STORAGE EXTERNAL;
CREATE TABLE postern.keyword_1_recent (
    term bigint NOT NULL,
    entry bigint NOT NULL
);
CREATE TABLE postern.keyword_indexes (
    id integer NOT NULL,
    format integer NOT NULL,
    source regclass NOT NULL,
    text_column text NOT NULL,
    id_column text NOT NULL,
    config text NOT NULL,
    config_column text,
    configs text[] NOT NULL,
    base_length double precision DEFAULT 0 NOT NULL,
    state text DEFAULT 'new'::text NOT NULL,
    cursor text,
    documents bigint DEFAULT 0 NOT NULL,
    average_length double precision DEFAULT 1 NOT NULL,
    refreshed_at timestamp with time zone
);
ALTER TABLE postern.keyword_indexes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME postern.keyword_indexes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.docs (
    id bigint NOT NULL,
    source text NOT NULL,
    title text NOT NULL,
    "position" integer NOT NULL,
    content text NOT NULL,
    embedding public.vector(256) NOT NULL
);
ALTER TABLE public.docs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.docs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
INSERT INTO postern.ingested_chunks VALUES (1, 0, '1', 'd8536e1b0ad9b4b91413f8f7168e58049f290e8ac44f85cb0cee1b87e41e8b38');
INSERT INTO postern.ingested_chunks VALUES (2, 0, '2', 'aeeb627a10a7338802ebc05c058ca23e4ad58cd579226f70436b93a8bec4abc7');
INSERT INTO postern.ingested_files OVERRIDING SYSTEM VALUE VALUES (1, 'public.docs', 1, 'leave.md', NULL, 'd4909df7b9ae4bac9bafe24d916369415230ccedc8b76b24c2dc6e64ecfbbe53', '2026-01-02 03:04:05+00');
INSERT INTO postern.ingested_files OVERRIDING SYSTEM VALUE VALUES (2, 'public.docs', 1, 'parking.md', NULL, 'a781f5029df53979c231baced715faf846ac05d66215d1009ee2e42572ecd80c', '2026-01-02 03:04:05+00');
INSERT INTO postern.ingested_sources OVERRIDING SYSTEM VALUE VALUES (1, 'public.docs', 'handbook', 'FOLDER/handbook', true);
INSERT INTO postern.keyword_1_documents OVERRIDING SYSTEM VALUE VALUES (1, 1, 5, '{-8051240021780529151,2720300654777270273,5969444731814150145,7451690038367158273,9124784855624712193}');
INSERT INTO postern.keyword_1_documents OVERRIDING SYSTEM VALUE VALUES (2, 2, 7, '{-2893707147148656639,4535291047307313153,6850652687198453761,7181697081712640001,7802484609842282498,8188816559567470593}');
INSERT INTO postern.keyword_1_lists VALUES (-8051240021780529152, 1, 0, '{3353774347507466241}');
INSERT INTO postern.keyword_1_lists VALUES (-2893707147148656640, 1, 0, '{2837830715196833794}');
INSERT INTO postern.keyword_1_lists VALUES (2720300654777270272, 1, 0, '{3353774347507466241}');
INSERT INTO postern.keyword_1_lists VALUES (4535291047307313152, 1, 0, '{2837830715196833794}');
INSERT INTO postern.keyword_1_lists VALUES (5969444731814150144, 1, 0, '{3353774347507466241}');
INSERT INTO postern.keyword_1_lists VALUES (6850652687198453760, 1, 0, '{2837830715196833794}');
INSERT INTO postern.keyword_1_lists VALUES (7181697081712640000, 1, 0, '{2837830715196833794}');
INSERT INTO postern.keyword_1_lists VALUES (7451690038367158272, 1, 0, '{3353774347507466241}');
INSERT INTO postern.keyword_1_lists VALUES (7802484609842282496, 1, 0, '{4340344140878315522}');
INSERT INTO postern.keyword_1_lists VALUES (8188816559567470592, 1, 0, '{2837830715196833794}');
INSERT INTO postern.keyword_1_lists VALUES (9124784855624712192, 1, 0, '{3353774347507466241}');
INSERT INTO postern.keyword_indexes OVERRIDING SYSTEM VALUE VALUES (1, 3, 'public.docs', 'content', 'id', 'pg_catalog.english', NULL, '{pg_catalog.english}', 6, 'ready', NULL, 2, 6, '2026-01-02 03:04:05+00');
INSERT INTO public.docs OVERRIDING SYSTEM VALUE VALUES (1, 'leave.md', 'Leave', 0, 'Leave
All employees get 25 days.', array_fill(0.0625::real, '{256}')::public.vector);
INSERT INTO public.docs OVERRIDING SYSTEM VALUE VALUES (2, 'parking.md', 'Parking', 0, 'Parking
Parking is free on level 2/3.', array_fill(0.0625::real, '{256}')::public.vector);
SELECT pg_catalog.setval('postern.ingested_files_id_seq', 2, true);
SELECT pg_catalog.setval('postern.ingested_sources_id_seq', 1, true);
SELECT pg_catalog.setval('postern.keyword_1_documents_doc_seq', 2, true);
SELECT pg_catalog.setval('postern.keyword_indexes_id_seq', 1, true);
SELECT pg_catalog.setval('public.docs_id_seq', 2, true);
ALTER TABLE ONLY postern.ingested_chunks
    ADD CONSTRAINT ingested_chunks_pkey PRIMARY KEY (file, "position");
ALTER TABLE ONLY postern.ingested_files
    ADD CONSTRAINT ingested_files_pkey PRIMARY KEY (id);
ALTER TABLE ONLY postern.ingested_files
    ADD CONSTRAINT ingested_files_source_id_path_key UNIQUE (source_id, path);
ALTER TABLE ONLY postern.ingested_sources
    ADD CONSTRAINT ingested_sources_pkey PRIMARY KEY (id);
ALTER TABLE ONLY postern.ingested_sources
    ADD CONSTRAINT ingested_sources_target_name_key UNIQUE (target, name);
ALTER TABLE ONLY postern.keyword_1_documents
    ADD CONSTRAINT keyword_1_documents_key_key UNIQUE (key);
ALTER TABLE ONLY postern.keyword_1_documents
    ADD CONSTRAINT keyword_1_documents_pkey PRIMARY KEY (doc);
ALTER TABLE ONLY postern.keyword_1_lists
    ADD CONSTRAINT keyword_1_lists_pkey PRIMARY KEY (term);
ALTER TABLE ONLY postern.keyword_1_recent
    ADD CONSTRAINT keyword_1_recent_pkey PRIMARY KEY (term, entry);
ALTER TABLE ONLY postern.keyword_indexes
    ADD CONSTRAINT keyword_indexes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY postern.keyword_indexes
    ADD CONSTRAINT keyword_indexes_source_text_column_key UNIQUE (source, text_column);
ALTER TABLE ONLY public.docs
    ADD CONSTRAINT docs_pkey PRIMARY KEY (id);
CREATE INDEX docs_embedding_idx ON public.docs USING hnsw (embedding public.vector_cosine_ops);
CREATE TRIGGER postern_keyword_1_row AFTER INSERT OR DELETE OR UPDATE ON public.docs FOR EACH ROW EXECUTE FUNCTION postern.keyword_1_maintain();
CREATE TRIGGER postern_keyword_1_truncate AFTER TRUNCATE ON public.docs FOR EACH STATEMENT EXECUTE FUNCTION postern.keyword_1_maintain();
ALTER TABLE ONLY postern.ingested_chunks
    ADD CONSTRAINT ingested_chunks_file_fkey FOREIGN KEY (file) REFERENCES postern.ingested_files(id) ON DELETE CASCADE;
ALTER TABLE ONLY postern.ingested_files
    ADD CONSTRAINT ingested_files_source_id_fkey FOREIGN KEY (source_id) REFERENCES postern.ingested_sources(id) ON DELETE CASCADE;
REVOKE ALL ON FUNCTION postern.keyword_1_maintain() FROM PUBLIC;
