import type { AuditTrail } from "../audit/audit_trail.ts";
import { createTally } from "./tally.ts";

/** Keeps account of refused requests without one line for each: who has no token decides how many there are. */
export interface RefusalTally extends Disposable {
  refused(address: string): void;
}

const maxAddresses = 1_000;

/** Records refusals in the audit trail, by address, as `createTally` has it. */
export function createRefusalTally(audit: AuditTrail): RefusalTally {
  const tally = createTally<void>({
    maxKeys: maxAddresses,
    others: "other addresses",
    report({ key, count, isRepeated }) {
      const detail = isRepeated ? { reason: `${count} more within a minute` } : {};
      audit.record({ event: "refusal", outcome: "unauthorized", address: key, ...detail });
    },
  });
  return { refused: (address) => tally.add(address), [Symbol.dispose]: () => tally[Symbol.dispose]() };
}
