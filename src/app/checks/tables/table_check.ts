import { defined } from "../../../core/defined.ts";
import { AppError } from "../../../core/app_error.ts";
import { type LogFields, type Logger, silentLogger } from "../../../core/logger.ts";
import { nameInMessage, quoteIdentifier } from "../../../postgres/sql_text.ts";
import { readTable } from "../../../rag_server/search/document_table.ts";
import { createRetriever } from "../../../rag_server/search/retriever.ts";
import {
  isOfCallers,
  openSearchedTable,
  type SearchedTableSettings,
} from "../../../rag_server/search/searched_table.ts";
import { type Check, type CheckResult, createCheck, error, note } from "../check.ts";
import { idCheck } from "./id_check.ts";
import { keywordIndexCheck, languageCheck, wordsColumnCheck } from "./keyword_index_check.ts";
import { filterCheck, statisticsCheck } from "./planner_checks.ts";
import {
  addIdColumn,
  type ColumnFacts,
  isWritable,
  readTableFacts,
  relationName,
  rowsText,
  type TableFacts,
  type TableSubject,
  type TableToCheck,
  whyUntold,
} from "./table_subject.ts";
import { dimensionCheck, missingVectorsCheck } from "./vector_checks.ts";
import { vectorIndexCheck } from "./vector_index_check.ts";

/** Whether a table can be searched at all; how well follows. */
export function tableCheck(given: TableToCheck): Check {
  const { database, settings, embedding } = given;
  const dimensions = async () => (await embedding())?.length;
  return createCheck(`table ${settings.table}`, async (signal) => {
    const facts = await readTableFacts(database, settings.table, signal);
    if (facts === undefined) return [missingTable(settings, await dimensions())];
    if (tableFaults(settings, facts).length > 0) {
      return tableFaults(settings, facts, await dimensions());
    }
    try {
      const table = await readTable(database, settings, signal);
      return [note(rowsText(facts.rows)), ...checksOf({ ...given, table, facts })];
    } catch (thrown) {
      if (!(thrown instanceof AppError && thrown.code === "invalid")) throw thrown;
      // other causes: a filter that fails, or a domain over a type that cannot be searched
      return [error(thrown.message, "-- Correct the table's settings in the configuration")];
    }
  });
}

/** What is checked of a table that can be searched. */
function checksOf(subject: TableSubject): Check[] {
  const hasIndexes = !isOfCallers(subject.database, subject.table);
  return [
    dimensionCheck(subject),
    idCheck(subject),
    missingVectorsCheck(subject),
    ...(hasIndexes ? [vectorIndexCheck(subject)] : [comparedRows(subject)]),
    ...(subject.isHybrid ? [hasIndexes ? keywordIndexCheck(subject) : wordsColumnCheck(subject)] : []),
    ...(subject.isHybrid && hasIndexes ? [languageCheck(subject)] : []),
    ...(subject.table.filter === undefined ? [] : [filterCheck(subject)]),
    statisticsCheck(subject),
    searchCheck(subject),
  ];
}

/** In place of the looks at indexes, where none is asked. */
function comparedRows({ settings }: TableSubject): Check {
  const told = "questions compare every row that their caller may see, and use no vector or keyword index";
  return { name: `search in ${settings.table}`, run: () => Promise.resolve([note(told)]) };
}

/** A guess for where the provider does not tell. */
const usualDimensions = 1_536;
const vectorTypes = ["vector", "halfvec", "sparsevec"];

/** For a table that does not exist: the SQL that creates it. */
function missingTable(settings: SearchedTableSettings, dimensions = usualDimensions): CheckResult {
  const { table, textColumn, vectorColumn, idColumn = "id" } = settings;
  const message = `There is no table or view ${nameInMessage(table)}`;
  const name = relationName(table);
  if (name === undefined) {
    return error(
      message,
      `-- No table can have this name: write it as documents, app.documents, or quoted as in "App"."Odd ""Name"""`,
    );
  }
  const schema = name.schema === undefined ? "" : `CREATE SCHEMA IF NOT EXISTS ${name.schema};\n`;
  return error(
    message,
    `-- Correct the table's name in the configuration, or make it:
${schema}CREATE TABLE ${name.relation} (
  ${quoteIdentifier(idColumn)} bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ${quoteIdentifier(textColumn)} text NOT NULL,
  ${quoteIdentifier(vectorColumn)} vector(${dimensions})
);`,
  );
}

