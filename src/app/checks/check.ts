import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import type { Queue } from "../../core/async/queue.ts";

/** What a check says of one thing. */
export type CheckResult =
  | {
    readonly ok: true;
    /** A note that needs no action. */
    readonly note?: string;
  }
  | {
    readonly ok: false;
    /** `error`: questions fail, or the answers are wrong. */
    readonly severity: "error" | "warning";
    readonly message: string;
    /** Commands to run, as SQL or for a shell; text for the reader stands in lines that begin with `-- `. */
    readonly remedy: string;
  };

/** A look at one thing. */
export interface Check {
  readonly name: string;
  /** What it looks at: the configuration alone, or files too. Optional; omit where it asks a database or a provider. */
  readonly looksAt?: "settings" | "files";
  /**
   * What it found, nothing where all is fine, and then the checks that only make sense with that. What it throws is an
   * error too.
   */
  run(signal: AbortSignal): Promise<readonly (CheckResult | Check)[]>;
}

/** A check that asks a database or a provider. */
export function createCheck(name: string, run: Check["run"]): Check {
  return { name, run };
}

export type NamedResult = CheckResult & { readonly check: string };

export function error(message: string, remedy: string): CheckResult & { readonly ok: false } {
  return { ok: false, severity: "error", message, remedy };
}

export function warning(message: string, remedy: string): CheckResult {
  return { ok: false, severity: "warning", message, remedy };
}

export function note(text: string): CheckResult {
  return { ok: true, note: text };
}

interface RunChecksOptions {
  /** For each check, from when its turn comes. */
  readonly limitMs: number;
  /** That checks wait in, those of several subjects too; all run at once where it is absent. */
  readonly queue?: Queue;
  readonly signal: AbortSignal;
}

/**
 * Runs checks, and what follows from one after it. The results are in the order of the checks, each before what follows from
 * it.
 *
 * @throws the signal's reason where that aborts; nothing else
 */
export async function runChecks(checks: readonly Check[], options: RunChecksOptions): Promise<NamedResult[]> {
  const results = await Promise.all(checks.map(async (check): Promise<NamedResult[]> => {
    const run = () => runCheck(check, options);
    const found = await (options.queue?.run(run, options.signal) ?? run());
    const next = found.filter((item) => "run" in item);
    const own = found.flatMap((item) => "run" in item ? [] : [{ check: check.name, ...item }]);
    const told = own.length > 0 ? own : [{ check: check.name, ok: true as const }];
    return [...told, ...await runChecks(next, options)];
  }));
  return results.flat();
}

async function runCheck(check: Check, { limitMs, signal }: RunChecksOptions) {
  const run = (inner: AbortSignal) => untilAborted(check.run(inner), inner);
  try {
    return await withDeadline(limitMs, signal, run, () => new OverLimit());
  } catch (thrown) {
    signal.throwIfAborted();
    return [errorOf(thrown, limitMs)];
  }
}

function errorOf(thrown: unknown, limitMs: number): CheckResult {
  if (thrown instanceof OverLimit) {
    return error(
      `The check took longer than ${limitMs / 1_000} s`,
      "-- Find out what keeps it waiting: a lock, a slow network, an overloaded server",
    );
  }
  const reason = thrown instanceof AppError ? thrown.message : `The check itself failed: ${String(thrown)}`;
  return error(reason, "-- Correct what this message names, then run -doctor again");
}

class OverLimit extends Error {
  override readonly name = "OverLimit";
}
