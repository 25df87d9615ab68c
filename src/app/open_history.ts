import { join } from "node:path";
import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createMemoryHistory, type History } from "../tool_server/questions/history.ts";
import { createSqliteHistory } from "../tool_server/questions/sqlite_history.ts";

const minuteMs = 60_000;

/**
 * The callers' history: in `data_dir` where there is one, else until the process ends. What has expired is cleared every
 * `clearEveryMs`, though nobody asks.
 */
export function openHistory(
  { data_dir }: Pick<Config, "data_dir">,
  logger: Logger,
  clearEveryMs = minuteMs,
): History {
  const now = Date.now;
  const history = data_dir === undefined
    ? createMemoryHistory({ now })
    : createSqliteHistory({ path: join(data_dir, "turns.sqlite"), now, logger });
  const timer = setInterval(history.clearExpired, clearEveryMs);
  // it shall not keep a process alive that has nothing else to do
  Deno.unrefTimer(timer);
  return {
    ...history,
    [Symbol.dispose]() {
      clearInterval(timer);
      history[Symbol.dispose]();
    },
  };
}
