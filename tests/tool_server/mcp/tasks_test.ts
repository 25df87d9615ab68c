import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { whyEnded } from "../../../src/core/async/abort.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createTasks, type Tasks, type TaskWork } from "../../../src/tool_server/mcp/tasks.ts";
import type { ToolResult } from "../../../src/tool_server/tools/tool.ts";
import type { State } from "../../../src/state/state.ts";
import { type OpenState, testServers, testSharedStates, testStates } from "../../support/state.ts";
import { waitUntil } from "../../support/wait_until.ts";

const ann: Principal = { kind: "token", id: "ann" };
const bo: Principal = { kind: "token", id: "bo" };
const text = (words: string): ToolResult => ({ content: [{ type: "text", text: words }] });
const stays = new AbortController().signal;
const bounds = { tasks: 10, tasksPerOwner: 10, size: 1e6, sizePerOwner: 1e6 };

/** Work that ends when the test says so, or with its signal. */
function createWork() {
  const { promise, resolve, reject } = Promise.withResolvers<ToolResult>();
  let work: TaskWork | undefined;
  return {
    resolve,
    reject,
    begin(given: TaskWork): Promise<ToolResult> {
      work = given;
      given.signal.addEventListener(
        "abort",
        () => resolve({ ...text(whyEnded(given.signal)), isError: true }),
      );
      return promise;
    },
    get given(): TaskWork {
      assert.ok(work);
      return work;
    },
  };
}

/** Begins work that takes long. */
async function begin(tasks: Tasks, principal: Principal = ann, signal = stays) {
  const work = createWork();
  const handle = await tasks.run(principal, signal, work.begin);
  assert.ok("taskId" in handle, JSON.stringify(handle));
  return { work, id: handle.taskId, handle };
}

async function finish(
  tasks: Tasks,
  { work, id }: Awaited<ReturnType<typeof begin>>,
  words: string,
  owner = ann,
) {
  work.resolve(text(words));
  await waitUntil(
    "the task has ended",
    () => tasks.get(owner, id).then(({ ended }) => ended !== undefined, isNotFound),
  );
}

function isNotFound(error: unknown): boolean {
  assert.ok(error instanceof AppError);
  assert.deepEqual([error.code, error.message], [
    "invalid",
    "Cannot find the task: there is none of yours with this taskId, or it ended too long ago",
  ]);
  return true;
}

const isThere = (tasks: Tasks, principal: Principal, id: string): Promise<boolean> =>
  tasks.get(principal, id).then(() => true, (error) => !isNotFound(error));
const areThere = (tasks: Tasks, principal: Principal, all: readonly { readonly id: string }[]) =>
  Promise.all(all.map(({ id }) => isThere(tasks, principal, id)));
const statusOf = async (tasks: Tasks, principal: Principal, id: string) =>
  (await tasks.get(principal, id)).view.status;

testStates("work that is quick is no task, whether it ends well or not", async (open) => {
  await using tasks = createTasks({ state: await open() });
  assert.deepEqual(await tasks.run(ann, stays, () => Promise.resolve(text("done"))), text("done"));
  const failed = tasks.run(
    ann,
    stays,
    () => Promise.reject(new AppError("overloaded", "Cannot call: no room")),
  );
  await assert.rejects(failed, /no room/);
});

testStates("work that takes long goes on, and its result waits for its owner", async (open) => {
  let now = Date.parse("2026-08-01T10:00:00Z");
  await using tasks = createTasks({ state: await open({ now: () => now }), waitMs: 1, keepMs: 60_000 });
  const task = await begin(tasks);
  assert.deepEqual(task.handle, {
    taskId: task.id,
    status: "working",
    statusMessage: "The call goes on",
    createdAt: "2026-08-01T10:00:00.000Z",
    lastUpdatedAt: "2026-08-01T10:00:00.000Z",
    ttlMs: 60_000,
    pollIntervalMs: 2_000,
  });
  assert.equal(task.work.given.isTask(), true);
  now += 5_000;
  task.work.given.tell("Running the statement: 15 s");
  assert.equal((await tasks.get(ann, task.id)).view.statusMessage, "Running the statement: 15 s");
  assert.equal((await tasks.get(ann, task.id)).view.ttlMs, 65_000);
  await finish(tasks, task, "done");
  const { view, ended } = await tasks.get(ann, task.id);
  assert.deepEqual(ended, { status: "completed", result: text("done") });
  assert.equal(view.status, "completed");
  assert.equal(view.lastUpdatedAt, "2026-08-01T10:00:05.000Z");
  assert.equal(view.ttlMs, 65_000);
});

