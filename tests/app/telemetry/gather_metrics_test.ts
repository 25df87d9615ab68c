import assert from "node:assert/strict";
import { gatherMetrics, type Readings } from "../../../src/app/telemetry/gather_metrics.ts";
import { createServerMetrics } from "../../../src/core/metrics/server_metrics.ts";

/** A process with metrics of its own, which come as JSON. */
function createProcess() {
  const metrics = createServerMetrics();
  const readings = (): Readings =>
    JSON.parse(JSON.stringify(metrics.families.map((family) => [family.name, family.read()])));
  return { metrics, readings };
}

function createGathered() {
  const own = createServerMetrics();
  const answers = new Map<object, () => Readings | undefined>();
  const gathered = gatherMetrics(own.families, async (take) => {
    for (const [process, read] of answers) {
      const readings = await read();
      if (readings !== undefined) take(process, readings);
    }
  });
  const read = (name: string) => gathered.families.find((family) => family.name === name)?.read();
  const value = (name: string) => read(name)?.[0]?.value;
  return { own, answers, gathered, read, value };
}

Deno.test("counters, histograms and gauges of several processes are added up", async () => {
  const { own, answers, gathered, read } = createGathered();
  for (const count of [2, 3]) {
    const { metrics, readings } = createProcess();
    metrics.toolCalls.of("query_database", "ok").add(count);
    metrics.toolCalls.of("query_database", `${count}`).add();
    metrics.loopDelay.observe(count);
    metrics.auditWaiting.collect(() => [{ labels: [], value: count }]);
    metrics.sessions.collect(() => [{ labels: [], value: count }]);
    answers.set(metrics, readings);
  }
  own.loopDelay.observe(100_000);
  await gathered.gather();
  assert.deepEqual(read("postern_tool_calls_total"), [
    { labels: ["query_database", "ok"], value: 5 },
    { labels: ["query_database", "2"], value: 1 },
    { labels: ["query_database", "3"], value: 1 },
  ]);
  const [delay] = read("postern_event_loop_delay_seconds") ?? [];
  assert.ok(typeof delay?.value === "object");
  assert.equal(delay.value.cumulative.at(-1), 3);
  assert.equal(delay.value.cumulative.at(-2), 2);
  assert.equal(delay.value.sumSeconds, 100.005);
  assert.deepEqual(read("postern_audit_waiting_lines"), [{ labels: [], value: 5 }]);
  // each tells of all sessions
  assert.deepEqual(read("postern_sessions"), [{ labels: [], value: 3 }]);
});

Deno.test("what a process counted stays counted when it has ended; its gauges do not", async () => {
  const { answers, gathered, read, value } = createGathered();
  const calls = () => value("postern_tool_calls_total");
  function begin(count: number) {
    const { metrics, readings } = createProcess();
    metrics.toolCalls.of("query_database", "ok").add(count);
    metrics.loopDelay.observe(1);
    metrics.auditWaiting.collect(() => [{ labels: [], value: 1 }]);
    answers.set(metrics, readings);
    return metrics;
  }
  const [first, second] = [begin(10), begin(1)];
  await gathered.gather();
  assert.equal(calls(), 11);
  answers.delete(first);
  gathered.left(first);
  assert.equal(calls(), 11);
  await gathered.gather();
  assert.deepEqual([calls(), value("postern_audit_waiting_lines")], [11, 1]);
  const third = begin(2);
  await gathered.gather();
  assert.equal(calls(), 13);
  for (const process of [second, third]) {
    answers.delete(process);
    gathered.left(process);
  }
  assert.equal(calls(), 13);
  const [delay] = read("postern_event_loop_delay_seconds") ?? [];
  assert.equal(typeof delay?.value === "object" && delay.value.cumulative.at(-1), 3);
});

Deno.test("of a process that does not answer, the last values stay", async () => {
  const { answers, gathered, value } = createGathered();
  const { metrics, readings } = createProcess();
  metrics.toolCalls.of("query_database", "ok").add(4);
  answers.set(metrics, readings);
  await gathered.gather();
  answers.set(metrics, () => undefined);
  await gathered.gather();
  assert.equal(value("postern_tool_calls_total"), 4);
});
