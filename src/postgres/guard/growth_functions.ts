import { collectedByCall, collects, whySlowCall } from "./growth_collected.ts";
import { leastSizeOfCall } from "./growth_least_sizes.ts";
import { eitherOf, madeOf, powerDigits, type Shape, sum, tableColumn } from "./growth_shape.ts";

/**
 * Longest value, in characters, that a statement may make beside what it spells out. Searching one such value in
 * another takes its square, and PostgreSQL does not look at the clock meanwhile.
 */
export const maxValueSize = 65_536;

export interface Argument {
  readonly shape: Shape;
  /** The text, where the argument is a string literal. */
  readonly literal?: string | undefined;
  /** What is between the brackets, where the argument is ARRAY[…] of numbers alone. */
  readonly numbers?: readonly number[] | undefined;
}

/** How often text is repeated: a number that the literals bound, or one that only the tables' rows tell. */
type Repetition = { readonly times: number } | "measured";

export type CallGrowth =
  /** `measured`: how long the value gets depends on a count that no literal bounds. */
  | { readonly ok: true; readonly shape: Shape; readonly measured?: true }
  | { readonly ok: false; readonly reason: string };

const aggregates = new Set(["count", "sum", "avg", "min", "max"]);
const keepsBound = new Set([
  "ceil",
  "ceiling",
  "floor",
  "abs",
  "int2",
  "int4",
  "int8",
  "numeric",
]);

/** Text that is escaped grows, and again each time; twice at most in what matters. */
const escapes = new Map([
  ...["quote_literal", "quote_ident", "quote_nullable", "convert_to", "convert", "decode", "string_to_array"]
    .map((name): [string, number] => [name, 2]),
  // escaped bytes are a backslash and three digits; a sign of Arabic falls apart into eighteen letters
  ["encode", 4],
  ["normalize", 18],
  ["xmlcomment", 5],
  ["xmltext", 6],
  ...[
    "to_json",
    "to_jsonb",
    "row_to_json",
    "array_to_json",
    "json_build_object",
    "json_build_array",
    "jsonb_build_object",
    "jsonb_build_array",
  ]
    .map((name): [string, number] => [name, 1.8]),
]);

/**
 * Functions that may put one argument in place of each piece of another. They are measured as if each character of the
 * first were a piece.
 */
const multiplies = new Set([
  "array_to_string",
  "array_replace",
  "regexp_match",
  "regexp_matches",
]);

/** What an aggregate collects of each row may be this long before the rows are counted too, as a thousand. */
const maxCollectedSize = maxValueSize / 2;
/** Longer values than this may be nested so deep that their indentation outgrows them. */
const maxFlatSize = 2_000;

/**
 * What a call of a built-in function may grow to; a function that is not known returns no more than it is given, or a
 * number.
 */
export function growthOfCall(name: string, args: readonly Argument[]): CallGrowth {
  const shapes = args.map((arg) => arg.shape);
  const reason = whySlowCall(name, shapes);
  if (reason !== undefined) return { ok: false, reason };
  const made = madeOf(shapes, escapes.get(name) ?? 1);
  return growthOfMade(name, args, shapes, { ...made, collected: collectedByCall(name, shapes) });
}

