import { quoteLiteral } from "../sql_text.ts";
import { fillsRow } from "./statement_names.ts";

/** Pseudo-types that stand for the type of an argument: of a container, as `anyarray`, and of anything. */
const containerTypes = "2277, 3831, 4537, 4538, 5078, 5080";
const polymorphicTypes = `${containerTypes}, 2283, 2776, 3500, 5077, 5079`;

/**
 * What the names of a statement lead to: functions that are VOLATILE or whose name is refused, and what it may not touch
 * as `hidden_calls.ts` found it. It resolves names as PostgreSQL does, by the search path. Where several functions or
 * operators share a name, it takes all of them and ignores the types of arguments: refusing one too many is safe. From
 * there on it follows what the catalogs store exactly: the parsed trees of views, of row-level security policies, of
 * virtual columns and of default arguments hold the OIDs of what they call.
 *
 * A statement touches a type that it names, that is the type of a column or result which it works with, of a function's
 * arguments, or of a row that it takes as a value. A column that it only lists is not worked with.
 *
 * $1: the names, as JSON `[{kind, schema, name}]`; $2: refused function names, as JSON; $3: what `closureQuery` gave, as
 * JSON `[{class, oid, cause, flat}]`. One row each: `class` (`function`, or one of `closureQuery`), `oid`, `subject` (what
 * in the statement leads to it); of a function `schema`, `name`, `extension`, whether it is built in, whether it is
 * VOLATILE, whether the statement itself names it.
 */
