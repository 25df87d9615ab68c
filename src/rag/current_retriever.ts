import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import { createSharedFlight } from "../postgres/shared_flight.ts";
import type { Retriever } from "./retrieve.ts";

export interface CurrentRetrieverOptions {
  /** For the log. */
  readonly pipeline: string;
  /** Looks at the tables and their indexes. */
  readonly open: (signal: AbortSignal) => Promise<Retriever>;
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
  readonly logger: Logger;
}

/** What has become of a table since may be a minute old; a new index is not missed for longer. */
const maxAgeMs = 60_000;

/**
 * A pipeline's retriever over its tables as they are. They are looked at when they are first needed, so that a database
 * which is down at the start stops only the queries that come before it is back; again in the background once they are a
 * minute old; and before the next query where a search has failed, since a table may have changed.
 */
export function createCurrentRetriever(
  { pipeline, open, now, logger }: CurrentRetrieverOptions,
): (signal: AbortSignal) => Promise<Retriever> {
  const flight = createSharedFlight<Retriever>();
  let current: Retriever | undefined;
  let openedAt = 0;

  async function openTables(signal: AbortSignal): Promise<Retriever> {
    try {
      return await open(signal);
    } catch (error) {
      // what does not fit here is the configuration, and no caller is to blame for it or told of it
      if (!(error instanceof AppError) || error.code !== "invalid") throw error;
      throw new AppError("upstream", error.message, { cause: error });
    }
  }

  async function reopen(signal: AbortSignal): Promise<Retriever> {
    const startedAt = now();
    const opened = await openTables(signal);
    openedAt = startedAt;
    current = {
      checkFilter: opened.checkFilter,
      async retrieve(request) {
        try {
          return await opened.retrieve(request);
        } catch (error) {
          if (error instanceof AppError && error.code === "upstream") current = undefined;
          throw error;
        }
      },
    };
    return current;
  }

  function refresh(): void {
    openedAt = now();
    flight.join(AbortSignal.timeout(maxAgeMs), reopen).catch((error) =>
      logger.warn("Cannot look at a pipeline's tables again; it goes on as they were", { pipeline, error })
    );
  }

  return async (signal) => {
    if (current === undefined) return await flight.join(signal, reopen);
    if (now() - openedAt >= maxAgeMs) refresh();
    return current;
  };
}
