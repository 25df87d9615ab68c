import { isRecord, type SyntaxNode } from "../syntax_tree.ts";

/**
 * Whether a value may reach a megabyte. The length of a `long` value grows with the rows or rounds, or comes from a
 * count in a row. A `list` is an array of many short values.
 */
export type Length = "short" | "list" | "long";

/** How often a value holds each column of the recursive queries around it. */
export type Holds = ReadonlyMap<symbol, number>;

/** What is known of an expression before it runs: upper bounds on what it may grow to. */
export interface Shape {
  /** Characters of the value as text, as far as the statement's own literals make it long. */
  readonly size: number;
  /** Nodes of the expression after the planner has put the expressions of subqueries in their places. */
  readonly nodes: number;
  /** It depends on what the tables hold, so the planner cannot work it out. */
  readonly data: boolean;
  /** The largest number, without its sign, that the literals in it can make. */
  readonly bound: number;
  readonly length: Length;
  readonly holds?: Holds | undefined;
}

/** Records why the statement is refused, and returns a harmless shape to continue with. The first reason counts. */
export type Refuse = (reason: string | undefined) => Shape;

/** A column of a table. The statement does not decide what it holds, so its length is a nominal one. */
export const tableColumn: Shape = { size: 16, nodes: 1, data: true, bound: 0, length: "short" };

/** The value of `$1`, which a caller chooses: the planner works with it, and as a count it has no bound. */
export const parameter: Shape = { size: 1_000, nodes: 1, data: false, bound: Infinity, length: "short" };

export const nothing: Shape = { size: 0, nodes: 0, data: false, bound: 0, length: "short" };

/** One of several values, as of CASE: the worst of each. */
export function eitherOf(shapes: readonly Shape[]): Shape {
  let { size, nodes, data, bound, length } = nothing;
  for (const shape of shapes) {
    size = Math.max(size, shape.size);
    nodes = Math.max(nodes, shape.nodes);
    data ||= shape.data;
    bound = Math.max(bound, shape.bound);
    length = longerOf(length, shape.length);
  }
  return { size, nodes, data, bound, length, holds: mergeHolds(shapes.map(({ holds }) => holds), Math.max) };
}

/** A value made from all of these in a way that is not known, and at most as long as they are together. */
export function madeOf(shapes: readonly Shape[], factor = 1): Shape {
  let [size, nodes, bound] = [0, 0, 0];
  let data = shapes.length === 0;
  let length: Length = "short";
  for (const shape of shapes) {
    size += shape.size;
    nodes += shape.nodes;
    data ||= shape.data;
    length = longerOf(length, shape.length);
    if (shape.data) bound = Math.max(bound, shape.bound);
  }
  return {
    size: factor * size + 1,
    nodes: nodes + 1,
    data,
    bound: data ? bound : Infinity,
    length,
    holds: mergeHolds(shapes.map(({ holds }) => holds), sumOf),
  };
}

/** A number or a truth that is made from these. */
export function littleOf(shapes: readonly Shape[]): Shape {
  const { nodes, data, bound } = madeOf(shapes);
  return { size: tableColumn.size, nodes, data, bound, length: "short" };
}

/** The value, holding what it holds so many times more. */
export function timesHeld(shape: Shape, factor: number): Shape {
  if (shape.holds === undefined || factor === 1) return shape;
  return { ...shape, holds: new Map([...shape.holds].map(([column, times]) => [column, factor * times])) };
}

/** Undefined where none of them holds anything. */
export function mergeHolds(
  each: readonly (Holds | undefined)[],
  merge: (one: number, other: number) => number,
): Holds | undefined {
  let merged: Map<symbol, number> | undefined;
  for (const holds of each) {
    for (const [column, times] of holds ?? []) {
      merged ??= new Map();
      merged.set(column, merge(merged.get(column) ?? 0, times));
    }
  }
  return merged;
}

export function sumOf(one: number, other: number): number {
  return one + other;
}

