import { quoteLiteral } from "../sql_text.ts";
import { fillsRow } from "./statement_names.ts";

/** Pseudo-types such as `anyarray`, which stand for a container of a given type. */
const containerTypes = "2277, 3831, 4537, 4538, 5078, 5080";
/** Types that arguments share. */
const polymorphicTypes = `${containerTypes}, 2283, 2776, 3500, 5077, 5079`;
/** btree and hash, whose default classes sort and group. */
const orderingMethods = "403, 405";

/**
 * Finds every function that PostgreSQL may run because of the names in a statement, and returns those that are
 * VOLATILE or whose name is refused. It resolves names as PostgreSQL does, by the search path. Where several
 * functions or operators share a name, it takes all of them and ignores the types of arguments: refusing one too many
 * is safe. From there on it follows what the catalogs store exactly: the parsed trees of views, of row-level security
 * policies, of virtual columns, of domains' checks and of default arguments hold the OIDs of what they call.
 *
 * PostgreSQL also runs functions that no name mentions: the checks of a domain inside of an array, a row or a range
 * that a value is cast to; the support functions of a type's default operator class where values are sorted,
 * grouped or compared; an operator's commutator or negator in its place; a type's own functions; casts to JSON.
 *
 * $1: the names, as JSON `[{kind, schema, name}]`; $2: refused function names, as JSON. One row per function: `subject`
 * (what in the statement leads to it), `via` (`function`, `operator`, `cast`, `type`), `schema`, `name`, `extension`,
 * whether it is built in, whether it is VOLATILE, whether the statement itself names it.
 *
 * initdb's objects have OIDs below 16384. A function that takes `internal` is written in C and made by a superuser,
 * and no caller can pass values to it.
 */
export const reachQueries = { named: reachQuery(() => ""), unnamed: reachQuery((sql) => sql) };

/**
 * Whether statements can reach a refused function without its name: by an operator, a cast, an operator class, a type
 * or a domain's check. One row, `true` or `false`; $1: refused function names, as JSON.
 */
export const unnamedCallsQuery = `
WITH doubtful AS MATERIALIZED (
  SELECT oid FROM pg_proc
  WHERE (provolatile = 'v' OR proname IN (SELECT json_array_elements_text($1::json)))
    AND NOT 'pg_catalog.internal'::regtype = ANY (proargtypes)
)
SELECT CASE WHEN EXISTS (
  SELECT FROM doubtful p JOIN pg_depend d ON d.refclassid = 'pg_catalog.pg_proc'::regclass AND d.refobjid = p.oid
  WHERE d.classid IN ('pg_operator'::regclass, 'pg_cast'::regclass, 'pg_type'::regclass, 'pg_constraint'::regclass,
    'pg_opclass'::regclass, 'pg_opfamily'::regclass, 'pg_amproc'::regclass, 'pg_amop'::regclass)
) OR EXISTS (
  -- what depends on a built-in function is not recorded
  SELECT FROM pg_operator WHERE oid >= 16384 AND oprcode::oid < 16384 AND oprcode::oid IN (SELECT oid FROM doubtful)
) OR EXISTS (
  SELECT FROM pg_cast WHERE oid >= 16384 AND castfunc < 16384 AND castfunc IN (SELECT oid FROM doubtful)
) OR EXISTS (
  SELECT FROM pg_constraint c CROSS JOIN LATERAL regexp_matches(c.conbin::text, ':funcid (\\d+)', 'g') AS token
  WHERE c.contypid <> 0 AND token[1]::oid IN (SELECT oid FROM doubtful)
) THEN 'true' ELSE 'false' END`;

