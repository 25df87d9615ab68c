import type { ColumnType } from "./column_type.ts";
import type { SqlText } from "../../postgres/sql_text.ts";

/** The distances of pgvector that an index may be ordered by. */
export type Distance = "cosine" | "l2" | "ip" | "l1";

/** An index that answers "nearest" without reading the table. */
export interface VectorIndex {
  /** Qualified and quoted. */
  readonly name: string;
  /** `hnsw`, `ivfflat`, or another extension's access method. */
  readonly method: string;
  readonly distance: Distance;
  /** The type that the column is cast to in the index's key, such as `public.halfvec(3072)`; absent where it is the column itself. */
  readonly castTo?: string;
  /** Which rows it holds, as SQL; absent where it holds all. */
  readonly condition?: string;
  /** Of ivfflat. */
  readonly lists?: number;
}

/** A column of embeddings. */
export interface VectorColumn {
  /** Quoted. */
  readonly column: string;
  /** As SQL, without dimensions: `public.vector`. */
  readonly type: string;
  /** Absent where the column takes any number. */
  readonly dimensions?: number;
  /** The best first; of those for vectors of one length the best alone. */
  readonly indexes: readonly VectorIndex[];
}

/** pgvector as it is installed. */
export interface VectorExtension {
  /** Quoted. */
  readonly schema: string;
  /** Whether an index scan goes on until it has found what was asked for (0.8.0 and later). */
  readonly isIterative: boolean;
}

/** What tells the rows of a table apart within one statement. */
export interface RowKey {
  /** Of a column, not quoted; `ctid` for a row's place. */
  readonly name: string;
  /** As SQL. */
  readonly type: string;
  /** Whether it means anything to a client: it is the table's id. */
  readonly isId: boolean;
}

/** A table or view of documents, as the database has it. */
export interface DocumentTable {
  /** As it was configured, which is how errors and logs call it. */
  readonly name: string;
  /** Qualified and quoted. */
  readonly relation: string;
  /** Those that a filter may name, by name. */
  readonly columns: ReadonlyMap<string, ColumnType>;
  /** Quoted. */
  readonly textColumn: string;
  readonly vector: VectorColumn;
  readonly extension: VectorExtension;
  readonly key: RowKey;
  /** Which rows take part, whatever a client asks; refers to columns by their bare names. */
  readonly filter?: SqlText;
}
