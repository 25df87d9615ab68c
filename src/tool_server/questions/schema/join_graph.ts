/** A way to join two tables: column by column, `from` refers to `to`. Tables are numbers into the catalog's list. */
export interface Join {
  readonly from: number;
  readonly to: number;
  readonly fromColumns: readonly string[];
  readonly toColumns: readonly string[];
  /** Whether a foreign key says so; else the columns' names do. */
  readonly isDeclared: boolean;
}

export interface JoinGraph {
  /** The joins that a table takes part in, on either side; one with itself is there once. */
  joinsOf(table: number): readonly Join[];
  areJoined(one: number, other: number): boolean;
  /** The tables strictly between one of `sources` and `target` on the cheapest way, or undefined where there is none. */
  between(sources: ReadonlySet<number>, target: number): readonly number[] | undefined;
}

const longestWay = 8;
// "who changed the row" leads from everywhere to everywhere and means nothing
const auditColumn = /^(?:created|updated|modified|changed|deleted|inserted|last_\w+)_?by(?:_?id)?$/i;

/** The other end of a join. */
export function partner(join: Join, table: number): number {
  return join.from === table ? join.to : join.from;
}

/**
 * The graph of the tables and their joins. Ways through tables that everything refers to are dear; `tolls` has what
 * each table adds on top.
 */
export function createJoinGraph(tolls: readonly number[], joins: readonly Join[]): JoinGraph {
  const byTable: Join[][] = tolls.map(() => []);
  for (const join of joins) {
    byTable[join.from]?.push(join);
    if (join.to !== join.from) byTable[join.to]?.push(join);
  }
  const joinsOf = (table: number): readonly Join[] => byTable[table] ?? [];

  /** What it costs to go to each partner of a table, by the cheapest join. */
  const steps = byTable.map((own, table) => {
    const costs = new Map<number, number>();
    for (const join of own) {
      const next = partner(join, table);
      const hub = Math.log2(1 + joinsOf(next).length) / 3;
      const audit = join.fromColumns.some((column) => auditColumn.test(column)) ? 4 : 0;
      const cost = 1 + hub + audit + (tolls[next] ?? 0) + (join.isDeclared ? 0 : 0.5);
      costs.set(next, Math.min(cost, costs.get(next) ?? Infinity));
    }
    return costs;
  });

  /** Dijkstra's algorithm, in buckets of a tenth, as costs are small. */
  function between(sources: ReadonlySet<number>, target: number): readonly number[] | undefined {
    const cost = new Map<number, number>();
    const previous = new Map<number, number>();
    const buckets: number[][] = [[...sources]];
    for (const source of sources) cost.set(source, 0);
    for (let bucket = 0; bucket < buckets.length; bucket++) {
      for (const table of buckets[bucket] ?? []) {
        const reached = cost.get(table) ?? 0;
        if (Math.floor(reached * 10) !== bucket) continue;
        if (table === target) return wayBack(previous, target);
        for (const [next, step] of steps[table] ?? []) {
          const total = reached + step;
          if (total > longestWay || total >= (cost.get(next) ?? Infinity)) continue;
          cost.set(next, total);
          previous.set(next, table);
          (buckets[Math.floor(total * 10)] ??= []).push(next);
        }
      }
    }
    return undefined;
  }

  return { joinsOf, areJoined: (one, other) => steps[one]?.has(other) ?? false, between };
}

function wayBack(previous: ReadonlyMap<number, number>, target: number): number[] {
  const way: number[] = [];
  let table = previous.get(target);
  while (table !== undefined && previous.has(table)) {
    way.unshift(table);
    table = previous.get(table);
  }
  return way;
}
