import { type HostileStatement, named } from "./hostile_statement.ts";

/**
 * What calls `evil()` without naming a function: fields, domains inside of other types, operator classes, casts that JSON
 * looks for, and what PostgreSQL puts in place of what is written. Runs as superuser after `evil()` is there.
 */
export const hiddenCallsFixture = `
CREATE FUNCTION evil_truth(anyelement) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
-- fields
CREATE FUNCTION grab(int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION grab(text, extra int DEFAULT 1) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION grab(date) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION grab_list(text[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION grab_each(VARIADIC text[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION grab(jsonb) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION grab_any(anyelement) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE AGGREGATE grab_all(int) (SFUNC = evil_step, STYPE = int, INITCOND = 0);
CREATE FUNCTION of_record(record) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
-- domains inside of other types
CREATE DOMAIN sly AS text CHECK (evil_truth(VALUE));
CREATE DOMAIN sly_number AS int CHECK (evil_truth(VALUE));
CREATE DOMAIN sly_list AS sly[];
CREATE TYPE sly_row AS (a sly, b int);
CREATE TYPE sly_deep AS (r sly_row[]);
CREATE TYPE sly_range AS RANGE (subtype = sly_number);
CREATE TABLE sly_things (id int, d sly, ds sly[], r sly_row, rs sly_row[], deep sly_deep, listed sly_list, during sly_range,
  periods sly_multirange, tags text[]);
CREATE VIEW sly_view AS SELECT id, ds AS shown FROM sly_things;
CREATE FUNCTION sly_made() RETURNS sly[] LANGUAGE sql STABLE AS 'SELECT ds FROM sly_things';
CREATE FUNCTION sly_table() RETURNS TABLE (a sly[]) LANGUAGE sql STABLE AS 'SELECT ds FROM sly_things';
CREATE FUNCTION sly_whole() RETURNS sly_things LANGUAGE sql STABLE AS 'SELECT * FROM sly_things';
CREATE FUNCTION takes_two(anyelement, anyelement) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 1; END';
CREATE FUNCTION like_list(sly[], int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE OPERATOR ~~> (LEFTARG = sly[], RIGHTARG = int, FUNCTION = like_list);
CREATE FUNCTION sly_step(sly_number, int) RETURNS sly_number LANGUAGE internal IMMUTABLE AS 'int4pl';
CREATE AGGREGATE sly_sum(int) (SFUNC = sly_step, STYPE = sly_number, INITCOND = '0');
-- operator classes: every operator is IMMUTABLE, the support functions are not
CREATE TYPE grade AS ENUM ('a', 'b', 'c');
CREATE FUNCTION grade_lt(grade, grade) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'enum_lt';
CREATE FUNCTION grade_le(grade, grade) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'enum_le';
CREATE FUNCTION grade_eq(grade, grade) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'enum_eq';
CREATE FUNCTION grade_ge(grade, grade) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'enum_ge';
CREATE FUNCTION grade_gt(grade, grade) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'enum_gt';
CREATE OPERATOR < (LEFTARG = grade, RIGHTARG = grade, FUNCTION = grade_lt, COMMUTATOR = >);
CREATE OPERATOR <= (LEFTARG = grade, RIGHTARG = grade, FUNCTION = grade_le, COMMUTATOR = >=);
CREATE OPERATOR = (LEFTARG = grade, RIGHTARG = grade, FUNCTION = grade_eq, COMMUTATOR = =, HASHES, MERGES);
CREATE OPERATOR >= (LEFTARG = grade, RIGHTARG = grade, FUNCTION = grade_ge, COMMUTATOR = <=);
CREATE OPERATOR > (LEFTARG = grade, RIGHTARG = grade, FUNCTION = grade_gt, COMMUTATOR = <);
CREATE FUNCTION grade_order(grade, grade) RETURNS int LANGUAGE plpgsql AS $$
  BEGIN PERFORM evil(); RETURN enum_cmp($1, $2); END $$;
CREATE FUNCTION grade_hash(grade) RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN hashenum($1); END $$;
CREATE OPERATOR CLASS grade_order DEFAULT FOR TYPE grade USING btree AS
  OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 grade_order(grade, grade);
CREATE OPERATOR CLASS grade_hash DEFAULT FOR TYPE grade USING hash AS OPERATOR 1 =, FUNCTION 1 grade_hash(grade);
CREATE TYPE grade_range AS RANGE (subtype = grade, subtype_opclass = grade_order);
CREATE DOMAIN good_grade AS grade;
CREATE TYPE grade_row AS (g grade);
CREATE TABLE grades (id int, g grade, gs grade[], good good_grade, r grade_row);
-- apart: nothing may be read beside a value of it
CREATE TABLE grade_spans (during grade_range);
INSERT INTO grades (id, g, gs, good, r) VALUES (1, 'b', '{a,b}', 'b', '(a)'), (2, 'a', '{a,c}', 'c', '(b)'), (3, 'c', '{b}', 'a', '(c)');
CREATE TABLE marks AS SELECT g FROM grades;
CREATE VIEW sorted_grades AS SELECT id FROM grades ORDER BY g;
CREATE VIEW distinct_grades AS SELECT DISTINCT gs FROM grades;
CREATE VIEW equal_grades AS SELECT a.gs = b.gs AS x FROM grades a, grades b;
CREATE VIEW greatest_grades AS SELECT greatest(g, 'a') AS x FROM grades;
CREATE VIEW compared_grades AS SELECT (g, id) < ('b', 1) AS x FROM grades;
-- one that is not the default, and an operator that leads to it
CREATE FUNCTION number_order(int, int) RETURNS int LANGUAGE plpgsql AS $$
  BEGIN PERFORM evil(); RETURN btint4cmp($1, $2); END $$;
CREATE FUNCTION number_lt(int, int) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4lt';
CREATE FUNCTION number_gt(int, int) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int4gt';
CREATE OPERATOR <<<< (LEFTARG = int, RIGHTARG = int, FUNCTION = number_lt, COMMUTATOR = >>>>);
CREATE OPERATOR >>>> (LEFTARG = int, RIGHTARG = int, FUNCTION = number_gt, COMMUTATOR = <<<<);
CREATE OPERATOR CLASS number_order FOR TYPE int USING btree AS
  OPERATOR 1 <<<<, OPERATOR 3 =, OPERATOR 5 >>>>, FUNCTION 1 number_order(int, int);
CREATE TABLE parted (n int) PARTITION BY RANGE (n number_order);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (1) TO (5);
CREATE TABLE parted_2 PARTITION OF parted FOR VALUES FROM (5) TO (9);
CREATE VIEW ranked_view AS SELECT (id::int, 1) <<<< (2, 2) AS x FROM orders;
CREATE VIEW sorted_view AS SELECT id FROM orders ORDER BY id::int USING <<<<;
CREATE DOMAIN ranked AS int CHECK ((VALUE, 1) <<<< (5, 5));
-- RANGE frames
CREATE TYPE level AS (n int);
CREATE FUNCTION level_in_range(level, level, int, boolean, boolean) RETURNS boolean LANGUAGE plpgsql AS $$
  BEGIN PERFORM evil(); RETURN true; END $$;
CREATE FUNCTION level_order(level, level) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp(($1).n, ($2).n)';
CREATE FUNCTION level_lt(level, level) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'record_lt';
CREATE FUNCTION level_eq(level, level) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'record_eq';
CREATE FUNCTION level_gt(level, level) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'record_gt';
CREATE OPERATOR <| (LEFTARG = level, RIGHTARG = level, FUNCTION = level_lt);
CREATE OPERATOR =| (LEFTARG = level, RIGHTARG = level, FUNCTION = level_eq);
CREATE OPERATOR >| (LEFTARG = level, RIGHTARG = level, FUNCTION = level_gt);
CREATE OPERATOR CLASS level_order DEFAULT FOR TYPE level USING btree AS OPERATOR 1 <|, OPERATOR 3 =|, OPERATOR 5 >|,
  FUNCTION 1 level_order(level, level), FUNCTION 3 (level, int) level_in_range(level, level, int, boolean, boolean);
CREATE TABLE levels (l level);
INSERT INTO levels VALUES (ROW(1)), (ROW(2));
-- what stands in for an operator
CREATE FUNCTION calm(bigint, bigint) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS 'SELECT $1 = $2 AND random() >= 0';
CREATE FUNCTION not_calm(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE OPERATOR === (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = calm, NEGATOR = !==);
CREATE OPERATOR !== (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = not_calm, NEGATOR = ===);
CREATE DOMAIN calm_number AS bigint CHECK (NOT VALUE === 5);
CREATE FUNCTION below(bigint, bigint) RETURNS boolean LANGUAGE internal IMMUTABLE STRICT AS 'int8lt';
CREATE FUNCTION above(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN $1 > $2; END $$;
CREATE OPERATOR <^~ (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = below, COMMUTATOR = >^~, RESTRICT = scalarltsel);
CREATE OPERATOR >^~ (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = above, COMMUTATOR = <^~, RESTRICT = scalargtsel);
CREATE TABLE counted AS SELECT n::bigint FROM generate_series(1, 3) AS n;
ANALYZE counted;
-- casts that no cast is written for
CREATE TYPE amount AS ENUM ('x');
CREATE FUNCTION amount_to(amount) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION amount_to_int(amount) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE FUNCTION amount_is(amount) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE CAST (amount AS bigint) WITH FUNCTION amount_to(amount) AS ASSIGNMENT;
CREATE CAST (amount AS int) WITH FUNCTION amount_to_int(amount) AS ASSIGNMENT;
CREATE CAST (amount AS boolean) WITH FUNCTION amount_is(amount) AS ASSIGNMENT;
CREATE TABLE amounts (a amount);
INSERT INTO amounts VALUES ('x');
CREATE TYPE note AS ENUM ('x');
CREATE FUNCTION note_to_json(note) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RETURN to_json(evil()); END $$;
CREATE CAST (note AS json) WITH FUNCTION note_to_json(note);
CREATE TABLE notes (n note, ns note[]);
INSERT INTO notes VALUES ('x', '{x}');
CREATE VIEW notes_as_json AS SELECT to_jsonb(n) AS x FROM notes;
-- a type's own functions
CREATE FUNCTION sized_modifier(cstring[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE TYPE sized;
CREATE FUNCTION sized_in(cstring) RETURNS sized LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION sized_out(sized) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE sized (INPUT = sized_in, OUTPUT = sized_out, TYPMOD_IN = sized_modifier, LIKE = text);
CREATE TYPE letter;
CREATE FUNCTION letter_in(cstring) RETURNS letter LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION letter_out(letter) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE letter (INPUT = letter_in, OUTPUT = letter_out, LIKE = text);
CREATE FUNCTION letter_send(letter) RETURNS bytea LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN ''; END $$;
ALTER TYPE letter SET (SEND = letter_send);
CREATE TABLE letters (l) AS SELECT 'x'::letter;
CREATE TYPE whole_range;
CREATE FUNCTION whole(whole_range) RETURNS whole_range LANGUAGE internal IMMUTABLE STRICT AS 'int4range_canonical';
CREATE TYPE whole_range AS RANGE (subtype = int, canonical = whole);
CREATE OR REPLACE FUNCTION whole(whole_range) RETURNS whole_range LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN $1; END $$;
CREATE TABLE wholes (w whole_range);
CREATE FUNCTION all_marks() RETURNS SETOF marks LANGUAGE sql STABLE AS 'SELECT * FROM marks';
-- what reads a value compares, or makes another one of it
CREATE FUNCTION sly_is(sly, sly) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'texteq';
CREATE OPERATOR = (LEFTARG = sly, RIGHTARG = sly, FUNCTION = sly_is);
CREATE TYPE grade_rows AS RANGE (subtype = grade_row);
CREATE FUNCTION takes_rows(grade_rows) RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
CREATE DOMAIN best AS grade CHECK (greatest(VALUE, 'b') IS NOT NULL);
CREATE FUNCTION takes_best(best) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 1; END';
-- types that only an operator's operand, a literal or what is collected brings in
CREATE TYPE whim AS ENUM ('a', 'b');
CREATE TYPE pair AS (n int, t text);
CREATE TYPE span AS RANGE (subtype = float8);
CREATE TABLE whims (w whim, s span);
INSERT INTO whims VALUES ('a', '[1,2]'), ('b', '[3,4]');
CREATE FUNCTION whim_is(whim, whim) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE FUNCTION whims_are(whim[], whim[]) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE FUNCTION pair_is(pair, pair) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE FUNCTION pair_is(pair, int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE OPERATOR %%% (LEFTARG = whim, RIGHTARG = whim, FUNCTION = whim_is);
CREATE OPERATOR %%%% (LEFTARG = whim[], RIGHTARG = whim[], FUNCTION = whims_are);
CREATE OPERATOR @@@@ (LEFTARG = pair, RIGHTARG = pair, FUNCTION = pair_is);
CREATE OPERATOR @@@ (LEFTARG = pair, RIGHTARG = int, FUNCTION = pair_is);
CREATE FUNCTION whims_text(whim[]) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN 'x'; END $$;
CREATE CAST (whim[] AS text) WITH FUNCTION whims_text(whim[]) AS IMPLICIT;
CREATE FUNCTION spans_text(span_multirange) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN 'x'; END $$;
CREATE CAST (span_multirange AS text) WITH FUNCTION spans_text(span_multirange) AS IMPLICIT;
CREATE FUNCTION spans_json(span_multirange) RETURNS json LANGUAGE plpgsql AS $$ BEGIN RETURN to_json(evil()); END $$;
CREATE CAST (span_multirange AS json) WITH FUNCTION spans_json(span_multirange);
CREATE FUNCTION spans_int(span_multirange) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE CAST (span_multirange AS int) WITH FUNCTION spans_int(span_multirange);
-- built-in types under another name
CREATE DOMAIN amount_number AS int;
CREATE TYPE amount_row AS (a int, b int);
CREATE TABLE amount_table (a int);
-- what CYCLE runs
CREATE TYPE mark AS ENUM ('no', 'yes');
CREATE FUNCTION mark_is(mark, mark) RETURNS boolean LANGUAGE internal IMMUTABLE AS 'enum_eq';
CREATE FUNCTION mark_is_not(mark, mark) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN false; END $$;
CREATE OPERATOR = (LEFTARG = mark, RIGHTARG = mark, FUNCTION = mark_is, NEGATOR = <>);
CREATE OPERATOR <> (LEFTARG = mark, RIGHTARG = mark, FUNCTION = mark_is_not, NEGATOR = =);
CREATE OPERATOR CLASS mark_order DEFAULT FOR TYPE mark USING btree AS OPERATOR 3 =, FUNCTION 1 enum_cmp(anyenum, anyenum);
CREATE VIEW marked AS WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n FROM t)
  CYCLE n SET m TO mark 'yes' DEFAULT mark 'no' USING path SELECT n, m FROM t;
-- a class whose operator alone calls it, which arrays are compared by
CREATE TYPE tone AS ENUM ('a', 'b');
CREATE FUNCTION tone_is(tone, tone) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RETURN evil() = 1; END $$;
CREATE OPERATOR = (LEFTARG = tone, RIGHTARG = tone, FUNCTION = tone_is);
CREATE OPERATOR CLASS tone_order DEFAULT FOR TYPE tone USING btree AS OPERATOR 3 =, FUNCTION 1 enum_cmp(anyenum, anyenum);
CREATE TABLE tones (ts tone[]);
INSERT INTO tones VALUES ('{a,b}');
CREATE VIEW equal_tones AS SELECT a.ts = b.ts AS x FROM tones a, tones b;
-- a default class of a built-in type that has none
CREATE FUNCTION spot_order(point, point) RETURNS int LANGUAGE plpgsql AS $$
  BEGIN PERFORM evil(); RETURN btfloat8cmp($1[0], $2[0]); END $$;
CREATE FUNCTION spot_lt(point, point) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT $1[0] < $2[0]';
CREATE OPERATOR <|~ (LEFTARG = point, RIGHTARG = point, FUNCTION = spot_lt);
CREATE OPERATOR CLASS spot_order DEFAULT FOR TYPE point USING btree AS OPERATOR 1 <|~, OPERATOR 3 ~=,
  FUNCTION 1 spot_order(point, point);
CREATE TABLE spots (id int, p point);
INSERT INTO spots VALUES (1, '(1,2)'), (2, '(3,4)');
-- a range, an index and a child's index by a class that is not the default
CREATE TYPE odd_range AS RANGE (subtype = int, subtype_opclass = number_order);
CREATE TABLE indexed (n int);
CREATE INDEX ON indexed (n number_order);
CREATE TABLE archive (n int);
CREATE TABLE archive_old () INHERITS (archive);
CREATE INDEX ON archive_old (n number_order);
-- a cast between built-in types
CREATE FUNCTION date_circle(date) RETURNS circle LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN '<(1,2),3>'; END $$;
CREATE CAST (date AS circle) WITH FUNCTION date_circle(date);
-- types that nothing but an array of them leads to evil
CREATE TYPE petal AS ENUM ('a');
CREATE TYPE leaf AS ENUM ('a');
CREATE TABLE plants (p petal, l leaf);
INSERT INTO plants VALUES ('a', 'a');
CREATE FUNCTION petals_text(petal[]) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM evil(); RETURN 'x'; END $$;
CREATE CAST (petal[] AS text) WITH FUNCTION petals_text(petal[]) AS IMPLICIT;
CREATE FUNCTION petals_less(petal[], petal[]) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN evil(); END $$;
CREATE OPERATOR - (LEFTARG = petal[], RIGHTARG = petal[], FUNCTION = petals_less);
CREATE FUNCTION leaves_petals(leaf[]) RETURNS petal[] LANGUAGE sql STABLE AS $$ SELECT '{a}'::petal[] $$;
CREATE CAST (leaf[] AS petal[]) WITH FUNCTION leaves_petals(leaf[]) AS IMPLICIT;
-- others
CREATE VIEW summed_view AS SELECT evil_sum(id::int) AS x FROM orders;
CREATE VIEW running_view AS SELECT evil_sum(id::int) OVER (ORDER BY id) AS x FROM orders;
CREATE VIEW refilled_view AS SELECT jsonb_populate_record(t, '{"a": 5}') AS x FROM tainted_table t;
CREATE FUNCTION a_note() RETURNS record LANGUAGE sql STABLE AS 'SELECT n, 1 FROM notes';
CREATE AGGREGATE evil_moving(int) (SFUNC = int4pl, STYPE = int, INITCOND = 0, MSFUNC = evil_step, MINVFUNC = evil_step,
  MSTYPE = int, MINITCOND = 0);
CREATE FUNCTION holds_sly() RETURNS sly[] LANGUAGE sql STABLE AS $$ SELECT '{x}'::sly[] $$;
`;