testStates("a task is there for its owner alone", async (open) => {
  await using tasks = createTasks({ state: await open(), waitMs: 1 });
  const task = await begin(tasks);
  assert.ok(await isThere(tasks, ann, task.id));
  assert.ok(!await isThere(tasks, bo, task.id));
  assert.ok(!await isThere(tasks, { kind: "session", id: "ann", username: "ann" }, task.id));
  assert.ok(!await isThere(tasks, ann, "786512e2-9e0d-44bd-8f29-789f320fe840"));
  await assert.rejects(tasks.cancel(bo, task.id), isNotFound);
  assert.equal(task.work.given.signal.aborted, false);
  // a token of the same user's that is good for less
  const issuer = {
    kind: "issuer",
    issuer: "https://i",
    subject: "s",
    groups: [],
    scopes: ["b", "a"],
  } as const;
  const { id } = await begin(tasks, issuer);
  assert.ok(await isThere(tasks, { ...issuer, scopes: ["a", "b"] }, id));
  assert.ok(!await isThere(tasks, { ...issuer, scopes: ["a"] }, id));
  // a token of the same person's in another tenant
  const rightsOf = (principal: Principal) =>
    JSON.stringify(principal.kind === "issuer" && principal.claims?.["tenant"]);
  await using byTenant = createTasks({ state: await open(), waitMs: 1, rightsOf });
  const ofTenant = (tenant: string, exp: number) => ({ ...issuer, claims: { tenant, exp } });
  const inTenant = await begin(byTenant, ofTenant("a", 1));
  assert.ok(await isThere(byTenant, ofTenant("a", 2), inTenant.id));
  assert.ok(!await isThere(byTenant, ofTenant("b", 1), inTenant.id));
  // a token of the same person's in other groups, or with the rights of an account
  const analyst = { ...issuer, groups: ["analysts", "staff"] };
  const inGroups = await begin(tasks, analyst);
  assert.ok(await isThere(tasks, { ...analyst, groups: ["staff", "analysts"] }, inGroups.id));
  assert.ok(!await isThere(tasks, { ...analyst, groups: ["staff"] }, inGroups.id));
  assert.ok(!await isThere(tasks, { ...analyst, account: "ann" }, inGroups.id));
  assert.ok(!await isThere(tasks, { ...analyst, issuer: "https://j" }, inGroups.id));
  // without authentication an address is all that tells callers apart
  const local = await begin(tasks, { kind: "local", address: "10.0.0.1" });
  assert.ok(await isThere(tasks, { kind: "local", address: "10.0.0.1" }, local.id));
  assert.ok(!await isThere(tasks, { kind: "local", address: "10.0.0.2" }, local.id));
});

testStates("who leaves before the handle ends the work, and after it no more", async (open) => {
  await using tasks = createTasks({ state: await open(), waitMs: 20 });
  const early = new AbortController();
  const work = createWork();
  const answer = tasks.run(ann, early.signal, work.begin);
  early.abort();
  assert.deepEqual(await answer, { ...text("its caller disconnected"), isError: true });
  const late = new AbortController();
  const task = await begin(tasks, ann, late.signal);
  late.abort();
  assert.equal(task.work.given.signal.aborted, false);
  await finish(tasks, task, "done");
  assert.equal((await tasks.get(ann, task.id)).view.status, "completed");
});

testStates("a task that is cancelled is cancelled, unless it had ended", async (open) => {
  await using tasks = createTasks({ state: await open(), waitMs: 1 });
  const task = await begin(tasks);
  await tasks.cancel(ann, task.id);
  await waitUntil("it is cancelled", async () => await statusOf(tasks, ann, task.id) === "cancelled");
  assert.equal(whyEnded(task.work.given.signal), "its caller cancelled it");
  const done = await begin(tasks);
  await finish(tasks, done, "done");
  await tasks.cancel(ann, done.id);
  assert.equal((await tasks.get(ann, done.id)).view.status, "completed");
});

