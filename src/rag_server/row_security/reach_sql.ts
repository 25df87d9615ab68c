/**
 * Objects that initdb makes have smaller OIDs. What depends on most of them PostgreSQL does not record, but the trees that
 * it stores name them.
 */
const firstUserOid = 16_384;

/** What a function may have set for itself: `search_path` changes no policy's answer. */
const harmlessSetting = "search_path=%";

/** Whether a function `p` is written so that the catalogs tell all that it reads. PostgreSQL 13 knows no such body. */
export const hasParsedBody = `(p.prolang = (SELECT oid FROM pg_language WHERE lanname = 'sql')
    AND to_jsonb(p) ->> 'prosqlbody' IS NOT NULL)`;

/** Whether a function `p` has settings of its own that a policy might ask. */
export const hasOwnSettings =
  `EXISTS (SELECT FROM unnest(p.proconfig) s WHERE s NOT LIKE '${harmlessSetting}')`;

export const isBuiltIn = (oid: string) => `(${oid} < ${firstUserOid})`;

/** Whether PostgreSQL itself or an extension supplied an object. */
export const isSupplied = (catalog: string, oid: string) =>
  `(${isBuiltIn(oid)} OR EXISTS (SELECT FROM pg_depend e
      WHERE e.classid = ${catalog}::regclass AND e.objid = ${oid} AND e.deptype = 'e'))`;

/**
 * A recursive part of WITH: all that a read of the relation $1 comes to. A row has `class` (`relation`, `function`,
 * `operator`, `type`), `oid`, `holder` (the relation in whose definition it stands), `reader` (of a relation: the view with
 * whose owner's rights it is read; NULL where the caller's count), `is_part` (of a relation: a partition or a child).
 *
 * It goes through views, functions with a parsed body, aggregates, operators and their families, and through the types of
 * $1's columns, whose casts and operators a question may use. It does not look into what PostgreSQL itself and extensions
 * supplied, nor into policies: their condition is the operator's.
 */
