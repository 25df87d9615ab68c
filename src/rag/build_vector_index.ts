import type { Connection } from "../postgres/connection.ts";
import type { DocumentTable } from "./document_table.ts";
import { createSqlSession } from "./keyword/sql_session.ts";

export interface BuildVectorIndexOptions {
  /** Of a role that owns the table. Not used by others meanwhile. */
  readonly connection: Connection;
  readonly table: DocumentTable;
  /** Of the vectors, where the column does not say. */
  readonly dimensions: number;
  readonly signal: AbortSignal;
}

export type BuiltVectorIndex = "built" | "was there" | "too many dimensions";

/** pgvector's bounds of an HNSW index, in dimensions. */
const maxDimensions = { vector: 2_000, halfvec: 4_000 } as const;

/**
 * Makes an HNSW index by cosine distance where a table has no vector index, without blocking readers or writers. Vectors
 * beyond 2,000 dimensions are indexed at half precision. One that a run which was stopped left unfinished is taken away.
 *
 * @throws {AppError} `upstream` for what the server refuses; the signal's reason where that aborts
 */
export async function buildVectorIndex(options: BuildVectorIndexOptions): Promise<BuiltVectorIndex> {
  const { connection, table: { relation, vector, extension }, dimensions, signal } = options;
  if (vector.index !== undefined) return "was there";
  const isHalf = vector.type.endsWith("halfvec");
  const castTo = !isHalf && dimensions > maxDimensions.vector
    ? `${extension.schema}.halfvec(${dimensions})`
    : undefined;
  if (dimensions > maxDimensions.halfvec || vector.type.endsWith("sparsevec")) return "too many dimensions";
  const needsCast = castTo !== undefined || vector.dimensions === undefined;
  const type = castTo ?? `${vector.type}(${dimensions})`;
  const key = needsCast ? `(${vector.column}::${type})` : vector.column;
  const operators = `${extension.schema}.${isHalf || castTo !== undefined ? "halfvec" : "vector"}_cosine_ops`;
  const session = createSqlSession(connection, signal, "make the vector index");
  for (const [name] of await session.query(unfinishedSql, [relation])) {
    await session.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
  }
  await session.query(`CREATE INDEX CONCURRENTLY ON ${relation} USING hnsw (${key} ${operators})`);
  return "built";
}

const unfinishedSql = `
  SELECT format('%I.%I', n.nspname, x.relname)
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = x.relnamespace
  JOIN pg_am m ON m.oid = x.relam
  WHERE i.indrelid = $1::regclass AND NOT i.indisvalid AND m.amname = 'hnsw'
    AND NOT EXISTS (SELECT FROM pg_stat_progress_create_index p WHERE p.index_relid = i.indexrelid)`;
