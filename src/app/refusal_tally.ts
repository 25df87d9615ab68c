import type { AuditTrail } from "../audit/audit_trail.ts";

/**
 * Keeps account of refused requests without one line for each: who has no token decides how many there are. Disposing of it
 * records what has been counted and not recorded yet.
 */
export interface RefusalTally extends Disposable {
  refused(address: string): void;
}

const windowMs = 60_000;
const maxAddresses = 1_000;

/**
 * Records the first refusal of an address at once, and those of the following minute as one line with their number. What
 * comes from more addresses than are kept apart is counted together.
 */
export function createRefusalTally(audit: AuditTrail): RefusalTally {
  const repeated = new Map<string, number>();
  const others = "other addresses";

  function record(address: string, reason?: string): void {
    const detail = reason === undefined ? {} : { reason };
    audit.record({ event: "refusal", outcome: "unauthorized", address, ...detail });
  }

  function flush(): void {
    for (const [address, count] of repeated) {
      if (count > 0) record(address, `${count} more within a minute`);
    }
    repeated.clear();
  }

  const timer = setInterval(flush, windowMs);
  Deno.unrefTimer(timer);
  return {
    refused(address) {
      const key = repeated.has(address) || repeated.size < maxAddresses ? address : others;
      const count = repeated.get(key);
      if (count === undefined) record(key);
      repeated.set(key, count === undefined ? 0 : count + 1);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      flush();
    },
  };
}
