import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { createAvailabilityLog } from "../../../src/postgres/pool/availability_log.ts";

function setUp() {
  const lines: string[] = [];
  const clock = { ms: 0 };
  const logger = createLogger({
    level: "info",
    format: "text",
    write: (line) => lines.push(line.slice(25).trimEnd()),
  });
  return { log: createAvailabilityLog(logger, () => clock.ms), lines, clock };
}

const refusal = new AppError("unavailable", "Cannot reach it", {
  cause: new Error("ECONNREFUSED"),
  data: { sqlState: "57P03" },
});
const down = 'WARN  The database cannot be reached error="Cannot reach it" cause=ECONNREFUSED sqlstate=57P03';

Deno.test("a database that is gone and back gives two lines, however many call meanwhile", () => {
  const { log, lines, clock } = setUp();
  log.opened();
  for (let n = 0; n < 100; n++) log.refused(refusal);
  clock.ms = 12_000;
  for (let n = 0; n < 100; n++) log.opened();
  assert.deepEqual(lines, [down, "INFO  The database can be reached again after_s=12"]);
});

Deno.test("a database that did not answer at the start is told of when it does", () => {
  const { log, lines, clock } = setUp();
  log.refused(refusal);
  clock.ms = 3_000;
  log.opened();
  assert.deepEqual(lines, ["INFO  The database can be reached now after_s=3"]);
});

Deno.test("a database that comes and goes is told of once a minute", () => {
  const { log, lines, clock } = setUp();
  log.opened();
  for (; clock.ms < 59_000; clock.ms += 1_000) {
    log.refused(refusal);
    log.opened();
  }
  assert.equal(lines.length, 2);
  log.refused(refusal);
  clock.ms = 60_000;
  log.refused(refusal);
  assert.deepEqual(lines.slice(2), [down]);
});

Deno.test("a connection that was lost is told of, and what follows where it does not come back", () => {
  const { log, lines, clock } = setUp();
  log.opened();
  log.lost(new Error("terminated"));
  log.lost(new Error("terminated"));
  log.refused(refusal);
  clock.ms = 60_000;
  log.refused(refusal);
  log.opened();
  assert.deepEqual(lines, [
    "WARN  A connection to the database was lost error=terminated",
    down,
    "INFO  The database can be reached again after_s=60",
  ]);
});
