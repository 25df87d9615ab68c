import assert from "node:assert/strict";
import { formatTimestamp, parseTimestamp } from "../../../src/identity/credentials/timestamp.ts";

const times: [text: string, utc: string][] = [
  ["2026-12-31T23:59:59Z", "2026-12-31T23:59:59.000Z"],
  ["2026-12-31t23:59:59Z", "2026-12-31T23:59:59.000Z"],
  ["2026-12-31T23:59:59+02:00", "2026-12-31T21:59:59.000Z"],
  ["2026-12-31T23:59:59-05:30", "2027-01-01T05:29:59.000Z"],
  ["2026-12-31T23:59:59.123456789-0530", "2027-01-01T05:29:59.123Z"],
  ["2026-12-31 23:59:59", "2026-12-31T23:59:59.000Z"],
  ["2026-12-31 23:59:59.5 +1", "2026-12-31T22:59:59.500Z"],
  ["2026-12-31", "2026-12-31T00:00:00.000Z"],
  ["2024-02-29", "2024-02-29T00:00:00.000Z"],
  ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
];
for (const [text, utc] of times) {
  Deno.test(`parseTimestamp() reads ${text}`, () => {
    const ms = parseTimestamp(text);
    assert.ok(ms !== undefined);
    assert.equal(new Date(ms).toISOString(), utc);
  });
}

const others = [
  "",
  "soon",
  "2026",
  "2026-13-01",
  "2025-02-29",
  "2026-04-31T00:00:00Z",
  "2026-01-01T24:00:00Z",
]
  .concat(["2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00Z", "2026-01-01T00:00:00+99:00"])
  .concat([
    "2026-01-01T00:00:00Zjunk",
    " 2026-01-01",
    "1767225600",
    "+002026-01-01",
    "2026-01-01T00:00:00+01:60",
  ]);
for (const text of others) {
  Deno.test(`parseTimestamp() refuses ${JSON.stringify(text)}`, () => {
    assert.equal(parseTimestamp(text), undefined);
  });
}

Deno.test("formatTimestamp() writes UTC to the second", () => {
  assert.equal(formatTimestamp(Date.UTC(2026, 0, 15, 8, 30, 1, 999)), "2026-01-15T08:30:01Z");
});
