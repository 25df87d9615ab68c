import type { OperatorPipeline } from "../../app/rag/operator_pipelines.ts";
import { AppError } from "../../core/app_error.ts";
import type { Connection } from "../../postgres/connection.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import { buildKeywordIndex } from "../../rag_server/keyword/build_keyword_index.ts";
import { dropKeywordIndex, dropLostIndexes } from "../../rag_server/keyword/drop_keyword_index.ts";
import { findKeywordIndex } from "../../rag_server/keyword/find_keyword_index.ts";
import { buildVectorIndex } from "../../rag_server/search/build_vector_index.ts";
import { type DocumentTable, readTable } from "../../rag_server/search/document_table.ts";
import {
  encodingFault,
  isOfCallers,
  type SearchedTableSettings,
} from "../../rag_server/search/searched_table.ts";
import type { Print } from "../output.ts";
import type { Progress } from "../progress_bar.ts";

/** What an operation on a pipeline works with. */
export interface PipelineOperation {
  readonly named: OperatorPipeline;
  readonly progress: Progress;
  readonly print: Print;
  readonly signal: AbortSignal;
}

/**
 * Makes what retrieval needs of a pipeline's tables: the keyword index, and a vector index where there is none. A run that was
 * stopped is gone on with. What can have no such index is told of, and what fails keeps no other index from being made.
 *
 * @throws {AppError} as `readTable`, `buildKeywordIndex` and `buildVectorIndex`, once all tables have been tried
 */
export async function indexPipeline(operation: PipelineOperation): Promise<void> {
  await forEachTable(operation, async (settings, connection, attempt) => {
    const { named: { pipeline }, signal } = operation;
    const table = await readTable(pipeline.database, settings, signal);
    if (isOfCallers(pipeline.database, table)) {
      throw new AppError(
        "invalid",
        `Cannot index table ${
          nameInMessage(settings.table)
        }: its rows depend on who asks, so no question uses an ` +
          "index of all rows; a column of type tsvector, generated from the text, makes the search by words quicker",
      );
    }
    await attempt(() => indexKeywords(settings, table, connection, operation));
    await attempt(() => indexVectors(table, connection, operation));
  });
}

/** Runs a step; what it throws is kept until all steps of all tables have been tried. */
type Attempt = (step: () => Promise<void>) => Promise<void>;

async function forEachTable(
  { named, progress, print, signal }: PipelineOperation,
  work: (settings: SearchedTableSettings, connection: Connection, attempt: Attempt) => Promise<void>,
): Promise<void> {
  const errors: AppError[] = [];
  const attempt: Attempt = async (step) => {
    try {
      await step();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      errors.push(error);
    } finally {
      progress.end();
    }
  };
  const connection = await named.connect(signal);
  try {
    await attempt(async () => {
      const lost = await dropLostIndexes(connection, signal);
      if (lost.length > 0) {
        print(`Keyword indexes dropped, as their tables no longer exist: ${lost.join(", ")}`);
      }
    });
    for (const settings of named.pipeline.tables) {
      await attempt(() => work(settings, connection, attempt));
    }
  } finally {
    await connection.close();
  }
  const [first] = errors;
  if (first === undefined) return;
  throw errors.length === 1
    ? first
    : new AppError(first.code, errors.map(({ message }) => message).join("; "), {
      cause: errors,
      data: errors.find(isOfRights)?.data ?? {},
    });
}

async function indexKeywords(
  { table: name, textColumn, textSearchConfig, wordParts }: SearchedTableSettings,
  table: DocumentTable,
  connection: Connection,
  { named: { pipeline: { database } }, progress, print, signal }: PipelineOperation,
): Promise<void> {
  const fault = encodingFault(table);
  if (fault !== undefined) throw fault;
  const { name: idColumn } = table.key;
  if (idColumn === "ctid" || !table.key.isId) {
    return print(`${name}: no keyword index, because the table has no id column`);
  }
  if (table.mayHideRows) {
    return print(
      `${name}: no keyword index, because a view or row-level security hides rows from the role that the pipeline reads ` +
        "as; a column of type tsvector, generated from the text, makes the search by words quicker",
    );
  }
  const source = { table: table.relation, textColumn, idColumn, signal };
  const found = await findKeywordIndex(database, source);
  if (found.kind !== "postern" && found.kind !== "tsvector") {
    return print(`${name}: ${found.kind} has a keyword index`);
  }
  const isColumn = textSearchConfig !== undefined && table.columns.has(textSearchConfig);
  try {
    const { documents } = await buildKeywordIndex({
      connection,
      ...source,
      ...(wordParts !== undefined && { grams: wordParts }),
      ...(textSearchConfig === undefined
        ? {}
        : isColumn
        ? { configColumn: textSearchConfig }
        : { config: textSearchConfig }),
      onNote: noteOn(name, progress, print),
      onProgress: progress.update,
    });
    progress.end();
    print(`${name}: keyword index of ${documents} documents`);
  } catch (error) {
    if (!(error instanceof AppError && error.code === "invalid")) throw error;
    print(`${name}: no keyword index. ${error.message}`);
  }
}

async function indexVectors(
  table: DocumentTable,
  connection: Connection,
  { named: { pipeline: { providers } }, progress, print, signal }: PipelineOperation,
): Promise<void> {
  const dimensions = table.vector.dimensions ?? await embeddingLength(providers.embedding, signal);
  const built = await buildVectorIndex({
    connection,
    table,
    dimensions,
    signal,
    onNote: noteOn(table.name, progress, print),
    onProgress: progress.update,
  });
  progress.end();
  if (built === "built") print(`${table.name}: vector index`);
  if (built === "not a table") print(`${table.name}: no vector index, because it is not a table`);
  if (built === "too many dimensions") {
    print(`${table.name}: no vector index, because ${dimensions} dimensions are too many for one`);
  }
}

function noteOn(table: string, progress: Progress, print: Print): (note: string) => void {
  return (note) => {
    progress.end();
    print(`${table}: ${note}`);
  };
}

async function embeddingLength(
  embedding: OperatorPipeline["pipeline"]["providers"]["embedding"],
  signal: AbortSignal,
): Promise<number> {
  const { vectors: [vector] } = await embedding.embed({ texts: ["length"], purpose: "query", signal });
  return vector?.length ?? 0;
}

/**
 * Takes the keyword indexes of a pipeline's tables away.
 *
 * @throws {AppError} as `readTable` and `dropKeywordIndex`, once all tables have been tried
 */
export async function dropPipelineIndex(operation: PipelineOperation): Promise<void> {
  const { named: { pipeline }, print, signal } = operation;
  await forEachTable(operation, async (settings, connection) => {
    const { table, textColumn } = settings;
    const { relation } = await readTable(pipeline.database, settings, signal);
    const dropped = await dropKeywordIndex({ connection, signal, table: relation, textColumn });
    print(`${table}: ${dropped ? "keyword index dropped" : "there is no keyword index"}`);
  });
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const insufficientPrivilege = "42501";

/** Whether PostgreSQL refused something for want of rights. */
function isOfRights(error: unknown): error is AppError {
  return error instanceof AppError && error.data?.["sqlState"] === insufficientPrivilege;
}

/** The error; one of rights says besides whose they are and where another role can be given. */
export function withRoleHint(error: unknown, role: string): unknown {
  if (!isOfRights(error)) return error;
  const hint = `role "${role}" lacks the right; name a role that has it with -db-user`;
  return new AppError(error.code, `${error.message}; ${hint}`, { cause: error });
}
