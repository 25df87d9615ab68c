import { AppError } from "../../core/app_error.ts";
import { CallEnded } from "../../core/async/abort.ts";
import { settlesWithin } from "../../core/async/deadline.ts";
import { accountOf, callerKey, type Principal, principalKey } from "../../core/principal.ts";
import { errorResult, type ToolResult } from "../tools/tool.ts";
import { sizeText } from "../../core/text/units.ts";

/** A task as its client sees it (MCP Tasks extension, "Tasks"). Times are ISO 8601. */
export interface TaskView {
  readonly taskId: string;
  readonly status: "working" | "completed" | "failed" | "cancelled";
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Milliseconds from its creation for which it is kept, where there is room. */
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
}

/** How a call ended that had become a task; `failed`: what it threw, which is an error of the protocol's. */
type TaskEnd =
  | { readonly status: "completed"; readonly result: ToolResult }
  | { readonly status: "failed"; readonly thrown: unknown }
  | { readonly status: "cancelled" };

/** What a call that may become a task knows of that. */
export interface TaskWork {
  readonly id: string;
  readonly signal: AbortSignal;
  /** Whether the request is answered with the task's handle: then nothing reaches its client but the task. */
  isTask(): boolean;
  /** Says what it does, for those who look. */
  tell(message: string): void;
}

interface Task {
  readonly id: string;
  readonly owner: string;
  readonly principal: string;
  readonly createdAt: number;
  updatedAt: number;
  message: string;
  /** Absent while it works. */
  ended?: TaskEnd;
  /** UTF-16 units of the result's JSON. */
  size: number;
  isCancelled: boolean;
  readonly stop: (why: CallEnded) => void;
  forgetTimer?: ReturnType<typeof setTimeout>;
}

interface TaskBounds {
  /** Tasks that are kept, working ones too. Over them a call is waited for as if its client took no tasks. */
  readonly tasks: number;
  readonly tasksPerOwner: number;
  /** Of kept results, in UTF-16 units of their JSON. Over them the oldest of whoever has most are forgotten. */
  readonly size: number;
  readonly sizePerOwner: number;
}

const defaultBounds: TaskBounds = {
  tasks: 200,
  tasksPerOwner: 20,
  size: 64 * 1024 * 1024,
  sizePerOwner: 16 * 1024 * 1024,
};

/** How long a call is waited for before it becomes a task. */
const defaultWaitMs = 10_000;
/** How long a task is kept after it has ended. */
const defaultKeepMs = 10 * 60_000;
const pollIntervalMs = 2_000;

/**
 * Calls that go on after their request was answered with a handle (MCP Tasks extension). They are in this process alone. A
 * task belongs to the principal that called, without authentication to its address: for anybody else there is none.
 */