/** What keeps a table that is there from being searched: rights, columns, their types. */
function tableFaults(
  settings: SearchedTableSettings,
  facts: TableFacts,
  dimensions = usualDimensions,
): CheckResult[] {
  const { relation, role, schema, columns } = facts;
  if (!facts.mayUseSchema) {
    return [
      error(`Role ${role} may not use schema ${schema}`, `GRANT USAGE ON SCHEMA ${schema} TO ${role};`),
    ];
  }
  const { textColumn, vectorColumn, idColumn } = settings;
  const named = [textColumn, vectorColumn, ...(idColumn === undefined ? [] : [idColumn])];
  const found = columns.filter(({ name }) => named.includes(name));
  const unreadable = found.filter(({ isReadable }) => !isReadable).map(({ name }) => `"${name}"`);
  const rights = unreadable.length === 0 ? [] : [error(
    `Role ${role} may not read ${relation}: ${unreadable.join(", ")}`,
    `GRANT SELECT ON ${relation} TO ${role};`,
  )];
  const find = (column: string) => found.find(({ name }) => name === column);
  return [
    ...rights,
    ...textFaults(facts, textColumn, find(textColumn)),
    ...vectorFaults(facts, vectorColumn, find(vectorColumn), dimensions),
    ...(idColumn === undefined || find(idColumn) !== undefined ? [] : [missingIdColumn(facts, idColumn)]),
  ];
}

function textFaults(facts: TableFacts, name: string, column: ColumnFacts | undefined): CheckResult[] {
  if (column === undefined) return [missingColumn(facts, name, "text")];
  return column.isText || column.isDomain ? [] : [otherType(facts, column, "text", "text")];
}

function vectorFaults(
  facts: TableFacts,
  name: string,
  column: ColumnFacts | undefined,
  dimensions: number,
): CheckResult[] {
  if (column === undefined) return [missingColumn(facts, name, `vector(${dimensions})`)];
  if (vectorTypes.includes(column.typeName) || column.isDomain) return [];
  return [otherType(facts, column, "vector, halfvec or sparsevec", `vector(${dimensions})`)];
}

function missingColumn({ relation, kind }: TableFacts, name: string, definition: string): CheckResult {
  const message = `${relation} has no column "${name}"`;
  if (!isWritable(kind)) {
    return error(
      message,
      `-- Correct the column's name in the configuration, or change what ${relation} reads`,
    );
  }
  return error(
    message,
    `-- Correct the column's name in the configuration, or add it:
ALTER TABLE ${relation} ADD COLUMN ${quoteIdentifier(name)} ${definition};`,
  );
}

function missingIdColumn(facts: TableFacts, name: string): CheckResult {
  return error(
    `${facts.relation} has no column "${name}"`,
    `-- Correct the column's name in the configuration, or add it:\n${addIdColumn(facts, name)}`,
  );
}

function otherType(
  { relation, kind }: TableFacts,
  { name, type }: ColumnFacts,
  expected: string,
  better: string,
): CheckResult {
  const message = `Column "${name}" of ${relation} has type ${type}; expected ${expected}`;
  if (!isWritable(kind)) {
    return error(message, `-- Name another column in the configuration, or change what ${relation} reads`);
  }
  const column = quoteIdentifier(name);
  // a list of numbers is cast as it is, text by way of its own form
  const value = type.endsWith("[]") || better === "text" ? column : `${column}::text`;
  return error(
    message,
    `-- Name another column in the configuration, or change its type:
ALTER TABLE ${relation} ALTER COLUMN ${column} TYPE ${better} USING ${value}::${better};`,
  );
}

/** Whether a question finds its way through the table: what no look at the catalog would show. */
function searchCheck(subject: TableSubject): Check {
  const { database, settings, table, isHybrid, embedding, caller } = subject;
  return createCheck(`search of ${settings.table}`, async (signal) => {
    const untold = whyUntold(subject);
    if (untold !== undefined) return [note(`not tried: ${untold}`)];
    const vector = await embedding();
    // other checks tell of a provider that fails and of other dimensions
    if (vector === undefined || vector.length !== (table.vector.dimensions ?? vector.length)) {
      return [];
    }
    const log = reasonLog();
    try {
      const searched = await openSearchedTable(database, settings, signal);
      const search = { hybridEnabled: isHybrid, vectorWeight: 0.5 };
      const retriever = createRetriever({ database, tables: [searched], search, logger: log.logger });
      const asked = { signal, ...defined({ caller }) };
      const question = { question: "ping", embedding: vector, limit: 10, hybrid: isHybrid, ...asked };
      const startedAt = performance.now();
      const found = await retriever.retrieve(question);
      const ms = performance.now() - startedAt;
      return [note(`${found.length} documents in ${ms.toFixed(0)} ms`)];
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof AppError)) throw thrown;
      const reason = log.reason();
      const message = reason === undefined ? thrown.message : `${thrown.message}: ${reason}`;
      return [error(message, "-- Correct what this and the findings above name, then run -doctor again")];
    }
  });
}

/** The retriever tells callers little of what the database says, and the log all of it. */
function reasonLog(): { readonly logger: Logger; reason(): string | undefined } {
  let reason: string | undefined;
  const warn = (_message: string, { error }: LogFields = {}) => {
    if (typeof error === "object" && error !== null && "message" in error) reason = String(error.message);
  };
  return { logger: { ...silentLogger, warn }, reason: () => reason };
}
