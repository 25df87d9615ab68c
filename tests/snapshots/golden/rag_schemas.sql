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
r p postern.keyword_indexes (id integer NOT NULL IDENTITY a, format integer NOT NULL, source regclass NOT NULL, text_column text NOT NULL, id_column text NOT NULL, config text NOT NULL, config_column text, configs text[] NOT NULL, base_length double precision NOT NULL DEFAULT 0, state text NOT NULL DEFAULT 'new'::text, cursor text, documents bigint NOT NULL DEFAULT 0, average_length double precision NOT NULL DEFAULT 1, refreshed_at timestamp with time zone, grams boolean NOT NULL) ACL {postgres=arwdDxt/postgres}
r p public.chunks (id bigint NOT NULL IDENTITY a, source text NOT NULL, title text NOT NULL, heading text, "position" integer NOT NULL, page integer, char_start integer, char_end integer, content text NOT NULL, embedding vector(8) NOT NULL)
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
CREATE INDEX chunks_source_position_idx ON public.chunks USING btree (source, "position")
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
      AND attname IN ('content')
      AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = atttypid AND casttarget = 'text'::regtype
        AND castfunc >= 16384)) = 1) THEN
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
      coalesce(sum(l.count) FILTER (WHERE l.kind = 'w'), 0)::int AS length
    FROM (SELECT term, max(count)::int AS count, max(kind) AS kind FROM (SELECT t.term, least(t.count, 65535) AS count, t.place, t.share, t.kind
    FROM (SELECT * FROM (SELECT (SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    WHEN t COLLATE "C" ~ E'[\\uFB00-\\uFB06\\uFF00-\\uFFEF]' THEN normalize(t, NFKC) ELSE normalize(t, NFC) END
    FROM (SELECT left(new_text, 100000) AS t OFFSET 0) t) AS body OFFSET 0) readable
    CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT lower(body COLLATE "default") AS t OFFSET 0) t) AS plain,
      regexp_replace(body COLLATE "C", E'[\\u0E01-\\u0E3A\\u0E40-\\u0E4E\\u0E80-\\u0ECE\\u1000-\\u103F\\u1050-\\u108F\\u1100-\\u11FF\\u1780-\\u17D3\\u3005-\\u3007\\u3041-\\u3096\\u309D-\\u30FA\\u30FC-\\u30FF\\u3130-\\u318E\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uAC00-\\uD7A3\\uF900-\\uFAFF\\U00020000-\\U0003FFFF]+', ' ', 'g') AS spaced OFFSET 0) readings
    CROSS JOIN LATERAL (SELECT to_tsvector(row_config::regconfig, spaced) AS whole, to_tsvector(row_config::regconfig, (SELECT string_agg(array_to_string(parts.found, ' '), ' ')
    FROM regexp_matches(spaced COLLATE "C", E'<[[:alpha:]/!][^<>]*>|[^[:space:]<>]*(?:[-/.+~][^[:space:]<>]*[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]|://)[^[:space:]<>]*', 'g') compounds(found)
    CROSS JOIN LATERAL regexp_matches(compounds.found[1], E'[vV]?((?:[0-9]{1,3}|([0-9]{4,}))[.](?:[0-9]+[.])*(?:[0-9]{1,3}|([0-9]{4,})))(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|([^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]{2,}|[0-9\\u2E80-\\U0010FFFF]|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?:[./][^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF])+(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?=[+#]|-[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]+(?:-[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]))+)', 'g') parts(found)
    WHERE compounds.found[1] NOT LIKE '<%')) AS parts,
      to_tsvector('pg_catalog.simple', spaced) AS written OFFSET 0) vectors
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT u.lexeme FROM unnest(ts_delete(written, tsvector_to_array(whole))) u
      WHERE to_tsvector(row_config::regconfig, u.lexeme) = '') AS stops,
      regexp_replace(regexp_replace((SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT (whole || coalesce(ts_delete(parts, tsvector_to_array(whole)), ''))::text AS t OFFSET 0) t) COLLATE "C", '(^|[^aeq])([aou])e', E'\\1\\2', 'g'), '(^| )''''(?!'')[^ ]*', '', 'g')::tsvector AS known OFFSET 0) first_forms
    CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(spaced) > length(spaced) THEN regexp_replace(regexp_replace((SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT (to_tsvector(row_config::regconfig, (SELECT string_agg(repeat(f.word || ' ', coalesce(cardinality(u.positions), 1)), '')
        FROM unnest(to_tsvector('pg_catalog.simple', spaced)) u
        CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT u.lexeme AS t OFFSET 0) t) AS word OFFSET 0) f
        WHERE f.word <> u.lexeme AND to_tsvector(row_config::regconfig, u.lexeme) <> '')))::text AS t OFFSET 0) t) COLLATE "C", '(^|[^aeq])([aou])e', E'\\1\\2', 'g'), '(^| )''''(?!'')[^ ]*', '', 'g')::tsvector END AS again OFFSET 0) second_forms
    CROSS JOIN LATERAL (SELECT known || coalesce(setweight(ts_delete(again, tsvector_to_array(known)), 'C'), '')
      || coalesce((SELECT string_agg(quote_literal(w.word) || ':' || least(w.place, 16383) || w.weight, ' ')::tsvector
    FROM ((SELECT substr(run.m[1], i, n) AS word, run.place + i AS place, CASE n WHEN 1 THEN 'C' ELSE '' END AS weight
      FROM regexp_matches(plain COLLATE "C", E'[\\u0E01-\\u0E3A\\u0E40-\\u0E4E\\u0E80-\\u0ECE\\u1000-\\u103F\\u1050-\\u108F\\u1100-\\u11FF\\u1780-\\u17D3\\u3005-\\u3007\\u3041-\\u3096\\u309D-\\u30FA\\u30FC-\\u30FF\\u3130-\\u318E\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uAC00-\\uD7A3\\uF900-\\uFAFF\\U00020000-\\U0003FFFF]{1,200}', 'g') WITH ORDINALITY run(m, place)
      CROSS JOIN generate_series(1, 2) n
      CROSS JOIN LATERAL generate_series(1, length(run.m[1]) + 1 - n) i
      WHERE octet_length(plain) > length(plain) LIMIT 40000) UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([a-z](?:#|[+][+]))', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT m[1]) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", E'(?<![a-zα-ωа-яђ-џґ0-9])([a-zα-ωа-яђ-џґ0-9]+(?:[-_/\\u2010-\\u2013][a-zα-ωа-яђ-џґ0-9]+)+)', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT w FROM regexp_replace(m[1], '[^a-zα-ωа-яђ-џґ0-9]', '', 'g') w WHERE length(w) <= 32 AND w ~ '[0-9]' AND w ~ '[a-zα-ωа-яђ-џґ]') w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])(?:([a-zα-ωа-яђ-џґ]{2,})([0-9]{2,})[a-zα-ωа-яђ-џґ]{0,2}|([0-9]+(?:[.,][0-9]+)?)([a-zα-ωа-яђ-џґµ]{1,4}))(?![a-zα-ωа-яђ-џґ0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT w FROM unnest(m) w WHERE w IS NOT NULL) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", E'(?<![a-zα-ωа-яђ-џґ0-9])([0-9]+(?:[.,][0-9]+)?)[ \\u00A0\\u202F]?((?:[kmgtµnpcdh]?(?:v|a|ah|w|wh|va|hz|bit|b|m|g|s|l|pa|n|nm|j|bar|cal)|[kmgt]ib|m[23]|km/?h|min|h|d|t|rpm|db|px|dpi|k|°?[cf]|lbs?|oz|ft|ω|%|€))(?![a-z0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT replace(m[1], ',', '.') || ltrim(m[2], '°')) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{1,2})(?:[.]|st|nd|rd|th|er|[º°])? ?(?:de |of )?(jan|ene|gen|янв|feb|fev|фев|mar|mae|maa|mrt|мар|apr|avr|abr|апр|may|mai|mei|mag|май|мая|jun|giu|июн|jul|lug|июл|aug|aou|ago|авг|sep|set|сен|oct|okt|out|ott|окт|nov|ноя|dec|dez|dic|дек|juin|juil)[a-zа-я]*[.]?,?(?: del?)? ([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[2], 'jui', 'ju'), 3)) + 3, 2), 2, '0'), lpad(m[1], 2, '0')) WHERE (substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[2], 'jui', 'ju'), 3)) + 3, 2))::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])(jan|ene|gen|янв|feb|fev|фев|mar|mae|maa|mrt|мар|apr|avr|abr|апр|may|mai|mei|mag|май|мая|jun|giu|июн|jul|lug|июл|aug|aou|ago|авг|sep|set|сен|oct|okt|out|ott|окт|nov|ноя|dec|dez|dic|дек|juin|juil)[a-zа-я]*[.]? ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[1], 'jui', 'ju'), 3)) + 3, 2), 2, '0'), lpad(m[2], 2, '0')) WHERE (substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[1], 'jui', 'ju'), 3)) + 3, 2))::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{4})[-/.年]([0-9]{1,2})[-/.月]([0-9]{1,2})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[1], lpad(m[2], 2, '0'), lpad(m[3], 2, '0')) WHERE (m[2])::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{1,2})[-/.] ?([0-9]{1,2})[-/.] ?([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(m[2], 2, '0'), lpad(m[1], 2, '0')) WHERE (m[2])::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(m[1], 2, '0'), lpad(m[2], 2, '0')) WHERE (m[1])::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]') w WHERE octet_length(w.word) <= 64), '') AS words OFFSET 0) found) a CROSS JOIN LATERAL (
    SELECT hashtextextended(u.lexeme COLLATE "C", hashtextextended(row_config COLLATE "C", 0)) & -65536 AS term, coalesce(cardinality(u.positions), 1) AS count, u.positions[1] AS place,
      CASE u.weights[1] WHEN 'C' THEN 0.5 ELSE 1 END AS share, 'w' AS kind
    FROM unnest(a.words) u
    UNION ALL
    SELECT hashtextextended(regexp_replace((SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT u.lexeme AS t OFFSET 0) t) COLLATE "C", '(^|[^aeq])([aou])e', E'\\1\\2', 'g') COLLATE "C", hashtextextended(row_config COLLATE "C", 0)) & -65536, sum(coalesce(cardinality(u.positions), 1)), min(u.positions[1]), 1, 's'
    FROM unnest(ts_delete(a.written, tsvector_to_array(a.whole))) u WHERE u.lexeme = ANY (a.stops) GROUP BY 1
    ) t) t GROUP BY 1) l) a
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
      AND attname IN ('body', 'language')
      AND NOT EXISTS (SELECT FROM pg_cast WHERE castsource = atttypid AND casttarget = 'text'::regtype
        AND castfunc >= 16384)) = 2) THEN
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
      coalesce(sum(l.count) FILTER (WHERE l.kind = 'w'), 0)::int AS length
    FROM (SELECT term, max(count)::int AS count, max(kind) AS kind FROM (SELECT t.term, least(t.count, 65535) AS count, t.place, t.share, t.kind
    FROM (SELECT * FROM (SELECT (SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    WHEN t COLLATE "C" ~ E'[\\uFB00-\\uFB06\\uFF00-\\uFFEF]' THEN normalize(t, NFKC) ELSE normalize(t, NFC) END
    FROM (SELECT left(new_text, 100000) AS t OFFSET 0) t) AS body OFFSET 0) readable
    CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT lower(body COLLATE "default") AS t OFFSET 0) t) AS plain,
      regexp_replace(body COLLATE "C", E'[\\u0E01-\\u0E3A\\u0E40-\\u0E4E\\u0E80-\\u0ECE\\u1000-\\u103F\\u1050-\\u108F\\u1100-\\u11FF\\u1780-\\u17D3\\u3005-\\u3007\\u3041-\\u3096\\u309D-\\u30FA\\u30FC-\\u30FF\\u3130-\\u318E\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uAC00-\\uD7A3\\uF900-\\uFAFF\\U00020000-\\U0003FFFF]+', ' ', 'g') AS spaced OFFSET 0) readings
    CROSS JOIN LATERAL (SELECT to_tsvector(row_config::regconfig, spaced) AS whole, to_tsvector(row_config::regconfig, (SELECT string_agg(array_to_string(parts.found, ' '), ' ')
    FROM regexp_matches(spaced COLLATE "C", E'<[[:alpha:]/!][^<>]*>|[^[:space:]<>]*(?:[-/.+~][^[:space:]<>]*[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]|://)[^[:space:]<>]*', 'g') compounds(found)
    CROSS JOIN LATERAL regexp_matches(compounds.found[1], E'[vV]?((?:[0-9]{1,3}|([0-9]{4,}))[.](?:[0-9]+[.])*(?:[0-9]{1,3}|([0-9]{4,})))(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|([^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]{2,}|[0-9\\u2E80-\\U0010FFFF]|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?:[./][^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF])+(?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?=[+#]|-[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F])|[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]+(?:-[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF](?![^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]))+)', 'g') parts(found)
    WHERE compounds.found[1] NOT LIKE '<%')) AS parts,
      to_tsvector('pg_catalog.simple', spaced) AS written OFFSET 0) vectors
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT u.lexeme FROM unnest(ts_delete(written, tsvector_to_array(whole))) u
      WHERE to_tsvector(row_config::regconfig, u.lexeme) = '') AS stops,
      regexp_replace(regexp_replace((SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT (whole || coalesce(ts_delete(parts, tsvector_to_array(whole)), ''))::text AS t OFFSET 0) t) COLLATE "C", '(^|[^aeq])([aou])e', E'\\1\\2', 'g'), '(^| )''''(?!'')[^ ]*', '', 'g')::tsvector AS known OFFSET 0) first_forms
    CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(spaced) > length(spaced) THEN regexp_replace(regexp_replace((SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT (to_tsvector(row_config::regconfig, (SELECT string_agg(repeat(f.word || ' ', coalesce(cardinality(u.positions), 1)), '')
        FROM unnest(to_tsvector('pg_catalog.simple', spaced)) u
        CROSS JOIN LATERAL (SELECT (SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT u.lexeme AS t OFFSET 0) t) AS word OFFSET 0) f
        WHERE f.word <> u.lexeme AND to_tsvector(row_config::regconfig, u.lexeme) <> '')))::text AS t OFFSET 0) t) COLLATE "C", '(^|[^aeq])([aou])e', E'\\1\\2', 'g'), '(^| )''''(?!'')[^ ]*', '', 'g')::tsvector END AS again OFFSET 0) second_forms
    CROSS JOIN LATERAL (SELECT known || coalesce(setweight(ts_delete(again, tsvector_to_array(known)), 'C'), '')
      || coalesce((SELECT string_agg(quote_literal(w.word) || ':' || least(w.place, 16383) || w.weight, ' ')::tsvector
    FROM ((SELECT substr(run.m[1], i, n) AS word, run.place + i AS place, CASE n WHEN 1 THEN 'C' ELSE '' END AS weight
      FROM regexp_matches(plain COLLATE "C", E'[\\u0E01-\\u0E3A\\u0E40-\\u0E4E\\u0E80-\\u0ECE\\u1000-\\u103F\\u1050-\\u108F\\u1100-\\u11FF\\u1780-\\u17D3\\u3005-\\u3007\\u3041-\\u3096\\u309D-\\u30FA\\u30FC-\\u30FF\\u3130-\\u318E\\u3400-\\u4DBF\\u4E00-\\u9FFF\\uAC00-\\uD7A3\\uF900-\\uFAFF\\U00020000-\\U0003FFFF]{1,200}', 'g') WITH ORDINALITY run(m, place)
      CROSS JOIN generate_series(1, 2) n
      CROSS JOIN LATERAL generate_series(1, length(run.m[1]) + 1 - n) i
      WHERE octet_length(plain) > length(plain) LIMIT 40000) UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([a-z](?:#|[+][+]))', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT m[1]) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", E'(?<![a-zα-ωа-яђ-џґ0-9])([a-zα-ωа-яђ-џґ0-9]+(?:[-_/\\u2010-\\u2013][a-zα-ωа-яђ-џґ0-9]+)+)', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT w FROM regexp_replace(m[1], '[^a-zα-ωа-яђ-џґ0-9]', '', 'g') w WHERE length(w) <= 32 AND w ~ '[0-9]' AND w ~ '[a-zα-ωа-яђ-џґ]') w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])(?:([a-zα-ωа-яђ-џґ]{2,})([0-9]{2,})[a-zα-ωа-яђ-џґ]{0,2}|([0-9]+(?:[.,][0-9]+)?)([a-zα-ωа-яђ-џґµ]{1,4}))(?![a-zα-ωа-яђ-џґ0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT w FROM unnest(m) w WHERE w IS NOT NULL) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", E'(?<![a-zα-ωа-яђ-џґ0-9])([0-9]+(?:[.,][0-9]+)?)[ \\u00A0\\u202F]?((?:[kmgtµnpcdh]?(?:v|a|ah|w|wh|va|hz|bit|b|m|g|s|l|pa|n|nm|j|bar|cal)|[kmgt]ib|m[23]|km/?h|min|h|d|t|rpm|db|px|dpi|k|°?[cf]|lbs?|oz|ft|ω|%|€))(?![a-z0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT replace(m[1], ',', '.') || ltrim(m[2], '°')) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{1,2})(?:[.]|st|nd|rd|th|er|[º°])? ?(?:de |of )?(jan|ene|gen|янв|feb|fev|фев|mar|mae|maa|mrt|мар|apr|avr|abr|апр|may|mai|mei|mag|май|мая|jun|giu|июн|jul|lug|июл|aug|aou|ago|авг|sep|set|сен|oct|okt|out|ott|окт|nov|ноя|dec|dez|dic|дек|juin|juil)[a-zа-я]*[.]?,?(?: del?)? ([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[2], 'jui', 'ju'), 3)) + 3, 2), 2, '0'), lpad(m[1], 2, '0')) WHERE (substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[2], 'jui', 'ju'), 3)) + 3, 2))::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])(jan|ene|gen|янв|feb|fev|фев|mar|mae|maa|mrt|мар|apr|avr|abr|апр|may|mai|mei|mag|май|мая|jun|giu|июн|jul|lug|июл|aug|aou|ago|авг|sep|set|сен|oct|okt|out|ott|окт|nov|ноя|dec|dez|dic|дек|juin|juil)[a-zа-я]*[.]? ([0-9]{1,2})(?:st|nd|rd|th)?,? ([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[1], 'jui', 'ju'), 3)) + 3, 2), 2, '0'), lpad(m[2], 2, '0')) WHERE (substr('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', strpos('jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12', left(replace(m[1], 'jui', 'ju'), 3)) + 3, 2))::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{4})[-/.年]([0-9]{1,2})[-/.月]([0-9]{1,2})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[1], lpad(m[2], 2, '0'), lpad(m[3], 2, '0')) WHERE (m[2])::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{1,2})[-/.] ?([0-9]{1,2})[-/.] ?([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(m[2], 2, '0'), lpad(m[1], 2, '0')) WHERE (m[2])::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]' UNION ALL SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", '(?<![a-zα-ωа-яђ-џґ0-9])([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})(?![0-9])', 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (SELECT concat_ws('-', m[3], lpad(m[1], 2, '0'), lpad(m[2], 2, '0')) WHERE (m[1])::int BETWEEN 1 AND 12) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]') w WHERE octet_length(w.word) <= 64), '') AS words OFFSET 0) found) a CROSS JOIN LATERAL (
    SELECT hashtextextended(u.lexeme COLLATE "C", hashtextextended(row_config COLLATE "C", 0)) & -65536 AS term, coalesce(cardinality(u.positions), 1) AS count, u.positions[1] AS place,
      CASE u.weights[1] WHEN 'C' THEN 0.5 ELSE 1 END AS share, 'w' AS kind
    FROM unnest(a.words) u
    UNION ALL
    SELECT hashtextextended(regexp_replace((SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid'), NFD) COLLATE "C", E'[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306', '', 'g'), NFC) END
    FROM (SELECT u.lexeme AS t OFFSET 0) t) COLLATE "C", '(^|[^aeq])([aou])e', E'\\1\\2', 'g') COLLATE "C", hashtextextended(row_config COLLATE "C", 0)) & -65536, sum(coalesce(cardinality(u.positions), 1)), min(u.positions[1]), 1, 's'
    FROM unnest(ts_delete(a.written, tsvector_to_array(a.whole))) u WHERE u.lexeme = ANY (a.stops) GROUP BY 1
    ) t) t GROUP BY 1) l) a
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