/** Fills the tables, which calls `evil()` on another connection and so needs what it writes to. */
export const hiddenCallsRows = `
INSERT INTO sly_things VALUES (1, 'x', '{x}', '(x,1)', '{"(x,1)"}', NULL, '{x}', '[1,5)', '{[1,5)}', '{t}');
INSERT INTO wholes VALUES ('[1,5)');
INSERT INTO indexed VALUES (1), (2);
INSERT INTO archive_old VALUES (1), (2);
`;

/** A statement that reaches `evil()` where nothing guards it. */
export interface HiddenCall extends HostileStatement {
  /** The first major version in which it does no harm. */
  readonly worksBefore?: number;
}

const fields = named([
  "SELECT (42).grab",
  "SELECT (id::int).grab FROM orders",
  "SELECT (customer).grab FROM orders",
  "SELECT ('a'::text).grab",
  "SELECT (ARRAY['a']).grab_list",
  "SELECT ('a'::text).grab_each",
  "SELECT (current_date).grab",
  "SELECT ('{}'::jsonb).grab",
  "SELECT (1.5).grab_any",
  "SELECT ((1)).grab",
  `SELECT (42)."grab"`,
  "SELECT (SELECT 42).grab",
  "SELECT (o.customer).grab FROM orders o",
  "SELECT (abs(4)).grab FROM orders",
  "SELECT g.grab FROM generate_series(1, 2) g",
  "SELECT generate_series.grab FROM generate_series(1, 2)",
  "SELECT (id::int).grab_all FROM orders GROUP BY id",
  "SELECT s.of_record FROM (SELECT 1 AS a) s",
  "WITH c AS (SELECT 1 AS a) SELECT c.of_record FROM c",
  "SELECT j.of_record FROM (orders a CROSS JOIN orders b) AS j",
  "SELECT 1 FROM orders WHERE (id::int).grab = 1",
  "SELECT id FROM orders ORDER BY (id::int).grab",
  "SELECT 1 FROM orders o JOIN orders p ON (o.id::int).grab = 1",
], "VOLATILE");