/** `unnamed` adds the parts for functions that statements reach without a name; most databases need none of them. */
function reachQuery(unnamed: (sql: string) => string): string {
  return `
WITH RECURSIVE
wanted AS MATERIALIZED (
  SELECT kind, schema, name FROM json_to_recordset($1::json) AS wanted(kind text, schema text, name text)
),
path AS MATERIALIZED (
  SELECT n.oid, n.nspname, p.place
  FROM unnest(current_schemas(true)) WITH ORDINALITY AS p(nspname, place) JOIN pg_namespace n ON n.nspname = p.nspname
),
-- a name with every schema that it may be in
placed AS MATERIALIZED (
  SELECT w.kind, w.name, w.schema, n.oid AS namespace, 0::bigint AS place
  FROM wanted w JOIN pg_namespace n ON n.nspname = w.schema OR w.schema = 'pg_temp' AND n.oid = pg_my_temp_schema()
  UNION ALL
  SELECT w.kind, w.name, w.schema, p.oid, p.place FROM wanted w CROSS JOIN path p WHERE w.schema IS NULL
),
relations AS MATERIALIZED (
  SELECT DISTINCT ON (w.kind, w.schema, w.name) w.kind, c.oid, w.name, c.reltype
  FROM placed w JOIN pg_class c ON c.relname = w.name AND c.relnamespace = w.namespace
  WHERE w.kind IN ('relation', 'row', 'columns_of') ORDER BY w.kind, w.schema, w.name, w.place
),
functions AS MATERIALIZED (
  SELECT w.kind, p.oid, w.name, p.prorettype, p.proargtypes
  FROM placed w JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
  WHERE w.kind IN ('function', 'row')
),
${
    unnamed(
      `-- a field that may be a call for a value of any type, to_json or hash_record among them: it may look into whole rows
taken AS MATERIALIZED (
  SELECT EXISTS (
    SELECT FROM placed w JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
    JOIN pg_type a ON a.oid = p.proargtypes[0]
    WHERE w.kind IN ('field', 'row_field') AND p.pronargs - p.pronargdefaults <= 1 AND a.typtype = 'p'
  ) AS whole
),
columns AS MATERIALIZED (
  SELECT name FROM wanted WHERE kind = 'column' UNION ALL SELECT '*' FROM taken WHERE whole
),
-- what the statement does to values; it may make arrays of them by a function, or turn a value into the type of another
uses AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM wanted WHERE kind = 'use' AND name = 'coerce') AS coerces,
    t.whole OR EXISTS (SELECT FROM wanted WHERE kind = 'use' AND name = 'compare') AS compares,
    t.whole OR EXISTS (SELECT FROM wanted WHERE kind = 'use' AND name = 'sort') AS sorts,
    EXISTS (SELECT FROM wanted WHERE kind = 'use' AND name = 'array') OR EXISTS (
      SELECT FROM functions f WHERE f.prorettype IN (${containerTypes})
        OR (SELECT count(*) FROM unnest(f.proargtypes) AS a WHERE a IN (${polymorphicTypes})) > 1
    ) AS mixes
  FROM taken t
),`,
    )
  }
-- class: relation; function; operator; type, one that something may be cast to and so a value too; argument, one that
-- only what a function is given may be cast to; value, a type whose values may occur; inner, the same inside of another
-- type; held, one that a stored tree compares values of
named(class, oid, subject) AS MATERIALIZED (
  SELECT 'function', oid, name FROM functions WHERE kind = 'function'
  UNION
  -- x.f calls f(x) for a value of any type; a row may be cast to what f takes
  SELECT 'function', p.oid, w.name
  FROM placed w
  JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
  JOIN pg_type a ON a.oid = p.proargtypes[0]
  WHERE p.pronargs - p.pronargdefaults <= 1 AND (w.kind = 'field' OR w.kind = 'row_field' AND (
    a.typtype IN ('c', 'd', 'p') OR EXISTS (
      SELECT FROM pg_cast k JOIN pg_type s ON s.oid = k.castsource
      WHERE k.casttarget = a.oid AND k.castcontext = 'i' AND s.typtype = 'c')))
${
    unnamed(`  UNION
  SELECT 'type', t.oid, w.name FROM placed w JOIN pg_type t ON t.typname = w.name AND t.typnamespace = w.namespace
  WHERE w.kind = 'type'`)
  }
  UNION
  SELECT 'relation', oid, name FROM relations WHERE kind = 'relation'
${
    unnamed(`  UNION
  SELECT 'value', reltype, name FROM relations WHERE kind = 'row' AND reltype <> 0
  UNION
  SELECT 'value', prorettype, name FROM functions WHERE kind = 'row' AND prorettype >= 16384
  UNION
  SELECT 'value', a.atttypid, r.name FROM relations r JOIN pg_attribute a ON a.attrelid = r.oid
  WHERE r.kind IN ('relation', 'columns_of') AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384
    AND EXISTS (SELECT FROM columns c WHERE c.name IN (a.attname, '*'))
  UNION
  -- what an operator takes, of those made here
  SELECT 'argument', operand, w.name
  FROM placed w JOIN pg_operator o ON o.oprname = w.name AND o.oprnamespace = w.namespace AND o.oid >= 16384,
  unnest(ARRAY[o.oprleft, o.oprright]) AS operand
  WHERE w.kind = 'operator' AND operand >= 16384`)
  }
),
reach(class, oid, subject) AS (
  SELECT class, oid, subject FROM named
  UNION
  SELECT step.class, step.oid, r.subject
  FROM reach r ${unnamed("CROSS JOIN uses u")} CROSS JOIN LATERAL (
    -- what stored trees call and read: a view's query, the policies and virtual columns of a table, a domain's checks,
    -- default arguments
    SELECT mentioned.class, mentioned.oid
    FROM (
      SELECT ev_action::text FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class
      WHERE r.class = 'relation' AND w.ev_class = r.oid AND c.relkind = 'v' AND w.ev_type = '1'
      UNION ALL
      SELECT polqual::text FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
      WHERE r.class = 'relation' AND p.polrelid = r.oid AND c.relrowsecurity AND p.polcmd IN ('r', '*')
      UNION ALL
      SELECT adbin::text FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
      WHERE r.class = 'relation' AND d.adrelid = r.oid AND a.attgenerated = 'v'
${
    unnamed(`      UNION ALL
      -- a literal becomes a domain itself only where the type of another argument or element says so
      SELECT conbin::text FROM pg_constraint
      WHERE contypid = r.oid AND (r.class IN ('type', 'argument') OR u.coerces AND (r.class = 'inner' OR r.class = 'value' AND u.mixes))`)
  }
      UNION ALL
      SELECT proargdefaults::text FROM pg_proc WHERE r.class = 'function' AND oid = r.oid AND oid >= 16384
    ) AS stored(tree),
    LATERAL (
      -- typid is what JSON_VALUE and its like return, coltypes and funccoltypes the columns that FROM gives a function
      SELECT CASE WHEN token[1] = 'relid' THEN 'relation' WHEN token[1] IN ('opno', 'opnos', 'eqop', 'sortop') THEN 'operator'
                  WHEN token[1] ~ 'typ' THEN 'type' ELSE 'function' END, unnest(string_to_array(token[2], ' '))::oid
      FROM regexp_matches(tree, ':(funcid|aggfnoid|winfnoid|tsmhandler|relid' || ${
    unnamed("'|opnos?|eqop|sortop|resulttype|typid|(?:func)?coltypes' ||")
  }
        ') (?:\\(o )?([1-9]\\d*(?: \\d+)*)', 'g') AS token
${
    unnamed(`      UNION ALL
      SELECT 'held', token[1]::oid
      FROM regexp_matches(tree, ':(?:(?:var|const|param|agg|win|minmax|coalesce|case)type|array_typeid|row_typeid) ([1-9]\\d{4,})',
        'g') AS token
      WHERE token[1]::oid >= 16384
      UNION ALL
      -- a row that is filled casts to the types of its columns
      SELECT 'type', filled[2]::oid
      FROM regexp_matches(tree, ':(?:op)?funcid (\\d+) :(?:func|op)resulttype ([1-9]\\d{4,})', 'g') AS filled
      JOIN pg_proc p ON p.oid = filled[1]::oid
      WHERE p.proname IN (${[...fillsRow].map(quoteLiteral).join(", ")})`)
  }
      UNION ALL
      -- XMLTABLE is a node of its own, and searches as xpath() does
      SELECT 'function', 'pg_catalog.xpath(text, xml)'::regprocedure
      WHERE tree LIKE '%{TABLEFUNC :ns_uris%' OR tree LIKE '%{TABLEFUNC :functype 0 %'
${
    unnamed(`      UNION ALL
      SELECT 'type', 'pg_catalog.json'::regtype WHERE tree LIKE '%{JSONCONSTRUCTOREXPR %'`)
  }
    ) AS mentioned(class, oid)
${
    unnamed(`    UNION ALL
    SELECT 'function', x.oprcode FROM pg_operator o JOIN pg_operator x ON x.oid IN (o.oid, o.oprcom, o.oprnegate)
    WHERE r.class = 'operator' AND o.oid = r.oid AND x.oprcode <> 0`)
  }
    UNION ALL
    -- what an aggregate runs for each row and at the end, and what its first value is read as
    SELECT part.class, part.oid
    FROM pg_aggregate a, LATERAL (
      SELECT 'function', unnest(ARRAY[aggtransfn::oid, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn,
                                      aggmtransfn, aggminvtransfn, aggmfinalfn])
      UNION ALL SELECT 'operator', aggsortop
      UNION ALL SELECT 'type', unnest(ARRAY[aggtranstype, aggmtranstype])
    ) AS part(class, oid)
    WHERE r.class = 'function' AND a.aggfnoid = r.oid AND part.oid <> 0 AND (part.class <> 'type' OR part.oid >= 16384)
${
    unnamed(`    UNION ALL
    -- what makes JSON looks for casts to it
    SELECT 'type', 'pg_catalog.json'::regtype FROM pg_proc p
    WHERE r.class = 'function' AND p.oid = r.oid AND p.oid < 16384
      AND p.prorettype IN ('pg_catalog.json'::regtype, 'pg_catalog.jsonb'::regtype)
      AND p.proargtypes::oid[] && ARRAY['"any"', 'anyelement', 'anyarray', 'record']::regtype[]::oid[]`)
  }
    UNION ALL
    -- a foreign table runs its wrapper
    SELECT 'function', w.fdwhandler
    FROM pg_foreign_table f JOIN pg_foreign_server s ON s.oid = f.ftserver JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
    WHERE r.class = 'relation' AND f.ftrelid = r.oid
    UNION ALL
    -- partitions that are foreign, or have partitions
    SELECT 'relation', c.oid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE r.class = 'relation' AND i.inhparent = r.oid AND (c.relkind = 'f' OR c.relhassubclass)
${
    unnamed(`    UNION ALL
    -- types of a function's arguments, of its columns and of its result, whose columns are values where it is a row
    SELECT 'argument', arg FROM pg_proc p, unnest(p.proargtypes) AS arg
    WHERE r.class = 'function' AND p.oid = r.oid AND p.oid >= 16384 AND arg >= 16384
    UNION ALL
    SELECT 'value', given
    FROM pg_proc p JOIN pg_type t ON t.oid = p.prorettype
    LEFT JOIN pg_attribute a ON t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped,
    unnest(p.proallargtypes || coalesce(a.atttypid, t.oid)) AS given
    WHERE r.class = 'function' AND p.oid = r.oid AND p.oid >= 16384 AND given >= 16384
      AND (a.attname IS NULL OR EXISTS (SELECT FROM columns c WHERE c.name IN (a.attname, '*')))
    UNION ALL
    -- what a type is made of
    SELECT CASE WHEN r.class = 'value' AND t.typtype <> 'd' THEN 'inner' ELSE r.class END, part
    FROM pg_type t
    LEFT JOIN pg_range g ON g.rngtypid = t.oid OR g.rngmultitypid = t.oid
    LEFT JOIN pg_attribute a ON a.attrelid = t.typrelid AND t.typrelid <> 0 AND a.attnum > 0 AND NOT a.attisdropped,
    unnest(ARRAY[t.typelem, t.typbasetype, g.rngsubtype, a.atttypid]) AS part
    WHERE r.class IN ('type', 'argument', 'value', 'inner', 'held') AND t.oid = r.oid AND t.oid >= 16384 AND part >= 16384
    UNION ALL
    SELECT 'value', r.oid WHERE r.class = 'type' AND r.oid >= 16384
    UNION ALL
    -- a type that is another one in all but its name is sorted as that one is
    SELECT r.class, k.casttarget FROM pg_cast k
    WHERE r.class IN ('value', 'inner', 'held') AND k.castsource = r.oid AND k.castmethod = 'b' AND k.castcontext = 'i'
      AND k.casttarget >= 16384`)
  }
  ) AS step(class, oid)
),
${
    unnamed(`occurring AS MATERIALIZED (SELECT DISTINCT oid FROM reach WHERE class IN ('value', 'inner')),
