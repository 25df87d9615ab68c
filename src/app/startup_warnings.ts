import { withDeadline } from "../core/async/deadline.ts";
import type { Logger } from "../core/logger.ts";
import type { Database } from "../postgres/database.ts";

const timeoutMs = 10_000;

/**
 * Logs, for each database, what an operator should know: that it cannot be reached yet, or that its role may do more
 * than read. The server neither waits for this nor stops because of it.
 */
export async function logStartupWarnings(databases: readonly Database[], logger: Logger): Promise<void> {
  await Promise.all(databases.map(async (database) => {
    try {
      for (const warning of await withDeadline(timeoutMs, undefined, (signal) => database.warnings(signal))) {
        logger.warn(warning, { database: database.name });
      }
    } catch (error) {
      logger.warn("Database is not ready; what needs it will work as soon as it is", {
        database: database.name,
        error,
      });
    }
  }));
}
