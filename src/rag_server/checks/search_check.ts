import { AppError } from "../../core/app_error.ts";
import { type LogFields, type Logger, silentLogger } from "../../core/logger.ts";
import { openSearchedTable } from "../search/searched_table.ts";
import { createRetriever } from "../search/retriever.ts";
import { type Check, error, note } from "./check.ts";
import type { TableSubject } from "./table_subject.ts";

/** Whether a question finds its way through the table: what no look at the catalog would show. */
export function searchCheck(
  { database, settings, table, embedding }: TableSubject,
  isHybrid: boolean,
): Check {
  return {
    name: `search of ${settings.table}`,
    async run(signal) {
      const vector = await embedding();
      // other checks tell of a provider that fails and of other dimensions
      if (vector === undefined || vector.length !== (table.vector.dimensions ?? vector.length)) {
        return { findings: [] };
      }
      const log = reasonLog();
      try {
        const searched = await openSearchedTable(database, settings, signal);
        const search = { hybridEnabled: isHybrid, vectorWeight: 0.5 };
        const retriever = createRetriever({ database, tables: [searched], search, logger: log.logger });
        const question = { question: "ping", embedding: vector, limit: 10, hybrid: isHybrid, signal };
        const startedAt = performance.now();
        const found = await retriever.retrieve(question);
        const ms = performance.now() - startedAt;
        return { findings: [note(`${found.length} documents in ${ms.toFixed(0)} ms`)] };
      } catch (thrown) {
        signal.throwIfAborted();
        if (!(thrown instanceof AppError)) throw thrown;
        const reason = log.reason();
        const finding = reason === undefined ? thrown.message : `${thrown.message}: ${reason}`;
        return {
          findings: [error(finding, "-- Mend what this and the findings above name, and run -doctor again")],
        };
      }
    },
  };
}

/** The retriever tells callers little of what the database says, and the log all of it. */
function reasonLog(): { readonly logger: Logger; reason(): string | undefined } {
  let reason: string | undefined;
  const warn = (_message: string, { error }: LogFields = {}) => {
    if (typeof error === "object" && error !== null && "message" in error) reason = String(error.message);
  };
  return { logger: { ...silentLogger, warn }, reason: () => reason };
}
