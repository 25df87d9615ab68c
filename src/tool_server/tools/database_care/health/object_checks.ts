import { quoteIfNeeded } from "../../../../postgres/sql_text.ts";
import {
  type Concern,
  count,
  defineHealthCheck,
  objectName,
  percent,
  type ServerFacts,
} from "./health_check.ts";
import { sizeText } from "../../../../core/text/units.ts";

/** Smaller ones cost next to nothing. */
const smallBytes = 1_048_576;
/** Statistics of fewer days may have missed what runs once a month. */
const enoughDays = 30;

interface OfTable {
  readonly schema: string;
  readonly name: string;
  readonly table_name: string;
}

interface UnusedRow extends OfTable {
  readonly bytes: number;
  readonly small: number;
}

/** Indexes that no statement has used since the statistics were reset, and that no constraint needs. */
export const unusedIndexesCheck = defineHealthCheck<UnusedRow>({
  measuresTables: true,
  sql: `
with unused as (
  select s.schemaname, s.indexrelname, s.relname, c.relpages::bigint * current_setting('block_size')::bigint as bytes
  from pg_stat_user_indexes s
  join pg_index i on i.indexrelid = s.indexrelid
  join pg_class c on c.oid = s.indexrelid
  where s.idx_scan = 0 and i.indisvalid and not i.indisunique and not i.indisprimary and not i.indisexclusion
    -- a partition's index goes with the partitioned one
    and not c.relispartition and not i.indisreplident and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
)
select schemaname as schema, indexrelname as name, relname as table_name, bytes,
  (select count(*) from unused where bytes < ${smallBytes}) as small
from unused
where bytes >= ${smallBytes}
order by bytes desc, 1, 2
limit 500`,
  examine(rows, facts) {
    const bytes = rows.reduce((sum, row) => sum + row.bytes, 0);
    const isYoung = facts.statsDays === null || facts.statsDays < enoughDays;
    return {
      summary: rows.length === 0
        ? `none of ${sizeText(smallBytes)} or more`
        : `${count(rows.length)} of ${sizeText(smallBytes)} or more, ${sizeText(bytes)} in all`,
      concerns: rows.map((row): Concern => ({
        severity: isYoung ? "info" : "warning",
        object: objectName(row.schema, row.name),
        figure: `${sizeText(row.bytes)} on ${objectName(row.schema, row.table_name)}, never used ${
          since(facts)
        }`,
        advice: "Drop it if no monthly job and no standby uses it: each write keeps it up to date",
        sql: `DROP INDEX CONCURRENTLY ${objectName(row.schema, row.name)};`,
      })),
    };
  },
});

function since({ statsSince, isStandby }: ServerFacts): string {
  const where = isStandby ? " on this standby" : "";
  return `${statsSince === "" ? "since statistics began" : `since ${statsSince}`}${where}`;
}

interface IndexRow extends OfTable {
  readonly table_id: number;
  readonly bytes: number;
  readonly is_unique: boolean;
  /** A constraint or replication needs it. */
  readonly is_needed: boolean;
  /** One text for each key column: its column or expression, operator class, collation and order. */
  readonly keys: readonly string[];
  /** Columns that it only carries. */
  readonly carried: readonly string[];
  /** Access method and condition. */
  readonly kind: string;
  readonly is_btree: boolean;
}

// pg_get_indexdef() would wait for a table that is locked. The places in the stored trees differ by the CREATE INDEX's text
const treeText = (column: string) =>
  `regexp_replace(coalesce(${column}::text, ''), ':location -?\\d+', '', 'g')`;

/** Indexes that another one does the work of: with the same columns, or with more after them. */
export const duplicateIndexesCheck = defineHealthCheck<IndexRow>({
  measuresTables: true,
  sql: `
select n.nspname as schema, t.relname as table_name, c.relname as name, i.indrelid::bigint as table_id,
  c.relpages::bigint * current_setting('block_size')::bigint as bytes, i.indisunique as is_unique,
  i.indisprimary or i.indisexclusion or i.indisreplident or i.indisclustered
    or exists (select from pg_constraint k where k.conindid = i.indexrelid) as is_needed,
  array(select concat_ws(' ', case when k.attnum = 0 then ${treeText("i.indexprs")} else k.attnum::text end,
      k.class, k.collated, k.options)
    from rows from (unnest(i.indkey::int2[]), unnest(i.indclass::oid[]), unnest(i.indcollation::oid[]),
      unnest(i.indoption::int2[])) with ordinality as k(attnum, class, collated, options, place)
    where k.place <= i.indnkeyatts order by k.place) as keys,
  array(select k.attnum::text from unnest(i.indkey::int2[]) with ordinality as k(attnum, place)
    where k.place > i.indnkeyatts order by k.place) as carried,
  concat_ws(' ', a.amname, ${treeText("i.indpred")}) as kind, a.amname = 'btree' as is_btree
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
join pg_namespace n on n.oid = c.relnamespace
join pg_am a on a.oid = c.relam
where i.indisvalid and i.indislive and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  -- a partition's index goes with the partitioned one
  and not c.relispartition
  and (select count(*) from pg_index o where o.indrelid = i.indrelid) > 1
order by i.indrelid, c.relname
limit 50000`,
  examine(rows) {
    const concerns = [...Map.groupBy(rows, (row) => row.table_id).values()].flatMap(findRedundant);
    const bytes = concerns.reduce((sum, { row }) => sum + row.bytes, 0);
    return {
      summary: concerns.length === 0 ? "none" : `${count(concerns.length)}, ${sizeText(bytes)} in all`,
      concerns: concerns.toSorted((a, b) => b.row.bytes - a.row.bytes).map(({ row, by }): Concern => ({
        severity: "warning",
        object: objectName(row.schema, row.name),
        figure: `${sizeText(row.bytes)} on ${objectName(row.schema, row.table_name)}; ` +
          `${objectName(by.schema, by.name)} ${
            by.keys.length === row.keys.length ? "has the same columns" : "begins with the same columns"
          }`,
        advice: "Drop it: the other one serves the same searches",
        sql: `DROP INDEX CONCURRENTLY ${objectName(row.schema, row.name)};`,
      })),
    };
  },
});

