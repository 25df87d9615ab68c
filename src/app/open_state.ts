import type { Config } from "../config/mod.ts";
import { type Logger, silentLogger } from "../core/logger.ts";
import type { StateEngine } from "../state/engine.ts";
import { openParentEngine } from "../state/parent_engine.ts";
import { openSqliteEngine, stateFile } from "../state/sqlite_engine.ts";
import { openState, type State } from "../state/state.ts";

type StateConfig = Pick<Config, "state" | "data_dir" | "pass_file">;

/**
 * Opens what a server must remember: in the database that `state` names, else at the parent process, else in `data_dir`, else
 * in memory.
 *
 * @param options.parent Optional: none where the process is the only one
 * @param options.waits whether a database that does not answer is waited for. Optional; the default is true
 * @throws {AppError} `invalid`, `conflict`, `forbidden` or `unavailable` where it cannot be used
 */
export async function openConfiguredState(
  config: StateConfig,
  logger: Logger,
  options: OpenOptions = {},
): Promise<State> {
  return openState({
    engine: await openEngine(config, logger, options),
    graceMs: config.state.grace,
    logger,
  });
}

interface OpenOptions {
  readonly parent?: Parameters<typeof openParentEngine>[0] | undefined;
  readonly waits?: boolean;
}

async function openEngine(
  { state: { database }, ...config }: StateConfig,
  logger: Logger,
  { parent, waits = true }: OpenOptions,
): Promise<StateEngine> {
  if (database !== undefined) {
    const { databaseOptions } = await import("./open_databases.ts");
    const { openPostgresEngine } = await import("../state/postgres_engine.ts");
    return await openPostgresEngine({ database: databaseOptions(database, config.pass_file), waits, logger });
  }
  return parent === undefined ? openLocalEngine(config) : openParentEngine(parent, Date.now);
}

/** The state of one machine. @throws {AppError} where its file cannot be used */
export function openLocalEngine({ data_dir: dataDir }: Pick<Config, "data_dir">): StateEngine {
  return openSqliteEngine(dataDir === undefined ? undefined : stateFile(dataDir), Date.now);
}

/** Opens the state for a moment, without a server. @throws {AppError} as openConfiguredState */
export const openStateNow = (config: StateConfig): Promise<State> =>
  openConfiguredState(config, silentLogger, { waits: false });
