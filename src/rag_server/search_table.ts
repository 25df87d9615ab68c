import { defined } from "../core/defined.ts";
import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import type { Principal } from "../core/principal.ts";
import type { Span } from "../core/tracing.ts";
import type { Database } from "../postgres/database.ts";
import type { StatementNames } from "../postgres/guard/statement_names.ts";
import { quoteIdentifier } from "../postgres/sql_text.ts";
import type { RetrievedDocument } from "./search/fusion.ts";
import type { DocumentTable } from "./search/document_table.ts";
import { createRetriever } from "./search/retriever.ts";
import { openSearchedTable, type SearchedTable } from "./search/searched_table.ts";
import type { DocumentDetails } from "./search/stored_documents.ts";
import { type Distance, distanceOf } from "./search/vector_index.ts";

export interface TableSearchRequest {
  readonly database: Database;
  /** Whose rights hold: for what is read of the catalog, and for the rows. */
  readonly principal: Principal;
  /** Names as they are, not quoted. */
  readonly schema: string;
  readonly table: string;
  readonly textColumn: string;
  readonly vectorColumn: string;
  readonly titleColumn?: string | undefined;
  readonly question: string;
  readonly embedding: Float32Array;
  /** From 0, the question's words alone, to 1, the embedding alone. */
  readonly vectorWeight: number;
  /** Where absent, the one of the column's index, or cosine. */
  readonly distance?: Distance | undefined;
  /** Documents at most. */
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly span?: Span | undefined;
  readonly logger: Logger;
}

interface TableSearchResult {
  /** The best first, none twice. */
  readonly documents: readonly (RetrievedDocument & DocumentDetails)[];
  /** What the vectors were compared by. */
  readonly distance: Distance;
}

/** The definition of a table may be a minute old, as that of a pipeline's. */
const maxAgeMs = 60_000;
const maxTables = 200;

/**
 * Makes the function that searches one table of a database by meaning and words, without a pipeline, as a caller with
 * rights of its own. What it reads of a table's definition it keeps for callers with the same rights.
 */
export function createTableSearch(now: () => number = () => performance.now()) {
  const opened = new WeakMap<
    Database,
    Map<string, { readonly searched: SearchedTable; readonly at: number }>
  >();

  async function open(request: TableSearchRequest, database: Database): Promise<SearchedTable> {
    const { schema, table, textColumn, vectorColumn, principal, signal } = request;
    const tables = opened.get(request.database) ?? new Map();
    opened.set(request.database, tables);
    const key = JSON.stringify([
      request.database.rightsKey(principal),
      schema,
      table,
      textColumn,
      vectorColumn,
    ]);
    const known = tables.get(key);
    if (known !== undefined && now() - known.at < maxAgeMs) return known.searched;
    const name = `${quoteIdentifier(schema)}.${quoteIdentifier(table)}`;
    const searched = await openSearchedTable(database, { table: name, textColumn, vectorColumn }, signal);
    tables.delete(key);
    for (const oldest of tables.keys()) {
      if (tables.size < maxTables) break;
      tables.delete(oldest);
    }
    tables.set(key, { searched, at: now() });
    return searched;
  }

  /**
   * @throws {AppError} `invalid` where the table cannot be searched, and why; `upstream` where its vectors have another
   * length; else as a retriever does
   */
  return async (request: TableSearchRequest): Promise<TableSearchResult> => {
    const { question, embedding, vectorWeight, limit, signal, span, logger } = request;
    const { textColumn, vectorColumn, titleColumn = "title" } = request;
    const searched = await open(request, asCaller(request, [textColumn, vectorColumn], false));
    const table = adapted(searched.table, request);
    const columnsOfDetails = ["source", "url", "heading", "position", "page", "char_start", "char_end"];
    const columns = [textColumn, vectorColumn, titleColumn, table.key.name, ...columnsOfDetails];
    const database = asCaller(request, columns, true);
    const retriever = createRetriever({
      database,
      tables: [{ ...searched, table }],
      // else each call would log that the table is too large to be searched by words
      search: { hybridEnabled: searched.keywordSearch !== undefined, vectorWeight },
      logger,
    });
    const found = await retriever.retrieve({ question, embedding, limit, hybrid: true, signal, span });
    const details = await retriever.documents.detailsOf(found, { signal });
    return {
      documents: found.map((document, at) => ({ ...document, ...details[at] })),
      distance: distanceOf(table, embedding.length),
    };
  };
}

/** The table with what a request says of it: another distance than the index's leaves that aside. */
function adapted(table: DocumentTable, { titleColumn, distance }: TableSearchRequest): DocumentTable {
  const { vector } = table;
  return {
    ...table,
    ...defined({ titleColumn }),
    ...(distance !== undefined && {
      vector: {
        ...vector,
        distance,
        indexes: vector.indexes.filter((index) => index.distance === distance),
      },
    }),
  };
}

/**
 * The same database, read as the caller. The statements are ours, but the relation is the caller's choice: a view may call
 * functions that the caller may not.
 *
 * @param columns whose values the statements work with
 * @param isCounted whether what is read counts towards the caller's limits
 */
function asCaller(
  { database, principal, schema, table }: TableSearchRequest,
  columns: readonly string[],
  isCounted: boolean,
): Database {
  const names: StatementNames = [
    { kind: "relation", schema, name: table },
    ...columns.map((name) => ({ kind: "column" as const, name })),
  ];
  return {
    ...database,
    async read(request) {
      const result = await database.read({ ...request, principal, names, isCounted });
      if (result.ok || result.error.kind !== "refused") return result;
      const shown = JSON.stringify(`${schema}.${table}`);
      throw new AppError("invalid", `Cannot search table ${shown}: ${result.error.message}`);
    },
  };
}
