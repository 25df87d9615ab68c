import { quoteLiteral } from "../../../../postgres/sql_text.ts";
import { type Concern, count, defineHealthCheck, type Severity, some, spanText } from "./health_check.ts";
import { sizeText } from "../../../../core/text/units.ts";

interface StandbyRow {
  readonly kind: "standby";
  readonly name: string;
  readonly state: string;
  readonly behind: number | null;
  readonly lag: number | null;
}

interface SlotRow {
  readonly kind: "slot";
  readonly name: string;
  readonly state: string;
  readonly behind: number | null;
  readonly active: boolean;
}

interface SelfRow {
  readonly kind: "self";
  /** Seconds since the last transaction that was replayed; null where there was none. */
  readonly lag: number | null;
  readonly behind: number | null;
  readonly paused: boolean;
}

type Row = StandbyRow | SlotRow | SelfRow;

const muchBytes = 1_073_741_824;
const veryMuchBytes = 10 * muchBytes;
const lateSeconds = 60;
const veryLateSeconds = 10 * 60;

/** Standbys and subscribers that are behind, slots that keep write-ahead log for them, and this server as a standby. */
export const replicationCheck = defineHealthCheck<Row>({
  needsAllStats: true,
  sql: ({ isStandby }) => {
    // a standby has no place to write at
    const here = isStandby
      ? "coalesce(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())"
      : "pg_current_wal_lsn()";
    const self = isStandby
      ? `union all
select 'self', '', '', pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())::float8,
  extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())::float8, null, pg_is_wal_replay_paused()`
      : "";
    return `
(select 'standby' as kind, coalesce(nullif(application_name, ''), host(client_addr), pid::text) as name, state,
  pg_wal_lsn_diff(${here}, coalesce(replay_lsn, sent_lsn))::float8 as behind,
  extract(epoch from replay_lag)::float8 as lag, null::bool as active, null::bool as paused
from pg_stat_replication order by 4 desc limit 200)
union all
(select 'slot', slot_name, coalesce(wal_status, ''), pg_wal_lsn_diff(${here}, restart_lsn)::float8, null, active, null
from pg_replication_slots where not temporary order by 4 desc nulls last limit 200)
${self}`;
  },
  examine(rows) {
    const standbys = rows.filter((row) => row.kind === "standby");
    const slots = rows.filter((row) => row.kind === "slot");
    const self = rows.filter((row) => row.kind === "self");
    const held = slots.reduce((most, { behind }) => Math.max(most, behind ?? 0), 0);
    return {
      summary: [
        `${count(standbys.length)} connected`,
        `${some(slots.length, "slot")}${slots.length === 0 ? "" : `, the fullest holds ${sizeText(held)}`}`,
        ...self.map(({ lag }) => `this is a standby${lag === null ? "" : `, ${spanText(lag)} behind`}`),
      ].join("; "),
      concerns: [...self.flatMap(ownLag), ...slots.flatMap(heldLog), ...standbys.flatMap(standbyLag)],
    };
  },
});

function standbyLag({ name, state, behind, lag }: StandbyRow): Concern[] {
  const bytes = behind ?? 0;
  const seconds = lag ?? 0;
  if (state === "streaming" && bytes < muchBytes && seconds < lateSeconds) return [];
  const isBad = bytes >= veryMuchBytes || seconds >= veryLateSeconds;
  return [{
    severity: isBad ? "critical" : state === "streaming" ? "warning" : "info",
    object: `standby ${JSON.stringify(name)}`,
    figure: `${state}, ${sizeText(bytes)} and ${spanText(seconds)} behind`,
    advice: "Look at its disks, its network and at queries there that hold up the replay",
  }];
}

function heldLog({ name, state, behind, active }: SlotRow): Concern[] {
  const bytes = behind ?? 0;
  const isLost = state === "lost" || state === "unreserved";
  if (active && bytes < muchBytes && !isLost) return [];
  const severity: Severity = isLost || bytes >= veryMuchBytes
    ? "critical"
    : bytes >= muchBytes
    ? "warning"
    : "info";
  return [{
    severity,
    object: `slot ${JSON.stringify(name)}`,
    figure: `${active ? "active" : "inactive"}, ` +
      (state === "lost" ? "its log is lost" : `holds ${sizeText(bytes)} of write-ahead log`),
    advice: active
      ? "Its reader is slow: see what it waits for; max_slot_wal_keep_size bounds what the slot may hold"
      : "Nobody reads it, and it keeps log until the disk is full: start its reader, or drop the slot",
    ...(active ? {} : { sql: `SELECT pg_drop_replication_slot(${quoteLiteral(name)});` }),
  }];
}

function ownLag({ lag, behind, paused }: SelfRow): Concern[] {
  const bytes = behind ?? 0;
  if (paused) {
    return [{
      severity: "warning",
      object: "this standby",
      figure: "its replay is paused",
      advice: "What is read here is old, and grows older: resume the replay when it was paused by mistake",
      sql: "SELECT pg_wal_replay_resume();",
    }];
  }
  // without new transactions on the primary the time grows and nothing is late
  if (bytes < muchBytes && !((lag ?? 0) >= lateSeconds && bytes > 0)) return [];
  return [{
    severity: bytes >= veryMuchBytes || (lag ?? 0) >= veryLateSeconds ? "critical" : "warning",
    object: "this standby",
    figure: `${sizeText(bytes)} received and not replayed, the last replayed transaction ${
      spanText(lag ?? 0)
    } ago`,
    advice: "Look for queries here that hold up the replay, and at its disks",
  }];
}
