import { callerKey, type Principal } from "../../core/principal.ts";
import { type CheckedFor, type CheckFailure, createCheckThreads } from "./check_threads.ts";
import { createQueue } from "../../core/async/queue.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import { maxStatementLength } from "./parser.ts";
import { createStatementGuard, type GuardVerdict } from "./statement_guard.ts";

/** Whom a check is for, and until when: one that has begun goes on to its end. */
export interface Asker {
  readonly principal: Principal;
  readonly signal: AbortSignal;
}

/**
 * The statement guard for a server with many callers: what takes longer than a few milliseconds is done on threads of its
 * own, where one caller's statements do not hold up another's.
 */
export interface StatementChecks {
  check(sql: string, by: Asker): GuardVerdict | Promise<GuardVerdict>;
  /** As `StatementGuard.fingerprint`; undefined too where there is no time for it. */
  fingerprint(sql: string, by: Asker): Promise<string | undefined>;
}

/**
 * In UTF-16 units. The worst known statement of this length takes 5 ms, most take less than one; a thread costs half of
 * one more.
 */
const maxInlineLength = 1_000;

/** How long statements are checked in one turn of the event loop. */
const sliceMs = 4;

/** The worst known statement that is short enough to be parsed takes a quarter of this on a machine of its own. */
const budgetMs = 3_000;

/** Of the latest statements: each is checked where it is told from words, and again where it runs. */
const rememberedVerdicts = 32;

/** Loads PostgreSQL's grammar, which takes some milliseconds. */
export async function createStatementChecks(): Promise<StatementChecks & Disposable> {
  const guard = await createStatementGuard();
  const threads = createCheckThreads({ budgetMs });
  const verdicts = new Map<string, GuardVerdict>();

  function remember(sql: string, verdict: GuardVerdict): GuardVerdict {
    verdicts.set(sql, verdict);
    const [oldest] = verdicts.keys();
    if (verdicts.size > rememberedVerdicts && oldest !== undefined) verdicts.delete(oldest);
    return verdict;
  }

  // many short statements in one turn of the event loop, as of a batch, are as long as a long one
  let spentMs = 0;
  const queue = createQueue();
  function checkAtOnce(sql: string): GuardVerdict {
    const startedAt = performance.now();
    const verdict = guard.check(sql);
    if (spentMs === 0) setTimeout(() => spentMs = 0, 0);
    spentMs += performance.now() - startedAt;
    return sql.length > maxStatementLength ? verdict : remember(sql, verdict);
  }

  function checkInTurn(sql: string): Promise<GuardVerdict> {
    return queue.run(async () => {
      await yieldToEventLoop();
      return checkAtOnce(sql);
    });
  }

  // what is too long is refused at once; the rounds of recursive queries are followed, which may take long
  const isQuick = (sql: string) =>
    (sql.length <= maxInlineLength && !/recursive/i.test(sql)) || sql.length > maxStatementLength;

  async function checkOnThread(sql: string, by: Asker): Promise<GuardVerdict> {
    const outcome = await threads.run({ task: "check", sql }, queueOf(by));
    if (outcome.task === "check") return remember(sql, outcome.verdict);
    const why = outcome.task === "none" ? outcome.why : "broken";
    const refused: GuardVerdict = { ok: false, reason: failures[why] };
    return why === "overdue" ? remember(sql, refused) : refused;
  }

  return {
    check(sql, by) {
      const known = verdicts.get(sql);
      if (known !== undefined) return known;
      if (!isQuick(sql)) return checkOnThread(sql, by);
      return spentMs < sliceMs ? checkAtOnce(sql) : checkInTurn(sql);
    },
    async fingerprint(sql, by) {
      if (isQuick(sql)) return guard.fingerprint(sql);
      const outcome = await threads.run({ task: "fingerprint", sql }, queueOf(by));
      return outcome.task === "fingerprint" ? outcome.fingerprint : undefined;
    },
    [Symbol.dispose]: threads[Symbol.dispose],
  };
}

// not by principal: without authentication all callers are one, and a user may have many sessions
const queueOf = ({ principal, signal }: Asker): CheckedFor => ({ caller: callerKey(principal), signal });

const failures: Readonly<Record<CheckFailure, string>> = {
  overdue: `the statement takes longer than ${budgetMs / 1_000} s to check; make it shorter or simpler`,
  crowded: "too many long statements of yours wait to be checked; send the next once one is answered",
  left: "the check was stopped",
  broken: "the check of the statement failed; try again, or make it shorter",
};
