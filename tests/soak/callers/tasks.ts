import { envelope } from "../../support/mcp_request.ts";
import { type Answer, exchange } from "../exchange.ts";
import { type Load, over, pause } from "../load.ts";
import { stateIsAway } from "../tool_calls.ts";

const extension = "io.modelcontextprotocol/tasks";
/** Longer than a call is waited for, which is ten seconds. */
const sleepSeconds = 12;
/** A task of a process that was killed fails within 40 s. */
const longestMs = 75_000;

/** Calls that take long, asked for at whichever replica; every second is cancelled. */
export async function taskCaller(load: Load, token: string): Promise<void> {
  const { ledger } = load;
  let isToBeCancelled = false;
  await over(load, "task", 500, async () => {
    isToBeCancelled = !isToBeCancelled;
    const nonce = crypto.randomUUID();
    const seconds = isToBeCancelled ? 2 * sleepSeconds : sleepSeconds;
    const query = `SELECT '${nonce}' AS nonce FROM pg_sleep(${seconds})`;
    const begunAt = Date.now();
    const begun = await ask(load, token, "tools/call", {
      name: "query_database",
      arguments: { query, database: "app" },
    });
    if (begun === undefined) return;
    if (begun.result?.taskId === undefined) return checkDirect(load, begun, nonce, begunAt);
    ledger.count("tasks");
    const { taskId } = begun.result;
    // until it is taken: the state may be away
    while (isToBeCancelled && await ask(load, token, "tasks/cancel", { taskId }) === undefined) {
      await pause(load, 300);
    }
    while (!load.stopping.aborted) {
      await pause(load, 700);
      const task = await ask(load, token, "tasks/get", { taskId });
      if (task === undefined) continue;
      if (task.result === undefined) {
        return ledger.fail(`tasks/get of ${query} was answered with ${task.text}`);
      }
      if (task.result.status !== "working") return checkEnd(load, task, nonce, isToBeCancelled, begunAt);
      if (Date.now() - begunAt > longestMs) {
        return ledger.fail(`the task of ${query} works for ${Date.now() - begunAt} ms: ${task.text}`);
      }
    }
  });
}

function isExplained({ ledger }: Load, begunAt: number): boolean {
  const now = Date.now();
  return ledger.near("ends calls", begunAt, now).length > 0 ||
    ledger.near("refuses", begunAt, now).length > 0;
}

interface TaskReply {
  readonly text: string;
  readonly result?: {
    readonly taskId?: string;
    readonly status?: string;
    readonly isError?: boolean;
    readonly structuredContent?: { readonly rows?: unknown };
    readonly result?: { readonly structuredContent?: { readonly rows?: unknown } };
  };
}

/** Answered without a task, as where its state is away. */
function checkDirect(load: Load, { result, text }: TaskReply, nonce: string, begunAt: number): void {
  if (JSON.stringify(result?.structuredContent?.rows) === JSON.stringify([[nonce]])) return;
  if (isExplained(load, begunAt)) return load.ledger.count("failed statements");
  load.ledger.fail(`a long statement was answered with ${text}`);
}

function checkEnd(
  load: Load,
  { result, text }: TaskReply,
  nonce: string,
  wasCancelled: boolean,
  begunAt: number,
): void {
  const { ledger } = load;
  const status = result?.status;
  ledger.count(`tasks ${status}`);
  const rows = JSON.stringify(result?.result?.structuredContent?.rows);
  const isDone = status === "completed" && rows === JSON.stringify([[nonce]]);
  if (rows !== undefined && !isDone) {
    return ledger.fail(`a task has another's rows: ${text} in place of ${nonce}`);
  }
  if ((wasCancelled ? status === "cancelled" : isDone) || isExplained(load, begunAt)) return;
  ledger.fail(`a task ${wasCancelled ? "that was cancelled " : ""}ended as ${text}`);
}

/** One request of MCP of 2026-07-28 by a client that takes tasks. */
async function ask(
  { fleet, ledger }: Load,
  token: string,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<TaskReply | undefined> {
  const name = `${method} ${JSON.stringify(params)}`;
  const answer = await exchange(ledger, name, `${fleet.balancer.tools}/mcp/v1`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: `Bearer ${token}`,
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": String(params["name"] ?? params["taskId"]),
    },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: crypto.randomUUID(),
      method,
      params: { ...params, _meta: envelope({ extensions: { [extension]: {} } }) },
    }),
  });
  if (answer === undefined) return undefined;
  if (answer.status !== 200) {
    ledger.fail(`${name} was answered with ${answer.status} ${answer.text}`);
    return undefined;
  }
  if (stateIsAway.test(answer.text) && ledger.near("refuses", answer.sentAt, answer.at).length > 0) {
    ledger.count("failed tools");
    return undefined;
  }
  return { ...lastMessage(answer), text: answer.text };
}

function lastMessage({ headers, text }: Answer): Pick<TaskReply, "result"> {
  if (!headers.get("content-type")?.startsWith("text/event-stream")) return JSON.parse(text);
  const data = [...text.matchAll(/^data: (.+)$/gm)].map(([, line = "{}"]) => line);
  return JSON.parse(data.at(-1) ?? "{}");
}
