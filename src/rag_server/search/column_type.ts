import type { Read } from "../../postgres/read/read_trusted.ts";

/** The kinds of values that a column may hold; "other" is one that only PostgreSQL can judge. */
export type ValueKind = (typeof builtIn)[keyof typeof builtIn] | "text" | "enum" | "array" | "other";

/** Those of types in `pg_catalog`, by name. */
const builtIn = {
  int2: "smallint",
  int4: "integer",
  int8: "bigint",
  numeric: "numeric",
  float4: "real",
  float8: "double",
  bool: "boolean",
  date: "date",
  timestamp: "timestamp",
  timestamptz: "timestamptz",
  time: "time",
  uuid: "uuid",
  inet: "inet",
  json: "json",
  jsonb: "json",
} as const;

/** A column's type, domains taken off. */
export interface ColumnType {
  readonly kind: ValueKind;
  /** As SQL, to cast to: without a length or precision, which would shorten a value in silence. */
  readonly sqlType: string;
  /** The values of an enum. */
  readonly labels?: readonly string[];
  /** The type of an array's elements. */
  readonly element?: ColumnType;
}

/** A type as PostgreSQL's catalog has it. */
interface CatalogType {
  /** Absent for a type from outside of `pg_catalog`, whatever it is called. */
  readonly name?: string;
  readonly sqlType: string;
  /** `pg_type.typcategory` */
  readonly category: string;
  readonly labels?: readonly string[];
  readonly element?: CatalogType;
}

// a map, since a type of a database may be called "constructor"
const kinds: ReadonlyMap<string, ValueKind> = new Map(Object.entries(builtIn));

export function columnTypeOf({ name = "", sqlType, category, labels, element }: CatalogType): ColumnType {
  if (category === "A" && element !== undefined) {
    return { kind: "array", sqlType, element: columnTypeOf(element) };
  }
  if (category === "E" && labels !== undefined) return { kind: "enum", sqlType, labels };
  return { kind: kinds.get(name) ?? (category === "S" ? "text" : "other"), sqlType };
}

/** A column as {@linkcode columnsSql} reads it. */
export interface CatalogColumn {
  readonly name: string;
  readonly quoted: string;
  /** `pg_attribute.atttypmod`, which holds the length of vectors. */
  readonly modifier: number;
  /** The type's bare name, whatever its schema, and its qualified one. */
  readonly typeName: string;
  readonly qualifiedType: string;
  readonly type: CatalogType;
  readonly isNullable: boolean;
  /** Whether a new row must bring a value. */
  readonly needsValue: boolean;
  /** Whether PostgreSQL alone writes it. */
  readonly isGenerated: boolean;
}

const typeJson = (type: string, element: string) =>
  `json_build_object(
      'name', CASE WHEN ${type}.typnamespace = 'pg_catalog'::regnamespace THEN ${type}.typname END,
      'sqlType', format_type(${type}.oid, -1), 'category', ${type}.typcategory,
      'labels', CASE WHEN ${type}.typtype = 'e'
        THEN (SELECT json_agg(e.enumlabel) FROM pg_enum e WHERE e.enumtypid = ${type}.oid) END,
      'element', ${element})`;

/** The columns of a relation by their names, domains taken off. */
export async function readColumns(read: Read, oid: string): Promise<ReadonlyMap<string, CatalogColumn>> {
  const columns = (await read(columnsSql, [oid])).map(([json]): CatalogColumn => JSON.parse(json ?? ""));
  return new Map(columns.map((column) => [column.name, column]));
}

const columnsSql = `
  SELECT json_strip_nulls(json_build_object(
    'name', a.attname, 'quoted', quote_ident(a.attname), 'modifier', a.atttypmod,
    'isNullable', NOT a.attnotnull,
    'needsValue', a.attnotnull AND NOT a.atthasdef AND a.attidentity = '',
    'isGenerated', a.attgenerated <> '' OR a.attidentity = 'a',
    'typeName', t.typname, 'qualifiedType', format('%I.%I', n.nspname, t.typname),
    'type', ${typeJson("t", `CASE WHEN s.oid IS NOT NULL THEN ${typeJson("s", "NULL")} END`)}))
  FROM pg_attribute a
  CROSS JOIN LATERAL (
    WITH RECURSIVE chain(oid, base) AS (
      SELECT oid, typbasetype FROM pg_type WHERE oid = a.atttypid
      UNION ALL SELECT d.oid, d.typbasetype FROM chain JOIN pg_type d ON d.oid = chain.base
    ) SELECT oid FROM chain WHERE base = 0
  ) b
  JOIN pg_type t ON t.oid = b.oid JOIN pg_namespace n ON n.oid = t.typnamespace
  LEFT JOIN pg_type s ON s.oid = t.typelem AND t.typcategory = 'A'
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped
  ORDER BY a.attnum`;
