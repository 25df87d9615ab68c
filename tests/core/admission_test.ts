import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Attempt,
  createAdmission,
  createGate,
  noWaitBounds,
  type WaitingCall,
} from "../../src/core/admission.ts";
import { waitUntil } from "../support/wait_until.ts";

const forever = new AbortController().signal;

interface Named extends WaitingCall {
  readonly name: string;
  readonly refused: unknown[];
}

function call(caller: string, name = caller): Named {
  const refused: unknown[] = [];
  return { caller, name, refused, reject: (reason) => refused.push(reason) };
}

function secondsUntilRetry(error: { data?: Readonly<Record<string, unknown>> | undefined } | undefined) {
  return error?.data?.["retryAfterSeconds"];
}

Deno.test("letIn() lets callers alternate, and one with calls under way comes after those with none", () => {
  const admission = createAdmission<Named>({ ...noWaitBounds, places: 4 });
  const queue = admission.createQueue(4);
  queue.began("busy");
  for (const name of ["busy 1", "many 1", "many 2", "many 3", "few 1", "few 2"]) {
    queue.add(call(name.split(" ")[0] ?? "", name));
  }
  const order: string[] = [];
  admission.letIn([queue], ({ name }) => {
    order.push(name);
    return "left";
  });
  assert.deepEqual(order, ["many 1", "few 1", "busy 1", "many 2", "few 2", "many 3"]);
  assert.ok(admission.isEmpty);
});

Deno.test("callers alternate at a single place, and those who come anew do not push in", async () => {
  using gate = createGate({ places: 1, ...noWaitBounds });
  const order: string[] = [];
  const leave = await gate.enter("many", forever);
  const ask = async (name: string, then: () => void = () => {}) => {
    const leave = await gate.enter(name, forever);
    order.push(name);
    then();
    leave();
  };
  const late: Promise<void>[] = [];
  const all = [
    ask("many"),
    ask("many"),
    ask("many"),
    ask("one", () => late.push(ask("new"))),
    ask("other"),
  ];
  leave();
  await Promise.all(all);
  await Promise.all(late);
  assert.deepEqual(order, ["many", "one", "other", "many", "new", "many"]);
});

Deno.test("letIn() passes over what an attempt says is full, and no more than that", () => {
  const tried = (result: "owed" | "waits" | "full" | "all_full") => {
    const admission = createAdmission<Named>({ ...noWaitBounds, places: 4 });
    const [one, other] = [admission.createQueue(2), admission.createQueue(2)];
    for (const name of ["a 1", "a 2", "b 1"]) one.add(call(name.slice(0, 1), name));
    other.add(call("c", "c 1"));
    const names: string[] = [];
    admission.letIn([one, other], ({ name }) => {
      names.push(name);
      return name.startsWith("a") ? result : "left";
    });
    return names.join();
  };
  assert.equal(tried("owed"), "a 1,b 1,c 1,a 2");
  assert.equal(tried("waits"), "a 1,b 1,c 1");
  assert.equal(tried("full"), "a 1,c 1");
  assert.equal(tried("all_full"), "a 1");
});

/** The fair order in its plainest form: of the first of each caller in each queue, one is sought anew each time. */
function fairOrder(
  calls: readonly { readonly caller: string; readonly queue: number; readonly result: Attempt }[],
  underWay: ReadonlyMap<string, number>,
): number[] {
  const rank = new Map(underWay);
  const rankOf = ({ caller }: { readonly caller: string }) => rank.get(caller) ?? 0;
  const rounds = new Map<string, number>();
  let waiting = calls.map((each, index) => {
    const round = (rounds.get(each.caller) ?? 0) + 1;
    rounds.set(each.caller, round);
    return { ...each, index, round };
  });
  const tried: number[] = [];
  while (waiting.length > 0) {
    const heads = waiting.filter((each) =>
      waiting.find(({ caller, queue }) => caller === each.caller && queue === each.queue) === each
    );
    heads.sort((a, b) => rankOf(a) - rankOf(b) || a.round - b.round || a.index - b.index);
    const [first] = heads;
    if (first === undefined) break;
    tried.push(first.index);
    rank.set(first.caller, rankOf(first) + 1);
    const { result } = first;
    if (result === "all_full") break;
    waiting = waiting.filter((each) => {
      if (each.queue !== first.queue) return true;
      if (result === "full") return false;
      return each.caller !== first.caller || (result !== "waits" && each !== first);
    });
  }
  return tried;
}

