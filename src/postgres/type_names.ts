import { parseShallowJson } from "../core/shallow_json.ts";

// the fixed numbers of pg_type.dat, which no release changes
const names: Readonly<Record<number, string>> = {
  16: "boolean",
  17: "bytea",
  18: '"char"',
  19: "name",
  20: "bigint",
  21: "smallint",
  23: "integer",
  25: "text",
  26: "oid",
  114: "json",
  142: "xml",
  600: "point",
  650: "cidr",
  700: "real",
  701: "double precision",
  790: "money",
  829: "macaddr",
  869: "inet",
  1000: "boolean[]",
  1005: "smallint[]",
  1007: "integer[]",
  1009: "text[]",
  1015: "character varying[]",
  1016: "bigint[]",
  1021: "real[]",
  1022: "double precision[]",
  1042: "character",
  1043: "character varying",
  1082: "date",
  1083: "time",
  1114: "timestamp",
  1184: "timestamp with time zone",
  1186: "interval",
  1231: "numeric[]",
  1266: "time with time zone",
  1560: "bit",
  1562: "bit varying",
  1700: "numeric",
  2205: "regclass",
  2249: "record",
  2950: "uuid",
  3614: "tsvector",
  3615: "tsquery",
  3802: "jsonb",
  3904: "int4range",
  3906: "numrange",
  3908: "tsrange",
  3910: "tstzrange",
  3912: "daterange",
  3926: "int8range",
};

/** A built-in type's name; `other` for one that an extension or a user made. */
export function typeName(oid: number): string {
  return names[oid] ?? "other";
}

const parsers: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => text === "t",
  20: exactNumber,
  21: Number,
  23: Number,
  26: Number,
  114: json,
  700: finiteNumber,
  701: finiteNumber,
  3802: json,
};

/**
 * A value of PostgreSQL's text format as JSON has it. What JSON numbers cannot hold exactly (numeric, large bigint,
 * NaN, Infinity) stays text, as does JSON that nests deeply, and every other type.
 */
export function jsonValue(text: string | null, oid: number): unknown {
  if (text === null) return null;
  return parsers[oid]?.(text) ?? text;
}

function exactNumber(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

function finiteNumber(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

function json(text: string): unknown {
  // json null inside a row must not look like SQL NULL's absence of a value to `??`
  return text === "null" ? text : parseShallowJson(text);
}
