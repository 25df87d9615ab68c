import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { silentLogger } from "../../../src/core/logger.ts";
import { createUsageCounts } from "../../../src/core/quotas/usage_counts.ts";
import { keepUsage } from "../../../src/core/quotas/usage_file.ts";

const noon = Date.UTC(2026, 2, 2, 12);

/** One process with the file. */
function open(path: string, now: () => number) {
  const counts = createUsageCounts(now);
  return { counts, ...keepUsage({ path, counts, now, logger: silentLogger }) };
}

async function withFile(test: (path: string) => void): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "postern_test_" });
  try {
    test(join(folder, "usage.sqlite"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("what was used in a window outlives the process, and no window outlives its end", async () => {
  await withFile((path) => {
    let time = noon;
    const first = open(path, () => time);
    first.counts.add("user:alice", "rows_per_day", 7);
    first.counts.add("user:alice", "calls_per_minute", 3);
    first[Symbol.dispose]();
    time += 59_999;
    const soon = open(path, () => time);
    assert.equal(soon.counts.used("user:alice", "calls_per_minute"), 3);
    soon[Symbol.dispose]();
    time += 1;
    const second = open(path, () => time);
    assert.equal(second.counts.used("user:alice", "rows_per_day"), 7);
    assert.equal(second.counts.used("user:alice", "calls_per_minute"), 0);
    second.counts.add("user:alice", "rows_per_day", 2);
    second[Symbol.dispose]();
    time += 12 * 3_600_000;
    const third = open(path, () => time);
    assert.equal(third.counts.used("user:alice", "rows_per_day"), 0);
    third.counts.add("user:alice", "rows_per_day", 1);
    third[Symbol.dispose]();
    const fourth = open(path, () => time);
    assert.equal(fourth.counts.used("user:alice", "rows_per_day"), 1);
    fourth[Symbol.dispose]();
  });
});

Deno.test("processes that share the file count together", async () => {
  await withFile((path) => {
    const a = open(path, () => noon);
    const b = open(path, () => noon);
    a.counts.add("token:t", "bytes_per_day", 10);
    b.counts.add("token:t", "bytes_per_day", 5);
    a.exchange();
    b.exchange();
    a.exchange();
    assert.deepEqual([a, b].map(({ counts }) => counts.used("token:t", "bytes_per_day")), [15, 15]);
    b.counts.add("token:t", "bytes_per_day", -5);
    b.exchange();
    a.exchange();
    assert.equal(a.counts.used("token:t", "bytes_per_day"), 10);
    a[Symbol.dispose]();
    b[Symbol.dispose]();
  });
});

Deno.test("a file that cannot be written to is tried again, and nothing is lost or counted twice", async () => {
  await withFile((path) => {
    const a = open(path, () => noon);
    const b = open(path, () => noon);
    const other = new DatabaseSync(path);
    other.exec("BEGIN IMMEDIATE");
    a.counts.add("token:t", "bytes_per_day", 10);
    a.exchange();
    assert.equal(a.counts.used("token:t", "bytes_per_day"), 10);
    other.exec("COMMIT");
    a.exchange();
    a.exchange();
    b.exchange();
    assert.equal(b.counts.used("token:t", "bytes_per_day"), 10);
    other.close();
    a[Symbol.dispose]();
    b[Symbol.dispose]();
  });
});

Deno.test("windows that are over leave the file: it grows with the callers of the moment", async () => {
  await withFile((path) => {
    let time = noon;
    const { counts, exchange, ...kept } = open(path, () => time);
    counts.add("token:t", "rows_per_day", 7);
    const file = new DatabaseSync(path);
    const rows = () => file.prepare("SELECT caller, counted FROM usage").all().map((row) => ({ ...row }));
    const sizes: number[] = [];
    for (let minute = 0; minute < 20; minute++) {
      for (let at = 0; at < 500; at++) {
        counts.add(`${minute} ${at} ${"x".repeat(255)}`, "calls_per_minute", 1);
      }
      exchange();
      counts.clearEnded();
      time += 60_000;
      file.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      sizes.push(Deno.statSync(path).size);
    }
    assert.ok((sizes.at(-1) ?? 0) < 2 * (sizes[3] ?? 0), sizes.join());
    time += 60_000;
    exchange();
    assert.deepEqual(rows(), [{ caller: "token:t", counted: "rows_per_day" }]);
    time += 12 * 3_600_000;
    exchange();
    assert.deepEqual(rows(), []);
    file.close();
    kept[Symbol.dispose]();
  });
});

Deno.test("windows that are over are forgotten", () => {
  let time = noon;
  const counts = createUsageCounts(() => time);
  for (let at = 0; at < 100; at++) counts.add(`address:192.0.2.${at}`, "calls_per_minute", 1);
  counts.add("token:t", "rows_per_day", 1);
  time += 60_000;
  counts.clearEnded();
  assert.equal(counts.size, 1);
});

Deno.test("a start that cannot read the file warns of it and tries again", async () => {
  await withFile((path) => {
    const first = open(path, () => noon);
    first.counts.add("user:alice", "rows_per_day", 7);
    first[Symbol.dispose]();
    using other = new DatabaseSync(path);
    let isGone = false;
    const second = open(path, () => {
      if (!isGone) other.exec("ALTER TABLE usage RENAME TO gone");
      isGone = true;
      return noon;
    });
    assert.equal(second.counts.used("user:alice", "rows_per_day"), 0);
    other.exec("ALTER TABLE gone RENAME TO usage");
    second.exchange();
    assert.equal(second.counts.used("user:alice", "rows_per_day"), 7);
    second[Symbol.dispose]();
  });
});