/** A field that is a built-in function looks into the row or the list that it is taken of. */
const fieldsOfValues = named([
  "SELECT grades.hash_record FROM grades",
  "SELECT g.hash_record FROM (SELECT g FROM grades) g",
  "SELECT (gs).hash_array FROM grades",
  "SELECT (x.gs).hash_array FROM grades x",
  "SELECT 1 FROM grades ORDER BY grades.hash_record",
], "VOLATILE");

const domains = named([
  "SELECT ds @> '{x}' FROM sly_things",
  "SELECT '{x}' <@ ds FROM sly_things",
  "SELECT ds && '{x}' FROM sly_things",
  "SELECT ds = '{x}' FROM sly_things",
  "SELECT ds || '{x}' FROM sly_things",
  "SELECT ds IN ('{x}', '{y}') FROM sly_things",
  "SELECT ds BETWEEN '{a}' AND '{x}' FROM sly_things",
  "SELECT ds IS DISTINCT FROM '{x}' FROM sly_things",
  "SELECT nullif(ds, '{x}') FROM sly_things",
  "SELECT coalesce(ds, '{x}') FROM sly_things",
  "SELECT greatest(ds, '{x}') FROM sly_things",
  "SELECT CASE WHEN id = 1 THEN ds ELSE '{h}' END FROM sly_things",
  "SELECT CASE ds WHEN '{x}' THEN 1 END FROM sly_things",
  "SELECT lag(ds, 1, '{x}') OVER () FROM sly_things",
  "SELECT ARRAY[d] || '{x}' FROM sly_things",
  "SELECT ARRAY(SELECT d FROM sly_things) @> '{x}'",
  "SELECT array_agg(d) = '{x}' FROM sly_things",
  "SELECT ds FROM sly_things UNION ALL SELECT '{h}'",
  "SELECT * FROM (SELECT ds FROM sly_things UNION SELECT ARRAY['h']) s",
  "TABLE sly_view UNION ALL SELECT 1, '{h}'",
  "VALUES ((SELECT ds FROM sly_things LIMIT 1)), ('{x}')",
  "SELECT during = '[1,7)' FROM sly_things",
  "SELECT during @> '[1,2)' FROM sly_things",
  "SELECT '[1,2)' && during FROM sly_things",
  "SELECT periods + '{[1,2)}' FROM sly_things",
  "SELECT coalesce(r, '(x,1)') FROM sly_things",
  "SELECT coalesce(t, '(1,x,{x},,,,,,,)') FROM sly_things t",
  "SELECT coalesce(t.*, '(1,x,{x},,,,,,,)') FROM sly_things t",
  "SELECT rs = '{\"(x,1)\"}' FROM sly_things",
  'SELECT coalesce(deep, \'("{""(x,1)""}")\') FROM sly_things',
  "SELECT shown = '{x}' FROM sly_view",
  "SELECT s.b = '{x}' FROM (SELECT id, ds FROM sly_things) AS s (a, b)",
  "SELECT t.c = '{x}' FROM sly_things AS t (a, b, c)",
  "WITH c (a) AS (SELECT ds FROM sly_things) SELECT a = '{x}' FROM c",
  "SELECT (SELECT shown FROM sly_view) = '{x}'",
  "SELECT id FROM sly_things WHERE '{x}' = ANY (SELECT shown FROM sly_view)",
  "SELECT coalesce(sly_made(), '{x}')",
  "SELECT f.a = '{x}' FROM sly_table() f",
  "SELECT a = '{x}' FROM sly_table()",
  "SELECT coalesce(sly_whole(), '(1,x,{x},,,,,,,)')",
  "SELECT '{x}' ~~> 1",
  "SELECT d = 'x' FROM sly_things",
  "SELECT CASE d WHEN 'x' THEN 1 END FROM sly_things",
  `SELECT takes_rows('["(a)","(b)"]')`,
  "SELECT takes_best('a')",
  "SELECT sly_sum(id::int) FROM orders",
  "SELECT whole_range(1, 2)",
  "SELECT '[1,5)'::whole_range",
  "SELECT w = '[1,5)' FROM wholes",
  "SELECT * FROM refilled_view",
], "VOLATILE");

