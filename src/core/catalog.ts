/** A database's tables as the tools and the providers see them. */
export interface Catalog {
  /** In order of schema and name; only what the connection's role may read. */
  readonly tables: readonly CatalogTable[];
}

export type TableKind = "TABLE" | "VIEW" | "MATERIALIZED VIEW" | "FOREIGN TABLE" | "PARTITIONED TABLE";

export interface CatalogTable {
  readonly schema: string;
  readonly name: string;
  readonly kind: TableKind;
  readonly comment: string;
  /** The planner's estimate; -1 where the table was never analyzed. */
  readonly estimatedRows: number;
  /** In the table's order. */
  readonly columns: readonly CatalogColumn[];
  readonly indexes: readonly CatalogIndex[];
  readonly foreignKeys: readonly CatalogForeignKey[];
}

/** A foreign key: its columns refer, one by one, to those of the target. */
export interface CatalogForeignKey {
  readonly columns: readonly string[];
  readonly targetSchema: string;
  readonly targetTable: string;
  readonly targetColumns: readonly string[];
}

export interface CatalogColumn {
  readonly name: string;
  /** As PostgreSQL writes it: `numeric(12,2)`, `timestamp with time zone`, `text[]`. */
  readonly type: string;
  readonly nullable: boolean;
  readonly comment: string;
  /** The default's expression, or empty. */
  readonly default: string;
  /** `a` GENERATED ALWAYS, `d` BY DEFAULT, empty where the column is no identity. */
  readonly identity: "" | "a" | "d";
  readonly isPrimaryKey: boolean;
  /** Part of a unique constraint or index that is not the primary key. */
  readonly isUnique: boolean;
  readonly isIndexed: boolean;
  /** `schema.table.column` where a foreign key refers to it. */
  readonly reference: string;
  /** An enumeration's labels in order; empty for other types. */
  readonly labels: readonly string[];
  /** The values that a CHECK constraint lists for the column; empty where there is none. */
  readonly allowedValues: readonly string[];
  /** A pgvector column's dimensions, 0 where unbounded; undefined for other types. */
  readonly vectorDimensions?: number;
}

export interface CatalogIndex {
  readonly name: string;
  readonly definition: string;
}
