import { sql, type Statement } from "../../state/engine.ts";
import { createMessages } from "../../state/messages.ts";
import { currentVersion, endStatements, type State } from "../../state/state.ts";
import { errorObject, type JsonRpcError } from "./json_rpc_error.ts";
import { AppError } from "../../core/app_error.ts";
import { CallEnded, onAbort } from "../../core/async/abort.ts";
import { settlesWithin, sleep } from "../../core/async/deadline.ts";
import { accountOf, bearerKey, callerKey, type Principal } from "../../core/principal.ts";
import { errorResult, type ToolResult } from "../tools/tool.ts";
import { sha256 } from "../../core/text/sha256.ts";
import { sizeText } from "../../core/text/units.ts";

/** MCP Tasks extension (SEP-2663), "Extension Identifier". */
export const tasksExtension = "io.modelcontextprotocol/tasks";

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

/** How a call ended that had become a task; `failed`: an error of the protocol's. */
type TaskEnd =
  | { readonly status: "completed"; readonly result: ToolResult }
  | { readonly status: "failed"; readonly error: JsonRpcError }
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

/** One that works in this process. */
interface Task {
  readonly id: string;
  readonly owner: string;
  readonly principal: string;
  readonly createdAt: number;
  updatedAt: number;
  message: string;
  isCancelled: boolean;
  readonly stop: (why: CallEnded) => void;
}

/** A task as the state keeps it. */
interface KeptTask extends Pick<Task, "createdAt" | "updatedAt" | "message"> {
  /** Absent while it works. */
  readonly ended?: TaskEnd;
}

const defaultBounds = {
  /** Tasks that are kept, working ones too. Over them a call is waited for as if its client took no tasks. */
  tasks: 200,
  tasksPerOwner: 20,
  /** Of kept results, in characters of their JSON. Over them the oldest of whoever has most are forgotten. */
  size: 64 * 1024 * 1024,
  sizePerOwner: 16 * 1024 * 1024,
};

/** Of one result, in UTF-16 units of its JSON, where all servers have the state over one connection: it takes 16 MiB at once. */
const mostShared = 4 * 1024 * 1024;

/** How long a call is waited for before it becomes a task. */
const defaultWaitMs = 10_000;
/** How long a task is kept after it has ended. */
const defaultKeepMs = 10 * 60_000;
const pollIntervalMs = 2_000;

/** How often what a task does is written for other processes, and that it still works. */
const tellEveryMs = 2_000;
const beatEveryMs = 10_000;
const closeAttempts = 5;
/** Whoever ran a task that was not heard of for so long has been killed. */
const silentMs = 40_000;

/**
 * Calls that go on after their request was answered with a handle (MCP Tasks extension). Each works in one process; how it
 * stands and how it ended is in the state, for all who share that. A task belongs to the principal that called, without
 * authentication to its address: for anybody else there is none.
 */
