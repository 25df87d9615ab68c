import { basesSql, indexFor, type VectorIndex } from "../../../rag_server/search/vector_index.ts";
import { readJson } from "../../../postgres/read/read_trusted.ts";
import { AppError } from "../../../core/app_error.ts";
import { silentLogger } from "../../../core/logger.ts";
import type { Database } from "../../../postgres/database.ts";
import { createRetriever } from "../../../rag_server/search/retriever.ts";
import { openSearchedTable } from "../../../rag_server/search/searched_table.ts";
import { rowsToCompare } from "../../../rag_server/search/vector_search.ts";
import { type Check, type CheckResult, createCheck, note, warning } from "../check.ts";
import { createIndexOn, rowsText, rowsWithoutIndex, type TableSubject } from "./table_subject.ts";

/** An index of pgvector's operator classes on a table or below it. */
interface IndexFacts {
  /** Qualified and quoted. */
  readonly name: string;
  /** As SQL. */
  readonly key: string;
  readonly isValid: boolean;
  /** Whether it is being made right now. */
  readonly isBuilding: boolean;
}

/** Whether an index finds the nearest vectors, the one that it should be, and is used. */
export function vectorIndexCheck(subject: TableSubject): Check {
  return createCheck(`vector index of ${subject.settings.table}`, async (signal) => {
    const { database, facts, table: { vector } } = subject;
    const indexes = await readJson<IndexFacts[]>(database, signal, indexSql, [facts.oid, vector.column]) ??
      [];
    const broken = indexes.filter(({ isValid, isBuilding }) => !isValid && !isBuilding).map(brokenIndex);
    const dimensions = vector.dimensions ?? (await subject.embedding())?.length;
    const index = indexFor(subject.table, dimensions);
    if (index === undefined) {
      return [...broken, ...missingIndex(subject, indexes, broken.length > 0, dimensions)];
    }
    const results = [
      ...broken,
      ...otherDistance(subject, index, dimensions),
      ...unsuitableLists(subject, index),
      ...await unusedIndex(subject, index, signal),
    ];
    return results.length > 0 ? results : [note(`${index.method}, ${index.distance}`)];
  });
}

const indexSql = `${basesSql("$1")}
  SELECT coalesce(json_agg(json_build_object(
    'name', format('%I.%I', n.nspname, x.relname), 'key', pg_get_indexdef(i.indexrelid, 1, false),
    'isValid', i.indisvalid,
    'isBuilding', EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid))
    ORDER BY n.nspname, x.relname), '[]')
  FROM bases JOIN pg_index i ON i.indrelid = bases.oid
  JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = x.relnamespace
  JOIN pg_am m ON m.oid = x.relam JOIN pg_opclass o ON o.oid = i.indclass[0]
  WHERE o.opcname ~ '^(vector|halfvec|sparsevec|bit)_[a-z0-9]+_ops$' AND m.amname <> 'btree'
    AND position($2 IN pg_get_indexdef(i.indexrelid, 1, false)) > 0`;

function brokenIndex({ name }: IndexFacts): CheckResult {
  return warning(
    `Index ${name} is not valid, because building it failed: it slows down every write, and no question uses it`,
    `REINDEX INDEX CONCURRENTLY ${name};`,
  );
}

function missingIndex(
  subject: TableSubject,
  indexes: readonly IndexFacts[],
  isBroken: boolean,
  dimensions: number | undefined,
): CheckResult[] {
  const { rows } = subject.facts;
  const building = indexes.find((index) => index.isBuilding);
  if (building !== undefined) return [note(`${building.name} is being built`)];
  if (isBroken) return [];
  const [unused] = indexes;
  if (unused !== undefined) {
    return [warning(
      `No question uses index ${unused.name} on ${unused.key}: expected an index on the column itself, or on its ` +
        "cast to the provider's length",
      createVectorIndex(subject, dimensions),
    )];
  }
  if (rows < rowsWithoutIndex) return [note(`none; ${rowsText(rows)} do not need one`)];
  return [warning(
    `There is no vector index, so every question reads the vectors of ${rowsText(rows)}`,
    createVectorIndex(subject, dimensions),
  )];
}

const longestOf: Readonly<Record<string, number>> = { vector: 2_000, halfvec: 4_000, sparsevec: Infinity };

/** The statement for the index that suits a column best. */
function createVectorIndex({ table: { vector, extension }, facts }: TableSubject, dimensions = 0): string {
  const typeName = vector.type.split(".").at(-1) ?? "vector";
  const schema = extension.schema === "public" ? "" : `${extension.schema}.`;
  const { column } = vector;
  const create = createIndexOn(facts);
  if (typeName !== "sparsevec" && dimensions > 4_000) {
    return "-- pgvector indexes at most 4,000 dimensions: use a model with fewer, or lower its setting dimensions";
  }
  if (typeName !== "sparsevec" && vector.dimensions === undefined) {
    const indexed = dimensions <= (longestOf[typeName] ?? 0) ? typeName : "halfvec";
    const length = dimensions || "DIMENSIONS";
    return `${create} USING hnsw ((${column}::${schema}${indexed}(${length})) ${schema}${indexed}_cosine_ops)
  WHERE ${schema}vector_dims(${column}) = ${length};`;
  }
  if (dimensions <= (longestOf[typeName] ?? 0)) {
    return `${create} USING hnsw (${column} ${schema}${typeName}_cosine_ops);`;
  }
  return `${create} USING hnsw ((${column}::${schema}halfvec(${dimensions})) ${schema}halfvec_cosine_ops);`;
}

const distanceNames = { cosine: "cosine", l2: "Euclidean", ip: "inner product", l1: "taxicab" } as const;

function otherDistance(
  subject: TableSubject,
  { name, distance }: VectorIndex,
  dimensions: number | undefined,
): CheckResult[] {
  if (distance === "cosine") return [];
  const create = createVectorIndex(subject, dimensions);
  return [warning(
    `The vector index uses ${
      distanceNames[distance]
    } distance, but similarity is cosine: searches may miss the nearest documents`,
    // without a length the first statement is to be filled in, and the second would not wait for that
    dimensions === undefined ? create : `${create}\nDROP INDEX ${name};`,
  )];
}

/** How far the number of lists may be off the one that suits the rows. */
const tolerance = 4;

function unsuitableLists(
  { facts: { rows } }: TableSubject,
  { name, method, lists = 100 }: VectorIndex,
): CheckResult[] {
  if (method !== "ivfflat" || rows < rowsWithoutIndex) return [];
  const suitable = suitableLists(rows);
  if (lists <= suitable * tolerance && lists >= suitable / tolerance) return [];
  return [warning(
    `The ivfflat index has ${lists} lists, which does not suit ${rowsText(rows)}: ${
      lists < suitable
        ? "each question reads more than it needs"
        : "the nearest documents may be in a list that a question does not read"
    }`,
    `ALTER INDEX ${name} SET (lists = ${suitable});\nREINDEX INDEX CONCURRENTLY ${name};`,
  )];
}

/** As pgvector's manual has it: a thousandth of the rows, of more than a million their square root. */
function suitableLists(rows: number): number {
  return Math.max(10, Math.round(rows <= 1_000_000 ? rows / 1_000 : Math.sqrt(rows)));
}

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
async function unusedIndex(
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