function growthOfMade(
  name: string,
  args: readonly Argument[],
  shapes: readonly Shape[],
  made: Shape,
): CallGrowth {
  switch (name) {
    case "repeat":
      return repeated(name, made, shapes[0] ?? tableColumn, shapes[1]);
    case "lpad":
    case "rpad":
      return repeated(name, made, { ...tableColumn, size: 4 }, shapes[1]);
    case "bpchar":
    case "bit":
      return shapes.length < 2 ? { ok: true, shape: made } : repeated(name, made, tableColumn, shapes[1]);
    case "polygon":
      return shapes.length < 2 ? { ok: true, shape: made } : repeated(name, made, tableColumn, shapes[0]);
    case "array_fill":
      return filled(made, shapes[0] ?? tableColumn, args[1]);
    case "format":
      return formatted(made, args);
    case "concat_ws":
      return grown(made, made.size + args.length * (shapes[0]?.size ?? 0));
    case "jsonb_pretty":
      // each line is indented by its depth, and both may be as many as half of the characters
      return grown(
        { ...made, collected: made.size > tableColumn.size ? "value" : made.collected },
        made.size > maxFlatSize ? made.size ** 2 : made.size,
      );
    case "round":
    case "trunc":
      return grown(
        { ...made, bound: shapes[0]?.bound ?? 0 },
        made.size + Math.min(16_383, shapes[1]?.bound ?? 0),
      );
    case "ts_headline":
      return grown(made, made.size + sizeOfHeadline(shapes));
    case "replace":
      return grown(made, replaceFactor(args) * (shapes[0]?.size ?? 0));
    case "regexp_replace":
      return grown(made, Math.max(1, shapes[2]?.size ?? 1) * (shapes[0]?.size ?? 0));
    case "to_char":
      return grown(made, 16 * (shapes[1]?.size ?? 1));
    case "power":
    case "pow":
      return grown(made, powerDigits(shapes[0]?.bound ?? 0, shapes[1] ?? tableColumn));
    case "exp":
    case "factorial":
      return grown(made, 5 * powerDigits(10, shapes[0] ?? tableColumn));
    case "generate_series":
      return { ok: true, shape: { ...made, size: 16, bound: eitherOf(shapes.slice(0, 2)).bound } };
    case "length":
    case "char_length":
      return { ok: true, shape: { ...made, size: 8, bound: made.data ? 0 : made.size } };
  }
  if (multiplies.has(name)) return grown(made, multiplied(shapes));
  if (collects(name)) return grown(made, made.size * (made.size > maxCollectedSize ? 1_000 : 1));
  if (name.startsWith("jsonb_path_query")) return grown(made, sizeOfJsonPath(made.size, args[1]?.literal));
  if (aggregates.has(name)) return { ok: true, shape: { ...made, data: true, bound: 0 } };
  if (keepsBound.has(name)) return { ok: true, shape: { ...made, bound: shapes[0]?.bound ?? 0 } };
  return grown(made, Math.max(made.size, leastSizeOfCall(name)));
}

function grown(made: Shape, size: number): CallGrowth {
  return { ok: true, shape: { ...made, size: Math.max(1, size) } };
}

/** Each piece of any argument may bring in all of each other. */
function multiplied(shapes: readonly Shape[]): number {
  return shapes.reduce((size, shape) => size * (1 + shape.size), 1);
}

/** Each word of the document may get marks that its last argument tells; the first argument may be a configuration. */
function sizeOfHeadline(shapes: readonly Shape[]): number {
  const sizes = shapes.map((shape) => shape.size);
  const [first = 0, second = 0, third = 0, fourth = 0] = sizes;
  return Math.max(sizes.length > 3 ? 0 : first * (1 + third), second * (1 + fourth));
}

/** What a path of JSON may find in a value of a length: `**` finds each part once for itself and for all around it. */
export function sizeOfJsonPath(size: number, path: string | undefined): number {
  const descents = path === undefined ? 2 : path.split("**").length - 1;
  return size ** (1 + descents);
}

function repeated(name: string, made: Shape, text: Shape, count: Shape | undefined): CallGrowth {
  const repetition = repetitionOf(count ?? tableColumn);
  if (repetition === undefined) {
    return {
      ok: false,
      reason: `the count of ${name}() has no bound; write least(count, 100), with a number`,
    };
  }
  return repetition === "measured"
    ? { ok: true, shape: { ...made, size: 1_000 * Math.max(1, text.size) }, measured: true }
    : grown(made, repetition.times * Math.max(1, text.size));
}

function repetitionOf(count: Shape): Repetition | undefined {
  // a number that the planner can work out is repeated while planning, where no timeout stops it
  if (!(count.bound <= maxValueSize)) return count.data ? undefined : { times: count.bound };
  return count.data ? "measured" : { times: count.bound };
}

function filled(made: Shape, value: Shape, dimensions: Argument | undefined): CallGrowth {
  const counts = dimensions?.numbers;
  if (counts === undefined) {
    return {
      ok: false,
      reason: "the size of array_fill() has no bound; write it as ARRAY[100], with numbers",
    };
  }
  return grown(made, counts.reduce((times, count) => times * Math.max(1, count), Math.max(8, value.size)));
}

/** `format()` pads to the widths in its text, and may put an argument in several times. */
function formatted(made: Shape, args: readonly Argument[]): CallGrowth {
  const pattern = args[0]?.literal;
  if (pattern === undefined || /%(\d+\$)?-?\*/.test(pattern)) {
    return {
      ok: false,
      reason: "format() needs a literal as its first argument, without *; use || or concat() else",
    };
  }
  const directives = [...pattern.matchAll(/%(?:\d+\$)?-?(\d*)/g)];
  const widths = sum(directives.map((directive) => Number(directive[1])));
  const given = sum(args.slice(1).map((arg) => arg.shape.size));
  const copies = pattern.includes("$") ? directives.length : 1;
  return grown(made, pattern.length + widths + copies * given);
}

function replaceFactor(args: readonly Argument[]): number {
  const from = args[1]?.literal?.length ?? 1;
  return Math.max(1, (args[2]?.shape.size ?? 1) / Math.max(1, from));
}