export function createTasks({
  state,
  waitMs = defaultWaitMs,
  keepMs = defaultKeepMs,
  bounds = defaultBounds,
  rightsOf = () => "",
}: {
  readonly state: State;
  readonly waitMs?: number;
  readonly keepMs?: number;
  readonly bounds?: typeof defaultBounds;
  /** Tells principals with one key apart who may read different things. */
  readonly rightsOf?: (principal: Principal) => string;
}) {
  const { now } = state;
  const mostOfOne = state.isShared ? Math.min(mostShared, bounds.sizePerOwner) : bounds.sizePerOwner;
  const working = new Map<string, Task>();
  const settling = new Set<Promise<void>>();
  const others = state.isShared ? createMessages(state, "cancelled task", (id) => cancelHere(id)) : undefined;
  let isStopped = false;
  let toldAt = 0;
  let beatAt = 0;
  const timer = setInterval(tellOthers, tellEveryMs);
  // it alone does not keep the process alive
  Deno.unrefTimer(timer);

  // a token for less is somebody else's, though it is the same user's, and so is one for another tenant or in other groups
  function ownerKey(principal: Principal): string {
    const scopes = "scopes" in principal ? principal.scopes : undefined;
    const groups = "groups" in principal ? principal.groups : undefined;
    return sha256(JSON.stringify([
      bearerKey(principal),
      callerKey(principal),
      scopes?.toSorted(),
      groups?.toSorted(),
      accountOf(principal),
      rightsOf(principal),
    ]));
  }

  const change = (statements: readonly Statement[]) => state.change(statements, { mayBeLost: true });

  /** Keeps a task that begins to work, if there is room for it. */
  async function keepWorking(task: Task): Promise<boolean> {
    const { id, owner, principal, createdAt } = task;
    const owned = sql`kind = ${kind} AND owner = ${owner}`;
    const [, , kept] = await change([
      // the oldest that has ended makes room, or whose process was killed
      ...endStatements(
        sql`${owned} AND id IN (SELECT id FROM records WHERE ${owned}
            AND (alias = ${hasEnded} OR used_at < ${now() - silentMs})
            AND (SELECT count(*) FROM records WHERE ${owned}) >= ${bounds.tasksPerOwner}
          ORDER BY version LIMIT 1)`,
        now(),
      ),
      sql`INSERT INTO records (kind, id, part_of, owner, value, created_at, used_at, expires_at, version)
        SELECT ${kind}, ${id}, ${principal}, ${owner}, ${
        JSON.stringify(keptOf(task))
      }, ${createdAt}, ${now()},
          ${now() + silentMs + keepMs}, ${currentVersion}
        WHERE (SELECT count(*) FROM records WHERE ${owned}) < ${bounds.tasksPerOwner}
          AND (SELECT count(*) FROM records WHERE kind = ${kind}
            AND (alias = ${hasEnded} OR used_at >= ${now() - silentMs})) < ${bounds.tasks}
        RETURNING id`,
    ]);
    return kept?.length === 1;
  }

  function keptOf({ createdAt, updatedAt, message }: Task): KeptTask {
    return { createdAt, updatedAt, message };
  }

  /** Has other processes see what tasks do, and that they still work. */
  function tellOthers(): void {
    const isBeat = now() - beatAt >= beatEveryMs;
    const told = [...working.values()].filter(({ updatedAt }) => isBeat || updatedAt > toldAt);
    if (isBeat) beatAt = now();
    toldAt = now();
    if (told.length === 0) return;
    const statements = told.map((task) =>
      sql`UPDATE records SET value = ${JSON.stringify(keptOf(task))}, used_at = ${now()},
        expires_at = ${now() + silentMs + keepMs}
        WHERE kind = ${kind} AND id = ${task.id} AND alias IS NULL`
    );
    // the next time will do
    change(statements).catch(() => {});
  }

  async function settle(task: Task, work: Promise<ToolResult>): Promise<void> {
    const ended = await work.then(
      (result): TaskEnd =>
        task.isCancelled && result.isError === true
          ? { status: "cancelled" }
          : { status: "completed", result: result.ask === undefined ? result : errorResult(askedTooLate) },
      (thrown): TaskEnd =>
        task.isCancelled ? { status: "cancelled" } : { status: "failed", error: errorObject(thrown) },
    );
    // its token or session may have ended meanwhile
    if (!working.has(task.id)) return;
    for (let attempt = 1; !await close(task, ended).then(() => true, () => false); attempt++) {
      // the state may be away for a moment
      if (attempt === closeAttempts || isStopped) break;
      await sleep(beatEveryMs / closeAttempts);
    }
    working.delete(task.id);
  }

  async function close(task: Task, ended: TaskEnd): Promise<void> {
    const time = now();
    const kept: KeptTask = {
      createdAt: task.createdAt,
      updatedAt: time,
      message: messages[ended.status],
      ended,
    };
    const value = JSON.stringify(kept);
    if (ended.status === "completed" && value.length > mostOfOne) {
      const most = sizeText(mostOfOne);
      const result = errorResult(
        `Cannot keep the result: it has ${
          sizeText(value.length)
        }, and ${most} are kept at most. Ask for fewer rows or columns`,
      );
      return await close(task, { status: "completed", result });
    }
    await change([
      sql`UPDATE records SET value = ${value}, alias = ${hasEnded}, expires_at = ${time + keepMs},
        version = ${currentVersion} WHERE kind = ${kind} AND id = ${task.id}`,
      ...endStatements(
        sql`kind = ${kind} AND id IN (SELECT id FROM (
          SELECT id, own, sum(size) OVER (ORDER BY own, id) AS whole FROM (
            SELECT id, length(value) AS size,
              sum(length(value)) OVER (PARTITION BY owner ORDER BY version DESC, id) AS own
            FROM records WHERE kind = ${kind} AND alias = ${hasEnded}) AS sizes) AS sums
          WHERE own > ${bounds.sizePerOwner} OR whole > ${bounds.size})`,
        time,
      ),
    ]);
  }

  /** @throws {AppError} `invalid`, the same for a task that is not there and for another's */
  async function find(
    principal: Principal,
    id: unknown,
  ): Promise<Task | (KeptTask & { readonly id: string })> {
    const owner = ownerKey(principal);
    const here = typeof id === "string" ? working.get(id) : undefined;
    if (here?.owner === owner) return here;
    const [[row] = []] = typeof id !== "string" || id.includes("\0") ? [] : await state.read([
      sql`SELECT value, used_at FROM records
        WHERE kind = ${kind} AND id = ${id} AND owner = ${owner} AND expires_at > ${now()}`,
    ]);
    if (row === undefined) {
      throw new AppError(
        "invalid",
        "Cannot find the task: there is none of yours with this taskId, or it ended too long ago",
      );
    }
    const kept: KeptTask = JSON.parse(String(row["value"]));
    const isLost = kept.ended === undefined && now() - Number(row["used_at"]) > silentMs;
    const lost = { status: "failed", error: errorObject(serverGone) } as const;
    return { ...kept, id: String(id), ...(isLost && { message: messages.failed, ended: lost }) };
  }

  function viewOf(task: KeptTask & { readonly id: string }): TaskView {
    const { id, createdAt, updatedAt, message, ended } = task;
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

  function cancelHere(id: string): void {
    const task = working.get(id);
    if (task === undefined) return;
    task.isCancelled = true;
    task.stop(new CallEnded("its caller cancelled it"));
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
      let isTask = false;
      const controller = new AbortController();
      using _leaving = onAbort(signal, () => controller.abort(signal.reason));
      const work = begin({
        id,
        signal: controller.signal,
        isTask: () => isTask,
        tell(told) {
          message = told;
          const task = isTask ? working.get(id) : undefined;
          if (task === undefined) return;
          task.message = told;
          task.updatedAt = now();
        },
      });
      if (await settlesWithin(waitMs, work) || signal.aborted) return await work;
      const begun: Task = {
        id,
        owner: ownerKey(principal),
        principal: bearerKey(principal),
        createdAt: calledAt,
        updatedAt: now(),
        message,
        isCancelled: false,
        stop: (why) => controller.abort(why),
      };
      working.set(id, begun);
      // without the state nobody could ask for it, and its token or session may end meanwhile
      if (!await keepWorking(begun).catch(() => false) || !working.has(id)) {
        working.delete(id);
        return await work;
      }
      begun.message = message;
      isTask = true;
      const settled = settle(begun, work).finally(() => settling.delete(settled));
      settling.add(settled);
      return viewOf(begun);
    },

    /**
     * @throws {AppError} `invalid` where the principal has no such task, `unavailable` where it cannot be told
     */
    async get(
      principal: Principal,
      id: unknown,
    ): Promise<{ readonly view: TaskView; readonly ended?: TaskEnd }> {
      const task = await find(principal, id);
      return { view: viewOf(task), ...("ended" in task && { ended: task.ended }) };
    },

    /** Cancels a task; one that has ended stays as it is. Throws as `get`. */
    async cancel(principal: Principal, id: unknown): Promise<void> {
      const task = await find(principal, id);
      if (working.has(task.id)) cancelHere(task.id);
      else if (!("ended" in task)) others?.send(task.id, bearerKey(principal));
    },

    /** Ends and forgets the tasks of a principal: its token or session has ended. */
    endPrincipal(principal: Principal): void {
      const key = bearerKey(principal);
      for (const task of [...working.values()].filter((task) => task.principal === key)) {
        working.delete(task.id);
        task.stop(new CallEnded("its token or session has ended"));
      }
      // each of its tasks expires by itself
      change(endStatements(sql`kind = ${kind} AND part_of = ${key}`, now())).catch(() => {});
    },

    async [Symbol.asyncDispose](): Promise<void> {
      isStopped = true;
      clearInterval(timer);
      others?.[Symbol.dispose]();
      for (const task of working.values()) task.stop(new CallEnded("the server stops"));
      await Promise.all(settling);
    },
  };
}

export type Tasks = ReturnType<typeof createTasks>;

const kind = "task";
/** As an alias, tells tasks that have ended from those that work. */
const hasEnded = "ended";

const serverGone = new AppError("unavailable", "Cannot end the call: the server that ran it has stopped");

const messages = {
  completed: "The call has ended; its result is here",
  failed: "The call failed",
  cancelled: "Its caller cancelled the call",
} as const;

/** Of a call that asked at the moment in which it became a task. */
const askedTooLate = "The call needs an answer from its user, and a task cannot ask: send the call again";
