import { AppError } from "../../core/app_error.ts";
import { untilAborted } from "../../core/async/abort.ts";
import { settlesWithin, withDeadline } from "../../core/async/deadline.ts";
import { createSingleFlight } from "../../core/async/single_flight.ts";
import type { Logger } from "../../core/logger.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import { sqlStateOf } from "../../postgres/sql_session.ts";
import type { SearchCaller } from "../filter/check_filter.ts";
import type { Filter } from "../query.ts";
import { RowSecurityError } from "../row_security/proof.ts";
import type { RetrievedDocument } from "./fusion.ts";
import type { Retriever, RetrieveRequest } from "./retriever.ts";

interface CurrentRetrieverOptions {
  /** For the log. */
  readonly pipeline: string;
  /** Looks at the tables and their indexes. */
  readonly open: (signal: AbortSignal) => Promise<Retriever>;
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
  readonly logger: Logger;
}

/** The definition of a table may be a minute old, so a new index is used after a minute at the latest. */
const maxAgeMs = 60_000;

/**
 * A filter may name a column that is newer than the last look. This bounds the looks that invented columns can cause.
 */
const freshMs = 5_000;

/** How long a query waits for a new look while there is an old one. */
const patienceMs = 1_000;

/**
 * A table, a column, a function or an operator, or another object that does not exist: it was renamed or dropped since
 * it was looked at. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const absentStates: readonly unknown[] = ["42P01", "42703", "42883", "42704"];

/**
 * A pipeline's retriever over its tables as they are. The tables are looked at
 *
 * - when they are first needed: a database that is down at the start stops only the queries that come before it is back;
 * - again, once the last look is a minute old. A query waits a second at most for that;
 * - where a filter does not fit them, unless the last look is fresh. A query waits as long for that;
 * - where row-level security does not hold its callers any more, before each query until it does;
 * - where a search ended in an error, as a table may have changed: at once, to search it again, where something no longer
 *   exists, else before the next query.
 */
export function createCurrentRetriever(
  { pipeline, open, now, logger }: CurrentRetrieverOptions,
): (signal: AbortSignal) => Promise<Retriever> {
  const flight = createSingleFlight<Retriever>();
  let current: Retriever | undefined;
  let openedAt = 0;
  let look = Promise.resolve();

  async function reopen(signal: AbortSignal): Promise<Retriever> {
    const startedAt = now();
    const opened = await open(signal).catch((error: unknown) => {
      // here the configuration is at fault, not the caller, so the reply does not mention it
      if (!(error instanceof AppError) || error.code !== "invalid") throw error;
      throw new AppError("upstream", error.message, { cause: error });
    });
    openedAt = startedAt;
    current = opened;
    return opened;
  }

  async function search(opened: Retriever, request: RetrieveRequest): Promise<readonly RetrievedDocument[]> {
    try {
      return await opened.retrieve(request);
    } catch (error) {
      const isOfTables = error instanceof AppError && !(error instanceof ProviderError) &&
        !(error instanceof RowSecurityError);
      if (isOfTables && error.code === "upstream" && current === opened) current = undefined;
      throw error;
    }
  }

  async function retrieve(
    opened: Retriever,
    request: RetrieveRequest,
  ): Promise<readonly RetrievedDocument[]> {
    try {
      return await search(opened, request);
    } catch (error) {
      if (!absentStates.includes(sqlStateOf(error))) throw error;
      logger.warn("A pipeline's tables have changed; reading their definitions again", { pipeline });
      return await search(current ?? await flight.join(request.signal, reopen), request);
    }
  }

  /** Resolves with the look, whatever comes of it, or as soon as a query has waited long enough. */
  async function lookAgain(): Promise<void> {
    openedAt = now();
    const looked = withDeadline(maxAgeMs, undefined, (signal) => flight.join(signal, reopen))
      .catch((error) => {
        if (error instanceof RowSecurityError) {
          current = undefined;
          logger.error("A pipeline no longer answers", { pipeline, error });
          return;
        }
        logger.warn("Cannot read the definitions of a pipeline's tables again; it keeps the earlier ones", {
          pipeline,
          error,
        });
      });
    await settlesWithin(patienceMs, looked);
  }

  /** The retriever whose tables a filter fits: the one that was opened, or a newer one. */
  async function fitting(opened: Retriever, filter: Filter, caller: SearchCaller): Promise<Retriever> {
    try {
      await opened.checkFilter(filter, caller);
      return opened;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "invalid") throw error;
      if (now() - openedAt >= freshMs) look = lookAgain();
      await untilAborted(look, caller.signal);
      if (current === undefined || current === opened) throw error;
      await current.checkFilter(filter, caller);
      return current;
    }
  }

  return async (signal) => {
    if (current !== undefined && now() - openedAt >= maxAgeMs) look = lookAgain();
    await untilAborted(look, signal);
    let opened = current ?? await flight.join(signal, reopen);
    return {
      documents: opened.documents,
      async checkFilter(filter, caller) {
        opened = await fitting(opened, filter, caller);
      },
      retrieve: (request) => retrieve(opened, request),
    };
  };
}
