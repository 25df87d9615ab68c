import { join } from "node:path";
import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createMemoryTurns } from "../tool_server/questions/history/memory_turns.ts";
import { createSqliteTurns } from "../tool_server/questions/history/sqlite_turns.ts";
import type { TurnStore } from "../tool_server/questions/history/turns.ts";

const minuteMs = 60_000;

/**
 * The callers' turns: in `data_dir` where there is one, else until the process ends. What has expired is cleared every
 * `clearEveryMs`, though nobody asks.
 */
export function openTurns(
  { data_dir }: Pick<Config, "data_dir">,
  logger: Logger,
  clearEveryMs = minuteMs,
): TurnStore {
  const now = Date.now;
  const turns = data_dir === undefined
    ? createMemoryTurns({ now })
    : createSqliteTurns({ path: join(data_dir, "turns.sqlite"), now, logger });
  const timer = setInterval(turns.clearExpired, clearEveryMs);
  // it shall not keep a process alive that has nothing else to do
  Deno.unrefTimer(timer);
  return {
    ...turns,
    [Symbol.dispose]() {
      clearInterval(timer);
      turns[Symbol.dispose]();
    },
  };
}
