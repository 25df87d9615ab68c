import { type Length, longerOf, type Shape } from "./value_shape.ts";

/**
 * Functions and operators whose time grows with the product of the lengths of their first two arguments, and which
 * check neither `statement_timeout` nor a cancel request. Measured on PostgreSQL 15 with two values of a megabyte:
 * all of them still ran 3 seconds after a timeout of 2 seconds, most for minutes or hours.
 */
const productOfTwo = new Set([
  ..."~~ !~~ ~~* !~~* @> <@ && ?| ?& <-> % <% %> <<% %>> <<-> <->> <<<-> <->>> ~= ?# @".split(" "),
  // what LIKE and ILIKE call
  ...("like notlike textlike textnlike texticlike texticnlike bpcharlike bpcharnlike bpchariclike bpcharicnlike " +
    "namelike namenlike nameiclike nameicnlike bytealike byteanlike").split(" "),
  ...("translate btrim ltrim rtrim replace split_part position strpos string_to_array string_to_table array_to_string " +
    "word_similarity strict_word_similarity array_positions array_remove array_replace " +
    "arraycontains arraycontained arrayoverlap jsonb_contains jsonb_contained jsonb_exists_any jsonb_exists_all " +
    "jsonb_delete path_distance path_inter poly_distance poly_contain poly_contained poly_overlap poly_same ts_rank " +
    "ts_delete index ltxtq_exec ltxtq_rexec").split(" "),
]);

/** Those that a long first argument makes as slow as a long second one. */
const eitherWay = new Set("~= poly_same ?# path_inter @ ltxtq_exec ltxtq_rexec index".split(" "));

/** The same for the square of one argument's length. */
const squareOfOne = new Set([
  ..."normalize is_normalized tsquery to_tsquery plainto_tsquery phraseto_tsquery websearch_to_tsquery".split(
    " ",
  ),
  // of an element's attributes
  ..."xml xml_is_well_formed xml_is_well_formed_content xml_is_well_formed_document".split(" "),
  // of any type's input
  ..."pg_input_is_valid pg_input_error_info".split(" "),
]);

/** The same for the cube of a key's length, which is their second argument. */
const cubeOfKey = new Set(
  "pgp_pub_encrypt pgp_pub_encrypt_bytea pgp_pub_decrypt pgp_pub_decrypt_bytea".split(" "),
);

/** Characters of such a key: the secret one of RSA with 4,096 bits has less, and half a minute is not reached. */
const maxKey = 8_192;

/** Characters of what a long value is searched for: with a megabyte, two seconds. */
const maxBesideLong = 1_024;
/** The same where the other value is a column's, most of which are short. */
const maxBesideColumn = 4_096;
/** Operators on sets, where a statement's own list may be longer. */
const ofSets = new Set(["@>", "<@", "&&", "?|", "?&"]);
/** Largest product of lengths for two values from the statement itself, which may hold hundreds of such searches. */
const maxProduct = 2 ** 24;

const why = "which may take hours, and no timeout stops it";

/** Why a call or an operator takes too long; undefined where it does not. */
export function whySlow(name: string, [first, second]: readonly Shape[]): string | undefined {
  if (first === undefined) return undefined;
  if (squareOfOne.has(name)) {
    return first.length === "short" && second?.length !== "long"
      ? undefined
      : `the time of ${name} grows with the square of a value's length, and this value is collected from rows or ` +
        `otherwise long, ${why}; use ${name} on each row before collecting, or collect with DISTINCT`;
  }
  if (cubeOfKey.has(name) && second !== undefined) {
    return second.length === "short" && (second.data || second.size <= maxKey)
      ? undefined
      : `the time of ${name} grows with the cube of its key's length, and this key may be longer than ${maxKey} ` +
        `characters, ${why}; use a shorter key`;
  }
  if (second === undefined || !(productOfTwo.has(name) || isMinusOfJson(name, first))) return undefined;
  const lengths: readonly Length[] = [first.length, second.length];
  const longer = Math.max(...[first, second].map((shape) => shape.length === "short" ? shape.size : 0));
  if (
    !lengths.includes("short") || longerOf(first.length, second.length) !== "short" && longer > maxBesideLong
  ) {
    return `${name} compares two values that are collected from rows (as string_agg, array_agg or ARRAY(SELECT …) do) ` +
      `or otherwise long, ${why}; compare the rows themselves before collecting them (a join, WHERE EXISTS), or ` +
      `collect with DISTINCT`;
  }
  const besideColumn = second.data ? (eitherWay.has(name) ? first.size : 0) : second.size;
  const isTooLong = first.data !== second.data
    ? besideColumn > maxBesideColumn && !ofSets.has(name)
    : !first.data && first.size * second.size > maxProduct;
  return isTooLong
    ? `${name} searches for a value longer than ${maxBesideColumn} characters, ${why}; search for a shorter one`
    : undefined;
}

/** `jsonb - text[]` looks for each key; of a list, only numbers and ranges are taken away. */
function isMinusOfJson(name: string, first: Shape): boolean {
  return name === "-" && first.length === "long";
}

/**
 * Why a path of JSON takes too long: comparing two sequences, it compares each element of one with each of the other.
 * `path` is undefined where it is not a literal.
 */
export function whySlowPath(
  document: Shape | undefined,
  path: string | undefined,
  variables?: Shape,
): string | undefined {
  const isLong = (shape: Shape | undefined) =>
    shape !== undefined && (shape.length !== "short" || !shape.data && shape.size > maxBesideColumn);
  if (!isLong(document) && !isLong(variables)) return undefined;
  return path !== undefined && !comparesSequences(path, isLong(variables))
    ? undefined
    : "a JSON path compares two parts of a value, each element with each; the value is collected from rows or " +
      `otherwise long, ${why}; compare the rows themselves before collecting them`;
}

/** `[*]`, `.*`, `[0 to last]`; what begins at the root may be a whole array, and so may `$name`. */
function comparesSequences(path: string, areVariablesLong: boolean): boolean {
  const text = path.replace(/"(\\.|[^"\\])*"/g, "");
  const sequence = new RegExp(
    `\\[\\s*\\*|\\.\\s*\\*|\\bto\\b|\\$${areVariablesLong ? "" : "(?!\\w)"}${
      /\$\s*\?/.test(text) ? "|@" : ""
    }`,
  );
  return text.split(/&&|\|\||\?/).some((part) =>
    part.split(/==|!=|<>|<=|>=|<|>/).filter((side) => sequence.test(side)).length > 1
  );
}
