import { whySlow, whySlowPath } from "./slow_functions.ts";
import {
  eitherOf,
  elementOfLength,
  type Length,
  listOfLength,
  littleOf,
  madeOf,
  powerDigits,
  type Refuse,
  type Shape,
  tableColumn,
  timesHeld,
  wholeLength,
} from "./value_shape.ts";

/** Longest value, in characters, that the planner may work out beside what the statement spells out. */
export const maxValueSize = 65_536;

export interface Argument {
  readonly shape: Shape;
  /** The text, where the argument is a string literal. */
  readonly literal?: string | undefined;
  /** The number with its sign, where the argument is an integer literal. */
  readonly count?: number | undefined;
  /** What is between the brackets, where the argument is ARRAY[…]. */
  readonly elements?: readonly Shape[] | undefined;
}

/** Aggregates that put all rows' values into one, by what their names have in common. */
const collecting = /agg|accum|collect|group_concat/;
/** Those whose result is an array of them. */
const listing = /^(array_agg|int_array_aggregate)$/;
/** Those whose result is in order, so that two of them are compared in one pass. */
const ordering = /^(range_agg|range_intersect_agg)$/;

/** Functions that return one of the values that they are given, or less of the first of them. */
const returnsOneOf = words("nullif min max any_value first_value last_value nth_value lag lead");
const returnsLess = words(
  "substr substring left right split_part lower upper initcap reverse trim btrim ltrim rtrim translate trim_array " +
    "array_remove array_reverse array_sort array_shuffle array_sample jsonb_strip_nulls unnest",
);

const keepsList = words("array_cat array_append array_prepend array_replace");

/** Which argument of them is the number of characters that they return. */
const countedPieces = new Map([["left", 1], ["right", 1], ["substr", 2], ["substring", 2]]);
/** So many characters are few beside what the rounds of a query make. */
const maxToken = 1_024;

/** Functions that make a number, a truth or a short text of however long a value. */
const returnsLittle = words(
  "length char_length character_length octet_length bit_length cardinality array_length array_ndims array_upper " +
    "array_lower array_dims array_position position strpos starts_with ascii md5 sha224 sha256 sha384 sha512 digest " +
    "hmac hashtext json_array_length jsonb_array_length json_typeof jsonb_typeof jsonb_path_exists jsonb_path_match " +
    "regexp_count regexp_like regexp_instr pg_column_size isempty num_nulls num_nonnulls generate_subscripts " +
    "similarity levenshtein floor ceil ceiling abs int2 int4 int8 to_date to_timestamp to_number date_part extract " +
    "date_trunc age mod div width_bucket count sum avg bool_and bool_or every",
);
const aggregates = words("count sum avg min max bool_and bool_or every any_value");
const keepsBound = words(
  "ceil ceiling floor abs int2 int4 int8 numeric round trunc unnest string_to_table regexp_split_to_table " +
    "string_to_array json_array_elements jsonb_array_elements json_array_elements_text jsonb_array_elements_text",
);

/** How much longer the text is that escapes what it is given. */
const escapes = new Map<string, number>([
  ...["quote_literal", "quote_ident", "quote_nullable", "convert_to", "convert", "decode", "string_to_array"]
    .map((name): [string, number] => [name, 2]),
  // escaped bytes are a backslash and three digits; a sign of Arabic falls apart into eighteen letters
  ["encode", 4],
  ["normalize", 18],
  ["xmlcomment", 5],
  ["xmltext", 6],
  ...["to_json", "to_jsonb", "row_to_json", "array_to_json", "json_build_object", "json_build_array"]
    .flatMap((name): [string, number][] => [[name, 1.8], [name.replace("json_", "jsonb_"), 1.8]]),
]);

/** Functions that may put the second of these arguments in place of each piece of the first. */
const multiplied = new Map([
  ["array_to_string", [0, 1]],
  ["array_replace", [0, 2]],
  ["regexp_match", [0, 1]],
  ["regexp_matches", [0, 1]],
  ["regexp_replace", [0, 2]],
  ["replace", [0, 2]],
]);

/** Longer values than this may be nested so deep that their indentation outgrows them. */
const maxFlatSize = 2_000;

/** The least size assumed for a result that the planner computes: the digits of sha512(). */
const leastConstant = 130;

const versionText: Shape = { ...tableColumn, size: leastConstant, data: false };

/**
 * The shape of a function call's result. An unknown function returns no more than its arguments, or a number.
 * `isShort`: it is an aggregate of different values, as a stored table has them.
 */
