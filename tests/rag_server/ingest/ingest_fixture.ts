import { dirname, join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import type { EmbeddingProvider } from "../../../src/llm/provider.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { ingest, type IngestOptions, type IngestSummary } from "../../../src/rag_server/ingest/ingest.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";

export const table = { table: "docs", textColumn: "content", vectorColumn: "embedding" };

/** A database, a folder of files, and ingesting the one into the other. */
export interface IngestFixture extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly folder: string;
  /** Text in UTF-8, or bytes; `undefined` removes the file. */
  write(files: Readonly<Record<string, string | Uint8Array | undefined>>): Promise<void>;
  /** Into `docs` with `local` embeddings, on a connection of its own. */
  ingest(changes?: Partial<IngestOptions>, role?: string): Promise<IngestSummary>;
  /** A value as PostgreSQL writes it. */
  value(sql: string): Promise<unknown>;
  /** The values of the one column. */
  column(sql: string): Promise<unknown[]>;
}

export async function createIngestFixture(): Promise<IngestFixture> {
  const database = await createTestDatabase();
  const folder = await Deno.realPath(await Deno.makeTempDir());
  return {
    database,
    folder,
    async write(files) {
      for (const [name, content] of Object.entries(files)) {
        const path = join(folder, name);
        await Deno.mkdir(dirname(path), { recursive: true });
        if (content === undefined) await Deno.remove(path);
        else if (typeof content === "string") await Deno.writeTextFile(path, content);
        else await Deno.writeFile(path, content);
      }
    },
    async ingest(changes = {}, role) {
      const signal = changes.signal ?? new AbortController().signal;
      const login = databaseOptions(database.url, role === undefined ? {} : { user: role });
      const connection = await connect(login, { signal, logger: silentLogger });
      try {
        return await ingest({
          connection,
          table,
          embedding: localEmbedding(),
          paths: [folder],
          signal,
          logger: silentLogger,
          ...changes,
        });
      } finally {
        await connection.close();
      }
    },
    value: async (sql) => (await database.query(sql))[0]?.[0],
    column: async (sql) => (await database.query(sql)).map(([value]) => value),
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** `local` embeddings that note what was asked of them. */
export function countedEmbedding(): EmbeddingProvider & { readonly texts: string[] } {
  const texts: string[] = [];
  const inner = localEmbedding();
  return {
    ...inner,
    texts,
    embed(request) {
      texts.push(...request.texts);
      return inner.embed(request);
    },
  };
}

/** What a summary counts, without the notes and tokens. */
export function countsOf({ added, changed, unchanged, removed, chunksWritten }: IngestSummary) {
  return { added, changed, unchanged, removed, chunksWritten };
}
