import { AppError } from "../../core/app_error.ts";
import type { LogFields, Logger } from "../../core/logger.ts";

export type AvailabilityLog = ReturnType<typeof createAvailabilityLog>;

/** A database that can be reached only now and then, since it has few connections left, is told of once in this time. */
const windowMs = 60_000;

/**
 * What is known of whether a database answers. Says in the log that a database can no longer be reached, and that it can be
 * again: once, not for each call. Before a database's first connection only the end of the wait is logged: who starts the
 * server says that it waits.
 */
export function createAvailabilityLog(logger: Logger, now: () => number) {
  let downSince: number | undefined;
  let toldAt = -Infinity;
  let told: "lost" | "refused" | undefined;
  let hasAnswered = false;
  let isPoolerTold = false;
  let answeredAt = -Infinity;

  function fail(kind: "lost" | "refused", message: string, fields: LogFields): void {
    answeredAt = -Infinity;
    downSince ??= now();
    if (told === "refused" || told === kind || (hasAnswered && now() - toldAt < windowMs)) return;
    told = kind;
    if (!hasAnswered) return;
    toldAt = now();
    logger.warn(message, fields);
  }

  return {
    /** The server answered on an open connection. */
    answered: (): void => void (answeredAt = now()),
    /** A connection broke: what was heard of the server before that says nothing any more. */
    forgetAnswer: (): void => void (answeredAt = -Infinity),
    hasAnsweredWithin: (ms: number): boolean => now() - answeredAt < ms,
    opened(): void {
      answeredAt = now();
      const again = hasAnswered ? "again" : "now";
      hasAnswered = true;
      if (downSince !== undefined && told !== undefined) {
        const seconds = Math.round((now() - downSince) / 1_000);
        logger.info(`The database can be reached ${again}`, { after_s: seconds });
      }
      downSince = told = undefined;
    },
    /** A pooler stands before the database, and the configuration does not say so. */
    foundPooler(): void {
      if (isPoolerTold) return;
      isPoolerTold = true;
      logger.warn(
        "A connection pooler stands before the database, so each transaction brings its settings along; say so with " +
          "pooler: transaction",
      );
    },
    /** No connection could be opened. */
    refused(error: unknown): void {
      const sqlState = error instanceof AppError ? error.data?.["sqlState"] : undefined;
      const cause = error instanceof AppError && error.cause instanceof Error
        ? error.cause.message
        : undefined;
      fail("refused", "The database cannot be reached", { error, cause, sqlstate: sqlState });
    },
    /** The server ended a connection, or the network did. */
    lost: (error: Error): void => fail("lost", "A connection to the database was lost", { error }),
  };
}