export function shapeOfCall(
  name: string,
  args: readonly Argument[],
  isShort: boolean,
  refuse: Refuse,
): Shape {
  const shapes = args.map((arg) => arg.shape);
  refuse(whySlow(name, shapes));
  if (name.startsWith("jsonb_path_")) refuse(whySlowPath(shapes[0], args[1]?.literal, shapes[2]));
  if (returnsLittle.has(name)) return little(name, shapes);
  if (collecting.test(name)) return collected(name, shapes, isShort, refuse);
  if (name === "version") return versionText;
  const made = madeBy(name, args, shapes);
  const counted = countedShape(name, args, made, refuse);
  if (counted !== undefined) return counted;
  const size = sizeOf(name, args, shapes, made);
  return timesHeld(
    { ...made, size: made.data ? size : Math.max(leastConstant, size) },
    timesKept(name, args),
  );
}

function little(name: string, shapes: readonly Shape[]): Shape {
  const shape = littleOf(shapes);
  if (aggregates.has(name)) return { ...shape, data: true, bound: 0 };
  if (keepsBound.has(name)) return { ...shape, bound: shapes[0]?.bound ?? 0 };
  return /length$/.test(name) && !shape.data ? { ...shape, bound: shapes[0]?.size ?? 0 } : shape;
}

function collected(name: string, shapes: readonly Shape[], isShort: boolean, refuse: Refuse): Shape {
  const made = madeOf(shapes);
  if (!made.data && made.size > maxValueSize / 2) {
    return refuse(
      `${name}() collects the same value from each row into one that is longer than fits; make that value shorter`,
    );
  }
  const isLittle = isShort || ordering.test(name);
  const length: Length = isLittle ? made.length : listing.test(name) ? listOfLength(made.length) : "long";
  return timesHeld({ ...made, data: true, bound: 0, length }, 2);
}

function madeBy(name: string, args: readonly Argument[], shapes: readonly Shape[]): Shape {
  const [first = tableColumn] = shapes;
  const every = madeOf(shapes, escapes.get(name) ?? 1);
  const made = keepsBound.has(name) ? { ...every, bound: first.bound } : every;
  if (returnsOneOf.has(name)) {
    return { ...eitherOf(shapes), nodes: made.nodes, ...(aggregates.has(name) && { data: true, bound: 0 }) };
  }
  if (name === "generate_series") return { ...made, bound: eitherOf(shapes.slice(0, 2)).bound };
  if (keepsList.has(name)) return made;
  if (!returnsLess.has(name)) return { ...made, length: wholeLength(made.length) };
  return {
    ...made,
    size: first.size,
    length: name === "unnest" ? elementOfLength(first.length) : first.length,
    holds: isToken(name, args) ? undefined : first.holds,
  };
}

/** Whether a call takes only a few characters of a value, which do not make the values of a query's rounds longer. */
function isToken(name: string, args: readonly Argument[]): boolean {
  const count = args[countedPieces.get(name) ?? NaN]?.count;
  return count !== undefined && count >= 0 && count <= maxToken;
}

/** The shape of a call whose result is as long as a number in it says; undefined for every other function. */
function countedShape(
  name: string,
  args: readonly Argument[],
  made: Shape,
  refuse: Refuse,
): Shape | undefined {
  const [first = tableColumn, second] = args.map((arg) => arg.shape);
  switch (name) {
    case "repeat":
      return repeated(name, made, first, second ?? tableColumn, refuse);
    case "lpad":
    case "rpad":
      return repeated(name, made, { ...tableColumn, size: 4 }, second ?? tableColumn, refuse);
    case "bpchar":
    case "bit":
      return second && repeated(name, made, tableColumn, second, refuse);
    case "polygon":
      return second && repeated(name, made, tableColumn, first, refuse);
    case "array_fill":
      return repeated(name, made, { ...first, size: Math.max(8, first.size) }, dimensionsOf(args[1]), refuse);
    case "format":
      return formatted(made, args, refuse);
    default:
      return undefined;
  }
}

function repeated(name: string, made: Shape, text: Shape, count: Shape, refuse: Refuse): Shape {
  if (!(count.bound <= maxValueSize)) {
    return refuse(
      `the count of ${name}() has no bound, or makes a value longer than ${maxValueSize} characters; write ` +
        "least(count, 100)",
    );
  }
  const times = count.data ? 1 : Math.max(1, count.bound);
  if (times > 16 && text.length === "long") {
    return refuse(
      `${name}() repeats a value that may be long in every row or grow with the rows; repeat it less, or a ` +
        "shorter value",
    );
  }
  const size = Math.max(made.size, times * Math.max(1, text.size));
  return timesHeld({ ...made, size, length: count.data ? "long" : made.length }, Math.min(2, times));
}

