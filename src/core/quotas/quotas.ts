import { createGate, noWaitBounds, type WaitBounds } from "../admission.ts";
import { AppError } from "../app_error.ts";
import { accountOf, callerKey, identityOf, type Principal, principalName } from "../principal.ts";
import {
  createUsageCounts,
  type LimitName,
  limitNames,
  type UsageCounts,
  type WindowLimit,
} from "./usage_counts.ts";

/** What a caller may use, and has used, of one limit. */
interface LimitUsage {
  readonly limit: LimitName;
  readonly maximum: number;
  readonly used: number;
  readonly remaining: number;
  /** When its window ends, ISO 8601 in UTC; absent for calls at once, which end by themselves. */
  readonly resets_at?: string;
}

/** A limit of all callers together. What is used of it would tell of others, so that is not told. */
type SharedLimit = Pick<LimitUsage, "limit" | "maximum" | "resets_at">;

/**
 * How much callers may use. All that a caller does over both servers counts together, and a caller is a `callerKey`. What is
 * known after the fact (rows, bytes, tokens) is counted then: whoever is below a limit may go beyond it by what is under way.
 */
export type Quotas = ReturnType<typeof createQuotas>;

interface QuotasOptions {
  readonly rules: LimitRules;
  /** Of calls that wait for others of their caller to end. */
  readonly waitBounds?: WaitBounds;
  /** Where they are kept elsewhere too. */
  readonly counts?: UsageCounts;
  /** In milliseconds since 1970. */
  readonly now: () => number;
  readonly onRefused?: (limit: LimitName) => void;
}

/** Whom the limits of all callers together count under; no caller has this key. */
const everyone = "all";

/** Windows that are over cost nothing but memory. */
const clearEveryMs = 60_000;

