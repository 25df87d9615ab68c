import {
  integerConstant,
  isRecord,
  listOf,
  nameParts,
  type SyntaxNode,
  textOf,
  unwrap,
} from "../syntax_tree.ts";
import { alignColumns, type Column, type Query } from "./column_scope.ts";
import {
  eitherOf,
  type Holds,
  madeOf,
  mergeHolds,
  type Refuse,
  type Shape,
  sumOf,
  tableColumn,
} from "./value_shape.ts";

type Fields = SyntaxNode["fields"];

const doubling =
  "a recursive query doubles a value in every round, because it uses a column twice or more for the next value; " +
  "add to it instead (path || id), or keep its parts in separate columns";

/**
 * Most columns in a chain where each adds the one before it. A value then grows with this power of the number of rounds.
 */
const maxPower = 3;

/**
 * What a recursive query gives, of which `start` comes first and `measureRound` says what a round makes of the columns
 * of the one before. It measures a round twice: for what it makes of its own columns, and with those long that it makes
 * long. It refuses a value that doubles in every round, because that fills the memory within thirty rounds.
 */
export function measureRounds(
  cte: Fields,
  start: Query,
  measureRound: (columns: readonly Column[]) => Query,
  refuse: Refuse,
): Query {
  const symbols = start.columns.map(() => Symbol());
  const before = start.columns.map((column, at): Column => ({
    ...column,
    shape: {
      ...tableColumn,
      length: column.shape.length,
      holds: new Map([[symbols[at] ?? Symbol(), 1]]),
    },
  }));
  const first = measureRound(before);
  const { doubles, lengthens } = findRounds(symbols, alignColumns(before, first.columns));
  if (doubles) refuse(doubling);
  const columns = start.columns.map((column, at): Column => ({
    ...column,
    // what is added to from a stored table is as long as its rows make it, which is not the statement's doing
    shape: {
      ...column.shape,
      nodes: 1,
      data: true,
      length: !first.readsTable && lengthens[at] === true ? "long" : column.shape.length,
    },
  }));
  const second = alignColumns(columns, measureRound(columns).columns);
  const either = columns.map((column, at): Column => ({
    ...column,
    shape: { ...eitherOf([column.shape, second[at] ?? tableColumn]), nodes: 1 },
  }));
  return {
    columns: [...either, ...columnsOfSearch(cte, first.readsTable)],
    relations: 1,
    readsTable: start.readsTable || first.readsTable,
  };
}

/** What SEARCH and CYCLE add to a recursive query: the way to each row, which is as long as there are rounds. */
function columnsOfSearch(cte: Fields, readsTable: boolean): Column[] {
  const search = isRecord(cte["search_clause"]) ? cte["search_clause"] : {};
  const cycle = isRecord(cte["cycle_clause"]) ? cte["cycle_clause"] : {};
  const path: Shape = { ...tableColumn, length: readsTable ? "short" : "long" };
  return [
    { name: textOf(search["search_seq_column"]), shape: path },
    { name: textOf(cycle["cycle_mark_column"]), shape: tableColumn },
    { name: textOf(cycle["cycle_path_column"]), shape: path },
  ].filter(({ name }) => name !== "");
}

/**
 * `after` is what one round makes of columns that hold themselves once, each under its symbol. Columns that are made of
 * each other in a circle stay as long as they are, or get longer by what is added to them; where one of them holds the
 * circle's columns more than once, they double. `lengthens` says of each whether it may get as long as there are rounds.
 */
function findRounds(columns: readonly symbol[], after: readonly Shape[]) {
  const places = new Map(columns.map((column, at) => [column, at]));
  const held = after.map((shape) =>
    [...shape.holds ?? []].flatMap(([column, times]): [number, number][] => {
      const at = places.get(column);
      return at === undefined ? [] : [[at, times]];
    })
  );
  const circles = findCircles(held.map((parts) => parts.map(([at]) => at)));
  const powers = new Map<number, number>();
  let doubles = false;
  for (const circle of circles) {
    const members = new Set(circle);
    const parts = circle.flatMap((at) => held[at] ?? []);
    const inner = parts.filter(([at]) => members.has(at));
    const isCircle = inner.length > 0;
    doubles ||= isCircle && inner.reduce((total, [, times]) => total + times, 0) > circle.length;
    const isLonger = isCircle && circle.some((at) => (after[at]?.size ?? 0) > tableColumn.size);
    const given = Math.max(0, ...parts.map(([at]) => members.has(at) ? 0 : powers.get(at) ?? 0));
    for (const at of circle) powers.set(at, given + (isLonger ? 1 : 0));
    doubles ||= given + (isLonger ? 1 : 0) > maxPower;
  }
  return { doubles, lengthens: columns.map((_, at) => (powers.get(at) ?? 0) > 0) };
}

/** Tarjan's: the strongly connected parts of a graph, each after those that its members lead to. */
function findCircles(next: readonly (readonly number[])[]): number[][] {
  const order = new Map<number, number>();
  const stack: number[] = [];
  const open = new Set<number>();
  const circles: number[][] = [];

  function visit(at: number): number {
    let low = order.size;
    const own = low;
    order.set(at, own);
    stack.push(at);
    open.add(at);
    for (const to of next[at] ?? []) {
      const found = order.has(to) ? (open.has(to) ? order.get(to) : undefined) : visit(to);
      low = Math.min(low, found ?? low);
    }
    if (low === own) {
      const circle = stack.splice(stack.lastIndexOf(at));
      for (const member of circle) open.delete(member);
      circles.push(circle);
    }
    return low;
  }

  next.forEach((_, at) => order.has(at) || visit(at));
  return circles;
}

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
 * Returns what `||` makes of two operands, of which `operation` is the node: a value that is put together of its own
 * pieces gets no longer than it was, as in `substr(s, 1, n) || 'x' || substr(s, n + 2)`. That holds for what stands in
 * one chain of `||`, where all places are reckoned for one row; elsewhere a piece may be the whole. An element that is
 * put to slices of its own array, as in `a[2:] || a[1]`, makes it no longer either.
 */
export function createJoin() {
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

  return (
    operation: object,
    operands: readonly [unknown, unknown],
    shapes: readonly [Shape, Shape],
  ): Shape => {
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
