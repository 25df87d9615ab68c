import { AppError } from "../../core/app_error.ts";
import { sleep } from "../../core/async/deadline.ts";
import type { Connection } from "../../postgres/connection.ts";
import { createSqlSession, lockingTransaction, type SqlSession } from "../../postgres/sql_session.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import { indexFor, type VectorColumn, type VectorTable } from "./vector_index.ts";

export interface BuildVectorIndexOptions {
  /** Has a role that owns the table. Not used by others meanwhile. */
  readonly connection: Connection;
  readonly table: VectorTable;
  /** The dimensions of the vectors; they count where the column sets none. */
  readonly dimensions: number;
  readonly signal: AbortSignal;
  /** Told of an unfinished index that was dropped, and of one that this run leaves, a sentence each. */
  readonly onNote?: (note: string) => void;
  /** Told every second how far PostgreSQL has come; `phase` says of what `done` and `total` are, and its own phase. */
  readonly onProgress?: (progress: VectorBuildProgress) => void;
}

interface VectorBuildProgress {
  readonly phase: string;
  readonly done: number;
  readonly total: number;
}

type BuiltVectorIndex = "built" | "was there" | "too many dimensions" | "not a table";

/** pgvector's bounds of an HNSW index, in dimensions. */
const maxDimensions = { vector: 2_000, halfvec: 4_000 } as const;

/**
 * Makes an HNSW index by cosine distance where a table has no vector index for such vectors, without blocking readers or
 * writers. Vectors beyond 2,000 dimensions are indexed at half precision. One that a run which was stopped left
 * unfinished is dropped. A partitioned table gets one for each partition that has none, those to come included.
 *
 * @throws {AppError} `conflict` while another process makes it, `upstream` for what the server refuses; the signal's
 * reason where that aborts, and PostgreSQL then builds no further
 */
export async function buildVectorIndex(options: BuildVectorIndexOptions): Promise<BuiltVectorIndex> {
  const { connection, table, dimensions, signal } = options;
  const purpose = `make the vector index of ${nameInMessage(table.name)}`;
  const session = createSqlSession(connection, signal, purpose);
  const [found] = await session.query(kindSql, [table.relation]);
  const [kind, processId] = found ?? [];
  const isThere = indexFor(table, dimensions) !== undefined;
  const using = usingSql(table, dimensions);
  if (!kind || !["r", "m", "p"].includes(kind)) return isThere ? "was there" : "not a table";
  if (using === undefined && !isThere) return "too many dimensions";
  const concurrently = createConcurrentRunner(session, Number(processId), options, purpose);
  if (using !== undefined && kind === "p") {
    return await buildOnPartitions(session, options, using, concurrently);
  }
  await concurrently.dropUnfinished(table.relation);
  if (isThere || using === undefined) return "was there";
  await concurrently.create(table.relation, `ON ${table.relation} ${using}`);
  return "built";
}

const kindSql = "SELECT relkind, pg_backend_pid() FROM pg_class WHERE oid = $1::regclass";

