import type { Connection } from "../../postgres/connection.ts";
import type { DocumentTable } from "./document_table.ts";
import {
  createSqlSession,
  type SqlSession,
  transaction,
  withoutWaitingWriters,
} from "../../postgres/sql_session.ts";
import { indexFor } from "./vector_search.ts";

export interface BuildVectorIndexOptions {
  /** Of a role that owns the table. Not used by others meanwhile. */
  readonly connection: Connection;
  readonly table: DocumentTable;
  /** Of the vectors, where the column does not say. */
  readonly dimensions: number;
  readonly signal: AbortSignal;
}

export type BuiltVectorIndex = "built" | "was there" | "too many dimensions" | "not a table";

/** pgvector's bounds of an HNSW index, in dimensions. */
const maxDimensions = { vector: 2_000, halfvec: 4_000 } as const;

/**
 * Makes an HNSW index by cosine distance where a table has no vector index for such vectors, without blocking readers or
 * writers. Vectors beyond 2,000 dimensions are indexed at half precision. One that a run which was stopped left
 * unfinished is taken away. A partitioned table gets one for each partition that has none, those to come included.
 *
 * @throws {AppError} `upstream` for what the server refuses; the signal's reason where that aborts
 */
export async function buildVectorIndex(options: BuildVectorIndexOptions): Promise<BuiltVectorIndex> {
  const { connection, table, dimensions, signal } = options;
  const session = createSqlSession(connection, signal, `make the vector index of "${table.name}"`);
  const [found] = await session.query("SELECT relkind FROM pg_class WHERE oid = $1::regclass", [
    table.relation,
  ]);
  const kind = found?.[0] ?? "";
  if (indexFor(table, dimensions) !== undefined && kind !== "p") return "was there";
  if (!["r", "m", "p"].includes(kind)) return "not a table";
  const using = usingSql(options);
  if (using === undefined) return "too many dimensions";
  if (kind === "p") return await buildOnPartitions(session, options, using);
  await dropUnfinished(session, table.relation);
  await session.query(`CREATE INDEX CONCURRENTLY ON ${table.relation} ${using}`);
  return "built";
}

/** The method and key of the index; undefined where no index takes so many dimensions. */
function usingSql(
  { table: { vector, extension }, dimensions }: BuildVectorIndexOptions,
): string | undefined {
  if (dimensions > maxDimensions.halfvec || vector.type.endsWith("sparsevec")) return undefined;
  const isHalf = vector.type.endsWith("halfvec");
  const castTo = !isHalf && dimensions > maxDimensions.vector
    ? `${extension.schema}.halfvec(${dimensions})`
    : undefined;
  const needsCast = castTo !== undefined || vector.dimensions === undefined;
  const type = castTo ?? `${vector.type}(${dimensions})`;
  const key = needsCast ? `(${vector.column}::${type})` : vector.column;
  const operators = `${extension.schema}.${isHalf || castTo !== undefined ? "halfvec" : "vector"}_cosine_ops`;
  // a column without a length may hold others, which no cast takes
  const rows = vector.dimensions === undefined
    ? ` WHERE ${extension.schema}.vector_dims(${vector.column}) = ${dimensions}`
    : "";
  return `USING hnsw (${key} ${operators})${rows}`;
}

async function buildOnPartitions(
  session: SqlSession,
  { table: { relation }, dimensions, signal }: BuildVectorIndexOptions,
  using: string,
): Promise<BuiltVectorIndex> {
  const partitions = await session.query(partitionsSql, [relation, String(dimensions)]);
  const bare = partitions.filter(([, , hasIndex]) => hasIndex !== "t");
  for (const [partition, name] of bare) {
    await dropUnfinished(session, partition ?? "");
    await session.query(`CREATE INDEX CONCURRENTLY ${name} ON ${partition} ${using}`);
  }
  const [above] = await session.query(aboveSql, [relation, String(dimensions)]);
  // one of another kind would be made anew for the index above, while writers wait
  const areOwn = partitions.every(([, , hasIndex, isOwn]) => hasIndex !== "t" || isOwn === "t");
  if (above?.[0] === "t" || !areOwn) return bare.length === 0 ? "was there" : "built";
  // takes the partitions' indexes as its own, so it is quick
  await withoutWaitingWriters(signal, () =>
    transaction(session, async () => {
      await session.query("SET LOCAL lock_timeout = '1s'");
      await session.query(`CREATE INDEX ON ${relation} ${using}`);
    }));
  return "built";
}

async function dropUnfinished(session: SqlSession, relation: string): Promise<void> {
  for (const [name] of await session.query(unfinishedSql, [relation])) {
    await session.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  }
}

const unfinishedSql = `
  SELECT format('%I.%I', n.nspname, x.relname)
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = x.relnamespace
  JOIN pg_am m ON m.oid = x.relam
  WHERE i.indrelid = $1::regclass AND NOT i.indisvalid AND m.amname = 'hnsw'
    AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)`;

/** Of an index `i` by `o`: whether it is over vectors of the length $2, which a cast in its key may end with. */
const isFitting = `o.opcname ~ '^(vector|halfvec|sparsevec)_(cosine|l2|ip|l1)_ops$'
    AND (i.indkey[0] <> 0 OR pg_get_indexdef(i.indexrelid, 1, false) ~ ('\\(' || $2 || '\\)\\)*$'))`;

/** The partitions that hold rows, the names their indexes get, whether they have an index, and one made here. */
const partitionsSql = `
  SELECT format('%I.%I', n.nspname, c.relname), v.name, count(x.oid) > 0,
    coalesce(bool_or(starts_with(x.relname, 'postern_vector_')), false)
  FROM pg_partition_tree($1::regclass) t JOIN pg_class c ON c.oid = t.relid AND c.relkind = 'r'
  JOIN pg_namespace n ON n.oid = c.relnamespace
  CROSS JOIN LATERAL (SELECT 'postern_vector_' || c.oid || '_' || $2 AS name) v
  LEFT JOIN (pg_index i JOIN pg_opclass o ON o.oid = i.indclass[0] AND ${isFitting}
    JOIN pg_class x ON x.oid = i.indexrelid) ON i.indrelid = c.oid AND i.indisvalid
  GROUP BY 1, 2 ORDER BY 1`;

/** Whether the partitioned table itself has such an index. */
const aboveSql = `
  SELECT count(*) > 0 FROM pg_index i JOIN pg_opclass o ON o.oid = i.indclass[0]
  WHERE i.indrelid = $1::regclass AND i.indisvalid AND ${isFitting}`;
