import { settlesWithin, withDeadline } from "../core/async/deadline.ts";
import type { Principal } from "../core/principal.ts";
import { type AccessObject, grantedTo } from "../identity/access_rules.ts";

/** What may be asked whether it answers. */
interface Pingable {
  readonly name: string;
  ping(signal: AbortSignal): Promise<void>;
}

export interface ReadinessOptions {
  /** Those that are configured now, in that order. */
  readonly databases: () => readonly (AccessObject & { readonly database: Pingable })[];
  /** Those that requests in words may go to, the first choice first. */
  readonly providers: readonly Pingable[];
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** What `/ready` answers. */
export interface ReadyReply {
  /** `degraded`: something cannot be reached, but not every database; `unavailable`: no configured database can be. */
  readonly status: "ready" | "degraded" | "unavailable";
  /** In the configuration's order. */
  readonly databases: readonly SubjectState[];
  readonly providers: readonly SubjectState[];
}

interface SubjectState {
  /** Absent for callers who may not know it. */
  readonly name?: string;
  /** Absent while the first answer is still to come. */
  readonly reachable?: boolean;
}

/** A probe's caller waits no longer: Kubernetes gives up after a second. What then is still asked is told next time. */
const answerWithinMs = 800;
const giveUpMs = 5_000;
/** How long an answer is given to everybody who asks. */
const databaseFreshMs = 1_000;
const providerFreshMs = 30_000;

/**
 * Makes the function that says which databases and providers can be reached. It asks all at once, and each one once at a
 * time, however many callers ask. Anyone may call it, so it tells names only to a principal who may use what they name.
 */
export function createReadiness(
  { databases, providers, now = () => performance.now() }: ReadinessOptions,
): (principal: Principal | undefined) => Promise<ReadyReply> {
  const watches = new WeakMap<Pingable, Watch>();

  function watchOf(subject: Pingable, freshForMs: number): Watch {
    const watch = watches.get(subject) ?? createWatch(subject, freshForMs, now);
    watches.set(subject, watch);
    return watch;
  }

  return async (principal) => {
    const asked = databases().map((entry) => ({ entry, watch: watchOf(entry.database, databaseFreshMs) }));
    const others = providers.map((provider) => ({ provider, watch: watchOf(provider, providerFreshMs) }));
    await settlesWithin(answerWithinMs, Promise.all([...asked, ...others].map(({ watch }) => watch.look())));
    const known = new Set(principal && grantedTo(principal, asked.map(({ entry }) => entry)));
    const reply = {
      databases: asked.map(({ entry, watch }) => ({
        ...(known.has(entry) && { name: entry.name }),
        // who has waited in vain has been told nothing better
        reachable: watch.isReachable() ?? false,
      })),
      providers: others.map(({ provider, watch }) => ({
        ...(principal !== undefined && { name: provider.name }),
        ...stateOf(watch.isReachable()),
      })),
    };
    return { status: statusOf(reply), ...reply };
  };
}

function stateOf(reachable: boolean | undefined): SubjectState {
  return reachable === undefined ? {} : { reachable };
}

function statusOf({ databases, providers }: Omit<ReadyReply, "status">): ReadyReply["status"] {
  const isDown = ({ reachable }: SubjectState) => reachable === false;
  if (databases.length > 0 && databases.every(isDown)) return "unavailable";
  return [...databases, ...providers].some(isDown) ? "degraded" : "ready";
}

interface Watch {
  /** Asks, unless the last answer is fresh; callers share what is under way. It never rejects. */
  look(): Promise<void>;
  /** By the last answer; undefined before the first. */
  isReachable(): boolean | undefined;
}

function createWatch(subject: Pingable, freshForMs: number, now: () => number): Watch {
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
    look() {
      if (latest === undefined || now() >= freshUntil) {
        freshUntil = Infinity;
        latest = ask();
      }
      return latest;
    },
    isReachable: () => reachable,
  };
}