/** The method and key of an index by cosine distance; undefined where no index takes so many dimensions. */
function usingSql(
  { vector, extension }: {
    readonly vector: Omit<VectorColumn, "indexes">;
    readonly extension: Pick<VectorTable["extension"], "schema">;
  },
  dimensions: number,
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

/** Runs what builds and drops indexes while readers and writers go on, which waits for their transactions to end. */
function createConcurrentRunner(
  session: SqlSession,
  processId: number,
  options: BuildVectorIndexOptions,
  purpose: string,
) {
  const { connection, onNote = () => {}, onProgress } = options;

  async function run(statement: string): Promise<void> {
    // as long as they take: who holds such locks keeps no reader or writer waiting
    await session.query("SET lock_timeout = 0");
    const over = new AbortController();
    const watching = onProgress && watchProgress(connection, processId, onProgress, over.signal);
    try {
      await session.query(statement);
    } finally {
      over.abort();
      await watching;
      await session.restore("RESET lock_timeout");
    }
  }

  return {
    /** @throws {AppError} `conflict` while another process makes an index of the table */
    async dropUnfinished(relation: string): Promise<void> {
      const [builder] = await session.query(builderSql, [relation]);
      if (builder !== undefined) {
        const [id] = builder;
        throw new AppError(
          "conflict",
          `Cannot ${purpose}: PostgreSQL's process ${id} makes an index of it; run this again when that has ` +
            `ended, or end what a killed run left with SELECT pg_terminate_backend(${id})`,
        );
      }
      for (const [name] of await session.query(unfinishedSql, [relation])) {
        await run(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
        onNote(`dropped index ${name}, which an earlier run left unfinished`);
      }
    },
    /** @param what follows CREATE INDEX CONCURRENTLY */
    async create(relation: string, what: string): Promise<void> {
      try {
        await run(`CREATE INDEX CONCURRENTLY ${what}`);
      } catch (error) {
        const soon = AbortSignal.timeout(afterwardsMs);
        const after = createSqlSession(connection, soon, "look for what is left");
        for (const [name] of await after.query(unfinishedSql, [relation]).catch(() => [])) {
          onNote(
            `index ${name} is left unfinished, and writes keep it up for nothing until the next run drops it`,
          );
        }
        throw error;
      }
    },
  };
}

const afterwardsMs = 5_000;
const progressEveryMs = 1_000;

/** Tells what PostgreSQL says of a build, on a connection of its own, until it is over. Never rejects. */
async function watchProgress(
  builder: Connection,
  processId: number,
  onProgress: (progress: VectorBuildProgress) => void,
  over: AbortSignal,
): Promise<void> {
  let watcher: Connection | undefined;
  try {
    // a small index is made sooner
    await sleep(progressEveryMs, over);
    watcher = await builder.openAnother(over);
    const session = createSqlSession(watcher, over, "watch the build");
    for (;; await sleep(progressEveryMs, over)) {
      const [row] = await session.query(progressSql, [processId]);
      const [phase, done, total] = row ?? [];
      if (phase && Number(total) > 0) onProgress({ phase, done: Number(done), total: Number(total) });
    }
  } catch {
    // it is over, or the server has no connection more: the build needs no watching
  } finally {
    await watcher?.close();
  }
}

/** What it counts, how many of them it has done, and of how many; while it waits, transactions. */
const progressSql = `
  SELECT CASE WHEN b.holder IS NOT NULL THEN 'transactions that the vector index waits for, now process ' || b.holder
      WHEN p.blocks_total > 0 THEN 'blocks of the vector index, ' || p.phase
      ELSE 'rows of the vector index, ' || p.phase END,
    CASE WHEN b.holder IS NOT NULL THEN coalesce(p.lockers_done, 0)
      WHEN p.blocks_total > 0 THEN p.blocks_done ELSE p.tuples_done END,
    CASE WHEN b.holder IS NOT NULL THEN greatest(p.lockers_total, 1)
      WHEN p.blocks_total > 0 THEN p.blocks_total ELSE p.tuples_total END
  FROM (SELECT (pg_blocking_pids($1::int))[1] AS holder) b LEFT JOIN pg_stat_progress_create_index p ON p.pid = $1`;

async function buildOnPartitions(
  session: SqlSession,
  { table: { relation }, dimensions, signal }: BuildVectorIndexOptions,
  using: string,
  concurrently: ReturnType<typeof createConcurrentRunner>,
): Promise<BuiltVectorIndex> {
  const partitions = await session.query(partitionsSql, [relation, String(dimensions)]);
  const bare = partitions.filter(([, , hasIndex]) => hasIndex !== "t");
  for (const [partition, name] of bare) {
    await concurrently.dropUnfinished(partition ?? "");
    await concurrently.create(partition ?? "", `${name} ON ${partition} ${using}`);
  }
  const [above] = await session.query(aboveSql, [relation, String(dimensions)]);
  // PostgreSQL would build one of another kind again for the index above, while writers wait
  const areOwn = partitions.every(([, , hasIndex, isOwn]) => hasIndex !== "t" || isOwn === "t");
  if (above?.[0] === "t" || !areOwn) return bare.length === 0 ? "was there" : "built";
  // takes the partitions' indexes as its own, so it is quick
  await lockingTransaction(session, signal, () => session.query(`CREATE INDEX ON ${relation} ${using}`));
  return "built";
}

/** Who builds an index of a table. Two builds would wait for each other, and PostgreSQL would end one. */
const builderSql = `
  SELECT p.pid FROM pg_stat_progress_create_index p JOIN pg_locks l ON l.pid = p.pid AND l.granted
  WHERE l.database = p.datid AND l.relation = $1::regclass`;

const unfinishedSql = `
  SELECT format('%I.%I', n.nspname, x.relname)
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = x.relnamespace
  JOIN pg_am m ON m.oid = x.relam
  WHERE i.indrelid = $1::regclass AND NOT i.indisvalid AND m.amname = 'hnsw'`;

/** Says of an index `i` by `o` whether it is over vectors of the length $2, which a cast in its key may end with. */
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
