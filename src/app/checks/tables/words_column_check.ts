import { AppError } from "../../../core/app_error.ts";
import { quoteIdentifier, quoteLiteral } from "../../../postgres/sql_text.ts";
import { longestScan } from "../../../rag_server/keyword/keyword_search.ts";
import { fewTexts, keywordIndexOf } from "../../../rag_server/search/searched_table.ts";
import { type Check, type CheckResult, note, warning } from "../check.ts";
import { isWritable, rowsText, type TableSubject } from "./table_subject.ts";

/**
 * Whether a table whose callers have rows of their own has the words of its texts in a column: without one each text
 * that a caller may see is analysed again, or none is where these are too many.
 */
export function wordsColumnCheck(subject: TableSubject): Check {
  const { database, table, settings } = subject;
  return {
    name: `words of ${settings.table}`,
    async run(signal) {
      try {
        const index = await keywordIndexOf(database, table, settings, signal);
        if (index.kind !== "tsvector") return [];
        return [index.vector === undefined ? missing(subject, index.config) : note(`in ${index.vector}`)];
      } catch (thrown) {
        if (!(thrown instanceof AppError)) throw thrown;
        return [warning(thrown.message, "-- Correct the table's settings in the configuration")];
      }
    },
  };
}

function missing(subject: TableSubject, config: string): CheckResult {
  const { facts } = subject;
  if (facts.rows < fewTexts) return note(`in no column; ${rowsText(facts.rows)} do not need one`);
  const { rows, bytes } = longestScan;
  const message =
    `No tsvector column with a GIN index has the words of ${facts.relation}, so questions read the texts that their ` +
    `caller may see; where these are more than ${rows.toLocaleString("en-US")} rows or ${
      bytes / 1_048_576
    } MiB, ` +
    "they are searched by meaning alone";
  return warning(
    message,
    isWritable(facts.kind)
      ? addWordsColumn(subject, config)
      : `-- Name a table that has such a column in the configuration: the indexes below ${facts.relation} do not count`,
  );
}

/** SQL for a column that keeps the words of a table's texts, and the index that tells which column it is. */
export function addWordsColumn({ facts, settings, table }: TableSubject, config: string): string {
  const words = `to_tsvector(${quoteLiteral(config)}, ${quoteIdentifier(settings.textColumn)})`;
  const column = quoteIdentifier(table.columns.has("words") ? `${settings.textColumn}_words` : "words");
  return `ALTER TABLE ${facts.relation} ADD COLUMN ${column} tsvector GENERATED ALWAYS AS (${words}) STORED;
CREATE INDEX ON ${facts.relation} USING gin (${column});`;
}
