import { integerConstant, listOf, nameParts, type SyntaxNode, unwrap } from "../syntax_tree.ts";
import { type Holds, madeOf, mergeHolds, type Shape, sumOf } from "./value_shape.ts";

/** What one `||` has made. */
interface Joined {
  /** What it holds of the columns of recursive queries, but for pieces of known places. */
  readonly whole: Map<symbol, number>;
  /** What those pieces hold: by the place where they are cut, then by their side of it. */
  readonly pieces: Map<string, Map<string, Map<symbol, number>>>;
  /** The array, where nothing but slices and elements of this one holds a column of the query. */
  readonly array?: string | undefined;
}

/**
 * What `||` makes of two operands, of which `operation` is the node: a value that is put together of its own pieces gets
 * no longer than it was, as in `substr(s, 1, n) || 'x' || substr(s, n + 2)`. That holds for what stands in one chain of
 * `||`, where all places are reckoned for one row; elsewhere a piece may be the whole. An element that is put to slices
 * of its own array, as in `a[2:] || a[1]`, makes it no longer either.
 */
export type JoinOperands = (
  operation: object,
  operands: readonly [unknown, unknown],
  shapes: readonly [Shape, Shape],
) => Shape;

export function createJoin(): JoinOperands {
  // of each `||`, which comes after those that are in it and takes over what they have
  const joined = new WeakMap<object, Joined>();

  function joinedOf(node: SyntaxNode | undefined, { holds }: Shape): Joined {
    const known = node && joined.get(node.fields);
    if (known !== undefined) return known;
    const leaf: Joined = { whole: new Map(), pieces: new Map() };
    const cut = cutOf(node);
    if (holds !== undefined) {
      addHolds(cut === undefined ? leaf.whole : placeFor(leaf, cut.at, cut.side), holds);
    }
    return leaf;
  }

  function arrayPartOf(node: SyntaxNode | undefined): ArrayPart | undefined {
    const array = node && joined.get(node.fields)?.array;
    return array === undefined ? arrayPartOfLeaf(node) : { array, isElement: false };
  }

  return (operation, operands, shapes) => {
    const nodes = operands.map((operand) => unwrap(operand));
    const parts = nodes.map(arrayPartOf);
    const list = parts.find((part) => part?.isElement === false)?.array;
    const isOneArray = list !== undefined &&
      shapes.every(({ holds }, at) => holds === undefined || parts[at]?.array === list);
    const weighed = shapes.map((shape, at) =>
      isOneArray && parts[at]?.isElement === true ? { ...shape, holds: undefined } : shape
    );
    const [left, right] = weighed.map((shape, at) => joinedOf(nodes[at], shape));
    const made = madeOf(weighed);
    if (left === undefined || right === undefined) return made;
    addHolds(left.whole, right.whole);
    for (const [at, sides] of right.pieces) {
      for (const [side, holds] of sides) addHolds(placeFor(left, at, side), holds);
    }
    joined.set(operation, { ...left, array: isOneArray ? list : undefined });
    return made.holds === undefined ? made : { ...made, holds: heldTogether(left) };
  };
}

function placeFor({ pieces }: Joined, at: string, side: string): Map<symbol, number> {
  const sides = pieces.get(at) ?? new Map<string, Map<symbol, number>>();
  const holds = sides.get(side) ?? new Map<symbol, number>();
  pieces.set(at, sides.set(side, holds));
  return holds;
}

function addHolds(to: Map<symbol, number>, holds: Holds): void {
  for (const [column, times] of holds) to.set(column, (to.get(column) ?? 0) + times);
}

/** Pieces on different sides of one place are one column together. */
function heldTogether({ whole, pieces }: Joined): Holds | undefined {
  const ofPlaces = [...pieces.values()].map((sides) => mergeHolds([...sides.values()], Math.max));
  return mergeHolds([whole, ...ofPlaces], sumOf);
}

interface ArrayPart {
  /** The name of the array. */
  readonly array: string;
  /** Else it is the whole of it, or a slice. */
  readonly isElement: boolean;
}

function arrayPartOfLeaf(node: SyntaxNode | undefined): ArrayPart | undefined {
  if (node?.type === "ColumnRef") {
    return { array: nameParts(node.fields["fields"]).join("."), isElement: false };
  }
  const arg = unwrap(node?.fields["arg"]);
  if (node?.type !== "A_Indirection" || arg?.type !== "ColumnRef") return undefined;
  const steps = listOf(node.fields["indirection"]).map((step) => unwrap(step));
  if (!steps.every((step) => step?.type === "A_Indices")) return undefined;
  const isElement = steps.every((step) => step?.fields["is_slice"] !== true);
  return { array: nameParts(arg.fields["fields"]).join("."), isElement };
}

/** A piece of a value: of all pieces with the same `at`, those with different sides have hardly anything in common. */
interface Cut {
  readonly at: string;
  readonly side: string;
}

/** Functions and types that leave a text as long as it is. */
const keepsLength = /^(upper|lower|initcap|reverse|text|varchar)$/;