/** Of one table's indexes, each that another one replaces, and that one. Of two that are equal, one stays. */
function findRedundant(indexes: readonly IndexRow[]): { row: IndexRow; by: IndexRow }[] {
  const gone = new Set<IndexRow>();
  // the longest first, as that one may replace the others too
  const others = indexes.toSorted((a, b) => b.keys.length - a.keys.length);
  // what nobody needs goes before what is unique
  const order = indexes.toSorted((a, b) =>
    Number(a.is_unique) - Number(b.is_unique) || a.keys.length - b.keys.length
  );
  return order.flatMap((row) => {
    if (row.is_needed) return [];
    const by = others.find((other) => other !== row && !gone.has(other) && replaces(other, row));
    if (by === undefined) return [];
    gone.add(row);
    return [{ row, by }];
  });
}

function replaces(other: IndexRow, row: IndexRow): boolean {
  if (other.kind !== row.kind) return false;
  const isSame = other.keys.length === row.keys.length;
  // a unique one guards a rule that a longer one does not
  if (row.is_unique && !(isSame && other.is_unique)) return false;
  if (!isSame && !row.is_btree) return false;
  if (!row.keys.every((key, at) => key === other.keys[at])) return false;
  const columns = new Set([...other.keys.map((key) => key.split(" ")[0]), ...other.carried]);
  return row.carried.every((column) => columns.has(column));
}

interface InvalidRow extends OfTable {
  readonly is_partitioned: boolean;
  readonly is_building: boolean;
}

/** Indexes that no statement may use, though each write may still keep them up to date. */
export const invalidIndexesCheck = defineHealthCheck<InvalidRow>({
  sql: `
select n.nspname as schema, c.relname as name, t.relname as table_name, c.relkind = 'I' as is_partitioned,
  exists (select from pg_locks l where l.locktype = 'relation' and l.relation = i.indrelid
    and l.database = (select oid from pg_database where datname = current_database())
    and l.mode = 'ShareUpdateExclusiveLock' and l.granted) as is_building
from pg_index i
join pg_class c on c.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
join pg_namespace n on n.oid = c.relnamespace
where not (i.indisvalid and i.indisready and i.indislive) and n.nspname <> 'pg_toast'
order by 1, 2
limit 500`,
  examine: (rows) => ({
    summary: rows.length === 0 ? "none" : count(rows.length),
    concerns: rows.map((row): Concern => {
      const index = objectName(row.schema, row.name);
      const about = { object: index, figure: `on ${objectName(row.schema, row.table_name)}` };
      if (row.is_partitioned) {
        return {
          severity: "warning",
          ...about,
          advice: "A partition has no index of it yet: make one there and attach it",
          sql: `ALTER INDEX ${index} ATTACH PARTITION <index of the partition>;`,
        };
      }
      if (row.is_building) {
        return {
          severity: "info",
          ...about,
          advice:
            "It may be in the making just now, as something keeps the table's lock for that; look again later",
        };
      }
      // what REINDEX CONCURRENTLY leaves behind
      const isLeftover = /_cc(?:new|old)\d*$/.test(row.name);
      return {
        severity: "warning",
        ...about,
        advice: isLeftover
          ? "A REINDEX CONCURRENTLY that failed left it behind: drop it"
          : "Its making failed, and it helps no search: make it anew, or drop it",
        sql: isLeftover ? `DROP INDEX CONCURRENTLY ${index};` : `REINDEX INDEX CONCURRENTLY ${index};`,
      };
    }),
  }),
});

