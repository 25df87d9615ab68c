import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { defined } from "../../core/defined.ts";
import type { Logger } from "../../core/logger.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { PoolEndedError } from "./principal_pool.ts";
import { isShortage } from "./server_capacity.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { connect } from "../connect/connect.ts";
import type { Connection } from "../connection.ts";

/** Hosts are looked at so often while callers use their database. */
const lookEveryMs = 1_000;
/**
 * Of `max_replica_lag`: PostgreSQL lets a statement hold up a standby's replay for 30 s, and a cluster takes about as long
 * to promote a standby. Neither is to leave callers without a host.
 */
export const defaultLagMs = 60_000;
/** Nobody uses a database that was not asked for so long, or for `max_replica_lag` where that is longer. */
const unusedMs = 60_000;

interface Host {
  /** The database on this host alone. */
  readonly options: DatabaseOptions & { readonly hostName: string };
  readonly probe: ReturnType<typeof createHostProbe>;
  /** When it last answered. */
  state: HostState;
  /** Why it does not answer; undefined where it does. */
  error: unknown;
  /** How many have it. */
  callers: number;
  isServing: boolean;
  looking?: Promise<void> | undefined;
}

/** What is known of a host, for people and metrics. */
export interface HostReport {
  /** `HOST:PORT`. */
  readonly host: string;
  readonly role: "primary" | "standby" | "unreachable";
  /** In milliseconds; Infinity of one that callers do not read from, or of which nothing tells. */
  readonly lagMs: number;
}

/** Whether the callers of a database are spread over its standbys. */
export function isSpread({ targetSessionAttrs, hosts }: DatabaseOptions): boolean {
  return targetSessionAttrs === "prefer-standby" && hosts.length > 1;
}

export type HostChoice = ReturnType<typeof createHostChoice>;

/** What is done on one host of a database, as on a database of its own. */
type HostWork<T> = (host: DatabaseOptions) => Promise<T>;

/**
 * Which host of a database a caller reads from: of the standbys within `max_replica_lag` the one that the fewest callers
 * have, else the primary. A caller keeps its host while that serves, so that its time does not run backwards: what one
 * standby has told may not have come to the next. Where a caller must move, it gets a standby that is not further behind,
 * else the primary, else any standby within the bound. Who was away for longer than the bound has seen nothing that is newer
 * than what every host tells now, and may be forgotten.
 *
 * @param onUnused called when it has closed, since nobody has used the database for so long that no connection is left
 */
