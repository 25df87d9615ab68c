/** The names of limits. */
export const limitNames = [
  "calls_per_minute",
  "statements_per_minute",
  "calls_at_once",
  "rows_per_day",
  "bytes_per_day",
  "provider_tokens_per_day",
] as const;

export type LimitName = (typeof limitNames)[number];
/** Those that are counted over a time. */
export type WindowLimit = Exclude<LimitName, "calls_at_once">;

/** How long each is counted, in milliseconds; windows begin with UTC's minutes and days. */
export const windowMs: Readonly<Record<WindowLimit, number>> = {
  calls_per_minute: 60_000,
  statements_per_minute: 60_000,
  rows_per_day: 86_400_000,
  bytes_per_day: 86_400_000,
  provider_tokens_per_day: 86_400_000,
};

/** What was used of one limit in the window that began at `start`, in milliseconds since 1970. */
interface UsageRow {
  readonly caller: string;
  readonly limit: WindowLimit;
  readonly start: number;
  readonly used: number;
}

interface Count {
  start: number;
  used: number;
  /** Of `used`, what no file has yet. */
  unsaved: number;
}

/** What callers used in the windows of the moment. */
export type UsageCounts = ReturnType<typeof createUsageCounts>;

export function createUsageCounts(now: () => number) {
  const callers = new Map<string, Map<WindowLimit, Count>>();
  const unsaved = new Set<string>();

  function current(caller: string, limit: WindowLimit): Count | undefined {
    const count = callers.get(caller)?.get(limit);
    return count?.start === startOf(limit, now()) ? count : undefined;
  }

  function open(caller: string, limit: WindowLimit, start: number): Count {
    let counts = callers.get(caller);
    if (counts === undefined) callers.set(caller, counts = new Map());
    let count = counts.get(limit);
    if (count === undefined) counts.set(limit, count = { start, used: 0, unsaved: 0 });
    else if (count.start !== start) Object.assign(count, { start, used: 0, unsaved: 0 });
    return count;
  }

  function mostUnsaved(most: number): string[] {
    const calls = (caller: string) => callers.get(caller)?.get("calls_per_minute")?.unsaved ?? Infinity;
    return [...unsaved].toSorted((one, other) => calls(other) - calls(one)).slice(0, most);
  }

  return {
    used: (caller: string, limit: WindowLimit): number => current(caller, limit)?.used ?? 0,
    /** @param amount may be negative, where a call that was counted did not run */
    add(caller: string, limit: WindowLimit, amount: number): void {
      const count = open(caller, limit, startOf(limit, now()));
      // never below what it was before the window began anew
      const change = Math.max(amount, -count.used);
      count.used += change;
      count.unsaved += change;
      unsaved.add(caller);
    },
    /** When the window that runs now ends, in milliseconds since 1970. */
    endsAt: (limit: WindowLimit): number => startOf(limit, now()) + windowMs[limit],
    /** What no file has yet, of so many callers at most, those with most of it first; from now on it is taken for saved. */
    takeUnsaved(most: number): UsageRow[] {
      const rows: UsageRow[] = [];
      for (const caller of unsaved.size > most ? mostUnsaved(most) : [...unsaved]) {
        unsaved.delete(caller);
        for (const [limit, count] of callers.get(caller) ?? []) {
          if (count.unsaved !== 0) rows.push({ caller, limit, start: count.start, used: count.unsaved });
          count.unsaved = 0;
        }
      }
      return rows;
    },
    /** Puts back what could not be saved. */
    putBack(rows: readonly UsageRow[]): void {
      for (const { caller, limit, start, used } of rows) {
        const count = current(caller, limit);
        if (count?.start !== start) continue;
        count.unsaved += used;
        unsaved.add(caller);
      }
    },
    /** Takes in what a file has, of all processes. */
    learn({ caller, limit, start, used }: UsageRow): void {
      if (start !== startOf(limit, now())) return;
      const count = open(caller, limit, start);
      count.used = used + count.unsaved;
    },
    /** Forgets windows that are over. */
    clearEnded(): void {
      const time = now();
      for (const [caller, counts] of callers) {
        for (const [limit, { start }] of counts) if (start !== startOf(limit, time)) counts.delete(limit);
        if (counts.size === 0) {
          callers.delete(caller);
          unsaved.delete(caller);
        }
      }
    },
    get size() {
      return callers.size;
    },
  };
}

function startOf(limit: WindowLimit, time: number): number {
  return time - time % windowMs[limit];
}
