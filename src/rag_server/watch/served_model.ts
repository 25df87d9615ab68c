import { AppError } from "../../core/app_error.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import type { Read } from "../../postgres/read/read_trusted.ts";
import { findRelation } from "../search/document_table.ts";
import type { Retriever } from "../search/retriever.ts";
import type { SearchedTableSettings } from "../search/searched_table.ts";
import { onRecord, readEmbeddedColumns, renamedFolderHint } from "./embedded_columns.ts";

/** The model that a pipeline replaces its own by. */
export interface NextModel {
  readonly embedding: EmbeddingProvider;
  /** Of each of its tables. */
  readonly vectorColumn: string;
}

/** Columns of vectors, and the model that they are of: never the one without the other. */
export interface ServedModel {
  readonly tables: readonly SearchedTableSettings[];
  readonly embedding: EmbeddingProvider;
  /** What is wrong with the pair. Optional: none where nothing is known to be. */
  readonly fault?: AppError;
}

/**
 * Which of a pipeline's two models questions are embedded and searched with: the next one, where `-reembed` switched all
 * tables to its column, else its own. A server that has not yet heard of a switch goes on with the other pair, which is as
 * right: a column never gets vectors of another model.
 *
 * @throws {AppError} as {@linkcode readEmbeddedColumns}, and where the database cannot be read
 */
export async function chooseModel(
  read: Read,
  { tables, own, next }: {
    readonly tables: readonly SearchedTableSettings[];
    readonly own: EmbeddingProvider;
    readonly next?: NextModel | undefined;
  },
): Promise<ServedModel> {
  const columns = await readEmbeddedColumns(read);
  if (columns.length === 0) return { tables, embedding: own };
  const placed = await Promise.all(tables.map(async (table) => ({
    ...table,
    relation: (await findRelation(read, table.table))?.relation ?? "",
  })));
  if (next !== undefined) {
    const { embedding, vectorColumn } = next;
    const entries = placed.map(({ relation }) => onRecord(columns, { relation, vectorColumn }));
    if (entries.every((entry) => entry?.isCurrent && entry.model === embedding.name)) {
      return { tables: tables.map((table) => ({ ...table, vectorColumn })), embedding };
    }
  }
  for (const table of placed) {
    const { model = own.name } = onRecord(columns, table) ?? {};
    if (model === own.name) continue;
    const found = `its column "${table.vectorColumn}" has vectors of ${model}`;
    const reason = `${found}, but embedding_llm is ${own.name}${renamedFolderHint(model, own.name)}`;
    const fault = new AppError("upstream", `Cannot use table ${nameInMessage(table.table)}: ${reason}`);
    return { tables, embedding: own, fault };
  }
  return { tables, embedding: own };
}

/** The retriever over a model's columns. It takes an embedding of the question by that model alone. */
export function withModel(retriever: Retriever, { embedding: model, fault }: ServedModel): Retriever {
  return {
    ...retriever,
    retrieve(request) {
      const { embedding } = request;
      if (embedding instanceof Float32Array) return retriever.retrieve(request);
      return retriever.retrieve({
        ...request,
        embedding: () => fault === undefined ? embedding(model) : Promise.reject(fault),
      });
    },
  };
}
