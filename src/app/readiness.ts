import { withDeadline } from "../core/async/deadline.ts";
import type { Database } from "../postgres/database.ts";

export interface Readiness {
  /** Names of the databases that cannot be reached. */
  unreachable(): Promise<readonly string[]>;
}

const pingTimeoutMs = 5_000;

/**
 * Asks all databases at once. Anyone may ask, so callers that come while an answer is being found, or within
 * `freshForMs` after it, share it: asking often costs the databases nothing.
 */
export function createReadiness(
  options: { databases: () => readonly Database[]; freshForMs?: number; now?: () => number },
): Readiness {
  const { databases, freshForMs = 1_000, now = Date.now } = options;
  let latest: Promise<readonly string[]> | undefined;
  let freshUntil = -Infinity;

  async function ask(): Promise<readonly string[]> {
    const failures = await Promise.all(
      databases().map(async (database) => {
        try {
          await withDeadline(pingTimeoutMs, undefined, (signal) => database.ping(signal));
          return [];
        } catch {
          return [database.name];
        }
      }),
    );
    freshUntil = now() + freshForMs;
    return failures.flat();
  }

  return {
    unreachable() {
      if (latest === undefined || now() >= freshUntil) {
        freshUntil = Infinity;
        latest = ask();
      }
      return latest;
    },
  };
}
