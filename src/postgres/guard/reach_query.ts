import { quoteLiteral } from "../quote_literal.ts";
import { fillsRow } from "./statement_names.ts";

/**
 * Finds every function that PostgreSQL may run because of the names in a statement, and returns those that are
 * VOLATILE or whose name is refused. It resolves names as PostgreSQL does, by the search path, but where the types of
 * arguments would choose among functions or operators of one name it takes all of them: to refuse one too many is the
 * safe side. From there on it follows what the catalogs store exactly: the parsed trees of views, of row-level security
 * policies, of virtual columns, of domains' checks and of default arguments hold the OIDs of what they call.
 *
 * $1: the names, as JSON `[{kind, schema, name}]`; $2: refused function names, as JSON. One row per function: `subject`
 * (what in the statement leads to it), `via` (`function`, `operator`, `cast`), `schema`, `name`, `extension`, whether it is
 * built in, whether it is VOLATILE, whether the statement itself names it.
 *
 * OIDs below 16384 are of what initdb makes. A path's last step of `pg_catalog` need not be written, as everywhere.
 */
export const reachQuery = `
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
-- class: relation; function; value, a type whose values may occur; type, one that something may be cast to and so a value
-- too; argument, a type that only what a function is given may be cast to
named(class, oid, subject) AS MATERIALIZED (
  SELECT 'function', p.oid, w.name FROM placed w JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
  WHERE w.kind = 'function'
  UNION
  -- x.f calls f(x) where x is a row
  SELECT 'function', p.oid, w.name
  FROM placed w
  JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
  JOIN pg_type a ON a.oid = p.proargtypes[0]
  WHERE w.kind = 'field' AND p.pronargs - p.pronargdefaults <= 1 AND a.typtype IN ('c', 'd', 'p')
  UNION
  SELECT 'type', t.oid, w.name FROM placed w JOIN pg_type t ON t.typname = w.name AND t.typnamespace = w.namespace
  WHERE w.kind = 'type'
  UNION
  (SELECT DISTINCT ON (w.schema, w.name) 'relation', c.oid, w.name
   FROM placed w JOIN pg_class c ON c.relname = w.name AND c.relnamespace = w.namespace
   WHERE w.kind = 'relation' ORDER BY w.schema, w.name, w.place)
),
reach(class, oid, subject) AS (
  SELECT class, oid, subject FROM named
  UNION
  SELECT step.class, step.oid, r.subject
  FROM reach r CROSS JOIN LATERAL (
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
      UNION ALL
      SELECT conbin::text FROM pg_constraint WHERE r.class IN ('type', 'argument') AND contypid = r.oid
      UNION ALL
      SELECT proargdefaults::text FROM pg_proc WHERE r.class = 'function' AND oid = r.oid AND oid >= 16384
    ) AS stored(tree),
    LATERAL (
      -- typid is what JSON_VALUE and its like return, coltypes and funccoltypes the columns that FROM gives a function
      SELECT CASE WHEN token[1] = 'relid' THEN 'relation' WHEN token[1] = 'opno' THEN 'operator'
                  WHEN token[1] ~ 'typ' THEN 'type' ELSE 'function' END, unnest(string_to_array(token[2], ' '))::oid
      FROM regexp_matches(tree, ':(funcid|aggfnoid|winfnoid|tsmhandler|opno|relid|resulttype|typid|(?:func)?coltypes) ' ||
        '(?:\\(o )?([1-9]\\d*(?: \\d+)*)', 'g') AS token
      UNION ALL
      -- a row that is filled casts to the types of its columns
      SELECT 'type', filled[2]::oid
      FROM regexp_matches(tree, ':(?:op)?funcid (\\d+) :(?:func|op)resulttype ([1-9]\\d{4,})', 'g') AS filled
      JOIN pg_proc p ON p.oid = filled[1]::oid
      WHERE p.proname IN (${[...fillsRow].map(quoteLiteral).join(", ")})
      UNION ALL
      -- XMLTABLE is a node of its own, and searches as xpath() does
      SELECT 'function', 'pg_catalog.xpath(text, xml)'::regprocedure
      WHERE tree LIKE '%{TABLEFUNC :ns_uris%' OR tree LIKE '%{TABLEFUNC :functype 0 %'
    ) AS mentioned(class, oid)
    UNION ALL
    SELECT 'function', oprcode FROM pg_operator WHERE r.class = 'operator' AND oid = r.oid
    UNION ALL
    -- what an aggregate runs for each row and at the end
    SELECT 'function', part
    FROM pg_aggregate a, unnest(ARRAY[aggtransfn::oid, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn,
                                      aggmtransfn, aggminvtransfn, aggmfinalfn]) AS part
    WHERE r.class = 'function' AND a.aggfnoid = r.oid AND part <> 0
    UNION ALL
    -- a foreign table runs its wrapper
    SELECT 'function', w.fdwhandler
    FROM pg_foreign_table f JOIN pg_foreign_server s ON s.oid = f.ftserver JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
    WHERE r.class = 'relation' AND f.ftrelid = r.oid
    UNION ALL
    -- partitions that are foreign, or have partitions
    SELECT 'relation', c.oid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE r.class = 'relation' AND i.inhparent = r.oid AND (c.relkind = 'f' OR c.relhassubclass)
    UNION ALL
    -- types of a function's arguments and result, of a relation's row and columns
    SELECT 'argument', arg FROM pg_proc p, unnest(p.proargtypes) AS arg
    WHERE r.class = 'function' AND p.oid = r.oid AND p.oid >= 16384 AND arg >= 16384
    UNION ALL
    SELECT 'value', p.prorettype FROM pg_proc p WHERE r.class = 'function' AND p.oid = r.oid AND p.prorettype >= 16384
    UNION ALL
    SELECT 'value', c.reltype FROM pg_class c WHERE r.class = 'relation' AND c.oid = r.oid AND c.reltype >= 16384
    UNION ALL
    -- what a type is made of
    SELECT r.class, part
    FROM pg_type t
    LEFT JOIN pg_range g ON g.rngtypid = t.oid OR g.rngmultitypid = t.oid
    LEFT JOIN pg_attribute a ON a.attrelid = t.typrelid AND t.typrelid <> 0 AND a.attnum > 0 AND NOT a.attisdropped,
    unnest(ARRAY[t.typelem, t.typbasetype, g.rngsubtype, a.atttypid]) AS part
    WHERE r.class IN ('type', 'value', 'argument') AND t.oid = r.oid AND t.oid >= 16384 AND part >= 16384
    UNION ALL
    SELECT 'value', r.oid WHERE r.class = 'type' AND r.oid >= 16384
  ) AS step(class, oid)
),
called(oid, via, subject) AS (
  SELECT oid, 'function', subject FROM reach WHERE class = 'function'
  UNION
  SELECT o.oprcode, 'operator', w.name
  FROM placed w JOIN pg_operator o ON o.oprname = w.name AND o.oprnamespace = w.namespace
  WHERE w.kind = 'operator' AND o.oid >= 16384
    AND (o.oprleft < 16384 OR o.oprleft IN (SELECT oid FROM reach WHERE class = 'value'))
    AND (o.oprright < 16384 OR o.oprright IN (SELECT oid FROM reach WHERE class = 'value'))
  UNION
  SELECT c.castfunc, 'cast', format_type(c.castsource, NULL) || ' to ' || format_type(c.casttarget, NULL)
  FROM pg_cast c
  WHERE c.oid >= 16384 AND c.castfunc <> 0
    AND (c.castsource < 16384 OR c.castsource IN (SELECT oid FROM reach WHERE class = 'value'))
    AND (c.casttarget < 16384 AND c.castcontext = 'i'
      OR c.casttarget IN (SELECT oid FROM reach WHERE class = 'type' OR class IN ('value', 'argument') AND c.castcontext = 'i'))
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
