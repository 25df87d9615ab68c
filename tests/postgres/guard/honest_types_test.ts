import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";

/** Types of all kinds whose functions are not VOLATILE, and beside them some whose are. */
const fixture = `
CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION ltree; CREATE EXTENSION isn; CREATE EXTENSION cube;
CREATE EXTENSION intarray; CREATE EXTENSION pg_trgm; CREATE EXTENSION btree_gist; CREATE EXTENSION btree_gin;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'glad');
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE FUNCTION is_code(text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN length($1) = 2; END';
CREATE DOMAIN code AS text CHECK (is_code(VALUE));
CREATE TYPE address AS (street text, zip code);
CREATE TYPE size_range AS RANGE (subtype = positive);
CREATE FUNCTION point_order(point, point) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT btfloat8cmp($1[0], $2[0])';
CREATE FUNCTION money_less(mood, int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE OPERATOR <=< (LEFTARG = mood, RIGHTARG = int, FUNCTION = money_less);
CREATE FUNCTION mood_json(mood) RETURNS json LANGUAGE sql IMMUTABLE AS 'SELECT to_json($1::text)';
CREATE CAST (mood AS json) WITH FUNCTION mood_json(mood);
CREATE TABLE people (id int PRIMARY KEY, name citext, mood mood, moods mood[], age positive, ages positive[], codes code[],
  home address, homes address[], sizes size_range, extra hstore, path ltree, isbn isbn, at cube, doc jsonb, period int4range);
INSERT INTO people VALUES (1, 'Ann', 'glad', '{sad,ok}', 30, '{1,2}', '{de,fr}', '(Main,de)', '{"(Main,de)"}', '[1,5)', 'a=>1', 'a.b',
  '1-4133-0454-0', '(1,2)', '{"a": [1, {"b": 2}]}', '[1,5)');
CREATE VIEW grown AS SELECT DISTINCT mood, codes, home FROM people ORDER BY home;
-- VOLATILE ones
CREATE FUNCTION careless(anyelement) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE DOMAIN email AS text CHECK (careless(VALUE));
CREATE TABLE contacts (id int, address email, other email[], name text);
INSERT INTO contacts VALUES (1, 'a@b', '{c@d}', 'Ann');
CREATE VIEW reachable AS SELECT id, address FROM contacts WHERE address <> '';
CREATE FUNCTION all_contacts() RETURNS SETOF contacts LANGUAGE sql STABLE AS 'SELECT * FROM contacts';
CREATE FUNCTION name(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE TYPE grade AS ENUM ('a', 'b');
CREATE FUNCTION grade_order(grade, grade) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN enum_cmp($1, $2); END';
CREATE OPERATOR CLASS grade_order DEFAULT FOR TYPE grade USING btree AS FUNCTION 1 grade_order(grade, grade);
CREATE TABLE exams (id int, grade grade, grades grade[]);
INSERT INTO exams VALUES (1, 'a', '{a,b}');
CREATE TYPE shade AS ENUM ('x');
CREATE FUNCTION shade_is(shade, shade) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
CREATE OPERATOR = (LEFTARG = shade, RIGHTARG = shade, FUNCTION = shade_is);
CREATE TYPE note AS ENUM ('x');
CREATE FUNCTION note_json(note) RETURNS json LANGUAGE plpgsql AS 'BEGIN RETURN to_json(1); END';
CREATE CAST (note AS json) WITH FUNCTION note_json(note);
CREATE TABLE notes (id int, note note);
CREATE FUNCTION note_number(note) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE CAST (note AS int) WITH FUNCTION note_number(note);
CREATE FUNCTION number_order(int, int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN btint4cmp($1, $2); END';
CREATE OPERATOR CLASS number_order FOR TYPE int USING btree AS OPERATOR 3 =, FUNCTION 1 number_order(int, int);
CREATE TABLE ordered (n int);
CREATE INDEX ON ordered (n number_order);
`;