export const reachSql = `reach(class, oid, holder, reader, is_part) AS (
  SELECT 'relation', $1::oid, $1::oid, NULL::oid, false
  UNION
  SELECT n.* FROM reach r CROSS JOIN LATERAL (
    -- what stored trees name; a view that is security_invoker, and a function, read as the caller does
    SELECT named.class, named.oid, tree.holder, CASE WHEN named.class = 'relation' THEN tree.reader END, false
    FROM (
      SELECT 'pg_rewrite'::regclass, w.oid, v.oid, CASE WHEN NOT EXISTS (SELECT FROM unnest(v.reloptions) o
          WHERE o ~* '^security_invoker=(t|tr|tru|true|on|y|ye|yes|1)$') THEN v.oid END, w.ev_action::text
      FROM pg_class v JOIN pg_rewrite w ON w.ev_class = v.oid AND w.ev_type = '1'
      WHERE r.class = 'relation' AND v.oid = r.oid AND v.relkind = 'v'
      UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, r.oid, NULL, d.adbin::text
      FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum AND a.attgenerated = 'v'
      WHERE r.class = 'relation' AND d.adrelid = r.oid
      UNION ALL SELECT 'pg_constraint'::regclass, c.oid, r.holder, NULL, c.conbin::text
      FROM pg_constraint c WHERE r.class = 'type' AND c.contypid = r.oid
      UNION ALL SELECT 'pg_proc'::regclass, p.oid, r.holder, NULL,
        concat(to_jsonb(p) ->> 'prosqlbody', p.proargdefaults::text)
      FROM pg_proc p WHERE r.class = 'function' AND p.oid = r.oid AND ${hasParsedBody}
      UNION ALL SELECT 'pg_type'::regclass, r.oid, r.holder, NULL, NULL WHERE r.class = 'type'
    ) tree(classid, objid, holder, reader, text) CROSS JOIN LATERAL (
      SELECT CASE d.refclassid WHEN 'pg_class'::regclass THEN 'relation' WHEN 'pg_proc'::regclass THEN 'function'
        WHEN 'pg_operator'::regclass THEN 'operator' ELSE 'type' END, d.refobjid
      FROM pg_depend d WHERE d.classid = tree.classid AND d.objid = tree.objid AND d.refobjid >= ${firstUserOid}
        -- a row's type depends on its table, and reads nothing there
        AND d.refclassid = ANY (CASE WHEN tree.classid = 'pg_type'::regclass THEN ARRAY['pg_proc'::regclass]
          ELSE ARRAY['pg_class'::regclass, 'pg_proc', 'pg_operator', 'pg_type'] END)
        AND (d.refclassid <> 'pg_class'::regclass OR d.refobjid <> tree.holder)
      UNION ALL
      SELECT CASE token[1] WHEN 'relid' THEN 'relation' ELSE 'function' END, token[2]::oid
      FROM regexp_matches(tree.text, ':(funcid|aggfnoid|winfnoid|relid) ([1-9]\\d*)', 'g') token
      WHERE ${isBuiltIn("token[2]::oid")}
    ) named(class, oid)
    UNION ALL
    SELECT 'relation', i.inhrelid, r.holder, r.reader, true FROM pg_inherits i
    WHERE r.class = 'relation' AND i.inhparent = r.oid
    UNION ALL
    SELECT 'type', a.atttypid, r.oid, NULL, false FROM pg_attribute a
    WHERE r.class = 'relation' AND r.oid = $1::oid AND a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT 'function', part, r.holder, NULL, false FROM pg_aggregate a, unnest(ARRAY[a.aggtransfn::oid, a.aggfinalfn,
      a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn]) part
    WHERE r.class = 'function' AND a.aggfnoid = r.oid
    UNION ALL
    SELECT 'function', x.oprcode, r.holder, NULL, false
    FROM pg_operator o JOIN pg_operator x ON x.oid IN (o.oid, o.oprcom, o.oprnegate)
    WHERE r.class = 'operator' AND o.oid = r.oid
    UNION ALL
    -- what sorts and groups in an operator's place
    SELECT 'function', f.amproc, r.holder, NULL, false
    FROM pg_amproc f WHERE f.amprocfamily IN (
      SELECT m.amopfamily FROM pg_amop m WHERE r.class = 'operator' AND m.amopopr = r.oid
      UNION ALL SELECT c.opcfamily FROM pg_opclass c WHERE r.class = 'type' AND c.opcintype = r.oid)
    UNION ALL
    SELECT 'function', k.castfunc, r.holder, NULL, false FROM pg_cast k WHERE r.class = 'type' AND k.castsource = r.oid
    UNION ALL
    SELECT 'operator', o.oid, r.holder, NULL, false FROM pg_operator o
    WHERE r.class = 'type' AND r.oid IN (o.oprleft, o.oprright)
    UNION ALL
    -- what a type is made of
    SELECT 'type', part, r.holder, NULL, false
    FROM pg_type t LEFT JOIN pg_range g ON g.rngtypid = t.oid
    LEFT JOIN pg_attribute a ON a.attrelid = t.typrelid AND t.typrelid <> 0 AND a.attnum > 0 AND NOT a.attisdropped,
    unnest(ARRAY[t.typelem, t.typbasetype, g.rngsubtype, a.atttypid]) part
    WHERE r.class = 'type' AND t.oid = r.oid
  ) n(class, oid, holder, reader, is_part)
  WHERE n.oid <> 0 AND CASE r.class WHEN 'relation' THEN r.oid >= ${firstUserOid} OR r.oid = $1::oid
    WHEN 'function' THEN NOT ${isSupplied("'pg_proc'", "r.oid")}
    WHEN 'operator' THEN NOT ${isSupplied("'pg_operator'", "r.oid")}
    ELSE NOT ${isSupplied("'pg_type'", "r.oid")} END
)`;
