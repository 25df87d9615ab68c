import { isRecord, type SyntaxNode, textOf } from "../syntax_tree.ts";
import { alignColumns, type Column, type Query } from "./column_scope.ts";
import { eitherOf, type Refuse, type Shape, tableColumn } from "./value_shape.ts";

type Fields = SyntaxNode["fields"];

const doubling =
  "a recursive query doubles a value in every round, as it uses a column twice or more to make the " +
  "next one; add to it instead (path || id), or keep its parts in columns of their own";

/** Each adds what the one before has added in all rounds, so that a value grows with this power of their number. */
const maxPower = 3;

/**
 * What a recursive query gives, of which `start` comes first and `measureRound` says what a round makes of the columns
 * of the one before. It measures a round twice: for what it makes of its own columns, and with those long that it makes
 * long. Refused where a value gets twice as long again and again, which fills the memory within thirty rounds.
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
  const { doubles, grows } = findRounds(symbols, alignColumns(before, first.columns));
  if (doubles) refuse(doubling);
  const columns = start.columns.map((column, at): Column => ({
    ...column,
    // what is added to from a stored table is as long as its rows make it, which is not the statement's doing
    shape: {
      ...column.shape,
      nodes: 1,
      data: true,
      length: !first.readsTable && grows[at] === true ? "long" : column.shape.length,
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
 * circle's columns more than once, they double. `grows` says of each whether it may get as long as there are rounds.
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
