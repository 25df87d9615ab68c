import type { Collected, Shape } from "./growth_shape.ts";

/** Aggregates that put all rows' values into one, by what their names have in common. */
const collecting = /agg|accum|collect|group_concat/;
/** Those whose result is an array of them, or of ranges that are in order. */
const listing = /^(array_agg|range_agg|range_intersect_agg|int_array_aggregate)$/;

/** Of one value or another that they are given, as it is. */
const keepsCollected = new Set(
  ("array_cat array_append array_prepend array_remove trim_array array_reverse array_sort array_shuffle array_sample " +
    "nullif min max any_value first_value last_value nth_value lag lead").split(" "),
);

/** Functions that make a number, a truth or a short text of however long a value. */
const returnsLittle = new Set(
  ("length char_length character_length octet_length bit_length cardinality array_length array_ndims array_upper " +
    "array_lower array_dims array_position position strpos starts_with ascii count sum avg bool_and bool_or every " +
    "md5 sha224 sha256 sha384 sha512 digest hmac hashtext json_array_length jsonb_array_length json_typeof " +
    "jsonb_typeof jsonb_path_exists jsonb_path_match regexp_count regexp_like regexp_instr pg_column_size isempty " +
    "num_nulls num_nonnulls generate_subscripts generate_series similarity levenshtein vector_dims l1_distance " +
    "l2_distance cosine_distance inner_product round trunc floor ceil abs to_hex to_date to_timestamp date_part " +
    "extract date_trunc age mod div power to_number width_bucket").split(" "),
);

/** Functions that take no longer than what they are given is long, however many of it are collected. */
const linear = new Set(
  [
    ...("concat concat_ws format textcat array_to_string json_build_object json_build_array jsonb_build_object " +
      "jsonb_build_array json_object jsonb_object hstore unnest row xmlconcat jsonb_set jsonb_insert jsonb_concat " +
      "substr left right overlay repeat lpad rpad array_length array_upper array_lower num_nulls num_nonnulls count " +
      "l1_distance l2_distance cosine_distance inner_product").split(" "),
    ...keepsCollected,
  ].filter((name) => name !== "array_remove"),
);

/** The same of operators, and of what is written as words. */
const linearOperators = new Set([
  ..."= <> != < > <= >= || + * / % ^ -> ->> #> #>> <=> <#> <+>".split(" "),
  ...["BETWEEN", "NOT BETWEEN", "BETWEEN SYMMETRIC", "NOT BETWEEN SYMMETRIC"],
]);

/** Operators that make a truth or a number of what they are given. */
const tests = new Set(
  "= <> != < > <= >= ~~ !~~ ~~* !~~* ~ !~ ~* !~* @> <@ && ? ?| ?& @@ @? ^@ % <-> <=> <#> <+>".split(" "),
);

/** Functions that may take the square of the length of a single value. */
const square = new Set(["normalize", "is_normalized"]);

/** Types of few characters, whatever is cast to them. */
const littleTypes =
  /^(bool|int[248]|float[48]|numeric|date|time|timetz|timestamp|timestamptz|interval|uuid|name|oid|regclass|money)$/;

/** Characters of what is searched for in a collected value. */
const maxBesideCollected = 4_096;

const beforeCollecting =
  "which may take hours; compare or search the rows themselves, before collecting them " +
  "(a join, WHERE EXISTS, or GROUP BY)";

/** Whether it is an aggregate that collects. */
export function collects(name: string): boolean {
  return collecting.test(name);
}

export function worstCollected(shapes: readonly Shape[]): Collected {
  return shapes.reduce<Collected>((worst, shape) => worseOf(worst, shape.collected), "no");
}

export function worseOf(one: Collected, other: Collected): Collected {
  if (one === "value" || other === "value") return "value";
  return one === "list" ? one : other;
}

/** What an array of such values is. */
export function listOfCollected(elements: Collected): Collected {
  return elements === "no" ? "list" : "value";
}

/** What one element of such a value is. */
export function elementOfCollected(collected: Collected): Collected {
  return collected === "list" ? "no" : collected;
}

export function collectedByCall(name: string, args: readonly Shape[]): Collected {
  const given = worstCollected(args);
  if (listing.test(name)) return listOfCollected(given);
  if (collects(name)) return "value";
  if (given === "no" || returnsLittle.has(name)) return "no";
  if (name === "unnest") return elementOfCollected(given);
  return keepsCollected.has(name) ? given : "value";
}

export function collectedByCast(typeName: string, isArray: boolean, given: Collected): Collected {
  if (isArray || given === "no") return given;
  return littleTypes.test(typeName) ? "no" : "value";
}

/** Why a call takes the square of what is collected from rows; undefined where it does not. */
export function whySlowCall(name: string, args: readonly Shape[]): string | undefined {
  if (square.has(name) && worstCollected(args) !== "no") {
    return `${name}() of a value that is collected from rows may take hours; call it on each row, before collecting`;
  }
  return linear.has(name) || collects(name) || !isSlow(args) ? undefined : describe(`${name}()`);
}

/** The same of an operator. */
export function whySlowOperator(name: string, operands: readonly Shape[]): string | undefined {
  // of a list, only ranges and numbers are taken away, which are in order; of JSON each key is looked for in all others
  const isLinear = linearOperators.has(name) || name === "-" && operands[0]?.collected !== "value";
  return isLinear || !isSlow(operands) ? undefined : describe(name);
}

/** Whether an operator's result is little, however long its operands are. */
export function returnsTest(name: string): boolean {
  return tests.has(name);
}

function isSlow(shapes: readonly Shape[]): boolean {
  const collected = shapes.filter((shape) => shape.collected !== "no");
  if (collected.length !== 1) return collected.length > 1;
  return shapes.some((shape) => shape.collected === "no" && shape.size > maxBesideCollected);
}

function describe(name: string): string {
  return `${name} looks for one long value in another that is collected from rows (as string_agg, array_agg or ` +
    `ARRAY(SELECT …) do), ${beforeCollecting}`;
}
