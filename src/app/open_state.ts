import type { Config } from "../config/mod.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import type { StateEngine } from "../state/engine.ts";
import { openParentEngine } from "../state/parent_engine.ts";
import { openSqliteEngine, stateFile } from "../state/sqlite_engine.ts";
import { openState, type State } from "../state/state.ts";
import { databaseOptions } from "./open_databases.ts";

type StateConfig = Pick<Config, "state" | "data_dir" | "pass_file">;

/**
 * Opens what a server must remember: in the database that `state` names, else at the parent process, else in `data_dir`, else
 * in memory.
 *
 * @param parent Optional: none where the process is the only one
 * @throws {AppError} `invalid`, `conflict`, `forbidden` or `unavailable` where it cannot be used; a database that does not
 * answer is waited for
 */
export async function openConfiguredState(
  config: StateConfig,
  logger: Logger,
  parent?: Parameters<typeof openParentEngine>[0],
): Promise<State> {
  return openState({ engine: await openEngine(config, logger, parent), graceMs: config.state.grace, logger });
}

async function openEngine(
  { state: { database }, ...config }: StateConfig,
  logger: Logger,
  parent: Parameters<typeof openParentEngine>[0] | undefined,
): Promise<StateEngine> {
  if (database !== undefined) {
    const { openPostgresEngine } = await import("../state/postgres_engine.ts");
    return await openPostgresEngine({ database: databaseOptions(database, config.pass_file), logger });
  }
  return parent === undefined ? openLocalEngine(config) : openParentEngine(parent, Date.now);
}

/** The state of one machine. @throws {AppError} where its file cannot be used */
export function openLocalEngine({ data_dir: dataDir }: Pick<Config, "data_dir">): StateEngine {
  return openSqliteEngine(dataDir === undefined ? undefined : stateFile(dataDir), Date.now);
}

/** Whether a server could use the state. @throws {AppError} as openConfiguredState, and where the database does not answer */
export async function checkState(config: StateConfig): Promise<void> {
  await using state = await openConfiguredState(config, silentLogger);
  await state.catchUp();
}
