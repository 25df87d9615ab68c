import { AppError } from "../core/app_error.ts";
import { untilAborted } from "../core/async/abort.ts";
import { withDeadline } from "../core/async/deadline.ts";
import {
  type Check,
  type CheckResult,
  error,
  type Finding,
  type Outcome,
} from "../rag_server/checks/check.ts";

export interface RunChecksOptions {
  /** For each check. */
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/**
 * Runs checks at once, and what follows from one after it. The results are in the order of the checks, each before what
 * follows from it.
 *
 * @throws the signal's reason where that aborts; nothing else
 */
export async function runChecks(checks: readonly Check[], options: RunChecksOptions): Promise<CheckResult[]> {
  const results = await Promise.all(checks.map(async (check): Promise<CheckResult[]> => {
    const { findings, next = [] } = await outcomeOf(check, options);
    const own = findings.length === 0 ? [{ ok: true as const }] : findings;
    return [...own.map((finding) => ({ check: check.name, ...finding })), ...await runChecks(next, options)];
  }));
  return results.flat();
}

async function outcomeOf(check: Check, { limitMs, signal }: RunChecksOptions): Promise<Outcome> {
  const run = (inner: AbortSignal) => untilAborted(check.run(inner), inner);
  try {
    return await withDeadline(limitMs, signal, run, () => new OverLimit());
  } catch (thrown) {
    signal.throwIfAborted();
    return { findings: [failure(thrown, limitMs)] };
  }
}

function failure(thrown: unknown, limitMs: number): Finding {
  if (thrown instanceof OverLimit) {
    return error(
      `The check took longer than ${limitMs / 1_000} s`,
      "-- Find out what keeps it waiting: a lock, a slow network, an overloaded server",
    );
  }
  const reason = thrown instanceof AppError ? thrown.message : `The check itself failed: ${String(thrown)}`;
  return error(reason, "-- Mend what this names and run -doctor again");
}

class OverLimit extends Error {
  override readonly name = "OverLimit";
}
