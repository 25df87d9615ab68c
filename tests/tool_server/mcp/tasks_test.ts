import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { whyEnded } from "../../../src/core/async/abort.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createTasks, type Tasks, type TaskWork } from "../../../src/tool_server/mcp/tasks.ts";
import type { ToolResult } from "../../../src/tool_server/tools/tool.ts";
import { testSharedStates, testStates } from "../../support/state.ts";
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
    error: { code: -32029, message: "Cannot call: no room" },
  });
});

testStates("the end of a token or session, and of the server, ends its tasks", async (open) => {
  const tasks = createTasks({ state: await open(), waitMs: 1 });
  const [hers, his] = [await begin(tasks), await begin(tasks, bo)];
  tasks.endPrincipal(ann);
  assert.equal(whyEnded(hers.work.given.signal), "its token or session has ended");
  assert.ok(!await isThere(tasks, ann, hers.id));
  assert.ok(await isThere(tasks, bo, his.id));
  await tasks[Symbol.asyncDispose]();
  assert.equal(whyEnded(his.work.given.signal), "the server stops");
});

testStates("an owner's oldest results make room; where all work, the next call is waited for", async (open) => {
  await using tasks = createTasks({ state: await open(), waitMs: 1, bounds: { ...bounds, tasksPerOwner: 2 } });
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
});

testStates("results are bounded for each owner, and in all by those of whoever has most", async (open) => {
  const long = "x".repeat(400);
  await using tasks = createTasks({ state: await open(), waitMs: 1, bounds: { ...bounds, size: 1_800, sizePerOwner: 1_300 } });
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