export function longerOf(one: Length, other: Length): Length {
  if (one === "long" || other === "long") return "long";
  return one === "list" ? one : other;
}

/** What an array of such values is. */
export function listOfLength(elements: Length): Length {
  return elements === "short" ? "list" : "long";
}

/** What one element of such a value is. */
export function elementOfLength(length: Length): Length {
  return length === "list" ? "short" : length;
}

/** What is made of the value as one, as its text. */
export function wholeLength(length: Length): Length {
  return length === "short" ? "short" : "long";
}

/** A literal: its length, and the number that it is or that its text spells. */
export function constantShape(fields: SyntaxNode["fields"]): Shape {
  const { ival, fval, sval, bsval } = fields;
  const literal = [ival, fval, sval, bsval].find(isRecord) ?? {};
  const text = String(literal["ival"] ?? literal["fval"] ?? literal["sval"] ?? literal["bsval"] ?? "0");
  const number = Math.abs(Number(text.replaceAll("_", "")));
  // 1e100000 is short here and long as text
  const exponent = Math.abs(Number(/^\s*[-+\d._]+e([-+]?\d+)\s*$/i.exec(text)?.[1] ?? 0));
  return {
    size: Math.max(text.length, Math.min(maxNumericDigits, exponent)),
    nodes: 1,
    data: false,
    bound: Number.isNaN(number) ? largestNumber(text) : number,
    length: "short",
  };
}

/** Of the numbers in a text; one with an exponent may be any. */
function largestNumber(text: string): number {
  const numbers = text.match(/\d+(e[-+\d])?/gi) ?? [];
  return Math.max(0, ...numbers.map((number) => /e/i.test(number) ? Infinity : Number(number)));
}

/**
 * The shape of an arithmetic operator's result, where the operator is one; `left` is absent for a sign.
 * `isLiteral`: the right operand is a number that the statement spells out, so its bound is the number.
 */
export function arithmetic(
  operator: string,
  left: Shape | undefined,
  right: Shape,
  isLiteral: boolean,
): Shape | undefined {
  const operands = left === undefined ? [right] : [left, right];
  const bound = operator === "/" && isLiteral && right.bound > 0 && right.bound < 1
    ? Math.max(1, left?.bound ?? 0) / right.bound
    : arithmeticBound(operator, left?.bound ?? 0, right);
  if (bound === undefined) return undefined;
  const made = madeOf(operands);
  const longest = Math.max(...operands.map((shape) => shape.size));
  const size = operator === "^"
    ? powerDigits(left?.bound ?? 0, right)
    : operator === "*" && !made.data
    ? made.size
    : Math.max(longest, tableColumn.size);
  // numeric has a bound of its own on its digits, so what is reckoned does not grow from round to round
  const { nodes, data, length } = made;
  return { size, nodes, data, bound, length };
}

function arithmeticBound(operator: string, left: number, right: Shape): number | undefined {
  switch (operator) {
    case "+":
    case "-":
      return left + right.bound;
    case "*":
      return Math.max(1, left) * Math.max(1, right.bound);
    case "%":
      return right.data ? left : Math.min(left, right.bound);
    case "/":
      // a divisor below one makes the result larger than what is divided
      if (right.data) return left;
      return right.bound >= 1 && right.bound < Infinity ? left / right.bound : Infinity;
    case "^":
      return Math.max(1, left) ** right.bound;
    default:
      return undefined;
  }
}

/** PostgreSQL's numeric has 131,072 digits before the point at most. */
const maxNumericDigits = 131_072;

/** Digits of a power: as many as numeric holds where the literals do not bound the exponent. */
export function powerDigits(base: number, exponent: Shape): number {
  if (exponent.data && exponent.bound === 0) return tableColumn.size;
  const digits = exponent.bound * (Math.log10(Math.max(10, base)) + 1);
  return Math.min(maxNumericDigits, Number.isNaN(digits) ? maxNumericDigits : digits);
}
