-- A table with a keyword index of format 2, ready, as pg_dump wrote it.
SET check_function_bodies = false;
CREATE SCHEMA postern;
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
      AND attname IN ('body')) = 1) THEN
    UPDATE postern.keyword_indexes SET state = 'broken' WHERE id = 1 AND state <> 'broken';
    RETURN NULL;
  END IF;
  -- by EXECUTE, since a session's plans know the columns' types as they were when it began
  IF TG_OP <> 'INSERT' THEN
    EXECUTE 'SELECT ($1)."id", ($1)."body"::text, NULL::text' INTO old_key, old_text, old_config USING OLD;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    EXECUTE 'SELECT ($1)."id", ($1)."body"::text, NULL::text' INTO new_key, new_text, new_config USING NEW;
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
    WHERE r.term = (e & -65536) AND r.entry = ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 2 * (0.25 + 0.75 * d.length / 3::float8)))::bigint << 48 | d.doc);
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
    CROSS JOIN LATERAL (SELECT to_tsvector(row_config::regconfig, body) AS whole, to_tsvector(row_config::regconfig, (SELECT string_agg(translate(compounds.found[1], '-/.+~', '     '), ' ')
    FROM regexp_matches(body COLLATE "C", '<[[:alpha:]/!][^<>]*>|[^[:space:]<>]*(?:[-/.+~][^[:space:]<>]*[^[:space:]!-/:-@[-`{-~]|://)[^[:space:]<>]*', 'g') compounds(found) WHERE compounds.found[1] NOT LIKE '<%')) AS parts OFFSET 0) vectors)) u) l) a
      ON CONFLICT (key) DO UPDATE SET doc = DEFAULT, length = excluded.length, terms = excluded.terms
      RETURNING doc, length, terms)
    INSERT INTO postern.keyword_1_recent (term, entry)
    SELECT DISTINCT a.term, a.entry
    FROM (SELECT (e & -65536) AS term, ((32767 * (e & 65535)::int::float8 / ((e & 65535)::int::float8 + 2 * (0.25 + 0.75 * d.length / 3::float8)))::bigint << 48 | d.doc) AS entry FROM added d CROSS JOIN LATERAL unnest(d.terms) e) a
    WHERE (a.entry >> 48) >= coalesce((SELECT l.floor FROM postern.keyword_1_lists l WHERE l.term = a.term), 0);
  END IF;
  RETURN NULL;
END $_$;
CREATE TABLE postern.keyword_1_documents (
    key integer NOT NULL,
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
    id integer NOT NULL,
    body text
);
INSERT INTO postern.keyword_1_documents OVERRIDING SYSTEM VALUE VALUES (1, 1, 5, '{-6511864787523862527,-3209507659208523775,7268937389839548417,8345101237024522241,8734749048013062145}');
INSERT INTO postern.keyword_1_documents OVERRIDING SYSTEM VALUE VALUES (2, 2, 2, '{1139164030319591425,8734749048013062145}');
INSERT INTO postern.keyword_1_documents OVERRIDING SYSTEM VALUE VALUES (3, 3, 5, '{-6019811124588576767,1670368243412172801,4535291047307313153,7181697081712640001,8072799461826625537}');
INSERT INTO postern.keyword_1_documents OVERRIDING SYSTEM VALUE VALUES (4, 4, 1, '{-4474756018587107327}');
INSERT INTO postern.keyword_1_lists VALUES (-6511864787523862528, 1, 0, '{2305843009213693953}');
INSERT INTO postern.keyword_1_lists VALUES (-6019811124588576768, 1, 0, '{2305843009213693955}');
INSERT INTO postern.keyword_1_lists VALUES (-4474756018587107328, 1, 0, '{4611686018427387908}');
INSERT INTO postern.keyword_1_lists VALUES (-3209507659208523776, 1, 0, '{2305843009213693953}');
INSERT INTO postern.keyword_1_lists VALUES (1139164030319591424, 1, 0, '{3689292519746568194}');
INSERT INTO postern.keyword_1_lists VALUES (1670368243412172800, 1, 0, '{2305843009213693955}');
INSERT INTO postern.keyword_1_lists VALUES (4535291047307313152, 1, 0, '{2305843009213693955}');
INSERT INTO postern.keyword_1_lists VALUES (7181697081712640000, 1, 0, '{2305843009213693955}');
INSERT INTO postern.keyword_1_lists VALUES (7268937389839548416, 1, 0, '{2305843009213693953}');
INSERT INTO postern.keyword_1_lists VALUES (8072799461826625536, 1, 0, '{2305843009213693955}');
INSERT INTO postern.keyword_1_lists VALUES (8345101237024522240, 1, 0, '{2305843009213693953}');
INSERT INTO postern.keyword_1_lists VALUES (8734749048013062144, 2, 0, '{3689292519746568194,2305843009213693953}');
INSERT INTO postern.keyword_indexes OVERRIDING SYSTEM VALUE VALUES (1, 2, 'public.docs', 'body', 'id', 'pg_catalog.english', NULL, '{pg_catalog.english}', 3, 'ready', NULL, 4, 3.25, '2026-11-22 12:16:26.277807+00');
INSERT INTO public.docs VALUES (1, 'birds, e.g. gulls');
INSERT INTO public.docs VALUES (2, 'vitamin E');
INSERT INTO public.docs VALUES (3, 'since v1.2.3');
INSERT INTO public.docs VALUES (4, 'a whale');
SELECT pg_catalog.setval('postern.keyword_1_documents_doc_seq', 4, true);
SELECT pg_catalog.setval('postern.keyword_indexes_id_seq', 1, true);
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
CREATE TRIGGER postern_keyword_1_row AFTER INSERT OR DELETE OR UPDATE ON public.docs FOR EACH ROW EXECUTE FUNCTION postern.keyword_1_maintain();
CREATE TRIGGER postern_keyword_1_truncate AFTER TRUNCATE ON public.docs FOR EACH STATEMENT EXECUTE FUNCTION postern.keyword_1_maintain();