/** Constraints that hold for new rows alone, as nobody has checked the old ones. */
export const constraintCheck = defineHealthCheck<OfTable & { readonly kind: string }>({
  sql: `
select n.nspname as schema, c.relname as table_name, k.conname as name,
  case k.contype when 'f' then 'foreign key' when 'c' then 'check' else 'constraint' end as kind
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_namespace n on n.oid = c.relnamespace
where not k.convalidated and k.conparentid = 0
  -- PostgreSQL 18 has those that are not meant to hold
  and coalesce((to_jsonb(k) ->> 'conenforced')::bool, true)
order by 1, 2, 3
limit 500`,
  examine: (rows) => ({
    summary: rows.length === 0 ? "all validated" : `${count(rows.length)} not validated`,
    concerns: rows.map((row): Concern => ({
      severity: "info",
      object: `${quoteIfNeeded(row.name)} on ${objectName(row.schema, row.table_name)}`,
      figure: `${row.kind}, NOT VALID`,
      advice: "Old rows may break it: look for those, then validate it, which lets others work",
      sql: `ALTER TABLE ${objectName(row.schema, row.table_name)} VALIDATE CONSTRAINT ${
        quoteIfNeeded(row.name)
      };`,
    })),
  }),
});

interface SequenceRow {
  readonly schema: string;
  readonly name: string;
  readonly used: number | null;
  readonly cycles: boolean;
  readonly last: string | null;
  readonly largest: string;
  /** Of the column that takes its values. */
  readonly table_name: string | null;
  readonly table_schema: string | null;
  readonly column_name: string | null;
  readonly column_type: string | null;
  /** The column's type ends before the sequence does. */
  readonly column_ends_first: boolean;
  readonly total: number;
  readonly unseen: number;
}

const nearEnd = 0.75;
const atEnd = 0.9;

/** Sequences whose numbers run out, by their own bound or by the type of the column that takes them. */
export const sequenceCheck = defineHealthCheck<SequenceRow>({
  measuresTables: true,
  sql: `
with seen as (
  select s.schemaname, s.sequencename, s.cycle, s.increment_by > 0 as ascends, s.last_value::numeric as last,
    s.min_value::numeric as least, s.max_value::numeric as most, has_sequence_privilege(c.oid, 'SELECT, USAGE') as is_seen,
    t.relname, tn.nspname, a.attname, format_type(a.atttypid, a.atttypmod) as column_type,
    case a.atttypid when 'int2'::regtype then 32767 when 'int4'::regtype then 2147483647 end::numeric as column_most
  from pg_sequences s
  join pg_namespace n on n.nspname = s.schemaname
  join pg_class c on c.relnamespace = n.oid and c.relname = s.sequencename
  left join pg_depend d on d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype in ('a', 'i')
    and d.refclassid = 'pg_class'::regclass and d.refobjsubid > 0
  left join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
  left join pg_class t on t.oid = a.attrelid
  left join pg_namespace tn on tn.oid = t.relnamespace
), measured as (
  select *, case when ascends then least(most, coalesce(column_most, most)) else greatest(least, coalesce(-column_most, least))
    end as largest from seen
)
select schemaname as schema, sequencename as name, cycle as cycles, last::text, largest::text,
  case when last is null then null when ascends then ((last - least) / nullif(largest - least, 0))::float8
    else ((most - last) / nullif(most - largest, 0))::float8 end as used,
  relname as table_name, nspname as table_schema, attname as column_name, column_type,
  largest <> case when ascends then most else least end as column_ends_first,
  count(*) over () as total, count(*) filter (where not is_seen) over () as unseen
from measured
order by used desc nulls last, 1, 2
limit 100`,
  examine(rows, { role }) {
    const [first] = rows;
    const unseen = first?.unseen ?? 0;
    const used = first?.used ?? 0;
    return {
      summary: first === undefined
        ? "there are none"
        : `${count(first.total)}, the fullest at ${percent(used)}`,
      concerns: rows.filter((row) => (row.used ?? 0) >= nearEnd && !(row.cycles && !row.column_ends_first))
        .map(
          nearEndConcern,
        ),
      ...(unseen > 0 && {
        unseen: `the role may not read ${count(unseen)} of the sequences: ` +
          `GRANT SELECT ON ALL SEQUENCES IN SCHEMA … TO ${quoteIfNeeded(role)};`,
      }),
    };
  },
});

function nearEndConcern(row: SequenceRow): Concern {
  const sequence = objectName(row.schema, row.name);
  const table = row.table_name === null ? undefined : objectName(row.table_schema ?? "", row.table_name);
  const column = quoteIfNeeded(row.column_name ?? "");
  const isNarrow = row.column_type === "integer" || row.column_type === "smallint";
  return {
    severity: (row.used ?? 0) >= atEnd ? "critical" : "warning",
    object: sequence,
    figure: `${percent(row.used ?? 0)} used: ${row.last} of ${row.largest}` +
      (table === undefined ? "" : `, for column ${column} (${row.column_type}) of ${table}`),
    ...(table !== undefined && isNarrow
      ? {
        advice:
          "Widen the column and the sequence. This rewrites and locks the table: for a large one, fill a new " +
          "bigint column in steps and swap them; columns that refer to it need the same",
        sql: `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE bigint; ALTER SEQUENCE ${sequence} AS bigint;`,
      }
      : {
        advice: "Raise its bound, or let it begin anew where old numbers are free",
        sql: `ALTER SEQUENCE ${sequence} AS bigint NO MAXVALUE;`,
      }),
  };
}