export function createHostChoice(database: DatabaseOptions, logger: Logger, onUnused: () => void) {
  const { name, maxReplicaLagMs: boundMs = defaultLagMs } = database;
  const keptMs = Math.max(unusedMs, boundMs, database.poolMaxConnIdleTimeMs);
  const hosts = database.hosts.map((host): Host => {
    const hostName = `${host.host}:${host.port}`;
    const options = { ...database, hosts: [host], hostName, targetSessionAttrs: "any" } as const;
    return {
      options,
      probe: createHostProbe(options, logger),
      state: { isStandby: true, lagMs: Infinity, logEnd: null, timeline: "" },
      error: new Error("not looked at yet"),
      callers: 0,
      isServing: true,
    };
  });
  const chosen = new Map<string, { readonly host: Host; usedAt: number }>();
  const ended = new AbortController();
  let usedAt = performance.now();
  let isKnown = false;
  const known = Promise.all(hosts.map(look)).then(() => void (isKnown = true));
  const timer = setInterval(tick, lookEveryMs);
  // it alone does not keep the process alive
  Deno.unrefTimer(timer);

  /** Of an earlier timeline is one that was replaced, and has come back without what was written since. */
  function primary(): Host | undefined {
    return hosts.filter(({ error, state }) => error === undefined && !state.isStandby)
      .toSorted((a, b) => b.state.timeline.localeCompare(a.state.timeline))[0];
  }

  /** Callers may read from a host where that is within the bound. */
  function lagOf({ error, state }: Host): number {
    if (error !== undefined) return Infinity;
    return state.isStandby || state.timeline === primary()?.state.timeline ? state.lagMs : Infinity;
  }

  function choose(caller: string): Host {
    const before = chosen.get(caller);
    if (before !== undefined && lagOf(before.host) <= boundMs) {
      before.usedAt = usedAt;
      return before.host;
    }
    const within = (ms: number) =>
      hosts.filter((host) => host.state.isStandby && lagOf(host) <= Math.min(ms, boundMs))
        // by chance: all replicas would begin with the first one
        .toSorted((a, b) => a.callers - b.callers || Math.random() - 0.5)[0];
    // so much lies between two looks at hosts that are equally far
    const host = within(before === undefined ? Infinity : before.host.state.lagMs + lookEveryMs) ??
      primary() ?? within(Infinity);
    if (host === undefined) throw noHost();
    if (before !== undefined) before.host.callers--;
    host.callers++;
    chosen.set(caller, { host, usedAt });
    return host;
  }

  function noHost(): AppError {
    const reasons = hosts.map(({ options, error, state }) =>
      `${options.hostName}: ${error instanceof Error ? reasonOf(error) : lagText(state.lagMs)}`
    );
    const { cause, data } = hosts.map(({ error }) => error).find((error) => error instanceof AppError) ?? {};
    const wanted = `a primary, or a standby within max_replica_lag (${boundMs / 1_000} s)`;
    const message = `Cannot reach database "${name}": no host is ${wanted}: ${reasons.join("; ")}`;
    return new AppError("unavailable", message, { cause, ...defined({ data }) });
  }

  function look(host: Host): Promise<void> {
    return host.looking ??= lookAt(host).finally(() => host.looking = undefined);
  }

  async function lookAt(host: Host): Promise<void> {
    try {
      host.state = await host.probe.look(primary()?.state.logEnd ?? null, ended.signal);
      host.error = undefined;
    } catch (error) {
      // one without room for the look still works for those who are in
      if (host.error !== undefined || !isShortage(error)) host.error = error;
      else if (host.state.isStandby) host.state = { ...host.state, lagMs: host.state.lagMs + lookEveryMs };
    }
    const isServing = lagOf(host) <= boundMs;
    if (isServing === host.isServing || ended.signal.aborted) return;
    host.isServing = isServing;
    const { lagMs: lag_ms, ...report } = reportOf(host);
    const fields = { database: name, ...report, lag_ms, error: host.error };
    logger[isServing ? "info" : "warn"](`A database host serves ${isServing ? "callers" : "none"}`, fields);
  }

  function tick(): void {
    const keptSince = performance.now() - keptMs;
    if (usedAt < keptSince) return void close();
    for (const [caller, { host, usedAt }] of chosen) {
      if (usedAt < keptSince && chosen.delete(caller)) host.callers--;
    }
    for (const host of hosts) void look(host);
  }

  async function close(): Promise<void> {
    clearInterval(timer);
    ended.abort();
    onUnused();
    await Promise.all(hosts.map(({ looking, probe }) => Promise.resolve(looking).then(probe.close)));
  }

  function reportOf(host: Host): HostReport {
    const role = host.error !== undefined ? "unreachable" : host.state.isStandby ? "standby" : "primary";
    return { host: host.options.hostName, role, lagMs: lagOf(host) };
  }

  return {
    /**
     * Does `work` on the caller's host, and where that turns out to be down, on the next one.
     *
     * @throws {AppError} `unavailable` where no host serves; what `work` throws for another reason
     */
    async use<T>(caller: string, signal: AbortSignal, work: HostWork<T>): Promise<T> {
      for (let others = hosts.length;; others--) {
        usedAt = performance.now();
        if (!isKnown) await untilAborted(known, signal);
        const host = choose(caller);
        try {
          return await work(host.options);
        } catch (error) {
          if (others === 0 || signal.aborted || !isDown(error)) throw error;
          host.error = error;
        }
      }
    },
    /** What is known; nothing before all hosts have been looked at. */
    report: (): readonly HostReport[] => isKnown ? hosts.map(reportOf) : [],
    close,
  };
}

