import { defined } from "../../core/defined.ts";
import type { Read } from "../../postgres/read/read_trusted.ts";

/** The distances of pgvector that an index may be ordered by. */
export type Distance = "cosine" | "l2" | "ip" | "l1";

/** An index that answers "nearest" without reading the table. */
export interface VectorIndex {
  /** Qualified and quoted. */
  readonly name: string;
  /** `hnsw`, `ivfflat`, or another extension's access method. */
  readonly method: string;
  readonly distance: Distance;
  /**
   * The type that the column is cast to in the index's key, such as `public.halfvec(3072)`. Optional: none where it is the
   * column itself.
   */
  readonly castTo?: string;
  /** Which rows it holds, as SQL. Optional: none where it holds all. */
  readonly condition?: string;
  /** The number of an ivfflat index's lists. */
  readonly lists?: number;
}

/** A column of embeddings. */
export interface VectorColumn {
  /** Quoted. */
  readonly column: string;
  /** As SQL, without dimensions: `public.vector`. */
  readonly type: string;
  /** Optional: none where the column takes any number. */
  readonly dimensions?: number;
  /** Where no index says another. Optional; the default is cosine. */
  readonly distance?: Distance;
  /** The best first; of those for vectors of one length the best alone. */
  readonly indexes: readonly VectorIndex[];
}

/** The facts of a table that its vector index depends on. */
export interface VectorTable {
  /** The configured name, which errors and logs use. */
  readonly name: string;
  /** Qualified and quoted. */
  readonly relation: string;
  readonly vector: VectorColumn;
  /** pgvector as it is installed. */
  readonly extension: {
    /** Quoted. */
    readonly schema: string;
    /** Whether an index scan continues until it has found enough rows (0.8.0 and later). */
    readonly isIterative: boolean;
  };
}

/** The best index, but none over vectors cast to another length than an embedding's. */
export function indexFor(
  { vector: { indexes } }: VectorTable,
  dimensions: number | undefined,
): VectorIndex | undefined {
  return indexes.find(({ castTo }) =>
    castTo === undefined || dimensions === undefined || castTo.endsWith(`(${dimensions})`)
  );
}

/** What a search by vectors orders a table by. */
export function distanceOf(table: VectorTable, dimensions: number | undefined): Distance {
  return indexFor(table, dimensions)?.distance ?? table.vector.distance ?? "cosine";
}

/**
 * The indexes that serve a column of embeddings, for each length of vectors the best: all rows before some, the column
 * itself before a cast, cosine before others, hnsw before ivfflat.
 */
export async function findVectorIndexes(
  read: Read,
  oid: string,
  vector: Omit<VectorColumn, "indexes">,
  isView: boolean,
): Promise<VectorIndex[]> {
  const best = new Map<string | undefined, VectorIndex>();
  const typeName = vector.type.split(".").at(-1) ?? "";
  for (const row of await read(vectorIndexSql, [oid])) {
    const [name, method, operatorClass, key, isColumn, options, condition] = row;
    const [, type, distance] = /^([a-z]+)_([a-z0-9]+)_ops$/.exec(operatorClass ?? "") ?? [];
    if (!name || !method || !key || !isDistance(distance)) continue;
    const castTo = isColumn === "t" ? undefined : castIn(key, vector.column);
    const serves = isColumn === "t"
      ? type === typeName && (isView || key === vector.column)
      : castTo !== undefined;
    const length = castTo === undefined ? String(vector.dimensions) : /\d+(?=\)$)/.exec(castTo)?.[0];
    if (!serves || best.has(length)) continue;
    const lists = /\blists=(\d+)/.exec(options ?? "")?.[1];
    best.set(length, {
      name,
      method,
      distance,
      ...defined({ castTo }),
      ...(typeof condition === "string" && { condition }),
      ...(lists !== undefined && { lists: Number(lists) }),
    });
  }
  return [...best.values()];
}

/**
 * From `bases`, what each of them reads as a view or holds as a partitioned table. A materialized view has rows and indexes
 * of its own: what it was made from is not searched.
 */
export const belowBasesSql = `SELECT below.oid FROM bases CROSS JOIN LATERAL (
      SELECT d.refobjid AS oid FROM pg_rewrite w JOIN pg_class v ON v.oid = w.ev_class AND v.relkind = 'v'
      JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
      WHERE w.ev_class = bases.oid
      UNION ALL SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = bases.oid
    ) below`;

/** `bases`: the oid of a relation, and those of the tables below it where it is a view or has partitions. */
export const basesSql = (relation: string) => `
  WITH RECURSIVE bases(oid) AS (
    SELECT ${relation}::oid
    UNION
    ${belowBasesSql}
  )`;

/**
 * Reads the vector indexes on a relation or below it, the most useful first: qualified name, access method, operator class,
 * key as SQL, whether the key is a bare column, options, condition. In a view the column may have another name than in
 * its table.
 */
const vectorIndexSql = `${basesSql("$1")}
  SELECT format('%I.%I', n.nspname, x.relname), m.amname, o.opcname, pg_get_indexdef(i.indexrelid, 1, false),
    i.indkey[0] <> 0, array_to_string(x.reloptions, ','), pg_get_expr(i.indpred, i.indrelid)
  FROM bases JOIN pg_index i ON i.indrelid = bases.oid
  JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = x.relnamespace
  JOIN pg_am m ON m.oid = x.relam JOIN pg_opclass o ON o.oid = i.indclass[0]
  WHERE i.indisvalid AND o.opcname ~ '^(vector|halfvec|sparsevec)_(cosine|l2|ip|l1)_ops$'
  ORDER BY i.indpred IS NOT NULL, i.indkey[0] = 0, o.opcname !~ '_cosine_', m.amname = 'ivfflat',
    x.relispartition, i.indexrelid`;

function isDistance(name: string | undefined): name is Distance {
  return name === "cosine" || name === "l2" || name === "ip" || name === "l1";
}

/**
 * The type in a key such as `((embedding)::halfvec(3072))`, which is how long vectors are indexed, and those of a column
 * without a length.
 */
function castIn(key: string, column: string): string | undefined {
  const bare = key.replace(/^\(+/, "").replace(/\)+$/, "");
  if (!bare.startsWith(column)) return undefined;
  const [, type] = /^\)?::((?:\S+\.)?(?:vector|halfvec|sparsevec)\(\d+)$/.exec(bare.slice(column.length)) ??
    [];
  return type && `${type})`;
}
