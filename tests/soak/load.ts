import type { Fleet } from "./fleet.ts";
import type { Ledger } from "./ledger.ts";

/** What callers share. */
export interface Load {
  readonly fleet: Fleet;
  readonly ledger: Ledger;
  /** From 0 to 1, by the run's seed. */
  readonly random: () => number;
  /** Aborted when no caller is to begin anything more. */
  readonly stopping: AbortSignal;
  /** What must be refused from then on; one that reaches those who look. */
  readonly ended: Ended[];
}

export interface Ended {
  readonly token: string;
  /** How it ended. */
  readonly how: string;
  /** When whoever ended it was told so. */
  readonly at: number;
}

export type Caller = (load: Load) => Promise<void>;

export function pick<T>(load: Load, some: readonly T[]): T {
  const one = some[Math.floor(load.random() * some.length)];
  if (one === undefined) throw new Error("there is none to pick");
  return one;
}

/** Resolves early where the callers stop. */
export async function pause({ stopping }: Load, ms: number): Promise<void> {
  if (stopping.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  stopping.addEventListener("abort", () => resolve(), { once: true });
  await promise;
  clearTimeout(timer);
}

/** Does a caller's steps over and over. What is thrown in one is wrong, unless a fault explains it. */
export async function over(load: Load, name: string, ms: number, step: () => Promise<void>): Promise<void> {
  while (!load.stopping.aborted) {
    const sentAt = Date.now();
    try {
      await step();
    } catch (error) {
      const detail = error instanceof Error ? error.stack : String(error);
      if (load.ledger.near("breaks", sentAt, Date.now()).length > 0) load.ledger.count("broken exchanges");
      else load.ledger.fail(`${name}: ${detail}`);
    }
    await pause(load, ms * (0.5 + load.random()));
  }
}
