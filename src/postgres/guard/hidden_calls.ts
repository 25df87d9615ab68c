/**
 * What PostgreSQL may run without a statement naming it: functions behind operators, casts, types, domains' checks and
 * operator classes. Most databases have no such function that is VOLATILE; then nothing of this has to be followed. Where
 * there are some, `closureQuery` gives what a statement may not touch because of them, by whatever syntax.
 *
 * initdb's objects have OIDs below 16384. A function that takes `internal` is written in C and made by a superuser, and no
 * caller can pass values to it.
 */

/**
 * The functions behind such objects that are VOLATILE or whose name is refused. $1: refused names, as JSON. One row for
 * each: `oid`, `schema`, `name`, `extension`, whether it is built in, whether it is VOLATILE.
 */
export const hiddenFunctionsQuery = `
WITH doubtful AS MATERIALIZED (
  SELECT oid FROM pg_proc
  WHERE (provolatile = 'v' OR proname IN (SELECT json_array_elements_text($1::json)))
    AND NOT 'pg_catalog.internal'::regtype = ANY (proargtypes)
),
called(oid) AS (
  SELECT oprcode::oid FROM pg_operator WHERE oid >= 16384
  UNION ALL
  SELECT castfunc FROM pg_cast WHERE oid >= 16384
  UNION ALL
  -- what reads arrays, rows, ranges and domains is built in, and leads to what they are made of
  SELECT own FROM pg_type, unnest(ARRAY[typinput::oid, typoutput, typsend, typmodin, typmodout]) AS own
  WHERE oid >= 16384 AND own >= 16384
  UNION ALL
  SELECT unnest(ARRAY[rngcanonical::oid, rngsubdiff]) FROM pg_range WHERE rngtypid >= 16384
  UNION ALL
  SELECT amproc::oid FROM pg_amproc WHERE oid >= 16384
  UNION ALL
  SELECT o.oprcode FROM pg_amop a JOIN pg_operator o ON o.oid = a.amopopr WHERE a.oid >= 16384
  UNION ALL
  SELECT coalesce(o.oprcode::oid, token[2]::oid)
  FROM pg_constraint c CROSS JOIN LATERAL regexp_matches(c.conbin::text, ':(funcid|opno) (\\d+)', 'g') AS token
  LEFT JOIN pg_operator o ON token[1] = 'opno' AND o.oid = token[2]::oid
  WHERE c.contypid >= 16384
)
SELECT p.oid, n.nspname, p.proname, e.extname,
  CASE WHEN p.oid < 16384 THEN 'true' ELSE 'false' END,
  CASE WHEN p.provolatile = 'v' THEN 'true' ELSE 'false' END
FROM pg_proc p
JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_depend d ON d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
LEFT JOIN pg_extension e ON d.refclassid = 'pg_catalog.pg_extension'::regclass AND e.oid = d.refobjid
WHERE p.oid IN (SELECT oid FROM doubtful INTERSECT SELECT oid FROM called)`;

/**
 * What a statement may not touch because of some of those functions. $1: their OIDs, as JSON. One row for each:
 *
 * - `class`: `type`; `operator`; `relation`; `sort`, nothing may be sorted or grouped; `modifier`, no function may read a text as a type; `all`.
 * - `oid`: of the type, operator or relation.
 * - `cause`: of a type, the worst of what may be run: `output`, wherever a value of it is read; `value`, wherever values
 *   are looked into; `check`, wherever a value of it is made; `make`, wherever something becomes it on its own; `call`, by
 *   an operator or a cast, which stored trees name; `named`, by a cast to it from a built-in type; `column`, by what is in
 *   a column of it. Of an operator: `exact`, where a stored tree has it; `named`, wherever
 *   its name stands, since built-in values or literals may be its operands; `qualified`, where its name stands with a
 *   schema, which leaves no other to be taken for it; `joined`, where rows are joined by it.
 * - `is_flat`: of a domain, whether it becomes its base type wherever literals or other types stand beside it.
 * - `function`: the OID of one that may be run; `via`: what leads to it.
 */
