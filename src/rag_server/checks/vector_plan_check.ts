import { AppError } from "../../core/app_error.ts";
import { silentLogger } from "../../core/logger.ts";
import type { Database } from "../../postgres/database.ts";
import { createRetriever } from "../search/retriever.ts";
import { openSearchedTable } from "../search/searched_table.ts";
import type { VectorIndex } from "../search/vector_index.ts";
import { rowsToCompare } from "../search/vector_search.ts";
import { type CheckResult, warning } from "./check.ts";
import { rowsText, type TableSubject } from "./table_subject.ts";

/** A part of a plan as `EXPLAIN (FORMAT JSON)` has it. */
interface PlanNode {
  readonly "Node Type": string;
  readonly "Subplan Name"?: string;
  readonly "Relation Name"?: string;
  readonly "Order By"?: string;
  readonly "Plan Rows": number;
  readonly Plans?: readonly PlanNode[];
}

/**
 * A warning where PostgreSQL would not use a vector index for a question: it plans the very statement that a question
 * sends, and runs nothing.
 */
export async function unusedIndex(
  subject: TableSubject,
  { name }: VectorIndex,
  signal: AbortSignal,
): Promise<CheckResult[]> {
  const { facts, settings } = subject;
  const search = await plannedSearch(subject, {}, signal);
  if (search === undefined || !readsManyVectors(search)) return [];
  const forced = await plannedSearch(subject, { enable_seqscan: "off", enable_sort: "off" }, signal);
  if (forced === undefined || readsManyVectors(forced)) {
    return [warning(
      `PostgreSQL cannot use index ${name} for questions to ${settings.table}, so each compares the vectors of ${
        rowsText(facts.rows)
      }`,
      "-- In the configuration, name the table that has the index, or a view of it without DISTINCT, GROUP BY and LIMIT",
    )];
  }
  return [warning(
    `PostgreSQL would rather compare the vectors of ${rowsText(facts.rows)} than use index ${name}`,
    `ANALYZE ${facts.base?.relation ?? facts.relation};
-- Where that does not help, reset what keeps it from the index:
SELECT name, setting, source FROM pg_settings WHERE name ~ '_cost$|^enable_' AND source <> 'default';
SELECT spcname, spcoptions FROM pg_tablespace WHERE spcoptions IS NOT NULL;`,
  )];
}

/** The part of the plan that finds the nearest rows by an index; undefined where a question fails, or asks no index. */
async function plannedSearch(
  { database, settings, isHybrid, embedding }: TableSubject,
  changes: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<PlanNode | undefined> {
  const vector = await embedding();
  if (vector === undefined) return undefined;
  const plans: PlanNode[] = [];
  const explaining: Database = {
    ...database,
    async read(request) {
      const sql = `EXPLAIN (FORMAT JSON) ${request.sql}`;
      const result = await database.read({ ...request, sql, settings: { ...request.settings, ...changes } });
      if (!result.ok) return result;
      const [explained]: { Plan: PlanNode }[] = JSON.parse(result.rows[0]?.[0] ?? "[]");
      if (explained !== undefined) plans.push(explained.Plan);
      return { ...result, rows: [] };
    },
  };
  try {
    const tables = [await openSearchedTable(database, settings, signal)];
    const search = { hybridEnabled: isHybrid, vectorWeight: 0.5 };
    const retriever = createRetriever({ database: explaining, tables, search, logger: silentLogger });
    await retriever.retrieve({ question: "ping", embedding: vector, limit: 10, hybrid: isHybrid, signal });
  } catch (thrown) {
    signal.throwIfAborted();
    // the check of the search tells of it
    if (thrown instanceof AppError) return undefined;
    throw thrown;
  }
  return plans.flatMap(nodesOf).find((node) => node["Subplan Name"] === "CTE postern_indexed");
}

/** Whether it reads more than a few rows otherwise than by an index in the order of distance. */
function readsManyVectors(search: PlanNode): boolean {
  return nodesOf(search).some((node) =>
    node["Relation Name"] !== undefined && node["Order By"] === undefined && node["Plan Rows"] > rowsToCompare
  );
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
