import { type Shape, tableColumn } from "./value_shape.ts";

/** What the rounds of a recursive query make of its columns. */
export interface Rounds {
  /** A value gets twice as long again and again, which fills the memory within thirty rounds. */
  readonly doubles: boolean;
  /** Whether each column may get as long as there are rounds. */
  readonly grows: readonly boolean[];
}

/** Each adds what the one before has added in all rounds, so that a value grows with this power of their number. */
const maxPower = 3;

/**
 * `after` is what one round makes of columns that hold themselves once, each under its symbol. Columns that are made of
 * each other in a circle stay as long as they are, or get longer by what is added to them; where one of them holds the
 * circle's columns more than once, they double.
 */
export function findRounds(columns: readonly symbol[], after: readonly Shape[]): Rounds {
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
  return { doubles, grows: columns.map((_, at) => (powers.get(at) ?? 0) > 0) };
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
