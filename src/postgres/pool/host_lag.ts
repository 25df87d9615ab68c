import { untilAborted } from "../../core/async/abort.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { connect } from "../connect/connect.ts";
import type { Connection } from "../connection.ts";
import type { DatabaseOptions } from "../database_options.ts";

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