export const closureQuery = `
WITH RECURSIVE
danger AS MATERIALIZED (SELECT value::oid AS oid FROM json_array_elements_text($1::json)),
-- an operator's commutator or negator may be run in its place
operators AS MATERIALIZED (
  SELECT o.oid, o.oprname, o.oprleft, o.oprright, x.oprcode::oid AS function
  FROM pg_operator x JOIN danger d ON d.oid = x.oprcode JOIN pg_operator o ON x.oid IN (o.oid, o.oprcom, o.oprnegate)
),
families AS MATERIALIZED (
  SELECT amprocfamily AS oid, amproc::oid AS function, amproclefttype, amprocrighttype
  FROM pg_amproc WHERE amproc::oid IN (SELECT oid FROM danger)
  UNION
  SELECT a.amopfamily, o.function, a.amoplefttype, a.amoprighttype FROM pg_amop a JOIN operators o ON o.oid = a.amopopr
),
classes AS MATERIALIZED (
  SELECT c.oid, c.opcintype, c.opcdefault, f.function
  FROM pg_opclass c JOIN families f ON f.oid = c.opcfamily WHERE f.oid >= 16384
),
checks AS MATERIALIZED (
  SELECT DISTINCT c.contypid AS domain, number::oid AS mentioned
  FROM pg_constraint c
  CROSS JOIN LATERAL regexp_matches(c.conbin::text, ':\\w+ (?:\\(o )?(\\d+(?: \\d+)*)', 'g') AS token
  CROSS JOIN unnest(string_to_array(token[1], ' ')) AS number
  WHERE c.contypid >= 16384
),
seeds(oid, cause, is_flat, function, via) AS (
  SELECT side,
    CASE WHEN c.casttarget IN ('pg_catalog.json'::regtype, 'pg_catalog.jsonb'::regtype) THEN 'value'
      WHEN c.castcontext = 'i' AND side = c.casttarget THEN 'make' ELSE 'call' END,
    false, c.castfunc, 'the cast from ' || format_type(c.castsource, NULL) || ' to ' || format_type(c.casttarget, NULL)
  FROM pg_cast c JOIN danger d ON d.oid = c.castfunc, unnest(ARRAY[c.castsource, c.casttarget]) AS side
  WHERE side >= 16384
  UNION ALL
  SELECT c.casttarget, 'named', false, c.castfunc,
    'the cast from ' || format_type(c.castsource, NULL) || ' to ' || format_type(c.casttarget, NULL)
  FROM pg_cast c JOIN danger d ON d.oid = c.castfunc WHERE greatest(c.castsource, c.casttarget) < 16384
  UNION ALL
  SELECT t.oid, 'output', false, d.oid, 'type ' || format_type(t.oid, NULL)
  FROM pg_type t JOIN danger d ON d.oid IN (t.typinput, t.typoutput) WHERE t.oid >= 16384
  UNION ALL
  -- array_send() and its like run it of the values in what they are given
  SELECT t.oid, 'value', false, d.oid, 'type ' || format_type(t.oid, NULL)
  FROM pg_type t JOIN danger d ON d.oid = t.typsend WHERE t.oid >= 16384
  UNION ALL
  -- a type with a modifier: itself, and what reads a type from a text
  SELECT made.oid, made.cause, false, d.oid, 'type ' || format_type(t.oid, NULL)
  FROM pg_type t JOIN danger d ON d.oid IN (t.typmodin, t.typmodout), LATERAL (
    SELECT t.oid, 'call' UNION ALL SELECT unnest(ARRAY['regtype', 'regprocedure', 'regoperator']::regtype[])::oid, 'check'
  ) AS made(oid, cause)
  WHERE t.oid >= 16384
  UNION ALL
  SELECT g.rngtypid, 'output', false, d.oid, 'type ' || format_type(g.rngtypid, NULL)
  FROM pg_range g JOIN danger d ON d.oid IN (g.rngcanonical, g.rngsubdiff)
  UNION ALL
  SELECT c.domain, 'check', true, coalesce(d.oid, o.function, f.function), 'domain ' || format_type(c.domain, NULL)
  FROM checks c LEFT JOIN danger d ON d.oid = c.mentioned LEFT JOIN operators o ON o.oid = c.mentioned
  LEFT JOIN families f ON f.oid = c.mentioned AND f.oid >= 16384
  WHERE coalesce(d.oid, o.oid, f.oid) IS NOT NULL
  UNION ALL
  SELECT operand, 'call', false, o.function, 'operator ' || o.oprname
  FROM operators o, unnest(ARRAY[o.oprleft, o.oprright]) AS operand WHERE operand >= 16384
  UNION ALL
  SELECT c.opcintype, 'value', false, c.function, 'an operator class of ' || format_type(c.opcintype, NULL)
  FROM classes c WHERE c.opcintype < 16384 AND c.opcdefault
  UNION ALL
  SELECT side, 'value', false, f.function, 'an operator class of ' || format_type(side, NULL)
  FROM families f, unnest(ARRAY[f.amproclefttype, f.amprocrighttype]) AS side WHERE side >= 16384
  UNION ALL
  SELECT g.rngtypid, 'output', false, c.function, 'type ' || format_type(g.rngtypid, NULL)
  FROM pg_range g JOIN classes c ON c.oid = g.rngsubopc
),
-- what values of a type can be made into without a name: arrays and multiranges, and what becomes it on its own
makings(made, source) AS MATERIALIZED (
  SELECT oid, typelem FROM pg_type WHERE typelem >= 16384
  UNION ALL
  SELECT rngmultitypid, rngtypid FROM pg_range
  UNION ALL
  SELECT casttarget, castsource FROM pg_cast WHERE castcontext = 'i' AND castsource >= 16384
),
-- where a type is
holders(held, holder, stays_flat, compares) AS MATERIALIZED (
  SELECT typelem, oid, false, false FROM pg_type WHERE typelem <> 0
  UNION ALL
  SELECT typbasetype, oid, true, false FROM pg_type WHERE typbasetype <> 0
  UNION ALL
  SELECT a.atttypid, c.reltype, false, false FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  WHERE c.reltype <> 0 AND a.attnum > 0 AND NOT a.attisdropped
    AND (a.atttypid >= 16384 OR EXISTS (SELECT FROM seeds WHERE oid < 16384))
  UNION ALL
  SELECT rngsubtype, rngtypid, false, true FROM pg_range
  UNION ALL
  SELECT rngtypid, rngmultitypid, false, false FROM pg_range
  UNION ALL
  SELECT casttarget, castsource, false, false FROM pg_cast WHERE castcontext = 'i' AND castsource >= 16384
),
sources(oid, cause, is_flat, function, via) AS (
  SELECT oid, cause, is_flat, function, via FROM seeds
  UNION
  SELECT m.source, s.cause, false, s.function, s.via FROM sources s JOIN makings m ON m.made = s.oid
),
closed(oid, cause, is_flat, function, via) AS (
  SELECT oid, cause, is_flat, function, via FROM sources
  UNION
  SELECT step.oid, step.cause, step.is_flat, c.function, c.via
  FROM closed c CROSS JOIN LATERAL (
    SELECT h.holder, CASE WHEN h.compares AND c.cause = 'value' THEN 'output' ELSE c.cause END, c.is_flat AND h.stays_flat
    FROM holders h WHERE h.held = c.oid
    UNION ALL
    -- what a check looks into or makes
    SELECT k.domain, 'check', true FROM checks k WHERE k.mentioned = c.oid AND c.cause IN ('output', 'value', 'check')
  ) AS step(oid, cause, is_flat)
),
types AS MATERIALIZED (
  SELECT DISTINCT ON (oid, cause) oid, cause, is_flat, function, via FROM closed ORDER BY oid, cause, is_flat, function
),
touched AS MATERIALIZED (SELECT DISTINCT oid FROM types WHERE cause <> 'named'),
-- operators that are run, or lead to such a type
concerned AS MATERIALIZED (
  SELECT o.oid, o.oprname, o.oprleft, o.oprright, o.oprresult FROM pg_operator o
  WHERE o.oid IN (SELECT oid FROM operators) OR o.oid >= 16384 AND EXISTS (
    SELECT FROM touched t WHERE t.oid IN (o.oprleft, o.oprright, o.oprresult))
),
operands AS MATERIALIZED (
  SELECT o.oid, o.oprleft = o.oprright AS is_same, t.typtype, t.typcategory,
    -- nothing but a value of it or a literal can stand there
    t.oid >= 16384 AND t.typtype NOT IN ('c', 'd') AND NOT t.typispreferred AND t.oid IN (SELECT oid FROM touched)
      AND (t.typcategory <> 'A' OR e.oid >= 16384 AND e.typtype <> 'd')
      AND NOT m.is_made AS is_closed,
    m.is_made,
    -- PostgreSQL has one of the same name for two values of it
    EXISTS (
      SELECT FROM pg_operator b WHERE b.oprname = o.oprname AND b.oid < 16384 AND b.oprleft = b.oprright
        AND b.oprleft = CASE t.typtype WHEN 'd' THEN t.typbasetype WHEN 'c' THEN 'record'::regtype ELSE t.oid END
    ) AS is_known
  FROM concerned o CROSS JOIN unnest(ARRAY[o.oprleft, o.oprright]) AS operand
  LEFT JOIN pg_type t ON t.oid = operand LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
  CROSS JOIN LATERAL (
    SELECT EXISTS (
      SELECT FROM pg_cast c WHERE c.casttarget IN (t.oid, e.oid) AND c.castcontext = 'i' AND c.castsource < 16384
    ) AS is_made
  ) AS m
),
-- those that may run without a value of such a type: on built-in values, literals, NULL, ROW() or parameters
loose AS MATERIALIZED (
  SELECT o.oid FROM concerned o
  WHERE NOT (
    EXISTS (
      SELECT FROM operands p WHERE p.oid = o.oid
      HAVING bool_and(coalesce(is_closed OR is_known AND typtype <> 'c', false)) AND bool_or(is_closed)
        OR bool_and(is_same AND is_known AND NOT is_made AND typtype IN ('c', 'd')))
    AND EXISTS (
      -- two literals are texts where that can be, and nothing where it cannot be told what they are
      SELECT FROM pg_operator b JOIN pg_type l ON l.oid = b.oprleft JOIN pg_type r ON r.oid = b.oprright
      WHERE b.oprname = o.oprname AND b.oid < 16384
      HAVING bool_or(l.oid = 'text'::regtype AND r.oid = 'text'::regtype)
        OR count(DISTINCT l.typcategory) > 1 AND count(DISTINCT r.typcategory) > 1
          AND NOT EXISTS (SELECT FROM operands p WHERE p.oid = o.oid AND p.typcategory = 'S'))
  )
),
-- the bounds of partitions are compared whenever one of them is opened
rooted(oid, function) AS (
  SELECT p.partrelid, c.function FROM pg_partitioned_table p JOIN classes c ON c.oid = ANY (p.partclass)
  UNION
  SELECT i.indrelid, c.function FROM pg_index i JOIN classes c ON c.oid = ANY (i.indclass) WHERE c.opcintype < 16384
  UNION
  SELECT CASE WHEN r.oid = i.inhrelid THEN i.inhparent ELSE i.inhrelid END, r.function
  FROM rooted r JOIN pg_inherits i ON r.oid IN (i.inhrelid, i.inhparent)
)
SELECT 'type', oid, cause, CASE WHEN is_flat THEN 'true' ELSE 'false' END, function, via FROM types
UNION ALL
-- columns of catalogs that hold values of whatever type
SELECT * FROM (
  SELECT 'type', 'pg_catalog.anyarray'::regtype::oid, 'column', 'false', function, via FROM types
  WHERE cause IN ('output', 'value') LIMIT 1
) AS statistics
UNION ALL
SELECT 'operator', oid, 'exact', 'false', function, 'operator ' || oprname FROM operators
UNION ALL
SELECT 'operator', o.oid, CASE WHEN o.oid IN (SELECT oid FROM loose) THEN 'named' ELSE 'qualified' END, 'false', f.function, f.via
FROM concerned o CROSS JOIN LATERAL (
  SELECT x.function, 'operator ' || x.oprname AS via FROM operators x WHERE x.oid = o.oid
  UNION ALL
  SELECT t.function, t.via FROM types t WHERE t.cause <> 'named' AND t.oid IN (o.oprleft, o.oprright, o.oprresult)
  LIMIT 1
) AS f
UNION ALL
-- operators of a class sort, hash and join by it
SELECT 'operator', a.amopopr,
  CASE WHEN a.amopopr >= 16384 OR m.amname <> 'btree' OR a.amopstrategy <> 3 THEN 'named' ELSE 'joined' END,
  'false', f.function, 'an operator class of ' || format_type(a.amoplefttype, NULL)
FROM pg_amop a JOIN families f ON f.oid = a.amopfamily AND f.oid >= 16384 JOIN pg_am m ON m.oid = a.amopmethod
WHERE m.amname IN ('btree', 'hash') AND greatest(a.amoplefttype, a.amoprighttype) < 16384
UNION ALL
SELECT 'sort', a.amopopr, '', 'false', f.function, 'an operator class of ' || format_type(a.amoplefttype, NULL)
FROM pg_amop a JOIN families f ON f.oid = a.amopfamily AND f.oid >= 16384 JOIN pg_am m ON m.oid = a.amopmethod
WHERE a.amopopr < 16384 AND (m.amname = 'hash' OR m.amname = 'btree' AND a.amopstrategy IN (1, 5))
  AND greatest(a.amoplefttype, a.amoprighttype) < 16384
UNION ALL
-- arrays of built-in values are made without a name
SELECT 'sort', t.oid, '', 'false', c.function, 'an operator class of ' || format_type(t.oid, NULL)
FROM classes c JOIN pg_type t ON t.oid = c.opcintype WHERE c.opcdefault AND t.oid < 16384 AND t.typelem <> 0
UNION ALL
SELECT 'relation', oid, '', 'false', function, 'an operator class of ' || oid::regclass::text FROM rooted
UNION ALL
SELECT 'modifier', t.oid, '', 'false', d.oid, 'type ' || format_type(t.oid, NULL)
FROM pg_type t JOIN danger d ON d.oid IN (t.typmodin, t.typmodout) WHERE t.oid >= 16384
UNION ALL
SELECT 'all', c.oid, '', 'false', c.castfunc,
  'the cast from ' || format_type(c.castsource, NULL) || ' to ' || format_type(c.casttarget, NULL)
FROM pg_cast c JOIN danger d ON d.oid = c.castfunc
WHERE greatest(c.castsource, c.casttarget) < 16384 AND c.castcontext IN ('i', 'a')
UNION ALL
SELECT 'all', oid, '', 'false', function, 'an operator family of built-in types'
FROM families WHERE oid < 16384 AND greatest(amproclefttype, amprocrighttype) < 16384`;
