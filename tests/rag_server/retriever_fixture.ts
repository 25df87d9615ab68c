import { silentLogger } from "../../src/core/logger.ts";
import type { Database } from "../../src/postgres/database.ts";
import { openSearchedTable, type SearchedTableSettings } from "../../src/rag_server/search/searched_table.ts";
import {
  createRetriever,
  type RetrieveRequest,
  type SearchSettings,
} from "../../src/rag_server/search/retriever.ts";
import { createSearchFixture } from "./search_fixture.ts";

export type TableOption = string | (Partial<SearchedTableSettings> & { readonly table: string });

/** A database as `createSearchFixture()` makes it, with a retriever over its tables that counts statements. */
export async function createRetrieverFixture(
  setUp: string,
  changes: Parameters<typeof createSearchFixture>[1] = {},
) {
  const fixture = await createSearchFixture(setUp, changes);
  const { signal } = new AbortController();
  let reads = 0;
  const counting: Database = {
    ...fixture.database,
    read: (request) => {
      reads++;
      return fixture.database.read(request);
    },
  };
  const open = (...tables: readonly TableOption[]) =>
    Promise.all(tables.map((table) =>
      openSearchedTable(
        fixture.database,
        {
          textColumn: "body",
          vectorColumn: "embedding",
          ...typeof table === "string" ? { table } : table,
        },
        signal,
      )
    ));
  const prepare = async (
    tables: readonly TableOption[],
    search: Partial<SearchSettings>,
    logger = silentLogger,
  ) => {
    const retriever = createRetriever({
      database: counting,
      tables: await open(...tables),
      search: { hybridEnabled: true, vectorWeight: 0.5, ...search },
      logger,
    });
    return (request: Partial<RetrieveRequest>) => {
      reads = 0;
      const embedding = Float32Array.of(1, 0);
      return retriever.retrieve({ question: "fox", embedding, limit: 10, hybrid: true, signal, ...request });
    };
  };
  return {
    ...fixture,
    open,
    prepare,
    /** Statements since the last search began. */
    reads: () => reads,
    retrieve: async (
      tables: readonly TableOption[],
      search: Partial<SearchSettings>,
      request: Partial<RetrieveRequest>,
      logger = silentLogger,
    ) => (await prepare(tables, search, logger))(request),
  };
}
