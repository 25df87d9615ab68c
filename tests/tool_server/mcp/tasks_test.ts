import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { whyEnded } from "../../../src/core/async/abort.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { createTasks, type Tasks, type TaskWork } from "../../../src/tool_server/mcp/tasks.ts";
import type { ToolResult } from "../../../src/tool_server/tools/tool.ts";
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
  await waitUntil("the task has ended", () => {
    try {
      return tasks.get(owner, id).ended !== undefined;
    } catch {
      return true;
    }
  });
}

function isThere(tasks: Tasks, principal: Principal, id: string): boolean {
  try {
    return tasks.get(principal, id) !== undefined;
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "invalid");
    assert.equal(
      error.message,
      "Cannot find the task: there is none of yours with this taskId, or it ended too long ago",
    );
    return false;
  }
}

Deno.test("work that is quick is no task, whether it ends well or not", async () => {
  await using tasks = createTasks();
  assert.deepEqual(await tasks.run(ann, stays, () => Promise.resolve(text("done"))), text("done"));
  const failed = tasks.run(
    ann,
    stays,
    () => Promise.reject(new AppError("overloaded", "Cannot call: no room")),
  );
  await assert.rejects(failed, /no room/);
});

Deno.test("work that takes long goes on, and its result waits for its owner", async () => {
  let now = Date.parse("2026-08-01T10:00:00Z");
  await using tasks = createTasks({ waitMs: 1, keepMs: 60_000, now: () => now });
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
  assert.equal(tasks.get(ann, task.id).view.statusMessage, "Running the statement: 15 s");
  assert.equal(tasks.get(ann, task.id).view.ttlMs, 65_000);
  await finish(tasks, task, "done");
  const { view, ended } = tasks.get(ann, task.id);
  assert.deepEqual(ended, { status: "completed", result: text("done") });
  assert.equal(view.status, "completed");
  assert.equal(view.lastUpdatedAt, "2026-08-01T10:00:05.000Z");
  assert.equal(view.ttlMs, 65_000);
});

Deno.test("a task is there for its owner alone", async () => {
  await using tasks = createTasks({ waitMs: 1 });
  const task = await begin(tasks);
  assert.ok(isThere(tasks, ann, task.id));
  assert.ok(!isThere(tasks, bo, task.id));
  assert.ok(!isThere(tasks, { kind: "session", id: "ann", username: "ann" }, task.id));
  assert.ok(!isThere(tasks, ann, "786512e2-9e0d-44bd-8f29-789f320fe840"));
  assert.throws(() => tasks.cancel(bo, task.id), /Cannot find the task/);
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
  assert.ok(isThere(tasks, { ...issuer, scopes: ["a", "b"] }, id));
  assert.ok(!isThere(tasks, { ...issuer, scopes: ["a"] }, id));
  // a token of the same person's in another tenant
  const rightsOf = (principal: Principal) =>
    JSON.stringify(principal.kind === "issuer" && principal.claims?.["tenant"]);
  await using byTenant = createTasks({ waitMs: 1, rightsOf });
  const ofTenant = (tenant: string, exp: number) => ({ ...issuer, claims: { tenant, exp } });
  const inTenant = await begin(byTenant, ofTenant("a", 1));
  assert.ok(isThere(byTenant, ofTenant("a", 2), inTenant.id));
  assert.ok(!isThere(byTenant, ofTenant("b", 1), inTenant.id));
  // a token of the same person's in other groups, or with the rights of an account
  const analyst = { ...issuer, groups: ["analysts", "staff"] };
  const inGroups = await begin(tasks, analyst);
  assert.ok(isThere(tasks, { ...analyst, groups: ["staff", "analysts"] }, inGroups.id));
  assert.ok(!isThere(tasks, { ...analyst, groups: ["staff"] }, inGroups.id));
  assert.ok(!isThere(tasks, { ...analyst, account: "ann" }, inGroups.id));
  assert.ok(!isThere(tasks, { ...analyst, issuer: "https://j" }, inGroups.id));
  // without authentication an address is all that tells callers apart
  const local = await begin(tasks, { kind: "local", address: "10.0.0.1" });
  assert.ok(isThere(tasks, { kind: "local", address: "10.0.0.1" }, local.id));
  assert.ok(!isThere(tasks, { kind: "local", address: "10.0.0.2" }, local.id));
});

