import { worseOf, worstCollected } from "./growth_collected.ts";
import { isRecord, type SyntaxNode } from "./syntax_tree.ts";

/**
 * Whether a value's length depends on how many rows there are: a `list` is an array of values that each come of one row,
 * a `value` may be long as a whole and in each of its parts.
 */
export type Collected = "no" | "list" | "value";

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
  readonly collected: Collected;
}

/** A column of a table: what it holds is not the statement's doing, so its length is a token one. */
export const tableColumn: Shape = { size: 16, nodes: 1, data: true, bound: 0, collected: "no" };

export const nothing: Shape = { size: 0, nodes: 0, data: false, bound: 0, collected: "no" };

/** One of several values, as of CASE: the worst of each. */
export function eitherOf(shapes: readonly Shape[]): Shape {
  return shapes.reduce<Shape>((worst, shape) => ({
    size: Math.max(worst.size, shape.size),
    nodes: Math.max(worst.nodes, shape.nodes),
    data: worst.data || shape.data,
    bound: Math.max(worst.bound, shape.bound),
    collected: worseOf(worst.collected, shape.collected),
  }), nothing);
}

/** A value made from all of these in a way that is not known, and at most as long as they are together. */
export function madeOf(shapes: readonly Shape[], factor = 1): Shape {
  const data = shapes.length === 0 || shapes.some((shape) => shape.data);
  const bounds = shapes.filter((shape) => shape.data).map((shape) => shape.bound);
  return {
    size: factor * sum(shapes.map((shape) => shape.size)) + 1,
    nodes: 1 + sum(shapes.map((shape) => shape.nodes)),
    data,
    bound: data ? Math.max(0, ...bounds) : Infinity,
    collected: worstCollected(shapes),
  };
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
    bound: Number.isNaN(number) ? Infinity : number,
    collected: "no",
  };
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** The shape of an arithmetic operator's result, where the operator is one; `left` is absent for a sign. */
export function arithmetic(
  operator: string | undefined,
  left: Shape | undefined,
  right: Shape,
): Shape | undefined {
  const operands = left === undefined ? [right] : [left, right];
  const bound = arithmeticBound(operator, left?.bound ?? 0, right);
  if (bound === undefined) return undefined;
  const made = madeOf(operands);
  const longest = Math.max(...operands.map((shape) => shape.size));
  const size = operator === "^"
    ? powerDigits(left?.bound ?? 0, right)
    : operator === "*" && !made.data
    ? made.size
    : Math.max(longest, tableColumn.size);
  return { ...made, size, bound };
}

function arithmeticBound(operator: string | undefined, left: number, right: Shape): number | undefined {
  switch (operator) {
    case "+":
    case "-":
      return left + right.bound;
    case "*":
      return Math.max(1, left) * Math.max(1, right.bound);
    case "%":
      return left;
    case "/":
      // a divisor below one makes the result larger than what is divided
      return right.data || right.bound >= 1 ? left : Infinity;
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
