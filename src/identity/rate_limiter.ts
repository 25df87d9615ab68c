import { randomUUID } from "node:crypto";
import { canonicalIpAddress, formatIpv6Block, isInBlocks, parseAddressBlock } from "../core/address.ts";
import type { StateRecords } from "../state/state.ts";

export interface RateLimiterOptions {
  /** The setting `http.auth.rate_limit_window_minutes` (config/schema/auth.ts). */
  readonly windowMs: number;
  /** Failed attempts that an address may have within the window; at least 1: `http.auth.rate_limit_max_attempts`. */
  readonly maxAttempts: number;
  /** Milliseconds of a clock that does not go back, such as `performance.now`. */
  readonly now: () => number;
  /** Addresses that are remembered at most. */
  readonly maxAddresses?: number;
  /** Optional: keeps failed attempts, and knows those of other processes; in memory alone without it. */
  readonly kept?: StateRecords | undefined;
  /** Milliseconds since 1970, by the clock of `kept`. */
  readonly wallNow?: () => number;
  /** What counts as one address. Optional; the default is `addressGroup`. */
  readonly groupOf?: (address: string) => string;
}

/** Counts the failed attempts of each client address over a sliding window. */
export type RateLimiter = ReturnType<typeof createRateLimiter>;

type RateLimit =
  | { readonly limited: false }
  /** Whole seconds, at least 1, after which the next attempt is allowed if no other fails before. */
  | { readonly limited: true; readonly retryAfterSeconds: number };

/**
 * The times of the last `maxAttempts` failed attempts make the window exact: an address is limited as long as the first of
 * them is in the window. Memory is bounded by `maxAddresses`. When they are full, the address that failed longest ago
 * is forgotten, and one that has spent its attempts only when all of them have.
 *
 * One customer's line has a whole /64 of IPv6 (RFC 6177, RFC 4291 section 2.5.1), so that is what counts as one address.
 */
export function createRateLimiter(options: RateLimiterOptions) {
  const { windowMs, maxAttempts, now, kept, wallNow = Date.now } = options;
  const { maxAddresses = 250_000, groupOf = addressGroup } = options;
  // an address is in one of the two
  const counting = createFailedAttempts();
  const spent = createFailedAttempts();

  function inWindow(key: string, time: number): Times {
    const times = spent.get(key) ?? counting.get(key) ?? [];
    return times.filter((failedAt) => time - failedAt < windowMs);
  }

  function removeOld(time: number): void {
    for (const [id, expiresAt] of counted) {
      if (expiresAt > wallNow()) break;
      counted.delete(id);
    }
    for (const log of [counting, spent]) {
      for (let left = sweptAtOnce; left > 0; left--) {
        const oldest = log.oldest();
        if (oldest === undefined || time - (oldest.times.at(-1) ?? 0) < windowMs) break;
        log.delete(oldest.key);
      }
    }
  }

  function makeRoom(): void {
    if (counting.size + spent.size < maxAddresses) return;
    const log = counting.size > 0 ? counting : spent;
    const oldest = log.oldest();
    if (oldest !== undefined) log.delete(oldest.key);
  }

  function remember(key: string, times: Times): void {
    counting.delete(key);
    spent.delete(key);
    makeRoom();
    (times.length === maxAttempts ? spent : counting).set(key, times);
  }

  // the attempts that are kept, and when each leaves the window
  const counted = new Map<string, number>();
  const beingKept = new Set<{ readonly key: string; others: number }>();
  // what failed before a restart and at other processes; an attempt is kept by the time of day
  kept?.follow((id, record) => {
    if (typeof record?.value !== "string" || counted.has(id)) return;
    counted.set(id, record.expiresAt);
    const time = now();
    const failedAt = Math.min(time, time - (wallNow() - (record.expiresAt - windowMs)));
    if (time - failedAt >= windowMs) return;
    const times = [...inWindow(record.value, time), failedAt].toSorted((one, other) => one - other);
    remember(record.value, times.slice(-maxAttempts));
    for (const waiting of beingKept) if (waiting.key === record.value) waiting.others++;
  });

  return {
    /**
     * Whether an address has spent its attempts. Ask before the password is looked at, and once more after: of attempts
     * made at the same time only as many may tell their result as the window allows.
     *
     * @param underWay attempts of the address that may yet fail, of which each counts as one that did; less than `maxAttempts`
     */
    check(address: string, underWay = 0): RateLimit {
      const time = now();
      removeOld(time);
      const times = inWindow(groupOf(address), time);
      const first = times.at(underWay - maxAttempts);
      if (first === undefined) return { limited: false };
      return { limited: true, retryAfterSeconds: Math.ceil((first + windowMs - time) / 1000) };
    },
    /**
     * Resolves once all processes count it.
     *
     * @returns whether fewer than `maxAttempts` came before it, at other processes too: else nobody may learn its result
     * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where other servers would not count it
     */
    async recordFailed(address: string): Promise<boolean> {
      const time = now();
      removeOld(time);
      const key = groupOf(address);
      const before = inWindow(key, time);
      remember(key, [...before, time].slice(-maxAttempts));
      if (kept === undefined) return before.length < maxAttempts;
      const id = randomUUID();
      const waiting = { key, others: 0 };
      const expiresAt = wallNow() + windowMs;
      counted.set(id, expiresAt);
      beingKept.add(waiting);
      try {
        await kept.keep({ id, value: key, expiresAt });
      } finally {
        beingKept.delete(waiting);
      }
      return before.length + waiting.others < maxAttempts;
    },
    /** Addresses remembered, some of which may have no attempt in the window any more. */
    get size() {
      return counting.size + spent.size;
    },
  };
}

// bounds the work of one call, and is more than one, so that old ones are removed faster than new ones come
const sweptAtOnce = 100;

/** When an address failed, oldest first. */
type Times = readonly number[];

function createFailedAttempts() {
  const log = new Map<string, Times>();
  // Kept between calls: a new iterator would step over the place of everything that was removed from the front, which
  // takes a Map that is full a hundred times as long.
  let entries = log.entries();
  let front: { key: string; times: Times } | undefined;
  return {
    get size() {
      return log.size;
    },
    get: (key: string) => log.get(key),
    delete: (key: string) => log.delete(key),
    /** Makes the address the newest. */
    set(key: string, times: Times): void {
      log.delete(key);
      log.set(key, times);
    },
    /** What was set longest ago. */
    oldest(): { key: string; times: Times } | undefined {
      while (front === undefined || log.get(front.key) !== front.times) {
        const { value, done } = entries.next();
        front = done ? undefined : { key: value[0], times: value[1] };
        if (!done) continue;
        entries = log.entries();
        return undefined;
      }
      return front;
    },
  };
}

/** What counts as one address: of IPv6 a whole /64, except for the blocks that many share. */
export function addressGroup(address: string): string {
  return blockOf(address, 64);
}

/** As addressGroup(), with the whole /48 that one site may have (RFC 6177, section 2): 65,536 times a /64. */
export function siteOf(address: string): string {
  return blockOf(address, 48);
}

function blockOf(address: string, bits: number): string {
  const canonical = canonicalIpAddress(address);
  if (canonical === undefined) return address;
  return isInBlocks(canonical, sharedBlocks) ? canonical : formatIpv6Block(canonical, bits);
}

// all link-local addresses are in one /64, and all of IPv4 behind a translator is in another (RFC 6052)
const sharedBlocks = ["fe80::/10", "64:ff9b::/96"].flatMap((text) => parseAddressBlock(text) ?? []);
