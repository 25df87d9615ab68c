/**
 * Levels of lists and objects. What writes, checks or compares a value goes down by recursion, and from some thousands of
 * levels on it overflows; a plan of PostgreSQL's has two levels for each of its steps.
 */
const maxLevels = 200;

/**
 * A value of PostgreSQL's text format as JSON has it. What JSON numbers cannot hold exactly (numeric, large bigint,
 * NaN, Infinity) stays text, as does JSON that nests deeply, and every other type.
 */
export function jsonValue(text: string | null, oid: number): unknown {
  if (text === null) return null;
  return parsers[oid]?.(text) ?? text;
}

/** A built-in type's name; `other` for one that an extension or a user made, or that queries seldom return. */
export function typeName(oid: number): string {
  return names[oid] ?? "other";
}

/** The value of a JSON text that somebody else chose; the text itself where it nests deeper than 200 levels. */
export function parseShallowJson(text: string): unknown {
  return nestsDeeply(text) ? text : JSON.parse(text);
}

function nestsDeeply(text: string): boolean {
  let levels = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        isInString = !isInString;
        break;
      case "\\":
        at++;
        break;
      case "[":
      case "{":
        if (!isInString && ++levels > maxLevels) return true;
        break;
      case "]":
      case "}":
        if (!isInString) levels--;
    }
  }
  return false;
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

function exactNumber(text: string): number | string {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

function finiteNumber(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/** Text where an integer in it has more digits than JavaScript's numbers hold, as keys do that other systems make. */
function json(text: string): unknown {
  // json null inside a row must not look like SQL NULL's absence of a value to `??`
  if (text === "null") return text;
  return mayBeInexact.test(text) && hasInexactNumber(text) ? text : parseShallowJson(text);
}

/** Where a string holds such, the numbers are looked at one by one. */
const mayBeInexact = /\d{16}|\d[eE]\+?\d{3}/;
const stringOrNumber = /"[^"\\]*(?:\\[^][^"\\]*)*"|\d[\d.eE+-]*/g;

/** A fraction is rounded, as it is wherever programs read it. */
function hasInexactNumber(text: string): boolean {
  for (const [token] of text.matchAll(stringOrNumber)) {
    if (token.startsWith('"') || token.length < 5) continue;
    if (!Number.isFinite(Number(token))) return true;
    if (/^\d{16,}$/.test(token) && BigInt(Number(token)) !== BigInt(token)) return true;
  }
  return false;
}

// the fixed numbers of pg_type.dat, which no release changes
// deno-fmt-ignore
const names: Readonly<Record<number, string>> = {
  16: "boolean", 17: "bytea", 18: '"char"', 19: "name", 20: "bigint", 21: "smallint", 23: "integer",
  25: "text", 26: "oid", 27: "tid", 28: "xid", 114: "json", 142: "xml", 199: "json[]", 600: "point",
  601: "lseg", 602: "path", 603: "box", 604: "polygon", 628: "line", 650: "cidr", 700: "real",
  701: "double precision", 718: "circle", 774: "macaddr8", 790: "money", 829: "macaddr", 869: "inet",
  1000: "boolean[]", 1001: "bytea[]", 1003: "name[]", 1005: "smallint[]", 1007: "integer[]", 1009: "text[]",
  1014: "character[]", 1015: "character varying[]", 1016: "bigint[]", 1021: "real[]",
  1022: "double precision[]", 1028: "oid[]", 1041: "inet[]", 1042: "character", 1043: "character varying",
  1082: "date", 1083: "time", 1114: "timestamp", 1115: "timestamp[]", 1182: "date[]", 1183: "time[]",
  1184: "timestamp with time zone", 1185: "timestamp with time zone[]", 1186: "interval", 1187: "interval[]",
  1231: "numeric[]", 1266: "time with time zone", 1560: "bit", 1562: "bit varying", 1700: "numeric",
  2205: "regclass", 2206: "regtype", 2249: "record", 2950: "uuid", 2951: "uuid[]", 3220: "pg_lsn",
  3614: "tsvector", 3615: "tsquery", 3802: "jsonb", 3807: "jsonb[]", 3904: "int4range", 3906: "numrange",
  3908: "tsrange", 3910: "tstzrange", 3911: "tstzrange[]", 3912: "daterange", 3913: "daterange[]",
  3926: "int8range", 4072: "jsonpath", 4089: "regnamespace", 4096: "regrole", 4451: "int4multirange",
  4532: "nummultirange", 4533: "tsmultirange", 4534: "tstzmultirange", 4535: "datemultirange",
  4536: "int8multirange",
};