export function createTasks({
  waitMs = defaultWaitMs,
  keepMs = defaultKeepMs,
  bounds = defaultBounds,
  rightsOf = () => "",
  now = Date.now,
}: {
  readonly waitMs?: number;
  readonly keepMs?: number;
  readonly bounds?: TaskBounds;
  /** Tells principals with one key apart who may read different things. */
  readonly rightsOf?: (principal: Principal) => string;
  readonly now?: () => number;
} = {}) {
  const tasks = new Map<string, Task>();
  const settling = new Set<Promise<void>>();

  // a token for less is somebody else's, though it is the same user's, and so is one for another tenant or in other groups
  function ownerKey(principal: Principal): string {
    const scopes = "scopes" in principal ? principal.scopes : undefined;
    const groups = "groups" in principal ? principal.groups : undefined;
    return JSON.stringify([
      principalKey(principal),
      callerKey(principal),
      scopes?.toSorted(),
      groups?.toSorted(),
      accountOf(principal),
      rightsOf(principal),
    ]);
  }

  function forget(task: Task): void {
    clearTimeout(task.forgetTimer);
    tasks.delete(task.id);
  }

  /** Forgets the oldest that has ended, of those that are meant; false where there is none. */
  function forgetOldest(isMeant: (task: Task) => boolean): boolean {
    const oldest = tasks.values().find((task) => task.ended !== undefined && isMeant(task));
    if (oldest !== undefined) forget(oldest);
    return oldest !== undefined;
  }

  function sizeOf(owner?: string): number {
    let size = 0;
    for (const task of tasks.values()) if (owner === undefined || task.owner === owner) size += task.size;
    return size;
  }

  function ownerOfMost(): string {
    const sizes = new Map<string, number>();
    for (const { owner, size } of tasks.values()) sizes.set(owner, (sizes.get(owner) ?? 0) + size);
    return [...sizes].reduce((most, next) => next[1] > most[1] ? next : most)[0];
  }

  function hasRoom(owner: string): boolean {
    const owned = [...tasks.values()].filter((task) => task.owner === owner).length;
    if (owned >= bounds.tasksPerOwner) return forgetOldest((task) => task.owner === owner);
    return tasks.size < bounds.tasks;
  }

  async function settle(task: Task, work: Promise<ToolResult>): Promise<void> {
    const ended = await work.then(
      (result): TaskEnd =>
        task.isCancelled && result.isError === true
          ? { status: "cancelled" }
          : { status: "completed", result: result.ask === undefined ? result : errorResult(askedTooLate) },
      (thrown): TaskEnd => task.isCancelled ? { status: "cancelled" } : { status: "failed", thrown },
    );
    // its token or session may have ended meanwhile
    if (tasks.has(task.id)) close(task, ended);
  }

  function close(task: Task, ended: TaskEnd): void {
    const { owner } = task;
    const size = ended.status === "completed" ? JSON.stringify(ended.result).length : 0;
    if (size > bounds.sizePerOwner) {
      const most = sizeText(bounds.sizePerOwner);
      const result = errorResult(
        `Cannot keep the result: it has ${
          sizeText(size)
        }, and ${most} are kept at most. Ask for fewer rows or columns`,
      );
      return close(task, { status: "completed", result });
    }
    while (sizeOf(owner) + size > bounds.sizePerOwner && forgetOldest((other) => other.owner === owner));
    task.size = size;
    task.ended = ended;
    task.message = messages[ended.status];
    task.updatedAt = now();
    while (sizeOf() > bounds.size) {
      const most = ownerOfMost();
      if (!forgetOldest((other) => other.owner === most)) break;
    }
    if (!tasks.has(task.id)) return;
    task.forgetTimer = setTimeout(() => tasks.delete(task.id), keepMs);
    // the timer alone does not keep the process alive
    Deno.unrefTimer(task.forgetTimer);
  }

  /** @throws {AppError} `invalid`, the same for a task that is not there and for another's */
  function find(principal: Principal, id: unknown): Task {
    const task = typeof id === "string" ? tasks.get(id) : undefined;
    if (task !== undefined && task.owner === ownerKey(principal)) return task;
    throw new AppError(
      "invalid",
      "Cannot find the task: there is none of yours with this taskId, or it ended too long ago",
    );
  }

  function viewOf({ id, createdAt, updatedAt, message, ended }: Task): TaskView {
    return {
      taskId: id,
      status: ended?.status ?? "working",
      statusMessage: message,
      createdAt: new Date(createdAt).toISOString(),
      lastUpdatedAt: new Date(updatedAt).toISOString(),
      ttlMs: (ended === undefined ? now() : updatedAt) - createdAt + keepMs,
      pollIntervalMs,
    };
  }

  return {
    /**
     * Does the work of a call. What takes long becomes a task: then its client may leave, and only `cancel`, the end of its
     * token or session, and its own bounds end it.
     * @param signal ends the work for as long as it is no task
     * @throws what the work throws before it is a task
     */
    async run(
      principal: Principal,
      signal: AbortSignal,
      begin: (work: TaskWork) => Promise<ToolResult>,
    ): Promise<ToolResult | TaskView> {
      const id = crypto.randomUUID();
      const calledAt = now();
      let message = "The call goes on";
      let task: Task | undefined;
      const controller = new AbortController();
      const leave = () => controller.abort(signal.reason);
      if (signal.aborted) leave();
      else signal.addEventListener("abort", leave, { once: true });
      const work = begin({
        id,
        signal: controller.signal,
        isTask: () => task !== undefined,
        tell(told) {
          message = told;
          if (task === undefined || task.ended !== undefined) return;
          task.message = told;
          task.updatedAt = now();
        },
      });
      try {
        if (await settlesWithin(waitMs, work)) return await work;
        const owner = ownerKey(principal);
        if (signal.aborted || !hasRoom(owner)) return await work;
        task = {
          id,
          owner,
          principal: principalKey(principal),
          createdAt: calledAt,
          updatedAt: now(),
          message,
          size: 0,
          isCancelled: false,
          stop: (why) => controller.abort(why),
        };
        tasks.set(id, task);
      } finally {
        signal.removeEventListener("abort", leave);
      }
      const settled = settle(task, work).finally(() => settling.delete(settled));
      settling.add(settled);
      return viewOf(task);
    },

    /** @throws {AppError} `invalid` where the principal has no such task */
    get(principal: Principal, id: unknown): { readonly view: TaskView; readonly ended?: TaskEnd } {
      const task = find(principal, id);
      return { view: viewOf(task), ...(task.ended && { ended: task.ended }) };
    },

    /** Cancels a task; one that has ended stays as it is. Throws as `get`. */
    cancel(principal: Principal, id: unknown): void {
      const task = find(principal, id);
      if (task.ended !== undefined) return;
      task.isCancelled = true;
      task.stop(new CallEnded("its caller cancelled it"));
    },

    /** Ends and forgets the tasks of a principal: its token or session has ended. */
    endPrincipal(principal: Principal): void {
      const key = principalKey(principal);
      for (const task of [...tasks.values()].filter((task) => task.principal === key)) {
        task.stop(new CallEnded("its token or session has ended"));
        forget(task);
      }
    },

    async [Symbol.asyncDispose](): Promise<void> {
      for (const task of [...tasks.values()]) {
        task.stop(new CallEnded("the server stops"));
        forget(task);
      }
      await Promise.all(settling);
    },
  };
}

export type Tasks = ReturnType<typeof createTasks>;

const messages = {
  completed: "The call has ended; its result is here",
  failed: "The call failed",
  cancelled: "Its caller cancelled the call",
} as const;

/** Of a call that asked at the moment in which it became a task. */
const askedTooLate = "The call needs an answer from its user, and a task cannot ask: send the call again";
