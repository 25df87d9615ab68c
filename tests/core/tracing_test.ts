import assert from "node:assert/strict";
import { readTraceparent } from "../../src/core/tracing.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";

Deno.test("readTraceparent() reads what W3C Trace Context allows", () => {
  const read = { traceId, spanId };
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-01`), { ...read, isSampled: true });
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-00`), { ...read, isSampled: false });
  // other flags say nothing of that
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-02`), { ...read, isSampled: false });
  assert.deepEqual(readTraceparent(`00-${traceId}-${spanId}-03`), { ...read, isSampled: true });
  // a later version may go on
  assert.deepEqual(readTraceparent(`01-${traceId}-${spanId}-01-more`), { ...read, isSampled: true });
});

Deno.test("readTraceparent() takes nothing else", () => {
  const others = [
    undefined,
    null,
    "",
    traceId,
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-1`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${traceId}-${spanId}-01\n`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${"0".repeat(32)}-${spanId}-01`,
    `00-${traceId}-${"0".repeat(16)}-01`,
    `00-${traceId}${spanId}-${spanId}-01`,
    ` 00-${traceId}-${spanId}-01`,
  ];
  for (const text of others) assert.equal(readTraceparent(text), undefined, JSON.stringify(text));
});
