import type { IndexTrial } from "../../../../postgres/index_trials.ts";
import type { Candidate } from "./candidates.ts";

/** A statement of the workload. */
interface WeighedStatement {
  readonly number: number;
  readonly sql: string;
  readonly parameters: number;
  /** How often it is run. */
  readonly weight: number;
}

export interface ChosenIndex {
  readonly candidate: Candidate;
  readonly bytes: number;
  /** Of the whole workload's cost, from 0 to 1. */
  readonly gain: number;
  /** Statements that it makes cheaper, given the indexes before it. */
  readonly improved: readonly { readonly number: number; readonly before: number; readonly after: number }[];
}

export interface Choice {
  readonly chosen: readonly ChosenIndex[];
  /** By the number of the statement: its cost without and with all that is chosen. */
  readonly costs: ReadonlyMap<number, { readonly before: number; readonly after: number }>;
  /** By the number of the statement: why PostgreSQL does not plan it. */
  readonly unplanned: ReadonlyMap<number, string>;
  /** Whether it ended for want of time before all were tried. */
  readonly isCut: boolean;
}

/** A smaller gain, of the whole cost, is not worth an index that each write pays for. */
const leastGain = 0.01;
/** What each further column has to bring. */
const columnPrice = 0.01;
/** Plans of one call. */
const maxPlans = 1_000;

interface Trial {
  readonly candidate: Candidate;
  gain: number;
  /** How many indexes were there when it was tried. */
  triedWith: number;
}

/**
 * Chooses indexes one after the other, each the one that PostgreSQL's own cost of the workload falls most by, given those
 * before it. What an index gains falls as others are there, so only those are tried again that may still be the best.
 */
export async function chooseIndexes(
  trial: IndexTrial,
  { statements, candidates, limit, isOver }: {
    readonly statements: readonly WeighedStatement[];
    readonly candidates: readonly Candidate[];
    readonly limit: number;
    /** Whether the time is over. */
    readonly isOver: () => boolean;
  },
): Promise<Choice> {
  const before = new Map<number, number>();
  const unplanned = new Map<number, string>();
  for (const { number, sql, parameters } of statements) {
    const planned = await trial.cost(sql, parameters);
    if (planned.ok) before.set(number, planned.cost);
    else unplanned.set(number, planned.reason);
  }
  const planned = statements.filter(({ number }) => before.has(number));
  const total = planned.reduce((sum, { number, weight }) => sum + weight * (before.get(number) ?? 0), 0);
  const costs = new Map(before);
  const chosen: ChosenIndex[] = [];
  let plans = 0;
  let isCut = false;

  async function costsWith(candidate: Candidate): Promise<Map<number, number>> {
    const found = new Map<number, number>();
    for (const { number, sql, parameters } of planned) {
      if (!candidate.statements.includes(number)) continue;
      plans++;
      const result = await trial.cost(sql, parameters);
      if (result.ok) found.set(number, result.cost);
    }
    return found;
  }

  function gainOf(found: ReadonlyMap<number, number>): number {
    return planned.reduce((sum, { number, weight }) => {
      const now = costs.get(number) ?? 0;
      return sum + weight * (now - Math.min(now, found.get(number) ?? now));
    }, 0);
  }

  async function tryOut(each: Trial): Promise<void> {
    const index = await create(each.candidate);
    each.triedWith = chosen.length;
    each.gain = 0;
    if (index === undefined) return;
    const price = 1 - columnPrice * each.candidate.columns.length;
    each.gain = gainOf(await costsWith(each.candidate)) * price;
    await trial.drop(index.id);
  }

  const create = ({ table, columns }: Candidate) =>
    trial.create({ schema: table.schema, table: table.name, columns });

  let open: Trial[] = candidates.map((candidate) => ({ candidate, gain: Infinity, triedWith: -1 }));
  while (chosen.length < limit && open.length > 0) {
    open = open.toSorted((a, b) => b.gain - a.gain);
    const [best] = open;
    if (best === undefined || best.gain < leastGain * total || best.gain <= 0) break;
    if (isOver() || plans > maxPlans) {
      isCut = true;
      break;
    }
    if (best.triedWith < chosen.length) {
      await tryOut(best);
      continue;
    }
    open = open.filter((each) => each !== best);
    const index = await create(best.candidate);
    if (index === undefined) continue;
    const found = await costsWith(best.candidate);
    const improved = [...found].flatMap(([number, after]) => {
      const now = costs.get(number) ?? 0;
      return after < now ? [{ number, before: now, after }] : [];
    });
    const gain = gainOf(found) / Math.max(total, Number.MIN_VALUE);
    for (const { number, after } of improved) costs.set(number, after);
    chosen.push({ candidate: best.candidate, bytes: index.bytes, gain, improved });
  }
  return {
    chosen,
    costs: new Map(
      [...before].map(([number, cost]) => [number, { before: cost, after: costs.get(number) ?? cost }]),
    ),
    unplanned,
    isCut,
  };
}