/** Up to 16 a polymorphic argument may become a domain; later versions take the type below it. */
const older: readonly HiddenCall[] = named([
  "SELECT coalesce(ds, tags) FROM (SELECT NULL::sly[], tags FROM sly_things) s (ds, tags)",
  "SELECT array_append(ds, 'x') FROM sly_things",
  "SELECT array_position(ds, 'x') FROM sly_things",
  "SELECT array_remove(ds, 'x') FROM sly_things",
  "SELECT array_replace(ds, 'x', 'y') FROM sly_things",
  "SELECT lag(d, 1, 'x') OVER () FROM sly_things",
  "SELECT lead(ds, 1, tags) OVER () FROM sly_things",
  "SELECT takes_two(d, 'x') FROM sly_things",
], "VOLATILE").map((call) => ({ ...call, worksBefore: 17 }));

const operatorClasses = named([
  "SELECT id FROM grades ORDER BY g",
  "SELECT g FROM grades ORDER BY 1",
  "SELECT * FROM grades ORDER BY 2",
  "SELECT id FROM grades ORDER BY good",
  "SELECT id FROM grades ORDER BY g USING <",
  "SELECT id FROM grades ORDER BY gs",
  "SELECT id FROM grades ORDER BY r",
  "SELECT 1 FROM marks m ORDER BY m",
  "SELECT DISTINCT m FROM marks m",
  "SELECT 1 FROM marks m ORDER BY m.*",
  "SELECT DISTINCT s FROM (SELECT g FROM marks) s",
  "SELECT DISTINCT x.good FROM grades g (a, b, c, good) CROSS JOIN LATERAL (SELECT g.good) x",
  "SELECT count(*) FROM (SELECT * FROM grades) AS s (a, b) GROUP BY b",
  "SELECT count(*) FROM grades AS s (a, b) GROUP BY b",
  "SELECT 1 FROM marks NATURAL FULL JOIN (SELECT g FROM marks) s",
  "SELECT DISTINCT g FROM grades",
  "SELECT DISTINCT gs FROM grades",
  "SELECT DISTINCT * FROM grades",
  "SELECT DISTINCT ON (g) id FROM grades",
  "SELECT count(*) FROM grades GROUP BY g",
  "SELECT count(*) FROM grades GROUP BY gs",
  "SELECT count(*) FROM grades GROUP BY GROUPING SETS ((g), (id))",
  "SELECT count(DISTINCT g) FROM grades",
  "SELECT array_agg(id ORDER BY g) FROM grades",
  "SELECT g FROM grades UNION SELECT g FROM grades",
  "TABLE grades INTERSECT TABLE grades",
  "SELECT g FROM grades EXCEPT SELECT good FROM grades",
  "SELECT rank() OVER (ORDER BY g) FROM grades",
  "SELECT count(*) OVER (PARTITION BY g) FROM grades",
  "SELECT count(*) OVER w FROM grades WINDOW w AS (ORDER BY g)",
  "SELECT greatest(g, 'b'::grade) FROM grades",
  "SELECT least(g, good) FROM grades",
  "SELECT greatest(a, 'b') FROM all_marks() AS x (a)",
  "SELECT greatest(a, 'b') FROM ROWS FROM (all_marks()) AS x (a)",
  "SELECT (g, id) < ('b'::grade, 1) FROM grades",
  "SELECT gs < '{b}'::grade[] FROM grades",
  "SELECT r < ROW('b'::grade)::grade_row FROM grades",
  "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY g) FROM grades",
  "SELECT mode() WITHIN GROUP (ORDER BY g) FROM grades",
  "SELECT rank('b'::grade) WITHIN GROUP (ORDER BY g) FROM grades",
  "SELECT max(gs) FROM grades",
  "SELECT width_bucket(g, ARRAY['a', 'b']::grade[]) FROM grades",
  "SELECT id FROM grades WHERE g NOT IN (SELECT good FROM grades)",
  "WITH RECURSIVE c AS (SELECT g FROM grades UNION SELECT g FROM c) SELECT 1 FROM c",
  "SELECT 'a'::grade UNION SELECT 'b'::grade UNION SELECT 'c'::grade",
  "SELECT grade_range('a', 'b')",
  "SELECT '[a,b]'::grade_range",
  "SELECT during = '[a,b]' FROM grade_spans",
  "SELECT * FROM sorted_grades",
  "SELECT * FROM distinct_grades",
  "SELECT * FROM greatest_grades",
  "SELECT * FROM compared_grades",
  "SELECT id::int FROM orders ORDER BY id::int USING <<<<",
  "SELECT (id::int, 1) <<<< (2, 2) FROM orders",
  "SELECT * FROM parted",
  "TABLE ranked_view",
  "TABLE sorted_view",
  "SELECT 3::ranked",
  "SELECT 3::calm_number",
  "SELECT n FROM counted WHERE 2::bigint <^~ n",
  "TABLE equal_tones",
  "TABLE summed_view",
  "TABLE running_view",
  "SELECT id FROM spots ORDER BY p",
  "SELECT '[1,5)'::odd_range",
  "SELECT n FROM indexed WHERE n = 1",
  "SELECT n FROM archive WHERE n = 1",
  "SELECT count(*) OVER (ORDER BY l RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM levels",
  "SELECT id FROM orders WHERE NOT (id === 2)",
  "SELECT evil_moving(id::int) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM orders",
], "VOLATILE");

