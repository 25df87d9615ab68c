import { AppError } from "../../core/app_error.ts";
import type { Database } from "../../postgres/database.ts";
import type { SearchedTableSettings } from "../search/searched_table.ts";
import { readTable } from "../search/document_table.ts";
import { type Check, error, type Finding, note } from "./check.ts";
import { dimensionCheck } from "./dimension_check.ts";
import { filterCheck } from "./filter_check.ts";
import { idCheck } from "./id_check.ts";
import { keywordIndexCheck } from "./keyword_index_check.ts";
import { missingVectorsCheck } from "./missing_vectors_check.ts";
import { searchCheck } from "./search_check.ts";
import { statisticsCheck } from "./statistics_check.ts";
import { missingTable, tableFaults } from "./table_faults.ts";
import { readTableFacts } from "./table_facts.ts";
import { rowsText, type TableSubject } from "./table_subject.ts";
import { vectorIndexCheck } from "./vector_index_check.ts";

export interface TableCheckOptions {
  /** Its name. */
  readonly pipeline: string;
  /** Whether it is the pipeline's first, which `-ingest` writes to. */
  readonly isIngestTarget: boolean;
  readonly database: Database;
  readonly settings: SearchedTableSettings;
  /** Whether its words are searched. */
  readonly isHybrid: boolean;
  /** One by the provider; undefined where it gives none. */
  readonly embedding: () => Promise<Float32Array | undefined>;
}

/** Whether a table can be searched at all; how well follows. */
export function tableCheck(options: TableCheckOptions): Check {
  const { pipeline, isIngestTarget, database, settings, embedding } = options;
  const dimensions = async () => (await embedding())?.length;
  return {
    name: `table ${settings.table}`,
    async run(signal) {
      const facts = await readTableFacts(database, settings.table, signal);
      if (facts === undefined) return { findings: [missingTable(settings, await dimensions())] };
      if (tableFaults(settings, facts).length > 0) {
        return { findings: tableFaults(settings, facts, await dimensions()) };
      }
      try {
        const table = await readTable(database, settings, signal);
        const subject = { pipeline, isIngestTarget, database, settings, table, facts, embedding };
        return { findings: [note(rowsText(facts.rows))], next: checksOf(subject, options.isHybrid) };
      } catch (thrown) {
        if (thrown instanceof AppError && thrown.code === "invalid") {
          return { findings: [unsearchable(thrown)] };
        }
        throw thrown;
      }
    },
  };
}

function checksOf(subject: TableSubject, isHybrid: boolean): Check[] {
  return [
    dimensionCheck(subject),
    idCheck(subject),
    missingVectorsCheck(subject),
    vectorIndexCheck(subject),
    ...(isHybrid ? [keywordIndexCheck(subject)] : []),
    ...(subject.table.filter === undefined ? [] : [filterCheck(subject)]),
    statisticsCheck(subject),
    searchCheck(subject, isHybrid),
  ];
}

// what is left is a filter that fails, or a domain over a type that cannot be searched
function unsearchable({ message }: AppError): Finding {
  return error(message, "-- Correct the table's settings in the configuration");
}
