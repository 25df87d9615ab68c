import { join } from "node:path";
import type { Config } from "../config/mod.ts";
import type { Logger } from "../core/logger.ts";
import { createMemoryTurns } from "../text_to_sql/memory_turns.ts";
import { createSqliteTurns } from "../text_to_sql/sqlite_turns.ts";
import type { TurnStore } from "../text_to_sql/turns.ts";

/** The callers' turns: in `data_dir` where there is one, else until the process ends. */
export function openTurns({ data_dir }: Config, logger: Logger): TurnStore {
  if (data_dir === undefined) return createMemoryTurns({ now: Date.now });
  return createSqliteTurns({ path: join(data_dir, "turns.sqlite"), now: Date.now, logger });
}