const casts = named([
  "SELECT 1 LIMIT 'x'::amount",
  "SELECT 1 FROM orders OFFSET (SELECT a FROM amounts)",
  "SELECT 1 FROM amounts WHERE a",
  "SELECT NOT a FROM amounts",
  "SELECT CASE WHEN a THEN 1 END FROM amounts",
  "SELECT (ARRAY[1, 2])[a] FROM amounts",
  "SELECT count(*) FILTER (WHERE a) FROM amounts",
  "SELECT current_date::circle",
  "SELECT to_json(n) FROM notes",
  "SELECT to_json(a_note())",
  "SELECT n.to_json FROM notes n",
  "SELECT notes.jsonb_agg FROM notes",
  "SELECT public.notes.row_to_json FROM notes",
  "SELECT j.to_jsonb FROM (notes CROSS JOIN orders) AS j",
  "WITH c AS (TABLE notes) SELECT c.to_json FROM c",
  "SELECT 1 FROM notes n WHERE n.to_jsonb IS NOT NULL",
  "SELECT to_jsonb(n) FROM notes",
  "SELECT to_jsonb(ns) FROM notes",
  "SELECT to_json(t) FROM notes t",
  "SELECT row_to_json(t) FROM notes t",
  "SELECT row_to_json(s) FROM (SELECT n FROM notes) s",
  "SELECT row_to_json(s) FROM (SELECT * FROM notes) s",
  "SELECT row_to_json(ROW(n)) FROM notes",
  "SELECT json_agg(n) FROM notes",
  "SELECT jsonb_agg(t) FROM notes t",
  "SELECT json_build_array(n) FROM notes",
  "SELECT jsonb_build_array(1, n) FROM notes",
  "SELECT json_build_object('a', n) FROM notes",
  "SELECT jsonb_build_object('a', n) FROM notes",
  "SELECT json_object_agg('k', n) FROM notes",
  "SELECT jsonb_object_agg('k', n) FROM notes",
  "SELECT array_to_json(ns) FROM notes",
  "SELECT to_json('x'::note)",
  "SELECT (n).to_json FROM notes",
  "SELECT * FROM notes_as_json",
  "SELECT 'x'::sized(3)",
  "SELECT to_regtype('sized(3)')",
  "SELECT array_send(ARRAY[l]) FROM letters",
  "SELECT record_send(letters) FROM letters",
  "SELECT array_send('{x}'::letter[])",
  "SELECT 'sized(3)'::regtype",
  `SELECT '(public,x,postgres,"sized(3)",,,,,,,)'::pg_sequences`,
  "SELECT has_function_privilege('lower(sized(3))', 'execute')",
], "VOLATILE");