const statements = [
  "SELECT * FROM people ORDER BY name, mood, ages, home, sizes, path, isbn, at",
  "SELECT DISTINCT name, moods, codes, home, homes, sizes FROM people",
  "SELECT mood, count(*) FROM people GROUP BY mood HAVING max(mood) > 'sad'",
  "SELECT codes @> '{de}', ages = '{1}', sizes = '[1,5)', coalesce(codes, '{xx}') FROM people",
  "SELECT array_append(codes, 'de'), array_position(ages, 1), lag(age, 1, 5) OVER (ORDER BY mood) FROM people",
  "SELECT codes FROM people UNION SELECT '{de,fr}'",
  "SELECT (home).street, (home).zip, (people.home).street, (homes[1]).zip, people.name FROM people",
  "SELECT p.doc -> 'a' -> 1 ->> 'b', p.doc['a'][0], p.extra -> 'a', p.path @> 'a.b.c' FROM people p",
  "SELECT p.name, c.name FROM people p JOIN contacts c ON c.name LIKE p.name::text",
  "SELECT to_json(mood), row_to_json(p), jsonb_agg(p.home), json_build_object('m', moods) FROM people p GROUP BY p.id",
  "SELECT mood <=< 1, name = 'ann', name LIKE 'a%', greatest(mood, 'ok') FROM people",
  "SELECT p = p, ROW(mood, name) < ROW('ok'::mood, 'b'::citext) FROM people p",
  "SELECT * FROM grown WHERE mood = 'glad'",
  "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age), mode() WITHIN GROUP (ORDER BY mood) FROM people",
  "SELECT sum(age) OVER (ORDER BY age RANGE BETWEEN 1 PRECEDING AND CURRENT ROW), range_agg(period) OVER () FROM people",
  "SELECT similarity(name::text, 'ann'), 'an' <% name::text FROM people ORDER BY name::text <-> 'ann'",
  "SELECT * FROM contacts WHERE name = 'Ann'",
  "SELECT id, address, lower(address) FROM contacts WHERE address = 'a@b' AND name ILIKE '%a%' ORDER BY address",
  "SELECT coalesce(address, 'none'), address || '!', CASE WHEN id = 1 THEN address ELSE 'x' END FROM contacts",
  "SELECT address FROM contacts UNION SELECT 'x'",
  "SELECT c.id, c.name FROM contacts c WHERE c.address IN ('a@b', 'c@d') GROUP BY c.id, c.name",
  "SELECT other FROM contacts",
  "SELECT c.* FROM contacts c WHERE c.id = 1 AND c.name LIKE 'A%' ORDER BY c.id",
  "SELECT id FROM reachable WHERE address LIKE '%b' ORDER BY 1",
  "SELECT id, address FROM all_contacts() WHERE name = 'Ann'",
  "SELECT id, grade FROM exams WHERE id = 1 LIMIT 5",
  "SELECT id, grades FROM exams",
  "SELECT * FROM exams WHERE id > 0",
  "SELECT id FROM exams ORDER BY id",
  "SELECT * FROM notes ORDER BY id",
  "SELECT json_agg(id) FROM notes",
  "SELECT (EXISTS (SELECT FROM notes))::int, count(*)::int FROM notes",
  "SELECT name FROM people WHERE id = 1 AND name = 'Ann' GROUP BY name ORDER BY name",
];

/** Honest too, but what stands behind their types may be reached: the reply says what an administrator can do. */
const refused: readonly (readonly [sql: string, reason: RegExp])[] = [
  [
    "SELECT json_agg(c) FROM contacts c",
    /^"contacts" is not allowed: domain email calls public\.careless\(\), and it is VOLATILE/,
  ],
  ["SELECT other @> '{a}' FROM contacts", /domain email/],
  [
    "SELECT * FROM notes ORDER BY note",
    /^"notes" is not allowed: the cast from note to json calls public\.note_json\(\)/,
  ],
  // a join and an index may take any class that an operator is in
  [
    "SELECT 1 FROM people p JOIN contacts c ON c.id = p.id",
    /an operator class of integer calls public\.number_order\(\)/,
  ],
  ["SELECT n FROM ordered WHERE n = 1", /an operator class of ordered calls public\.number_order\(\)/],
  ["SELECT id FROM exams ORDER BY grade", /an operator class of grade calls public\.grade_order\(\)/],
];

testWithPostgres("honest statements over types of all kinds run", async () => {
  await using testDatabase = await createTestDatabase();
  await testDatabase.query(fixture);
  await using pools = createConnectionPools({ maxConnections: 2, logger: silentLogger });
  const guard = await createStatementGuard();
  const database = createDatabase({
    options: databaseOptions(testDatabase.url),
    pools,
    guard,
    logger: silentLogger,
  });
  const failed: string[] = [];
  for (const sql of statements) {
    const result = await database.read({
      principal: { kind: "local" },
      sql,
      signal: new AbortController().signal,
    });
    if (!result.ok) failed.push(`${sql} → ${result.error.message}`);
  }
  assert.deepEqual(failed, []);
  for (const [sql, reason] of refused) {
    const result = await database.read({
      principal: { kind: "local" },
      sql,
      signal: new AbortController().signal,
    });
    assert.match(result.ok ? `it ran: ${sql}` : result.error.message, reason);
  }
});
