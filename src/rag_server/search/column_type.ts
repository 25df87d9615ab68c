/** What values of a column look like. */
export type ValueKind =
  | "text"
  | "smallint"
  | "integer"
  | "bigint"
  | "numeric"
  | "real"
  | "double"
  | "boolean"
  | "date"
  | "timestamp"
  | "timestamptz"
  | "time"
  | "uuid"
  | "inet"
  | "enum"
  | "json"
  | "array"
  /** One that only PostgreSQL can judge. */
  | "other";

/** A column's type, domains taken off. */
export interface ColumnType {
  readonly kind: ValueKind;
  /** As SQL, to cast to: without a length or precision, which would shorten a value in silence. */
  readonly sqlType: string;
  /** Of an enum. */
  readonly labels?: readonly string[];
  /** Of an array. */
  readonly element?: ColumnType;
}

/** A type as PostgreSQL's catalog has it. */
export interface CatalogType {
  /** Empty for a type from outside of `pg_catalog`, whatever it is called. */
  readonly name: string;
  readonly sqlType: string;
  /** `pg_type.typcategory` */
  readonly category: string;
  readonly labels?: readonly string[];
  readonly element?: CatalogType;
}

// a map, since a type of a database may be called "constructor"
const kinds: ReadonlyMap<string, ValueKind> = new Map<string, ValueKind>([
  ["int2", "smallint"],
  ["int4", "integer"],
  ["int8", "bigint"],
  ["numeric", "numeric"],
  ["float4", "real"],
  ["float8", "double"],
  ["bool", "boolean"],
  ["date", "date"],
  ["timestamp", "timestamp"],
  ["timestamptz", "timestamptz"],
  ["time", "time"],
  ["uuid", "uuid"],
  ["inet", "inet"],
  ["json", "json"],
  ["jsonb", "json"],
]);

export function columnTypeOf(type: CatalogType): ColumnType {
  const { name, sqlType, category, labels, element } = type;
  if (category === "A" && element !== undefined) {
    return { kind: "array", sqlType, element: columnTypeOf(element) };
  }
  if (category === "E" && labels !== undefined) return { kind: "enum", sqlType, labels };
  return { kind: kinds.get(name) ?? (category === "S" ? "text" : "other"), sqlType };
}
