import type { Row } from "../../postgres/read/portal.ts";
import type { Distance, VectorColumn, VectorIndex } from "./document_table.ts";
import { vectorIndexSql } from "./table_sql.ts";

type Read = (text: string, parameters: readonly string[]) => Promise<readonly Row[]>;

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
      ...(castTo !== undefined && { castTo }),
      ...(typeof condition === "string" && { condition }),
      ...(lists !== undefined && { lists: Number(lists) }),
    });
  }
  return [...best.values()];
}

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
  return /^\)?::((?:\S+\.)?(?:vector|halfvec|sparsevec)\(\d+)$/.exec(bare.slice(column.length))?.[1]?.concat(
    ")",
  );
}