Deno.test("letIn() tries calls of any callers in any queues in the fair order", () => {
  const callers = fc.constantFrom("a", "b", "c", "d");
  const results = fc.constantFrom<Attempt>("left", "left", "opens", "owed", "waits", "full", "all_full");
  const calls = fc.array(fc.record({ caller: callers, queue: fc.nat(2), result: results }), {
    maxLength: 30,
  });
  fc.assert(fc.property(calls, fc.array(callers, { maxLength: 6 }), (given, busy) => {
    using admission = createAdmission<Named>({ ...noWaitBounds, places: 4 });
    const queues = [0, 1, 2].map(() => admission.createQueue(4));
    const underWay = new Map<string, number>();
    for (const caller of busy) {
      queues[0]?.began(caller);
      underWay.set(caller, (underWay.get(caller) ?? 0) + 1);
    }
    given.forEach(({ caller, queue }, index) => queues[queue]?.add(call(caller, `${index}`)));
    const tried: number[] = [];
    admission.letIn(queues, ({ name }) => {
      tried.push(Number(name));
      return given[Number(name)]?.result ?? "left";
    });
    assert.deepEqual(tried, fairOrder(given, underWay));
  }));
});

Deno.test("a call that is put back is the next of its caller", () => {
  const admission = createAdmission<Named>({ ...noWaitBounds, places: 1 });
  const queue = admission.createQueue(1);
  for (const name of ["a 1", "a 2"]) queue.add(call("a", name));
  let first: Named | undefined;
  admission.letIn([queue], (tried) => {
    if (first !== undefined) return "full";
    first = tried;
    return "opens";
  });
  assert.equal(first?.name, "a 1");
  queue.putBack(first);
  const order: string[] = [];
  admission.letIn([queue], ({ name }) => {
    order.push(name);
    return "left";
  });
  assert.deepEqual(order, ["a 1", "a 2"]);
});

Deno.test("a call waits once, with the opening of its connection and after it was put back", async () => {
  const waitMs = 500;
  using admission = createAdmission<Named>({ places: 1, maxWaiting: 10, maxWaitMs: waitMs });
  const queue = admission.createQueue(1);
  const [opening, back, late] = [call("a"), call("b"), call("c")];
  queue.add(opening);
  queue.add(back);
  admission.letIn([queue], () => "opens");
  assert.ok(admission.isEmpty);
  const began = performance.now();
  await waitUntil("half of the time is over", () => performance.now() - began > waitMs / 2);
  queue.putBack(back);
  queue.add(late);
  await waitUntil("both have waited too long", () => opening.refused.length + back.refused.length === 2);
  assert.deepEqual(late.refused, [], "it came later");
  assert.match(String(opening.refused[0]), /it has waited 1 s for a connection to open;/);
  assert.match(String(back.refused[0]), /it has waited 1 s for others to end;/);
  assert.equal(queue.remove(opening), false);
  queue.putBack(opening);
  assert.equal(queue.has(opening), false, "it is over");
  queue.remove(late);
  assert.ok(admission.isEmpty);
});

