import { callerKey, type Principal, principalName } from "../core/principal.ts";

/** What counts a call that has ended. */
export interface CallCount {
  readonly of: "tool" | "question";
  /** The tool's or the pipeline's. */
  readonly name: string;
  readonly result: string;
  /** What else may be shown of it: of names those that the server has, never what its caller wrote. */
  details?(): { readonly about?: string; readonly rows?: number };
}

/** A call that has ended. What it asked and what it showed is not kept. */
export interface RecentCall {
  /** When it ended, ISO 8601. */
  readonly at: string;
  /** The tool's or the pipeline's; empty for a tool that does not exist. */
  readonly name: string;
  readonly of: CallCount["of"];
  /** The database or the pipeline. Optional: none where the call got to none. */
  readonly about?: string;
  /** `ok`, or the kind of the refusal or error. */
  readonly result: string;
  readonly elapsedMs: number;
  readonly rows?: number;
  /** Who called, for people. */
  readonly caller: string;
}

export type RecentCalls = ReturnType<typeof createRecentCalls>;

/** Calls that a process keeps in mind; at the limit the oldest is forgotten. */
const mostKept = 1_000;
const mostTold = 200;

/** The latest calls of this process, in memory alone. */
export function createRecentCalls({ now = Date.now }: { readonly now?: () => number } = {}) {
  const kept: { readonly key: string; readonly call: RecentCall }[] = [];
  return {
    add(principal: Principal, { name, of, result, details }: CallCount, elapsedMs: number): void {
      const call: RecentCall = {
        at: new Date(now()).toISOString(),
        name,
        of,
        ...details?.(),
        result,
        elapsedMs: Math.round(elapsedMs * 10) / 10,
        caller: (principal.kind === "local" ? principal.address : undefined) ?? principalName(principal),
      };
      kept.push({ key: callerKey(principal), call });
      if (kept.length > mostKept) kept.shift();
    },
    /** The latest first, 200 at most. @param key of the one caller whose calls are wanted; undefined: of all */
    latest(key: string | undefined): readonly RecentCall[] {
      const wanted = kept.filter((each) => key === undefined || each.key === key);
      return latestOf(wanted.map(({ call }) => call).toReversed());
    },
  };
}

/** Of the calls of several processes those that are told: the latest first. */
export function latestOf(calls: readonly RecentCall[]): readonly RecentCall[] {
  const sorted = calls.toSorted(({ at: one }, { at: other }) => one < other ? 1 : one > other ? -1 : 0);
  return sorted.slice(0, mostTold);
}
