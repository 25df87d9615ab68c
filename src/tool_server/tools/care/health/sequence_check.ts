import { quoteIfNeeded } from "../../../../postgres/sql_text.ts";
import { type Concern, count, defineHealthCheck, objectName, percent } from "./health_check.ts";

interface Row {
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
export const sequenceCheck = defineHealthCheck<Row>({
  name: "sequences",
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

function nearEndConcern(row: Row): Concern {
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