Deno.test("a call is refused where its expected wait is too long, by recent times and the fair order", () => {
  let clock = 0;
  const admission = createAdmission<Named>({
    places: 2,
    maxWaiting: 100,
    maxWaitMs: 10_000,
    now: () => clock,
  });
  const queue = admission.createQueue(2);
  const add = (caller: string) => {
    const added = call(caller);
    queue.add(added);
    const refusal = queue.refusal(added);
    if (refusal !== undefined) queue.remove(added);
    return refusal;
  };
  // four calls of two seconds
  for (let n = 0; n < 2; n++) {
    const began = [queue.began("flood"), queue.began("flood")];
    clock += 2_000;
    for (const at of began) queue.ended("flood", at);
  }
  queue.began("flood");
  queue.began("flood");
  // two places, two seconds each: ten calls end in ten seconds
  const refusals = Array.from({ length: 11 }, () => add("flood"));
  assert.deepEqual(refusals.slice(0, 10), Array(10).fill(undefined));
  assert.equal(refusals[10]?.code, "overloaded");
  assert.equal(secondsUntilRetry(refusals[10]), 11);
  assert.match(
    refusals[10]?.message ?? "",
    /^Cannot run the call: it would wait about 11 s for others to end; try again in 11 s$/,
  );
  assert.equal(add("quiet"), undefined, "the fair order has it before the flood");
});

Deno.test("what hangs counts before it ends, and what is long ago does not", () => {
  let clock = 0;
  const admission = createAdmission<Named>({
    places: 1,
    maxWaiting: 100,
    maxWaitMs: 5_000,
    now: () => clock,
  });
  const queue = admission.createQueue(1);
  const refusal = () => {
    const added = call("a");
    queue.add(added);
    const result = queue.refusal(added);
    queue.remove(added);
    return result;
  };
  const began = queue.began("a");
  assert.equal(refusal(), undefined);
  clock += 6_000;
  assert.equal(secondsUntilRetry(refusal()), 6);
  queue.ended("a", began);
  clock += 60_000;
  queue.began("a");
  assert.equal(refusal(), undefined);
});

Deno.test("of one caller so many wait and no more; the others may", async () => {
  using gate = createGate({ places: 1, maxWaiting: 2, maxWaitMs: Infinity });
  const leave = await gate.enter("a", forever);
  const waiting = [gate.enter("a", forever), gate.enter("a", forever)];
  await assert.rejects(gate.enter("a", forever), {
    code: "overloaded",
    message: "Cannot run the call: 2 calls of this caller wait already; try again in 1 s",
  });
  const other = gate.enter("b", forever);
  leave();
  await Promise.all([...waiting, other].map(async (entered) => (await entered)()));
  (await gate.enter("a", forever))();
});

Deno.test("a gate lets in so many at once, and of one caller as many as it may", async () => {
  using gate = createGate({ places: 2, placesPerCaller: 1, ...noWaitBounds });
  const first = await gate.enter("a", forever);
  let isIn = false;
  const second = gate.enter("a", forever).then((leave) => {
    isIn = true;
    return leave;
  });
  const other = await gate.enter("b", forever);
  assert.equal(isIn, false);
  first();
  (await second)();
  other();
});

Deno.test("who leaves while waiting is passed over at once, and nobody else is", async () => {
  using gate = createGate({ places: 1, ...noWaitBounds });
  const leave = await gate.enter("a", forever);
  const gone = new AbortController();
  const storm = Array.from({ length: 1_000 }, () => gate.enter("a", gone.signal));
  const next = gate.enter("a", forever);
  gone.abort(new Error("gone"));
  const left = await Promise.allSettled(storm);
  assert.ok(left.every((each) => each.status === "rejected" && each.reason.message === "gone"));
  await assert.rejects(gate.enter("a", gone.signal), { message: "gone" });
  leave();
  (await next)();
});

Deno.test("a call that has waited for maxWaitMs is refused, though less was expected", async () => {
  using gate = createGate({ places: 1, maxWaiting: 10, maxWaitMs: 50 });
  const leave = await gate.enter("a", forever);
  const refused = assert.rejects(gate.enter("b", forever), {
    code: "overloaded",
    message: /^Cannot run the call: it has waited 1 s for others to end/,
  });
  // the gate's own timer keeps no process alive
  const alive = setInterval(() => {}, 1_000);
  await refused;
  clearInterval(alive);
  leave();
  (await gate.enter("b", forever))();
});
