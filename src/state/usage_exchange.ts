import { randomUUID } from "node:crypto";
import type { Logger } from "../core/logger.ts";
import { limitNames, type UsageCounts, windowMs } from "../core/quotas/usage_counts.ts";
import type { Quotas } from "../core/quotas/quotas.ts";
import { isMap } from "../core/yaml/value_tree.ts";
import { sql } from "./engine.ts";
import { currentVersion, type State } from "./state.ts";

/** Keeps counts in the state, for the next start and for other processes. */
export type UsageExchange = Awaited<ReturnType<typeof exchangeUsage>>;

/** A caller may use so much longer what it has used up at another process. */
const exchangeEveryMs = 1_000;
/** In one go, so that nobody waits long for it; the others follow with the next. */
const mostCallers = 500;
/** How often windows that are over are cleared, and how long they stay for others whose clocks may differ. */
const clearEveryMs = 60_000;
const keptAfterEndMs = 60_000;

/** A process that says nothing for so long is gone, and its calls with it. */
const callsKeptMs = 5_000;

/** Reads what was used in the windows of now, and from then on exchanges it with the state. */
export async function exchangeUsage(
  { state, counts, quotas, logger }: {
    readonly state: State;
    readonly counts: UsageCounts;
    readonly quotas: Pick<Quotas, "underWay" | "setElsewhere">;
    readonly logger: Logger;
  },
) {
  let seen = 0;
  let clearedAt = 0;
  let hasFailed = false;
  let isClosed = false;
  let underWay: Promise<void> = Promise.resolve();

  async function save(most: number): Promise<void> {
    const rows = counts.takeUnsaved(most);
    if (rows.length === 0) return;
    try {
      await state.change(
        rows.map(({ caller, limit, start, used }) =>
          sql`INSERT INTO usage (caller, counted, start, used, version)
              VALUES (${caller}, ${limit}, ${start}, ${Math.max(0, used)}, ${currentVersion})
            ON CONFLICT (caller, counted) DO UPDATE SET
              used = CASE WHEN usage.start > excluded.start THEN usage.used
                          WHEN usage.start < excluded.start THEN excluded.used
                          WHEN usage.used + ${used} < 0 THEN 0 ELSE usage.used + ${used} END,
              start = CASE WHEN usage.start > excluded.start THEN usage.start ELSE excluded.start END,
              version = excluded.version`
        ),
        { mayBeLost: true },
      );
    } catch (error) {
      counts.putBack(rows);
      throw error;
    }
  }

  async function learn(): Promise<void> {
    const [rows = []] = await state.read([
      sql`SELECT caller, counted, start, used, version FROM usage WHERE version > ${seen}`,
    ]);
    for (const row of rows) {
      const limit = limitNames.find((name) => name === row["counted"]);
      if (limit === undefined || limit === "calls_at_once") continue;
      const caller = String(row["caller"]);
      counts.learn({ caller, limit, start: Number(row["start"]), used: Number(row["used"]) });
      seen = Math.max(seen, Number(row["version"]));
    }
  }

  /** What is over counts no more: the table has rows for the callers of the moment, and no others. */
  async function clearEnded(): Promise<void> {
    const time = state.now();
    if (Math.abs(time - clearedAt) < clearEveryMs) return;
    clearedAt = time;
    const isOver = (name: string, lengthMs: number) =>
      sql`DELETE FROM usage WHERE counted = ${name} AND start <= ${time - lengthMs - keptAfterEndMs}`;
    await state.change(Object.entries(windowMs).map(([name, ms]) => isOver(name, ms)), { mayBeLost: true });
  }

  const process = randomUUID();
  const callsOf = new Map<
    string,
    { readonly calls: Readonly<Record<string, unknown>>; readonly endsAt: number }
  >();
  const calls = state.of("calls at once");
  let wasIdle = true;
  if (state.isShared) {
    calls.follow((id, record) => {
      if (id === process) return;
      if (isMap(record?.value)) callsOf.set(id, { calls: record.value, endsAt: record.expiresAt });
      else callsOf.delete(id);
      tellElsewhere();
    });
  }

  function tellElsewhere(): void {
    const elsewhere = new Map<string, number>();
    for (const [id, { calls, endsAt }] of callsOf) {
      // a process that is gone has no calls
      if (endsAt <= state.now()) callsOf.delete(id);
      else {
        for (const [caller, count] of Object.entries(calls)) {
          elsewhere.set(caller, (elsewhere.get(caller) ?? 0) + Number(count));
        }
      }
    }
    quotas.setElsewhere(elsewhere);
  }

  /** Has other processes know the calls at once. */
  async function tellCalls(): Promise<void> {
    const value = quotas.underWay();
    const isIdle = Object.values(value).every((count) => count === 0);
    if (isIdle && wasIdle) return;
    wasIdle = isIdle;
    await calls.keep({ id: process, value, expiresAt: state.now() + callsKeptMs });
  }

  async function exchangeOnce(most: number): Promise<void> {
    if (isClosed) return;
    try {
      await save(most);
      await learn();
      await clearEnded();
      if (state.isShared) {
        await tellCalls();
        await state.catchUp();
        if (callsOf.size > 0) tellElsewhere();
      }
      hasFailed = false;
    } catch (error) {
      // once, until it works again: it is tried every second
      if (!hasFailed) logger.warn("Cannot keep what callers used; trying again", { error });
      hasFailed = true;
    }
  }
  const exchange = (most = mostCallers) => underWay = underWay.then(() => exchangeOnce(most));

  if (state.isShared) await state.catchUp().catch(() => {});
  // as later: another process may have the file locked, and it is tried again
  await exchange();
  let isLate = false;
  const timer = setInterval(async () => {
    if (isLate) return;
    isLate = true;
    await exchange();
    isLate = false;
  }, exchangeEveryMs);
  // it alone does not keep the process alive
  Deno.unrefTimer(timer);
  return {
    /** Writes what is new here, and reads what is new there. It also happens by itself, and never throws. */
    exchange: () => exchange(),
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(timer);
      await exchange(Infinity);
      isClosed = true;
    },
  };
}