/** A host that has no room, or whose connections are stuck, is there: its callers wait for it. */
function isDown(error: unknown): boolean {
  if (!(error instanceof AppError) || error instanceof PoolEndedError) return false;
  return error.code === "unavailable" && !isShortage(error);
}

const reasonOf = ({ message }: Error) => message.replace(/^Cannot .*?": /, "");

/** How far behind a standby is. */
export function lagText(ms: number): string {
  return ms === Infinity ? "behind by an unknown time" : `${Math.round(ms / 1_000)} s behind`;
}

/** What a host was when it was last looked at. */
export interface HostState {
  readonly isStandby: boolean;
  /** How old its rows may be, in milliseconds: 0 of a primary, Infinity where nothing tells. */
  readonly lagMs: number;
  /** Of a primary, where its write-ahead log ends; else null. */
  readonly logEnd: string | null;
  /** Of a primary: eight hexadecimal digits, which a promotion makes greater; else empty. */
  readonly timeline: string;
}

/** A host that takes longer does not answer. */
const lookTimeoutMs = 3_000;

/**
 * Any role may ask this: of `pg_stat_wal_receiver`, one without `pg_read_all_stats` sees that there is a receiver which has
 * reached its server, and no status. A receiver does not notice for a minute that its network is dead, so a standby must also
 * have what the primary had at its last look.
 */
const lookSql = `SELECT is_standby::text,
  CASE WHEN NOT is_standby THEN pg_catalog.pg_current_wal_lsn()::text END,
  CASE WHEN NOT is_standby THEN pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) ELSE '' END,
  (NOT is_standby OR EXISTS (SELECT FROM pg_catalog.pg_stat_wal_receiver WHERE coalesce(status, 'streaming') = 'streaming')
    AND pg_catalog.pg_last_wal_replay_lsn() >= pg_catalog.pg_last_wal_receive_lsn()
    AND pg_catalog.pg_last_wal_replay_lsn() >= coalesce($1::pg_catalog.pg_lsn, '0/0'))::text,
  (extract(epoch FROM pg_catalog.clock_timestamp() - pg_catalog.pg_last_xact_replay_timestamp()) * 1000)::text
  FROM (SELECT pg_catalog.pg_is_in_recovery() AS is_standby) look`;

/**
 * Looks at one host over a connection of its own. A standby has caught up where it streams and has replayed all that came:
 * its lag is 0. Else its rows are as old as the last commit that it replayed, by the primary's clock, or as the last look
 * that saw it caught up, whichever is later: where nobody writes for an hour, the last commit alone says an hour.
 */
export function createHostProbe(options: DatabaseOptions, logger: Logger) {
  let connection: Connection | undefined;
  let caughtUpAt = -Infinity;

  async function ask(primaryEnd: string | null, signal: AbortSignal): Promise<HostState> {
    if (connection?.isReady() !== true) {
      connection?.destroy();
      connection = await connect(options, { signal, logger });
    }
    const askedAt = performance.now();
    const query = { text: lookSql, values: [primaryEnd], rowMode: "array" as const };
    const asked = connection.client.query<(string | null)[]>(query);
    const { rows: [row] } = await untilAborted(asked, signal);
    const [isStandby, logEnd, timeline, hasCaughtUp, replayedAgoMs] = row ?? [];
    if (hasCaughtUp === "true") caughtUpAt = askedAt;
    const lagMs = Math.max(0, Math.min(askedAt - caughtUpAt, Number(replayedAgoMs ?? Infinity)));
    return { isStandby: isStandby === "true", lagMs, logEnd: logEnd ?? null, timeline: timeline ?? "" };
  }

  return {
    /**
     * @param primaryEnd where the primary's log ended at its last look; null where no primary is known
     * @throws {AppError} as `connect`; what the connection or the server fails with; the signal's reason where that aborts
     */
    look: (primaryEnd: string | null, signal: AbortSignal): Promise<HostState> =>
      withDeadline(lookTimeoutMs, signal, (inner) => ask(primaryEnd, inner)).catch((error) => {
        connection?.destroy();
        throw error;
      }),
    close: async () => await connection?.close(),
  };
}