function cutOf(node: SyntaxNode | undefined): Cut | undefined {
  if (node?.type === "A_Indirection") {
    const [step, second] = listOf(node.fields["indirection"]).map((each) => unwrap(each));
    const isSlice = second === undefined && step?.fields["is_slice"] === true;
    return isSlice ? cutOfSlice(step.fields["lidx"], step.fields["uidx"]) : undefined;
  }
  if (node?.type !== "FuncCall") return undefined;
  const name = nameParts(node.fields["funcname"]).at(-1) ?? "";
  const args = listOf(node.fields["args"]);
  return keepsLength.test(name) ? cutOf(unwrap(args[0])) : cutOfCall(name, args);
}

function cutOfCall(name: string, [, second, third]: readonly unknown[]): Cut | undefined {
  switch (name) {
    // a count of columns is taken for a positive one: with a negative one these cut from the other end
    case "left":
      return isBelowZero(second) ? cutAt(second, "before", "the end") : cutAt(second, "before");
    case "right":
      return isBelowZero(second) ? cutAt(second, "after") : cutAt(second, "after", "the end");
    case "substr":
    case "substring":
      return third === undefined ? cutAt(second, "after") : cutOfSlice(second, third);
    case "split_part": {
      // from the end it may be the same part as from the start
      const part = integerOf(unwrap(third));
      const delimiter = placeText(second);
      return part === undefined || part < 1 || delimiter === undefined
        ? undefined
        : { at: `parts by ${delimiter}`, side: String(part) };
    }
    default:
      return undefined;
  }
}

function isBelowZero(count: unknown): boolean {
  return (integerOf(unwrap(count)) ?? 0) < 0;
}

/** From a place to an end: an array's slice, of which either place may be absent, or a text's piece. */
function cutOfSlice(from: unknown, to: unknown): Cut | undefined {
  const isFirst = from === undefined || placeOf(from)?.base === "";
  return isFirst ? cutAt(to, "before") : cutAt(from, "after");
}

function cutAt(value: unknown, side: "before" | "after", from = "the start"): Cut | undefined {
  const place = placeOf(value);
  return place === undefined ? undefined : { at: `${from}, ${place.base}`, side };
}

/** A number in a statement: an expression that is the same wherever it stands in a row, and what is added to it. */
interface Place {
  readonly base: string;
  readonly offset: number;
}

/** Two pieces may overlap by so many characters, which a round adds and no more. */
const maxOverlap = 1_024;

function placeOf(value: unknown): Place | undefined {
  const node = unwrap(value);
  const number = integerOf(node);
  const place = number === undefined ? placeOfSum(node) : { base: "", offset: number };
  return place === undefined || Math.abs(place.offset) > maxOverlap ? undefined : place;
}

function placeOfSum(node: SyntaxNode | undefined): Place | undefined {
  if (node === undefined) return undefined;
  const sign = operatorOf(node) === "+" ? 1 : operatorOf(node) === "-" ? -1 : undefined;
  const right = integerOf(unwrap(node.fields["rexpr"]));
  if (sign !== undefined && right !== undefined) {
    const left = placeOf(node.fields["lexpr"]);
    return left === undefined ? undefined : { base: left.base, offset: left.offset + sign * right };
  }
  const base = placeText({ [node.type]: node.fields });
  return base === undefined ? undefined : { base, offset: 0 };
}

function operatorOf(node: SyntaxNode | undefined): string {
  const isOperator = node?.type === "A_Expr" && node.fields["kind"] === "AEXPR_OP";
  return isOperator ? nameParts(node.fields["name"]).at(-1) ?? "" : "";
}

function integerOf(node: SyntaxNode | undefined): number | undefined {
  if (operatorOf(node) === "-" && node?.fields["lexpr"] === undefined) {
    const number = integerOf(unwrap(node?.fields["rexpr"]));
    return number === undefined ? undefined : -number;
  }
  return integerConstant(node);
}

const steadyFunctions =
  /^(strpos|position|length|char_length|character_length|cardinality|array_length|array_position)$/;
const steadyOperators = /^[-+*/%]$/;
const longestPlace = 1_000;

/** The expression's text, for comparing alone; undefined where it may have another value elsewhere in the row. */
function placeText(value: unknown): string | undefined {
  if (!isSteady(value)) return undefined;
  const text = JSON.stringify(value, (key, part) => key === "location" ? undefined : part);
  return text.length > longestPlace ? undefined : text;
}

function isSteady(value: unknown): boolean {
  const node = unwrap(value);
  switch (node?.type) {
    case "A_Const":
    case "ColumnRef":
      return true;
    case "A_Expr":
      return steadyOperators.test(operatorOf(node)) && isSteady(node.fields["rexpr"]) &&
        (node.fields["lexpr"] === undefined || isSteady(node.fields["lexpr"]));
    case "FuncCall":
      return steadyFunctions.test(nameParts(node.fields["funcname"]).at(-1) ?? "") &&
        node.fields["over"] === undefined && listOf(node.fields["args"]).every(isSteady);
    default:
      return false;
  }
}