export const reachQuery = `
WITH RECURSIVE
danger AS MATERIALIZED (
  SELECT class, oid, cause, flat FROM json_to_recordset($3::json) AS d(class text, oid oid, cause text, flat boolean)
),
wanted AS MATERIALIZED (
  SELECT kind, schema, name FROM json_to_recordset($1::json) AS w(kind text, schema text, name text)
  UNION
  SELECT 'row', schema, name FROM json_to_recordset($1::json) AS w(kind text, schema text, name text)
  WHERE current_setting('server_encoding') <> 'UTF8' AND kind = 'perhaps_row'
  UNION
  -- a database of another encoding than UTF8 may fold more letters than the grammar here does
  SELECT kind, lower(schema), lower(name) FROM json_to_recordset($1::json) AS w(kind text, schema text, name text)
  WHERE current_setting('server_encoding') <> 'UTF8' AND concat(schema, name) ~ '[^ -~]'
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
  SELECT w.kind, p.oid, w.name, p.prorettype, p.proargtypes, p.proallargtypes
  FROM placed w JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
  WHERE w.kind IN ('function', 'row')
  UNION ALL
  -- x.f calls f(x) for a value of any type, and is a value itself; a row may be cast to what f takes
  SELECT unnest(ARRAY['function', 'row']), p.oid, w.name, p.prorettype, p.proargtypes, p.proallargtypes
  FROM placed w
  JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
  JOIN pg_type a ON a.oid = p.proargtypes[0]
  WHERE p.pronargs - p.pronargdefaults <= 1 AND (w.kind = 'field' OR w.kind = 'row_field' AND (
    a.typtype IN ('c', 'd', 'p') OR EXISTS (
      SELECT FROM pg_cast k JOIN pg_type s ON s.oid = k.castsource
      WHERE k.casttarget = a.oid AND k.castcontext = 'i' AND s.typtype = 'c')))
),
reach(class, oid, cause, subject) AS (
  SELECT 'function', oid, '', name FROM functions WHERE kind = 'function'
  UNION
  SELECT 'relation', oid, '', name FROM relations WHERE kind = 'relation'
  UNION
  SELECT step.class, step.oid, step.cause, r.subject
  FROM reach r CROSS JOIN LATERAL (
    -- what stored trees call and read: a view's query, the policies and virtual columns of a table, default arguments
    SELECT mentioned.class, mentioned.oid, mentioned.cause
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
      SELECT proargdefaults::text FROM pg_proc WHERE r.class = 'function' AND oid = r.oid AND oid >= 16384
    ) AS stored(tree),
    LATERAL (
      SELECT CASE token[1] WHEN 'relid' THEN 'relation' ELSE 'function' END, token[2]::oid, ''
      FROM regexp_matches(tree, ':(funcid|aggfnoid|winfnoid|tsmhandler|relid) (\\d+)', 'g') AS token
      UNION ALL
      SELECT d.class, d.oid, d.cause
      FROM regexp_matches(tree, ':(\\w*opnos?|\\w*(?:eq|sort|ne)op|\\w*typ\\w*) (?:\\(o )?([1-9]\\d*(?: \\d+)*)', 'g') AS token
      CROSS JOIN unnest(string_to_array(token[2], ' ')) AS number JOIN danger d ON d.oid = number::oid
      WHERE d.class = 'operator' AND d.cause = 'exact' AND token[1] !~ 'typ'
        -- sorting, grouping and comparing rows runs the operator's class
        OR (d.class = 'sort' OR d.class = 'operator' AND d.cause = 'named') AND token[1] ~ 'eqop|sortop|opnos'
        OR d.class = 'type' AND token[1] ~ 'typ' AND token[1] !~ 'typmod' AND (d.cause IN ('output', 'value')
          OR d.cause = 'check' AND token[1] ~ 'result|typid|coltypes|row_typeid|const')
      UNION ALL
      -- a text of the tree names the type that another is read as
      SELECT d.class, d.oid, d.cause
      FROM regexp_matches(tree, ':funcid (\\d+)', 'g') AS token JOIN pg_proc p ON p.oid = token[1]::oid
      JOIN danger d ON d.class = 'modifier' OR d.class = 'type' AND d.cause IN ('output', 'check')
      WHERE p.oid < 16384 AND p.proname IN ('pg_input_is_valid', 'pg_input_error_info')
      UNION ALL
      -- XMLTABLE is a node of its own, and searches as xpath() does
      SELECT 'function', 'pg_catalog.xpath(text, xml)'::regprocedure, ''
      WHERE tree LIKE '%{TABLEFUNC :ns_uris%' OR tree LIKE '%{TABLEFUNC :functype 0 %'
    ) AS mentioned(class, oid, cause)
    UNION ALL
    -- what an aggregate runs for each row and at the end, and what its first value is read as
    SELECT part.class, part.oid, part.cause
    FROM pg_aggregate a, LATERAL (
      SELECT 'function', unnest(ARRAY[aggtransfn::oid, aggfinalfn, aggcombinefn, aggserialfn, aggdeserialfn,
                                      aggmtransfn, aggminvtransfn, aggmfinalfn]), ''
      UNION ALL
      SELECT d.class, d.oid, d.cause FROM danger d
      WHERE d.class = 'operator' AND d.oid = aggsortop AND d.cause = 'exact'
        OR d.class = 'type' AND d.cause NOT IN ('named', 'column') AND d.oid IN (aggtranstype, aggmtranstype)
    ) AS part(class, oid, cause)
    WHERE r.class = 'function' AND a.aggfnoid = r.oid AND part.oid <> 0
    UNION ALL
    -- a foreign table runs its wrapper
    SELECT 'function', w.fdwhandler, ''
    FROM pg_foreign_table f JOIN pg_foreign_server s ON s.oid = f.ftserver JOIN pg_foreign_data_wrapper w ON w.oid = s.srvfdw
    WHERE r.class = 'relation' AND f.ftrelid = r.oid
    UNION ALL
    -- partitions that are foreign, or have partitions
    SELECT 'relation', c.oid, '' FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE r.class = 'relation' AND i.inhparent = r.oid AND (c.relkind = 'f' OR c.relhassubclass)
  ) AS step(class, oid, cause)
  WHERE r.class IN ('function', 'relation')
),
-- columns whose values the statement works with
columns AS MATERIALIZED (
  SELECT name FROM wanted WHERE kind = 'column'
  UNION ALL
  -- a field that may be a call for a value of any type, to_json or hash_record among them: it may look into whole rows
  SELECT '*' FROM placed w JOIN pg_proc p ON p.proname = w.name AND p.pronamespace = w.namespace
  JOIN pg_type a ON a.oid = p.proargtypes[0]
  WHERE w.kind IN ('field', 'row_field') AND p.pronargs - p.pronargdefaults <= 1 AND a.typtype = 'p'
),
-- whether a literal may become the domain of a value beside it: in arrays, where several arguments share a type, beside one that an operator takes
mixes AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM wanted WHERE kind = 'use' AND name = 'array')
    OR EXISTS (SELECT FROM wanted WHERE name IN (${[...fillsRow].map(quoteLiteral).join(", ")}))
    OR EXISTS (
      SELECT FROM functions f WHERE f.prorettype IN (${containerTypes})
        OR (SELECT count(*) FROM unnest(f.proargtypes) AS a WHERE a IN (${polymorphicTypes})) > 1)
    OR EXISTS (
      SELECT FROM placed w JOIN pg_operator o ON o.oprname = w.name AND o.oprnamespace = w.namespace
      WHERE w.kind = 'operator' AND o.oid >= 16384 AND (
        o.oprleft IN (${polymorphicTypes}) AND o.oprright IN (${polymorphicTypes})
        OR EXISTS (SELECT FROM danger d WHERE d.class = 'type' AND d.cause = 'check' AND d.oid IN (o.oprleft, o.oprright)))
    ) AS values
),
-- how: it is named; a function takes it; a value of it comes from a column, is listed alone, or comes otherwise
types(oid, subject, how) AS (
  SELECT t.oid, w.name, 'named'
  FROM placed w JOIN pg_type t ON t.typname = w.name AND t.typnamespace = w.namespace
  LEFT JOIN pg_type b ON b.oid = t.typbasetype
  -- x.f may be a cast of a row, which becomes no other type than a row
  WHERE w.kind = 'type' OR w.kind = 'row_field' AND 'c' IN (t.typtype, b.typtype)
  UNION ALL
  SELECT a.atttypid, r.name, CASE WHEN c.name IS NULL THEN 'listed' ELSE 'column' END
  FROM (
    SELECT oid, name FROM relations WHERE kind IN ('relation', 'columns_of')
    UNION ALL
    SELECT t.typrelid, f.name FROM functions f JOIN pg_type t ON t.oid = f.prorettype WHERE t.typrelid <> 0
  ) AS r JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
  LEFT JOIN columns c ON c.name IN (a.attname, '*')
  UNION ALL
  SELECT reltype, name, 'row' FROM relations WHERE kind = 'row'
  UNION ALL
  SELECT unnest(proargtypes::oid[]), name, 'taken' FROM functions
  UNION ALL
  -- of what is no row, and of a row outside of FROM
  SELECT given, f.name, CASE WHEN t.typrelid = 0 THEN 'column' ELSE 'row' END
  FROM functions f JOIN pg_type t ON t.oid = f.prorettype, unnest(f.proallargtypes || f.prorettype) AS given
  WHERE (t.typrelid = 0 OR f.kind = 'row') AND given NOT IN (${polymorphicTypes})
  UNION ALL
  -- a row whose columns only its maker knows
  SELECT d.oid, f.name, 'row'
  FROM functions f JOIN danger d ON d.class = 'type' AND d.cause = 'value'
  WHERE f.oid >= 16384 AND f.proallargtypes IS NULL
    AND f.prorettype IN ('record'::regtype, 'record[]'::regtype, 'anyelement'::regtype, 'anyarray'::regtype)
),
forbidden(class, oid, subject) AS (
  SELECT DISTINCT d.class, d.oid, t.subject
  FROM types t JOIN danger d ON d.class = 'type' AND d.oid = t.oid CROSS JOIN mixes m
  WHERE CASE d.cause
    WHEN 'output' THEN true
    WHEN 'named' THEN how = 'named'
    WHEN 'column' THEN how = 'column'
    WHEN 'make' THEN how <> 'listed'
    WHEN 'check' THEN how <> 'listed' AND NOT (d.flat AND how = 'column' AND NOT m.values)
    ELSE how NOT IN ('listed', 'taken')
  END
  UNION
  SELECT d.class, d.oid, w.name
  FROM placed w JOIN pg_operator o ON o.oprname = w.name AND o.oprnamespace = w.namespace
  JOIN danger d ON d.class = 'operator' AND d.oid = o.oid
  WHERE w.kind = 'operator' AND (d.cause = 'named'
    OR d.cause = 'qualified' AND w.schema <> 'pg_catalog'
    OR d.cause = 'joined' AND EXISTS (SELECT FROM wanted WHERE kind = 'use' AND name = 'join'))
  UNION
  SELECT d.class, d.oid, r.subject FROM reach r JOIN danger d ON d.class = r.class AND d.oid = r.oid WHERE r.class <> 'function'
  UNION
  -- where a name is cut off, the server counts bytes of its own encoding
  SELECT 'name', 0::oid, name FROM wanted
  WHERE current_setting('server_encoding') <> 'UTF8' AND name ~ '[^ -~]' AND greatest(octet_length(name), octet_length(convert_to(name, 'UTF8'))) > 60
  UNION
  SELECT class, oid, '' FROM danger
  WHERE class = 'all' OR class = 'modifier' AND EXISTS (SELECT FROM wanted WHERE name ~ 'typ|reg|privilege|object')
    OR class = 'sort' AND EXISTS (SELECT FROM wanted WHERE kind = 'use' AND name = 'sort')
)
SELECT class, oid, subject, NULL, NULL, NULL, NULL, NULL, NULL FROM forbidden
UNION ALL
SELECT 'function', p.oid, r.subject, n.nspname, p.proname, e.extname,
  CASE WHEN p.oid < 16384 THEN 'true' ELSE 'false' END,
  CASE WHEN p.provolatile = 'v' THEN 'true' ELSE 'false' END,
  CASE WHEN EXISTS (SELECT FROM functions f WHERE f.oid = p.oid AND f.name = r.subject) THEN 'true' ELSE 'false' END
FROM reach r
JOIN pg_proc p ON p.oid = r.oid
JOIN pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_depend d ON d.classid = 'pg_catalog.pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
LEFT JOIN pg_extension e ON d.refclassid = 'pg_catalog.pg_extension'::regclass AND e.oid = d.refobjid
WHERE r.class = 'function' AND (p.provolatile = 'v' OR p.proname IN (SELECT json_array_elements_text($2::json)))
ORDER BY 1, 2, 3`;
