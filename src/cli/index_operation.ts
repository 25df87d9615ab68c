import type { NamedPipeline } from "../app/rag/named_pipeline.ts";
import type { Connection } from "../postgres/connection.ts";
import { buildVectorIndex } from "../rag/build_vector_index.ts";
import { buildKeywordIndex } from "../rag/keyword/build_keyword_index.ts";
import { dropKeywordIndex } from "../rag/keyword/drop_keyword_index.ts";
import { findKeywordIndex } from "../rag/keyword/find_keyword_index.ts";
import { readTable } from "../rag/read_table.ts";
import type { SearchedTableSettings } from "../rag/open_searched_table.ts";
import type { Print } from "./operation_output.ts";
import type { Progress } from "./progress_bar.ts";

export interface IndexOperation {
  readonly named: NamedPipeline;
  readonly progress: Progress;
  readonly print: Print;
  readonly signal: AbortSignal;
}

/**
 * Makes what retrieval needs of a pipeline's tables: the keyword index, and a vector index where there is none. A run that was
 * stopped is gone on with.
 *
 * @throws {AppError} as `readTable`, `buildKeywordIndex` and `buildVectorIndex`
 */
export async function indexPipeline(operation: IndexOperation): Promise<void> {
  const { named, signal } = operation;
  const connection = await named.connect(signal);
  try {
    for (const settings of named.pipeline.tables) await indexTable(settings, connection, operation);
  } finally {
    operation.progress.end();
    await connection.close();
  }
}

async function indexTable(
  settings: SearchedTableSettings,
  connection: Connection,
  { named: { pipeline }, progress, print, signal }: IndexOperation,
): Promise<void> {
  const { database, providers } = pipeline;
  const table = await readTable(database, settings, signal);
  const { textColumn, textSearchConfig } = settings;
  const { name: idColumn } = table.key;
  if (idColumn === "ctid" || !table.key.isId) {
    print(`${settings.table}: no keyword index, since it has no id column`);
  } else {
    const isColumn = textSearchConfig !== undefined && table.columns.has(textSearchConfig);
    const found = await findKeywordIndex(database, {
      table: table.relation,
      textColumn,
      idColumn,
      principal: { kind: "local" },
      signal,
    });
    if (found.kind !== "postern" && found.kind !== "tsvector") {
      print(`${settings.table}: ${found.kind} has a keyword index`);
    } else {
      const { documents } = await buildKeywordIndex({
        connection,
        table: table.relation,
        textColumn,
        idColumn,
        ...(textSearchConfig === undefined
          ? {}
          : isColumn
          ? { configColumn: textSearchConfig }
          : { config: textSearchConfig }),
        signal,
        onProgress: progress.update,
      });
      progress.end();
      print(`${settings.table}: keyword index of ${documents} documents`);
    }
  }
  const dimensions = table.vector.dimensions ?? await embeddingLength(providers.embedding, signal);
  const built = await buildVectorIndex({ connection, table, dimensions, signal });
  if (built === "built") print(`${settings.table}: vector index`);
  if (built === "too many dimensions") {
    print(`${settings.table}: no vector index for ${dimensions} dimensions`);
  }
}

async function embeddingLength(
  embedding: NamedPipeline["pipeline"]["providers"]["embedding"],
  signal: AbortSignal,
): Promise<number> {
  const { vectors: [vector] } = await embedding.embed({ texts: ["length"], purpose: "query", signal });
  return vector?.length ?? 0;
}

/** Takes the keyword indexes of a pipeline's tables away. @throws {AppError} as `dropKeywordIndex` */
export async function dropPipelineIndex({ named, print, signal }: IndexOperation): Promise<void> {
  const connection = await named.connect(signal);
  try {
    for (const settings of named.pipeline.tables) {
      const { relation } = await readTable(named.pipeline.database, settings, signal);
      const dropped = await dropKeywordIndex({
        connection,
        signal,
        table: relation,
        textColumn: settings.textColumn,
      });
      print(`${settings.table}: ${dropped ? "keyword index dropped" : "there is no keyword index"}`);
    }
  } finally {
    await connection.close();
  }
}
