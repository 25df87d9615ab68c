import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { localCompletion } from "../../../src/llm/local/local_completion.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { buildKeywordIndex } from "../../../src/rag_server/keyword/build_keyword_index.ts";
import type { SearchedTableSettings } from "../../../src/rag_server/search/searched_table.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createSearchFixture } from "../../rag_server/search_fixture.ts";
import type { NamedResult } from "../../../src/app/checks/check.ts";
import { doctor, type DoctorPipeline } from "../../../src/app/checks/all_checks.ts";

export type Table = Partial<SearchedTableSettings>;

/** A table with vectors of three dimensions, of which all checks are content. */
export const healthyTable = `
  CREATE TABLE docs (id bigint PRIMARY KEY, body text, embedding vector(3));
  INSERT INTO docs SELECT n, 'text ' || n, format('[%s,1,0]', n)::vector FROM generate_series(1, 20) n;
  ANALYZE docs;`;

/** A database with pgvector, and a doctor for a pipeline `handbook` over it. */
export async function createDoctorFixture(setUp: string, changes: Partial<DatabaseOptions> = {}) {
  const search = await createSearchFixture(setUp, changes);
  const { admin, database, options } = search;
  const { signal } = new AbortController();

  async function examine(
    table: Table = {},
    pipeline: Partial<DoctorPipeline> = {},
  ): Promise<readonly NamedResult[]> {
    const settings = { table: "docs", textColumn: "body", vectorColumn: "embedding", ...table };
    const [diagnosis] = await doctor({
      pipelines: [{ ...basePipeline, database, options, tables: [settings], ...pipeline }],
      databases: [],
      signal,
      logger: silentLogger,
    });
    return diagnosis?.results ?? [];
  }

  return {
    admin,
    database,
    options,
    examine,
    /** The results of one check. */
    async look(
      check: string,
      table: Table = {},
      pipeline: Partial<DoctorPipeline> = {},
    ): Promise<NamedResult[]> {
      return (await examine(table, pipeline)).filter((result) => result.check === check);
    },
    /** Does what a remedy of SQL says, statement by statement. */
    async apply(remedy: string): Promise<void> {
      const sql = remedy.split("\n").filter((line) => !line.startsWith("-- ") && !line.startsWith("server "))
        .join("\n");
      for (const statement of sql.split(/;(?:\n|$)/).filter((text) => text.trim() !== "")) {
        await admin.query(statement);
      }
    },
    /** What `-index-pipeline` does. */
    async indexKeywords(config?: string): Promise<void> {
      const connection = await connect(databaseOptions(admin.url), { signal, logger: silentLogger });
      try {
        const columns = { table: "docs", textColumn: "body", idColumn: "id" };
        await buildKeywordIndex({ connection, signal, ...columns, ...(config !== undefined && { config }) });
      } finally {
        await connection.close();
      }
    },
    [Symbol.asyncDispose]: search[Symbol.asyncDispose],
  };
}

const embedding = localEmbedding();

/** Its embeddings have three dimensions. */
const basePipeline = {
  name: "handbook",
  isHybrid: true,
  embedding: {
    ...embedding,
    name: "test/three",
    embed: async (request: Parameters<typeof embedding.embed>[0]) => {
      const { vectors, usage } = await embedding.embed(request);
      return { vectors: vectors.map((vector) => vector.slice(0, 3)), usage };
    },
  },
  completions: [localCompletion()],
  keyFiles: [],
} satisfies Partial<DoctorPipeline>;

/** The one fault among the results; its remedy is returned. */
export function assertFault(
  results: readonly NamedResult[],
  severity: "error" | "warning",
  message: string | RegExp,
): string {
  const faults = results.filter((result) => !result.ok);
  const [fault] = faults;
  assert.equal(faults.length, 1, JSON.stringify(results));
  assert.ok(fault !== undefined && !fault.ok);
  if (typeof message === "string") assert.equal(fault.message, message);
  else assert.match(fault.message, message);
  assert.equal(fault.severity, severity);
  return fault.remedy;
}

/** At least one result, and all of them fine. */
export function assertFine(results: readonly NamedResult[]): void {
  assert.ok(results.length > 0, "the check did not run");
  assert.deepEqual(results.filter((result) => !result.ok), []);
}