testStates("what is thrown after the handle is the task's", async (open) => {
  await using tasks = createTasks({ state: await open(), waitMs: 1 });
  const task = await begin(tasks);
  const thrown = new AppError("overloaded", "Cannot call: no room");
  task.work.reject(thrown);
  await waitUntil("it has failed", async () => await statusOf(tasks, ann, task.id) === "failed");
  assert.deepEqual((await tasks.get(ann, task.id)).ended, {
    status: "failed",
    error: { code: -32004, message: "Cannot call: no room" },
  });
});

testStates("the end of a token or session, and of the server, ends its tasks", async (open) => {
  const tasks = createTasks({ state: await open(), waitMs: 1 });
  const grant = (grantId: string): Principal => ({
    kind: "issuer",
    issuer: "https://login.example",
    subject: "7",
    groups: [],
    grantId,
  });
  const [hers, his] = [await begin(tasks), await begin(tasks, bo)];
  const [one, other] = [await begin(tasks, grant("g1")), await begin(tasks, grant("g2"))];
  tasks.endPrincipal(grant("g2"));
  assert.deepEqual([one, other].map(({ work }) => work.given.signal.aborted), [false, true]);
  tasks.endPrincipal(ann);
  assert.equal(whyEnded(hers.work.given.signal), "its token or session has ended");
  assert.ok(!await isThere(tasks, ann, hers.id));
  assert.ok(await isThere(tasks, bo, his.id));
  await tasks[Symbol.asyncDispose]();
  assert.equal(whyEnded(his.work.given.signal), "the server stops");
});

testStates(
  "an owner's oldest results make room; where all work, the next call is waited for",
  async (open) => {
    await using tasks = createTasks({
      state: await open(),
      waitMs: 1,
      bounds: { ...bounds, tasksPerOwner: 2 },
    });
    const [first, second] = [await begin(tasks), await begin(tasks)];
    const third = createWork();
    const waiting = tasks.run(ann, stays, third.begin);
    const other = await begin(tasks, bo);
    third.resolve(text("waited"));
    assert.deepEqual(await waiting, text("waited"));
    await finish(tasks, first, "first");
    const fourth = await begin(tasks);
    assert.ok(!await isThere(tasks, ann, first.id));
    for (const { id } of [second, fourth]) assert.ok(await isThere(tasks, ann, id));
    assert.ok(await isThere(tasks, bo, other.id));
  },
);

testStates("results are bounded for each owner, and in all by those of whoever has most", async (open) => {
  const long = "x".repeat(400);
  await using tasks = createTasks({
    state: await open(),
    waitMs: 1,
    bounds: { ...bounds, size: 1_800, sizePerOwner: 1_300 },
  });
  const hers = [await begin(tasks), await begin(tasks), await begin(tasks)];
  for (const task of hers) await finish(tasks, task, long);
  assert.deepEqual(await areThere(tasks, ann, hers), [false, true, true]);
  const his = await begin(tasks, bo);
  await finish(tasks, his, `${long}${long}`, bo);
  assert.deepEqual(await areThere(tasks, ann, hers), [false, false, true]);
  assert.ok(await isThere(tasks, bo, his.id));
  const tooLong = await begin(tasks);
  await finish(tasks, tooLong, "x".repeat(2_000));
  const { ended } = await tasks.get(ann, tooLong.id);
  assert.match(
    JSON.stringify(ended),
    /Cannot keep the result: it has .* Ask for fewer rows or columns.*"isError":true/,
  );
});

testStates("a task is forgotten some time after it has ended", async (open) => {
  await using tasks = createTasks({ state: await open(), waitMs: 1, keepMs: 1 });
  const task = await begin(tasks);
  task.work.resolve(text("done"));
  await waitUntil("it is forgotten", async () => !await isThere(tasks, ann, task.id));
});

