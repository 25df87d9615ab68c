/** What may happen to callers because of a fault: whatever happens without one near it in time is a failure. */
export type Effect =
  /** Connections break: a process is gone, or stands still. */
  | "breaks"
  /** Replies with 503 and `Retry-After`. */
  | "refuses"
  /** A replica does not learn what others change: for its grace it goes on with what it knows. */
  | "isolates"
  /** Calls end that run in a process that stops. */
  | "ends calls"
  /** Statements fail in the database that has the fault. */
  | "fails statements";

export interface Trouble {
  readonly name: string;
  readonly effects: readonly Effect[];
  /** How many processes do not learn what others do. */
  readonly isolated: number;
  readonly from: number;
  /** Infinity while it lasts. */
  to: number;
}

/** What a replica that comes back may still need: to connect again, and to learn what it missed. */
const afterMs = 3_000;
/** A request may be on its way for longer than it takes to tell when it was sent. */
const beforeMs = 500;
const lagLookMs = 50;
/** For how long a stall of this process counts: what it sees late was on time. */
const lagKeptMs = 10_000;
const mostErrors = 20;

export type Ledger = ReturnType<typeof createLedger>;

/** What is counted, what went wrong, and whether a fault explains it. Times are of `Date.now()`. */
export function createLedger(say: (line: string) => void) {
  const troubles: Trouble[] = [];
  const errors: string[] = [];
  const counts = new Map<string, number>();
  const lags: { at: number; ms: number }[] = [];
  let lookedAt = Date.now();
  const timer = setInterval(() => {
    const now = Date.now();
    const ms = now - lookedAt - lagLookMs;
    lookedAt = now;
    while (lags[0] !== undefined && lags[0].at < now - lagKeptMs) lags.shift();
    if (ms > lagLookMs) lags.push({ at: now, ms });
  }, lagLookMs);

  return {
    errors,
    counts,
    count(what: string): void {
      counts.set(what, (counts.get(what) ?? 0) + 1);
    },
    /** @param what names the request and its reply */
    fail(what: string): void {
      if (errors.length === mostErrors) return;
      const now = Date.now();
      const near = troubles.filter(({ to }) => to > now - 30_000)
        .map(({ name, from, to }) =>
          `${name} from ${((now - from) / 1_000).toFixed(1)} s ago ` +
          (to === Infinity ? "on" : `to ${((now - to) / 1_000).toFixed(1)} s ago`)
        );
      errors.push(`${new Date().toISOString()} ${what} [faults: ${near.join("; ") || "none"}]`);
      say(`FAILURE ${errors.at(-1)}`);
    },
    /** Begins a fault. */
    begin(name: string, effects: readonly Effect[], isolated = 0): { end(): void } {
      const trouble: Trouble = { name, effects, isolated, from: Date.now(), to: Infinity };
      troubles.push(trouble);
      return { end: () => void (trouble.to = Date.now()) };
    },
    /** The faults with an effect that were there at some time in between, or just before. */
    near(effect: Effect, from: number, to: number): Trouble[] {
      return troubles.filter((trouble) =>
        trouble.effects.includes(effect) && trouble.from - beforeMs <= to &&
        from <= trouble.to + afterMs
      );
    },
    /** By how much what this process sees may be late: other programs share its processors. */
    lagMs: () => 500 + Math.max(0, ...lags.map(({ ms }) => ms)),
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
