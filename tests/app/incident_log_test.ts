import assert from "node:assert/strict";
import { createIncidentLog } from "../../src/app/incident_log.ts";
import { createLogger } from "../../src/core/logger.ts";

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