/** The number of elements that ARRAY[…] asks for, or a text such as '{2,3}'. */
function dimensionsOf(dimensions: Argument | undefined): Shape {
  if (dimensions === undefined) return tableColumn;
  const { shape, literal, elements } = dimensions;
  const bounds = elements?.map((element) => element.bound) ?? literal?.match(/\d+/g)?.map(Number) ??
    [shape.bound];
  return { ...shape, bound: bounds.reduce((times, bound) => times * Math.max(1, bound), 1) };
}

/** `format()` pads to the widths in its text or, by `*`, in its arguments; a place, as in `%1$s`, may come again. */
function formatted(made: Shape, args: readonly Argument[], refuse: Refuse): Shape {
  const pattern = args[0]?.literal;
  if (pattern === undefined) {
    return made.data
      ? { ...made, length: "long" }
      : refuse("format() needs a literal as its first argument; otherwise use || or concat()");
  }
  const widths = pattern.match(/%(\d+\$)?-?\d+/g)?.map((width) => Number(/\d+$/.exec(width)?.[0])) ?? [];
  const copies = Math.max(1, mostOfOne(pattern.match(/%\d+\$/g) ?? []));
  const padded = args.slice(1).map((arg) => arg.shape);
  const stars = pattern.match(/%(\d+\$)?-?\*/g)?.length ?? 0;
  const bound = stars * eitherOf(padded).bound + widths.reduce((total, width) => total + width, 0);
  repeated("format", made, tableColumn, { ...tableColumn, bound, data: false }, refuse);
  const isLong = stars > 0 && padded.some((shape) => shape.data);
  const size = copies * made.size + bound;
  return timesHeld({ ...made, size, length: isLong ? "long" : made.length }, copies);
}

/**
 * Of what a stored table holds, each piece is taken to be replaced once; of what the planner works out, each letter.
 */
function sizeOf(name: string, args: readonly Argument[], shapes: readonly Shape[], made: Shape): number {
  const [first = tableColumn, second = tableColumn, third = tableColumn] = shapes;
  const between = multiplied.get(name);
  if (between !== undefined) {
    const [text = 0, by = 0] = between.map((at) => shapes[at]?.size ?? 0);
    const from = name === "replace" ? args[1]?.literal?.length ?? 1 : 1;
    return made.data ? made.size : text * Math.max(1, by / Math.max(1, from));
  }
  switch (name) {
    case "concat_ws":
      return made.size + args.length * first.size;
    case "jsonb_pretty":
      // each line is indented by its depth, and both may be as many as half of the characters
      return made.data ? made.size : Math.max(made.size, first.size > maxFlatSize ? first.size ** 2 : 0);
    case "ts_headline":
      return made.data
        ? made.size
        : Math.max(first.size * (1 + third.size), second.size * (1 + (shapes[3]?.size ?? 0)));
    case "to_char":
      return 16 * second.size;
    case "round":
    case "trunc":
      return made.size + Math.min(16_383, shapes[1]?.bound ?? 0);
    case "power":
    case "pow":
      return powerDigits(first.bound, second);
    case "exp":
    case "factorial":
      return 5 * powerDigits(10, first);
  }
  return name.startsWith("jsonb_path_query") && !made.data
    ? sizeOfJsonPath(made.size, args[1]?.literal)
    : made.size;
}

/** What a path of JSON may find in a value of a length: `**` finds each part once for itself and for all around it. */
export function sizeOfJsonPath(size: number, path: string | undefined): number {
  const descents = path === undefined ? 2 : path.split("**").length - 1;
  return size ** (1 + descents);
}

/** How often what is made in a round of a recursive query may hold what is given to the call. */
function timesKept(name: string, args: readonly Argument[]): number {
  if (name.startsWith("quote_")) return 2;
  const [from, to] = [args[1]?.literal, args[2]?.literal];
  if (from === undefined || to === undefined) return 1;
  if (name === "replace") return to.length > from.length ? 2 : 1;
  if (name !== "regexp_replace") return 1;
  const isAll = args[3]?.literal?.includes("g") === true;
  const added = to.replace(/\\[\d&]/g, "").length;
  const groups = to.match(/\\\d/g) ?? [];
  // a character for each match is no longer than what it is put in place of
  const wholes = to.match(/\\&/g)?.length ?? 0;
  if (isAll && added > (wholes + groups.length > 0 ? 0 : 1)) return 2;
  return Math.max(1, wholes + (hasNestedGroups(from) ? groups.length : mostOfOne(groups)));
}

/** Groups that are not inside of each other hold different parts of a match. */
function hasNestedGroups(pattern: string): boolean {
  const brackets = pattern.replace(/\\./g, "").replace(/\[\^?\]?[^\]]*\]/g, "");
  return /\([^()]*\(/.test(brackets);
}

function mostOfOne(texts: readonly string[]): number {
  return Math.max(0, ...Map.groupBy(texts, (text) => text).values().map((same) => same.length));
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}