operators AS MATERIALIZED (
  SELECT o.oid, o.oprcom, o.oprnegate, w.name
  FROM placed w JOIN pg_operator o ON o.oprname = w.name AND o.oprnamespace = w.namespace
  WHERE w.kind = 'operator'
    AND (o.oprleft < 16384 OR o.oprleft IN (SELECT oid FROM occurring))
    AND (o.oprright < 16384 OR o.oprright IN (SELECT oid FROM occurring))
),
-- what operator classes run, of those functions alone that would be refused
support AS MATERIALIZED (
  SELECT DISTINCT s.family, s.function
  FROM (
    SELECT amprocfamily, amproc::oid FROM pg_amproc WHERE amproc::oid >= 16384
    UNION ALL
    SELECT a.amopfamily, o.oprcode::oid FROM pg_amop a JOIN pg_operator o ON o.oid = a.amopopr
    WHERE a.amopopr >= 16384 AND o.oprcode::oid >= 16384
  ) AS s(family, function) JOIN pg_proc p ON p.oid = s.function
  WHERE (p.provolatile = 'v' OR p.proname IN (SELECT json_array_elements_text($2::json)))
    AND NOT 'pg_catalog.internal'::regtype = ANY (p.proargtypes)
),`)
  }
called(oid, via, subject) AS (
  SELECT oid, 'function', subject FROM reach WHERE class = 'function'
${
    unnamed(`  UNION
  -- an operator's commutator or negator may be run in its place
  SELECT x.oprcode, 'operator', o.name
  FROM operators o JOIN pg_operator x ON x.oid IN (o.oid, o.oprcom, o.oprnegate)
  WHERE greatest(o.oid, o.oprcom, o.oprnegate) >= 16384 AND x.oid >= 16384
  UNION
  -- LIMIT, WHERE, subscripts and their like take what may be assigned to their types
  SELECT c.castfunc, 'cast', format_type(c.castsource, NULL) || ' to ' || format_type(c.casttarget, NULL)
  FROM pg_cast c
  WHERE c.oid >= 16384 AND c.castfunc <> 0
    AND (c.castsource < 16384 OR c.castsource IN (SELECT oid FROM occurring)
      OR c.casttarget = 'pg_catalog.json'::regtype AND c.castsource IN (SELECT oid FROM reach WHERE class = 'held'))
    AND (c.casttarget < 16384 AND c.castcontext IN ('i', 'a')
      OR c.casttarget IN (
        SELECT oid FROM reach
        WHERE class = 'type' OR class IN ('value', 'inner', 'argument') AND c.castcontext = 'i'))
  UNION
  -- a type's own functions
  SELECT own, 'type', r.subject
  FROM reach r JOIN pg_type t ON t.oid = r.oid LEFT JOIN pg_range g ON g.rngtypid = t.oid OR g.rngmultitypid = t.oid,
  unnest(ARRAY[t.typinput::oid, t.typoutput, t.typmodin, g.rngcanonical, g.rngsubdiff]) AS own
  WHERE r.class IN ('type', 'argument', 'value', 'inner', 'held') AND t.oid >= 16384 AND own >= 16384
  UNION
  -- a text that becomes a regtype may have a modifier
  SELECT t.typmodin::oid, 'type', t.typname::text FROM pg_type t CROSS JOIN uses u
  WHERE u.coerces AND t.typmodin::oid >= 16384 AND EXISTS (SELECT FROM wanted WHERE name LIKE '%typ%')
  UNION
  SELECT s.function, 'type', family.subject
  FROM support s CROSS JOIN uses u CROSS JOIN LATERAL (
    SELECT r.subject FROM pg_opclass c JOIN reach r ON r.oid = c.opcintype
    WHERE c.opcfamily = s.family AND c.opcdefault AND c.opcmethod IN (${orderingMethods})
      AND (r.class = 'held' OR r.class = 'inner' AND u.compares OR r.class = 'value' AND (u.sorts OR u.compares AND u.mixes))
    UNION ALL
    SELECT format_type(c.opcintype, NULL) FROM pg_opclass c
    WHERE c.opcfamily = s.family AND c.opcdefault AND c.opcmethod IN (${orderingMethods}) AND c.opcintype < 16384 AND u.compares
    UNION ALL
    SELECT r.subject FROM pg_range g JOIN pg_opclass c ON c.oid = g.rngsubopc JOIN reach r ON r.oid IN (g.rngtypid, g.rngmultitypid)
    WHERE c.opcfamily = s.family AND r.class IN ('type', 'argument', 'value', 'inner', 'held')
    UNION ALL
    SELECT r.subject FROM pg_partitioned_table p JOIN reach r ON r.class = 'relation' AND r.oid = p.partrelid
    JOIN pg_opclass c ON c.oid = ANY (p.partclass) WHERE c.opcfamily = s.family
    UNION ALL
    SELECT o.name FROM operators o JOIN pg_amop a ON a.amopopr IN (o.oid, o.oprcom, o.oprnegate) WHERE a.amopfamily = s.family
    UNION ALL
    SELECT r.subject FROM reach r JOIN pg_amop a ON a.amopopr = r.oid WHERE r.class = 'operator' AND a.amopfamily = s.family
  ) AS family(subject)`)
  }

)
SELECT c.subject, c.via, n.nspname, p.proname, e.extname,
  CASE WHEN p.oid < 16384 THEN 'true' ELSE 'false' END,
  CASE WHEN p.provolatile = 'v' THEN 'true' ELSE 'false' END,
  CASE WHEN EXISTS (SELECT FROM named WHERE class = 'function' AND oid = p.oid AND subject = c.subject) THEN 'true' ELSE 'false' END
FROM called c
JOIN pg_proc p ON p.oid = c.oid
JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_depend d ON d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
LEFT JOIN pg_extension e ON d.refclassid = 'pg_catalog.pg_extension'::regclass AND e.oid = d.refobjid
WHERE p.provolatile = 'v' OR p.proname IN (SELECT json_array_elements_text($2::json))
ORDER BY 1, 2, 3, 4`;
}
