import { tableColumn } from "./growth_shape.ts";

/** Functions that write the text they are given, or less of it. */
const keepsSize = new Set(
  ("lower upper initcap reverse trim btrim ltrim rtrim substr substring left right split_part translate overlay " +
    "concat chr unnest min max first_value last_value lag lead").split(" "),
);

/** Functions that write so many characters whatever they are given. */
const fixedSizes = new Map([
  ["md5", 32],
  ["sha224", 58],
  ["sha256", 66],
  ["sha384", 98],
  ["sha512", 130],
  ["digest", 130],
  ["hmac", 130],
  ["crypt", 128],
  ["to_bin", 64],
  ["version", 128],
]);

/** Types that a value is cast to without getting longer than it is written. */
const keepsText = new Set(
  "text varchar bpchar char name citext json jsonb xml bool int2 int4 int8 numeric uuid bit varbit bytea"
    .split(" "),
);

/**
 * Characters that the result of a function has at least in what is measured: a number or a time that is made of a
 * single character counts as a table's column does.
 */
export function leastSizeOfCall(name: string): number {
  return fixedSizes.get(name) ?? (keepsSize.has(name) ? 0 : tableColumn.size);
}

/** The same of a cast. */
export function leastSizeOfCast(typeName: string): number {
  return keepsText.has(typeName) ? 0 : tableColumn.size;
}