export function createQuotas(options: QuotasOptions) {
  const { now, onRefused = () => {}, waitBounds = noWaitBounds } = options;
  const counts = options.counts ?? createUsageCounts(now);
  let { rules } = options;
  let isOn = haveLimits(rules);
  // whoever sends many requests has one principal for all of them, but for those without a token
  let known = new WeakMap<Principal, Limits>();
  // those whose calls have a place or wait for one
  const atOnce = new Map<string, Principal>();
  const gate = createGate({
    ...waitBounds,
    places: Infinity,
    placesNow: () => (rules.all?.calls_at_once ?? Infinity) - (elsewhere.get(everyone) ?? 0),
    placesPerCaller(caller) {
      const principal = atOnce.get(caller);
      return ((principal && ownLimits(principal).calls_at_once) ?? Infinity) - (elsewhere.get(caller) ?? 0);
    },
  });
  let elsewhere: ReadonlyMap<string, number> = new Map();
  let clearedAt = now();

  function clearEnded(): void {
    const time = now();
    if (time >= clearedAt && time - clearedAt < clearEveryMs) return;
    clearedAt = time;
    counts.clearEnded();
  }

  function ownLimits(principal: Principal): Limits {
    if (principal.kind === "local" && principal.onBehalfOf === undefined) return rules.default ?? noLimits;
    let limits = known.get(principal);
    if (limits === undefined) known.set(principal, limits = limitsOf(rules, principal));
    return limits;
  }

  /** @throws {AppError} `quota_exceeded` where nothing is left of one of the limits */
  function check(caller: string, limits: Limits, names: readonly WindowLimit[]): void {
    for (const name of names) {
      requireSome(name, limits[name], caller);
      requireSome(name, rules.all?.[name], everyone);
    }
  }

  function requireSome(name: WindowLimit, most: number | undefined, caller: string): void {
    if (most === undefined || counts.used(caller, name) < most) return;
    onRefused(name);
    const seconds = Math.max(1, Math.ceil((counts.endsAt(name) - now()) / 1_000));
    const whose = caller === everyone ? " of all callers together" : "";
    throw exceeded(name, `${name} (${most})${whose} is used up`, seconds);
  }

  /** @returns what takes it back, from nobody and no window that it was not counted for */
  function add(caller: string, limits: Limits, name: WindowLimit, amount: number): () => void {
    const counted = [
      ...(limits[name] === undefined ? [] : [caller]),
      ...(rules.all?.[name] === undefined ? [] : [everyone]),
    ];
    if (amount !== 0) { for (const each of counted) counts.add(each, name, amount); }
    const endsAt = counts.endsAt(name);
    return () => {
      if (counts.endsAt(name) === endsAt) { for (const each of counted) counts.add(each, name, -amount); }
    };
  }

  function endOf(limit: LimitName): Pick<LimitUsage, "resets_at"> {
    return limit === "calls_at_once" ? {} : { resets_at: new Date(counts.endsAt(limit)).toISOString() };
  }

  /** Calls `use` with whom and by what a principal's use counts, unless nothing of it does. */
  function forCaller(principal: Principal, use: (caller: string, limits: Limits) => void): void {
    if (!isOn || (principal.kind === "local" && principal.isServer)) return;
    use(callerKey(principal), ownLimits(principal));
  }

  return {
    /** Whether anybody has a limit; where not, nothing need be asked. */
    get isOn(): boolean {
      return isOn;
    },
    /**
     * A call begins; resolves with what ends it. It waits, in the order of the admission, where its caller has as many under
     * way as are allowed at once.
     *
     * @throws {AppError} `quota_exceeded`, also where too many wait or the wait would be too long; the signal's reason where
     * it aborts meanwhile
     */
    async begin(principal: Principal, signal: AbortSignal): Promise<() => void> {
      if (!isOn) return () => {};
      clearEnded();
      const caller = callerKey(principal);
      const limits = ownLimits(principal);
      check(caller, limits, ["calls_per_minute"]);
      // before it waits: whoever waits is not to bring in more than the minute allows
      const takeBack = add(caller, limits, "calls_per_minute", 1);
      if ((limits.calls_at_once ?? rules.all?.calls_at_once) === undefined) return () => {};
      atOnce.set(caller, principal);
      try {
        const leave = await gate.enter(caller, signal);
        return () => {
          leave();
          if (gate.isIdle(caller)) atOnce.delete(caller);
        };
      } catch (error) {
        if (gate.isIdle(caller)) atOnce.delete(caller);
        takeBack();
        throw atOnceError(error, caller, limits.calls_at_once);
      }
    },
    /**
     * A caller's statement begins.
     * @throws {AppError} `quota_exceeded`
     */
    beginStatement(principal: Principal): void {
      forCaller(principal, (caller, limits) => {
        check(caller, limits, ["statements_per_minute", "rows_per_day", "bytes_per_day"]);
        add(caller, limits, "statements_per_minute", 1);
      });
    },
    /** What a statement returned. */
    read(principal: Principal, rows: number, bytes: number): void {
      forCaller(principal, (caller, limits) => {
        add(caller, limits, "rows_per_day", rows);
        add(caller, limits, "bytes_per_day", bytes);
      });
    },
    /**
     * A provider is about to be asked for a caller.
     * @throws {AppError} `quota_exceeded`
     */
    beforeProvider(principal: Principal): void {
      forCaller(principal, (caller, limits) => check(caller, limits, ["provider_tokens_per_day"]));
    },
    /** What a provider counted. */
    usedTokens(principal: Principal, tokens: number): void {
      forCaller(principal, (caller, limits) => add(caller, limits, "provider_tokens_per_day", tokens));
    },
    /** A caller's own limits, and what is used of them. */
    usage(principal: Principal): LimitUsage[] {
      const caller = callerKey(principal);
      const limits = ownLimits(principal);
      return limitNames.flatMap((limit): LimitUsage[] => {
        const maximum = limits[limit];
        if (maximum === undefined) return [];
        const used = limit === "calls_at_once"
          ? gate.underWay(caller) + (elsewhere.get(caller) ?? 0)
          : counts.used(caller, limit);
        const remaining = Math.max(0, maximum - used);
        return [{ limit, maximum, used, remaining, ...endOf(limit) }];
      });
    },
    /** The limits of all callers together. */
    shared: () =>
      limitNames.flatMap((limit): SharedLimit[] => {
        const maximum = rules.all?.[limit];
        return maximum === undefined ? [] : [{ limit, maximum, ...endOf(limit) }];
      }),
    /** Other rules from now on; what was used still counts. */
    replace(next: LimitRules): void {
      rules = next;
      isOn = haveLimits(next);
      known = new WeakMap();
      gate.letIn();
    },
    /** Calls at once of those callers whose number is limited, and of all callers together. */
    underWay(): Readonly<Record<string, number>> {
      const calls: Record<string, number> = {};
      let ofAll = 0;
      for (const caller of atOnce.keys()) {
        calls[caller] = gate.underWay(caller);
        ofAll += gate.underWay(caller);
      }
      return rules.all?.calls_at_once === undefined ? calls : { ...calls, [everyone]: ofAll };
    },
    /** From now on, so many calls run at other processes; they take places here too. */
    setElsewhere(calls: ReadonlyMap<string, number>): void {
      elsewhere = calls;
      gate.letIn();
    },
    [Symbol.dispose]() {
      gate[Symbol.dispose]();
    },
  };

  /** The admission refuses for want of room; here the room is the caller's own quota. */
  function atOnceError(error: unknown, caller: string, own: number | undefined): unknown {
    if (!(error instanceof AppError) || error.code !== "overloaded") return error;
    onRefused("calls_at_once");
    const ofAll = rules.all?.calls_at_once;
    const isOwn = own !== undefined && (ofAll === undefined || gate.underWay(caller) >= own);
    const [number, whose] = isOwn ? [own, ""] : [ofAll, " of all callers together"];
    const why = gate.waiting(caller) >= waitBounds.maxWaiting ? "too many wait" : "the wait is too long";
    const seconds = Number(error.data?.["retryAfterSeconds"] ?? 1);
    return exceeded(
      "calls_at_once",
      `calls_at_once (${number})${whose} is reached, and ${why}`,
      seconds,
      error,
    );
  }
}