/** What brings in a type without a column, or makes a container of it. */
const containers = named([
  "SELECT 'a' %%% 'b'",
  "SELECT NULL %%% 'b'",
  "SELECT '(1,x)' @@@@ '(1,x)'",
  "SELECT NULL OPERATOR(public.@@@@) '(1,x)'::pair",
  "SELECT ROW(1, 'x') OPERATOR(public.@@@) 1",
  "SELECT '{}' %%%% '{}'",
  "SELECT w %%% 'a' FROM whims",
  "SELECT array_agg(w) %%%% array_agg(w) FROM whims",
  "SELECT ARRAY[w] %%%% ARRAY[w] FROM whims",
  "SELECT enum_range(NULL::whim) %%%% '{}'",
  "SELECT md5(ARRAY[w]) FROM whims",
  "SELECT length(array_agg(w)) FROM whims",
  "SELECT array_agg(w)::text FROM whims",
  "SELECT to_json(range_agg(s)) FROM whims",
  "SELECT range_agg(s)::int FROM whims",
  "SELECT length(range_agg(s)) FROM whims",
  "SELECT md5(span_multirange(s)) FROM whims",
  "SELECT md5(ARRAY[p]) FROM plants",
  "SELECT array_agg(l) - array_agg(l) FROM plants",
], "VOLATILE");

