import assert from "node:assert/strict";
import { createEventCounts, createIncidentLog } from "../../../src/app/telemetry/incident_log.ts";
import { createLogger, silentLogger } from "../../../src/core/logger.ts";
import type { AuditEvent } from "../../../src/audit/audit_trail.ts";

function linesOf(work: (log: ReturnType<typeof createIncidentLog>) => void): string[] {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line.slice(25).trimEnd());
  const log = createIncidentLog(createLogger({ level: "info", format: "text", write }));
  work(log);
  log[Symbol.dispose]();
  return lines;
}

Deno.test("one customer's line of IPv6 counts as one address", () => {
  const lines = linesOf((log) => {
    for (let n = 0; n < 1_000; n++) log.refused(`2001:db8::${n.toString(16)}`);
  });
  const line = "INFO  A request was refused: it has no valid token address=2001:db8::/64";
  assert.deepEqual(lines, [line, `${line} left_out=998`]);
});

Deno.test("a spray over many networks takes a bounded number of lines, and leaves other kinds theirs", () => {
  const lines = linesOf((log) => {
    for (let n = 0; n < 100_000; n++) {
      log.refused(`2001:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`);
    }
    log.loggedIn({ username: "alice", address: "192.0.2.1", result: "failed", reason: "wrong_password" });
  });
  assert.ok(lines.length < 110, String(lines.length));
  assert.ok(lines.some((line) => line.includes("address=others left_out=")));
  assert.ok(lines.includes("WARN  A login failed address=192.0.2.1 user=alice reason=wrong_password"));
});

function countsOf(maxKeys = 3) {
  const reports: string[] = [];
  const clock = { ms: 0 };
  const counts = createEventCounts<number>({
    maxKeys,
    others: "others",
    now: () => clock.ms,
    report: ({ key, event, count, isRepeated }) =>
      void reports.push(`${key} ${event} x${count}${isRepeated ? " again" : ""}`),
  });
  return { counts, reports, clock };
}

Deno.test("a flood of one key gives one report a minute, which counts the others", () => {
  const { counts, reports, clock } = countsOf();
  for (let n = 0; n < 300; n++, clock.ms += 1_000) counts.add("a", n);
  assert.deepEqual(reports, [
    "a 0 x1",
    "a 60 x60 again",
    "a 120 x60 again",
    "a 180 x60 again",
    "a 240 x60 again",
  ]);
  counts[Symbol.dispose]();
  assert.equal(reports.at(-1), "a 299 x59 again");
});

Deno.test("keys beyond the bound are counted together", () => {
  const { counts, reports } = countsOf();
  for (let n = 0; n < 10_000; n++) counts.add(String(n), n);
  counts[Symbol.dispose]();
  assert.deepEqual(reports, ["0 0 x1", "1 1 x1", "2 2 x1", "others 3 x1", "others 9999 x9996 again"]);
});

function audited() {
  const events: AuditEvent[] = [];
  const log = createIncidentLog(silentLogger, {
    record(event) {
      events.push(event);
      return Promise.resolve(true);
    },
  });
  return { log, events };
}

Deno.test("the first refusal of an address is recorded at once, the others as their number", () => {
  const { log, events } = audited();
  for (let n = 0; n < 5; n++) log.refused("192.0.2.1");
  log.refused("192.0.2.2");
  log[Symbol.dispose]();
  const refusal = { event: "refusal", outcome: "unauthorized" };
  assert.deepEqual(events, [
    { ...refusal, address: "192.0.2.1" },
    { ...refusal, address: "192.0.2.2" },
    { ...refusal, address: "192.0.2.1", reason: "4 more within a minute" },
  ]);
});

Deno.test("a flood from many addresses takes a bounded number of records", () => {
  const { log, events } = audited();
  for (let n = 0; n < 100_000; n++) log.refused(`2001:db8::${n.toString(16)}`);
  log[Symbol.dispose]();
  assert.ok(events.length < 1_100, String(events.length));
});

Deno.test("refusals of a proxy's headers are recorded by their kind, the peer with each", () => {
  const { log, events } = audited();
  for (const peer of ["192.0.2.1", "192.0.2.1", "192.0.2.2"]) log.refused(peer, "untrusted");
  log.refused("192.0.2.1", "role");
  log[Symbol.dispose]();
  const untrusted = { event: "refusal", outcome: "untrusted_peer" };
  assert.deepEqual(events, [
    { ...untrusted, address: "192.0.2.1" },
    { ...untrusted, address: "192.0.2.2" },
    { event: "refusal", outcome: "role_not_allowed", address: "192.0.2.1" },
    { ...untrusted, address: "192.0.2.1", reason: "1 more within a minute" },
  ]);
});
