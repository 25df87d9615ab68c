import { quoteIfNeeded } from "../../../../postgres/sql_text.ts";
import { type Concern, count, defineHealthCheck, objectName } from "./health_check.ts";

interface Row {
  readonly schema: string;
  readonly table_name: string;
  readonly name: string;
  readonly kind: string;
}

/** Constraints that hold for new rows alone, as nobody has checked the old ones. */
export const constraintCheck = defineHealthCheck<Row>({
  name: "constraints",
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