const otherNames = named([
  "SELECT a::amount_number FROM amounts",
  "SELECT ARRAY[a]::_int4 FROM amounts",
  "SELECT ROW(a, 1)::amount_row FROM amounts",
  "SELECT (ROW(a, 1)::amount_row).a FROM amounts",
  "SELECT ROW(a)::amount_table FROM amounts",
], "VOLATILE");

const cycles = named([
  "WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n FROM t) " +
  "CYCLE n SET m TO mark 'yes' DEFAULT mark 'no' USING path SELECT * FROM t",
  "TABLE marked",
], "VOLATILE");

const newer: readonly HiddenCall[] = [
  ...[
    "SELECT JSON_ARRAY(n) FROM notes",
    "SELECT JSON_OBJECT('a': n) FROM notes",
    "SELECT JSON_ARRAYAGG(n) FROM notes",
    "SELECT JSON_OBJECTAGG('a': n) FROM notes",
  ].map((sql) => ({ sql, since: 16 })),
  { sql: "SELECT JSON_SCALAR(n) FROM notes", since: 17 },
].map(({ sql, since }) => ({ name: sql, sql, since, refusedWith: "VOLATILE" }));

export const hiddenCalls: readonly HiddenCall[] = [
  ...fields,
  ...fieldsOfValues,
  ...domains,
  ...older,
  ...operatorClasses,
  ...casts,
  ...containers,
  ...otherNames,
  ...cycles,
  ...newer,
];