Deno.test("who leaves before the handle ends the work, and after it no more", async () => {
  await using tasks = createTasks({ waitMs: 20 });
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
  assert.equal(tasks.get(ann, task.id).view.status, "completed");
});

Deno.test("a task that is cancelled is cancelled, unless it had ended", async () => {
  await using tasks = createTasks({ waitMs: 1 });
  const task = await begin(tasks);
  tasks.cancel(ann, task.id);
  await waitUntil("it is cancelled", () => tasks.get(ann, task.id).view.status === "cancelled");
  assert.equal(whyEnded(task.work.given.signal), "its caller cancelled it");
  const done = await begin(tasks);
  await finish(tasks, done, "done");
  tasks.cancel(ann, done.id);
  assert.equal(tasks.get(ann, done.id).view.status, "completed");
});

Deno.test("what is thrown after the handle is the task's", async () => {
  await using tasks = createTasks({ waitMs: 1 });
  const task = await begin(tasks);
  const thrown = new AppError("overloaded", "Cannot call: no room");
  task.work.reject(thrown);
  await waitUntil("it has failed", () => tasks.get(ann, task.id).view.status === "failed");
  assert.deepEqual(tasks.get(ann, task.id).ended, { status: "failed", thrown });
});

Deno.test("the end of a token or session, and of the server, ends its tasks", async () => {
  const tasks = createTasks({ waitMs: 1 });
  const [hers, his] = [await begin(tasks), await begin(tasks, bo)];
  tasks.endPrincipal(ann);
  assert.equal(whyEnded(hers.work.given.signal), "its token or session has ended");
  assert.ok(!isThere(tasks, ann, hers.id));
  assert.ok(isThere(tasks, bo, his.id));
  await tasks[Symbol.asyncDispose]();
  assert.equal(whyEnded(his.work.given.signal), "the server stops");
});

Deno.test("an owner's oldest results make room; where all work, the next call is waited for", async () => {
  await using tasks = createTasks({ waitMs: 1, bounds: { ...bounds, tasksPerOwner: 2 } });
  const [first, second] = [await begin(tasks), await begin(tasks)];
  const third = createWork();
  const waiting = tasks.run(ann, stays, third.begin);
  const other = await begin(tasks, bo);
  third.resolve(text("waited"));
  assert.deepEqual(await waiting, text("waited"));
  await finish(tasks, first, "first");
  const fourth = await begin(tasks);
  assert.ok(!isThere(tasks, ann, first.id));
  for (const { id } of [second, fourth]) assert.ok(isThere(tasks, ann, id));
  assert.ok(isThere(tasks, bo, other.id));
});

Deno.test("results are bounded for each owner, and in all by those of whoever has most", async () => {
  const long = "x".repeat(400);
  await using tasks = createTasks({ waitMs: 1, bounds: { ...bounds, size: 1_500, sizePerOwner: 1_000 } });
  const hers = [await begin(tasks), await begin(tasks), await begin(tasks)];
  for (const task of hers) await finish(tasks, task, long);
  assert.deepEqual(hers.map(({ id }) => isThere(tasks, ann, id)), [false, true, true]);
  const his = await begin(tasks, bo);
  await finish(tasks, his, `${long}${long}`, bo);
  assert.deepEqual(hers.map(({ id }) => isThere(tasks, ann, id)), [false, false, true]);
  assert.ok(isThere(tasks, bo, his.id));
  const tooLong = await begin(tasks);
  await finish(tasks, tooLong, "x".repeat(2_000));
  const { ended } = tasks.get(ann, tooLong.id);
  assert.match(
    JSON.stringify(ended),
    /Cannot keep the result: it has .* Ask for fewer rows or columns.*"isError":true/,
  );
});

Deno.test("a task is forgotten some time after it has ended", async () => {
  await using tasks = createTasks({ waitMs: 1, keepMs: 1 });
  const task = await begin(tasks);
  task.work.resolve(text("done"));
  await waitUntil("it is forgotten", () => !isThere(tasks, ann, task.id));
});