/** The tasks of two processes that share a state; the second is moved in time apart from the first. */
async function shared(open: OpenState, options: Omit<Parameters<typeof createTasks>[0], "state"> = {}) {
  await using made = new AsyncDisposableStack();
  const clock = { here: Date.parse("2026-08-01T10:00:00Z"), there: Date.parse("2026-08-01T10:00:00Z") };
  const states = [await open({ now: () => clock.here }), await open({ now: () => clock.there })] as const;
  const [here, there] = states.map((state) => made.use(createTasks({ state, waitMs: 1, ...options })));
  assert.ok(here !== undefined && there !== undefined);
  const stack = made.move();
  return {
    here,
    there,
    clock,
    /** Nothing is heard of the first process any more. */
    kill: () => states[0][Symbol.asyncDispose](),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Whether a call is waited for that takes longer than a call that becomes a task. */
async function isWaitedFor(tasks: Tasks, principal: Principal): Promise<boolean> {
  const work = createWork();
  const answer = tasks.run(principal, stays, work.begin);
  setTimeout(() => work.resolve(text("waited")), 100);
  return !("taskId" in await answer);
}

testSharedStates("a task is the same at another process, and there for its owner alone", async (open) => {
  const rightsOf = (principal: Principal) => principal.kind === "token" ? principal.database ?? "" : "";
  await using processes = await shared(open, { rightsOf });
  const { here, there, clock } = processes;
  const task = await begin(here);
  assert.deepEqual((await there.get(ann, task.id)).view, task.handle);
  for (const other of [bo, { ...ann, database: "team" }]) {
    assert.ok(!await isThere(there, other, task.id));
    await assert.rejects(there.cancel(other, task.id), isNotFound);
  }
  for (const message of ["Running the statement: 15 s", "Running the statement: 20 s"]) {
    clock.here += 5_000;
    clock.there += 5_000;
    task.work.given.tell(message);
    await waitUntil(
      "it is told",
      async () => (await there.get(ann, task.id)).view.statusMessage === message,
    );
  }
  await finish(here, task, "done");
  const [mine, theirs] = [await here.get(ann, task.id), await there.get(ann, task.id)];
  assert.deepEqual(theirs, mine);
  assert.deepEqual(theirs.ended, { status: "completed", result: text("done") });
  assert.ok(!await isThere(there, bo, task.id));
  // one that has ended stays as it is
  await there.cancel(ann, task.id);
  assert.equal(await statusOf(there, ann, task.id), "completed");
  clock.there += 600_000;
  assert.ok(!await isThere(there, ann, task.id));
});

testServers("a task is cancelled from another process, by its owner alone", async (open) => {
  await using processes = await shared(open);
  const { here, there } = processes;
  const [task, other] = [await begin(here), await begin(here)];
  await assert.rejects(there.cancel(bo, task.id), isNotFound);
  await there.cancel(ann, other.id);
  await waitUntil("it is cancelled", async () => await statusOf(there, ann, other.id) === "cancelled");
  assert.equal(whyEnded(other.work.given.signal), "its caller cancelled it");
  assert.equal(task.work.given.signal.aborted, false);
  assert.equal(await statusOf(there, ann, task.id), "working");
});

testSharedStates("a task fails once its process has said nothing for long, and no sooner", async (open) => {
  await using processes = await shared(open);
  const { here, there, clock } = processes;
  const task = await begin(here);
  task.work.given.tell("Running the statement: 15 s");
  await waitUntil(
    "it is told once",
    async () => (await there.get(ann, task.id)).view.statusMessage === "Running the statement: 15 s",
  );
  clock.here += 41_000;
  clock.there += 41_000;
  await waitUntil("it is told that it works", async () => await statusOf(there, ann, task.id) === "working");
  await processes.kill();
  clock.there += 40_000;
  assert.equal(await statusOf(there, ann, task.id), "working");
  clock.there += 1;
  const { view, ended } = await there.get(ann, task.id);
  assert.deepEqual([view.status, view.statusMessage], ["failed", "The call failed"]);
  assert.deepEqual(ended, {
    status: "failed",
    error: { code: -32005, message: "Cannot end the call: the server that ran it has stopped" },
  });
  assert.ok(!await isThere(there, bo, task.id));
  await there.cancel(ann, task.id);
});

testSharedStates("a task whose process was killed makes room for its owner's next", async (open) => {
  await using processes = await shared(open, { bounds: { ...bounds, tasksPerOwner: 1 } });
  const { here, there, clock } = processes;
  const task = await begin(here);
  await processes.kill();
  assert.ok(await isWaitedFor(there, ann));
  clock.there += 40_001;
  const next = await begin(there);
  assert.deepEqual(await areThere(there, ann, [task, next]), [false, true]);
});

testSharedStates("tasks of a process that was killed hold nobody's place", async (open) => {
  await using processes = await shared(open, { bounds: { ...bounds, tasks: 1 } });
  const { here, there, clock } = processes;
  await begin(here);
  await processes.kill();
  assert.ok(await isWaitedFor(there, bo));
  clock.there += 40_001;
  const next = await begin(there, bo);
  assert.ok(await isThere(there, bo, next.id));
});

testSharedStates("the tasks of all processes are bounded together", async (open) => {
  const together = { tasks: 3, tasksPerOwner: 2, size: 1_800, sizePerOwner: 1_300 };
  await using processes = await shared(open, { bounds: together });
  const { here, there } = processes;
  const [first, second] = [await begin(here), await begin(there)];
  assert.ok(await isWaitedFor(here, ann));
  assert.ok(await isWaitedFor(there, ann));
  const other = await begin(here, bo);
  assert.ok(await isWaitedFor(there, bo));
  await finish(here, first, "first");
  // her own that has ended makes room, at whichever process it was
  const third = await begin(there);
  assert.deepEqual(await areThere(here, ann, [first, second, third]), [false, true, true]);
  const long = "x".repeat(500);
  await finish(there, second, long);
  await finish(there, third, long);
  assert.deepEqual(await areThere(here, ann, [second, third]), [false, true]);
  assert.ok(await isThere(there, bo, other.id));
});

testSharedStates("who has no token or session any more has no task at any process", async (open) => {
  await using processes = await shared(open);
  const { here, there } = processes;
  const [hers, his] = [await begin(here), await begin(here, bo)];
  there.endPrincipal(ann);
  await waitUntil("it is gone", async () => !await isThere(there, ann, hers.id));
  assert.ok(await isThere(there, bo, his.id));
  // each process is told of the end
  here.endPrincipal(ann);
  assert.equal(whyEnded(hers.work.given.signal), "its token or session has ended");
  assert.ok(!await isThere(here, ann, hers.id));
});

testSharedStates("what a server that stops ends is told by another one", async (open) => {
  await using processes = await shared(open);
  const { here, there } = processes;
  const task = await begin(here);
  await here[Symbol.asyncDispose]();
  assert.deepEqual((await there.get(ann, task.id)).ended, {
    status: "completed",
    result: { ...text("the server stops"), isError: true },
  });
});

testStates("where the state is away a call is waited for, and nothing is told of tasks", async (open) => {
  const whole = await open();
  const gone = new AppError("unavailable", "Cannot answer now", { data: { retryAfterSeconds: 1 } });
  let isAway = false;
  const orAway = <T>(work: () => Promise<T>) => isAway ? Promise.reject(gone) : work();
  const state: State = {
    ...whole,
    read: (statements) => orAway(() => whole.read(statements)),
    change: (statements, options) => orAway(() => whole.change(statements, options)),
  };
  await using tasks = createTasks({ state, waitMs: 1 });
  const before = await begin(tasks);
  isAway = true;
  const work = createWork();
  const answer = tasks.run(ann, stays, work.begin);
  setTimeout(() => work.resolve(text("waited")), 50);
  assert.deepEqual(await answer, text("waited"));
  // its own process knows of it
  assert.equal(await statusOf(tasks, ann, before.id), "working");
  await assert.rejects(tasks.get(bo, before.id), gone);
  await assert.rejects(tasks.cancel(bo, before.id), gone);
  isAway = false;
});

testServers("a result that is too large for what servers share costs its own task alone", async (open) => {
  await using processes = await shared(open, { bounds: { ...bounds, size: 1e8, sizePerOwner: 1e8 } });
  const { here, there } = processes;
  const [large, small] = [await begin(here), await begin(here)];
  // three bytes each in UTF-8
  await finish(here, large, "€".repeat(4 * 1024 * 1024 + 1));
  await finish(here, small, "€".repeat(4 * 1024 * 1024 - 1_000));
  const { ended } = await there.get(ann, large.id);
  assert.match(JSON.stringify(ended), /Cannot keep the result: it has 4 MiB, and 4 MiB are kept at most/);
  assert.equal((await there.get(ann, small.id)).ended?.status, "completed");
});
