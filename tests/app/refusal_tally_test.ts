import assert from "node:assert/strict";
import { createRefusalTally } from "../../src/app/refusal_tally.ts";
import type { AuditEvent } from "../../src/audit/audit_trail.ts";

function setUp() {
  const events: AuditEvent[] = [];
  const unused = () => Promise.resolve();
  const tally = createRefusalTally({
    record: (event) => void events.push(event),
    flush: unused,
    close: unused,
    counts: () => ({ written: 0, waiting: 0, lost: 0, failedWrites: 0 }),
    [Symbol.asyncDispose]: unused,
  });
  return { tally, events };
}

Deno.test("the first refusal of an address is recorded at once, the others as their number", () => {
  const { tally, events } = setUp();
  for (let n = 0; n < 5; n++) tally.refused("192.0.2.1");
  tally.refused("192.0.2.2");
  tally[Symbol.dispose]();
  const refusal = { event: "refusal", outcome: "unauthorized" };
  assert.deepEqual(events, [
    { ...refusal, address: "192.0.2.1" },
    { ...refusal, address: "192.0.2.2" },
    { ...refusal, address: "192.0.2.1", reason: "4 more within a minute" },
  ]);
});

Deno.test("a flood from many addresses takes a bounded number of records", () => {
  const { tally, events } = setUp();
  for (let n = 0; n < 100_000; n++) tally.refused(`2001:db8::${n.toString(16)}`);
  tally[Symbol.dispose]();
  assert.ok(events.length < 1_100, String(events.length));
});
