import { AppError } from "../../core/app_error.ts";
import type { Database } from "../../postgres/database.ts";
import type { StatementNames } from "../../postgres/guard/statement_guard.ts";
import type { ColumnType } from "../search/column_type.ts";
import type { DocumentTable } from "../search/document_table.ts";
import type { Filter } from "../query.ts";
import type { SearchCaller } from "../search/search_caller.ts";
import { nameOf } from "../../postgres/sql_text.ts";

/**
 * Refuses conditions on columns whose types run a VOLATILE function when they are compared, which a READ ONLY transaction
 * may not stop: a domain inside of an array, an operator or an operator class of someone's own. Columns of PostgreSQL's
 * own types are not asked about.
 *
 * @throws {AppError} `invalid`, naming the condition; `unavailable` without a connection; the signal's reason
 */
export async function checkColumns(
  database: Database,
  table: Pick<DocumentTable, "relation" | "columns">,
  filter: Filter,
  { signal, ...address }: SearchCaller,
): Promise<void> {
  for (const [index, { column, operator }] of filter.conditions.entries()) {
    const type = table.columns.get(column);
    if (type === undefined || isBuiltIn(type) || operator.endsWith("NULL")) continue;
    const outcome = await database.read({
      principal: { kind: "local" },
      ...address,
      trusted: true,
      names: namesOf(table.relation, column),
      sql: "SELECT",
      signal,
    });
    signal.throwIfAborted();
    if (outcome.ok || outcome.error.kind !== "refused") continue;
    throw new AppError("invalid", `filter.conditions[${index}].column: ${outcome.error.message}`);
  }
}

const operators = ["=", "<>", "<", ">", "<=", ">=", "@>", "&&"];

/** @param relation qualified, quoted where it has to be */
function namesOf(relation: string, column: string): StatementNames {
  const [schema = "", name = ""] = relation.match(/"(?:[^"]|"")*"|[^".]+/g)?.map(nameOf) ?? [];
  return [
    { kind: "columns_of", schema, name },
    { kind: "column", name: column },
    { kind: "use", name: "coerce" },
    { kind: "use", name: "compare" },
    ...operators.map((operator) => ({ kind: "operator" as const, name: operator })),
  ];
}

/** As `format_type()` writes them, without a schema. */
const builtIn =
  /^(text|character( varying)?|name|smallint|integer|bigint|numeric|real|double precision|boolean|date|time(stamp)? with(out)? time zone|interval|uuid|inet|cidr|jsonb?|bytea|tsvector)(\[\])?$/;

function isBuiltIn({ sqlType }: ColumnType): boolean {
  return builtIn.test(sqlType);
}
