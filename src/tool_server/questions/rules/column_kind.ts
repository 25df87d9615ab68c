import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";

export type ColumnKind = "number" | "date" | "flag" | "text" | "exact" | "enum" | "list" | "other";

const kinds: readonly (readonly [RegExp, ColumnKind])[] = [
  [/^(text|character|varchar|citext|char)\b.*\[\]$/, "list"],
  [/\[\]$/, "other"],
  [/^(smallint|integer|bigint|numeric|decimal|real|double precision|money)\b/, "number"],
  [/^(date|timestamp)\b/, "date"],
  [/^boolean\b/, "flag"],
  [/^(text|character|varchar|citext)\b/, "text"],
  [/^uuid\b/, "exact"],
];

/** What a request can do with a column's values. */
export function columnKind(column: CatalogColumn): ColumnKind {
  if (column.labels.length > 0 && !column.type.endsWith("[]")) return "enum";
  return kinds.find(([pattern]) => pattern.test(column.type))?.[1] ?? "other";
}

/** Values that only a machine reads and that would drown the rest of a row. */
export function isBulky(column: CatalogColumn): boolean {
  return /^(vector|halfvec|sparsevec|bytea|tsvector)\b/.test(column.type);
}

/** Whether PostgreSQL can sort and group by the column in a way that means something. */
export function isOrderable(column: CatalogColumn): boolean {
  return !isBulky(column) &&
    !/^(json|jsonb|xml|point|line|lseg|box|path|polygon|circle|tsquery)\b/.test(column.type);
}
