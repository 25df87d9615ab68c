/** What is known of the events of one key since the last report. */
export interface TallyReport<Event> {
  /** What the events have in common; of those that had no room of their own, `others`. */
  readonly key: string;
  /** The latest. */
  readonly event: Event;
  /** Events that the report stands for. */
  readonly count: number;
  /** Whether there was a report of the same key within the minute before. */
  readonly isRepeated: boolean;
}

/**
 * Counts events, so that whoever causes them does not decide how many reports there are. Disposing of it reports what has
 * been counted and not reported yet.
 */
export interface Tally<Event> extends Disposable {
  add(key: string, event: Event): void;
}

export interface TallyOptions<Event> {
  readonly report: (report: TallyReport<Event>) => void;
  /** Keys that are told apart; what has another one is counted together. */
  readonly maxKeys: number;
  /** The key of that. */
  readonly others: string;
  /** Milliseconds of a clock that does not go back. */
  readonly now?: () => number;
}

const windowMs = 60_000;
const sweepMs = 5_000;

interface Entry<Event> {
  event: Event;
  count: number;
  reportedAt: number;
}

/** Reports the first event of a key at once, and those that follow as one, a minute after the report before. */
export function createTally<Event>(options: TallyOptions<Event>): Tally<Event> {
  const { report, maxKeys, others, now = () => performance.now() } = options;
  const entries = new Map<string, Entry<Event>>();

  function reportFollowing(key: string, entry: Entry<Event>): void {
    report({ key, event: entry.event, count: entry.count, isRepeated: true });
    entry.count = 0;
    entry.reportedAt = now();
  }

  function sweep(): void {
    for (const [key, entry] of entries) {
      if (now() - entry.reportedAt < windowMs) continue;
      if (entry.count > 0) reportFollowing(key, entry);
      else entries.delete(key);
    }
  }

  const timer = setInterval(sweep, sweepMs);
  Deno.unrefTimer(timer);
  return {
    add(own, event) {
      const key = entries.has(own) || entries.size < maxKeys ? own : others;
      const entry = entries.get(key);
      if (entry === undefined) {
        entries.set(key, { event, count: 0, reportedAt: now() });
        return report({ key, event, count: 1, isRepeated: false });
      }
      entry.event = event;
      entry.count++;
      if (now() - entry.reportedAt >= windowMs) reportFollowing(key, entry);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      for (const [key, entry] of entries) if (entry.count > 0) reportFollowing(key, entry);
      entries.clear();
    },
  };
}
