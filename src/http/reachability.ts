import { settlesWithin, withDeadline } from "../core/async/deadline.ts";

/** What may be asked whether it answers. */
export interface Pingable {
  ping(signal: AbortSignal): Promise<void>;
}

/** `degraded`: a part cannot be reached; `unavailable`: nothing that callers want can be. */
export type Readiness = "ready" | "degraded" | "unavailable";

/** From how a process is: how all are that serve the same port. It also tells the others how this one is. */
export type ReadinessOfAll = (own: () => Promise<Readiness>) => () => Promise<Readiness>;

/** The worst of several. */
export function worstOf(several: readonly Readiness[]): Readiness {
  return (["unavailable", "degraded"] as const).find((status) => several.includes(status)) ?? "ready";
}

/** A probe's caller waits no longer: Kubernetes gives up after a second. What then is still asked is told next time. */
export const answerWithinMs = 800;
const giveUpMs = 5_000;
/** How long a database's answer is given to everybody who asks. */
export const databaseFreshMs = 1_000;

/**
 * What can be reached, for probes: it asks all at once, and each one once at a time, however many callers ask.
 *
 * @param now milliseconds of a clock that never goes back
 */
export function createReachability(now: () => number = () => performance.now()) {
  const watches = new WeakMap<Pingable, ReturnType<typeof createWatch>>();

  function watchOf(subject: Pingable, freshForMs: number) {
    const watch = watches.get(subject) ?? createWatch(subject, freshForMs, now);
    watches.set(subject, watch);
    return watch;
  }

  return {
    /**
     * Whether each one can be reached, by its last answer; undefined while the first is still to come.
     *
     * @param freshForMs how long an answer is given to everybody who asks
     */
    async of(subjects: readonly Pingable[], freshForMs: number): Promise<(boolean | undefined)[]> {
      const asked = subjects.map((subject) => watchOf(subject, freshForMs));
      await settlesWithin(answerWithinMs, Promise.all(asked.map(({ look }) => look())));
      return asked.map(({ isReachable }) => isReachable());
    },
  };
}

function createWatch(subject: Pingable, freshForMs: number, now: () => number) {
  let latest: Promise<void> | undefined;
  let reachable: boolean | undefined;
  let freshUntil = -Infinity;

  async function ask(): Promise<void> {
    try {
      await withDeadline(giveUpMs, undefined, (signal) => subject.ping(signal));
      reachable = true;
    } catch {
      reachable = false;
    }
    freshUntil = now() + freshForMs;
  }

  return {
    /** Asks, unless the last answer is fresh; callers share what is under way. It never rejects. */
    look(): Promise<void> {
      if (latest === undefined || now() >= freshUntil) {
        freshUntil = Infinity;
        latest = ask();
      }
      return latest;
    },
    /** By the last answer; undefined before the first. */
    isReachable: () => reachable,
  };
}