function exceeded(limit: LimitName, what: string, retryAfterSeconds: number, cause?: unknown): AppError {
  const message = `Cannot run the call: the limit ${what}; try again in ${retryAfterSeconds} s`;
  return new AppError("quota_exceeded", message, { cause, data: { limit, retryAfterSeconds } });
}

/** Numbers by their names; one that is absent bounds nothing. */
export type Limits = { readonly [Name in LimitName]?: number | undefined };

/** Who may use how much. */
export interface LimitRules {
  /** Of each caller that has no number of its own. */
  readonly default?: Limits | undefined;
  /** Of all callers together. */
  readonly all?: Limits | undefined;
  /** By token id, username, issuer's subject, or `ISSUER#SUBJECT`. */
  readonly principals?: Readonly<Record<string, Limits>> | undefined;
  /** By the name of a group. */
  readonly groups?: Readonly<Record<string, Limits>> | undefined;
}

const noLimits: Limits = {};

/** Whether the rules bound anybody. */
function haveLimits({ default: ofEach, all, principals = {}, groups = {} }: LimitRules): boolean {
  return [ofEach, all, ...Object.values(principals), ...Object.values(groups)]
    .some((limits) => limits !== undefined && limitNames.some((name) => limits[name] !== undefined));
}

/**
 * What one caller may use. For each number the most specific rule counts: the caller's own before those of groups, of which
 * the largest counts, and these before the default.
 */
export function limitsOf(rules: LimitRules, principal: Principal): Limits {
  const caller = identityOf(principal);
  const own = namesOf(caller).flatMap((name) => ownRule(rules.principals, name));
  const groups = caller.kind === "issuer"
    ? caller.groups.flatMap((group) => ownRule(rules.groups, group))
    : [];
  if (own.length + groups.length === 0) return rules.default ?? noLimits;
  const limits: { [Name in LimitName]?: number } = {};
  for (const name of limitNames) {
    const ofGroups = groups.map((each) => each[name]).filter((most) => most !== undefined);
    const most = own.map((each) => each[name]).find((each) => each !== undefined) ??
      (ofGroups.length === 0 ? rules.default?.[name] : Math.max(...ofGroups));
    if (most !== undefined) limits[name] = most;
  }
  return limits;
}

/** The names that a rule may know a caller by, the most specific first. The local caller has none. */
function namesOf(caller: Principal): readonly string[] {
  if (caller.kind === "local") return [];
  const names = [
    principalName(caller),
    caller.kind === "issuer" ? caller.subject : undefined,
    accountOf(caller),
  ];
  return names.filter((name) => name !== undefined);
}

function ownRule(rules: Readonly<Record<string, Limits>> | undefined, name: string): Limits[] {
  const rule = rules !== undefined && Object.hasOwn(rules, name) ? rules[name] : undefined;
  return rule === undefined ? [] : [rule];
}
