import { defined } from "../../../core/defined.ts";
import { z } from "zod";
import { type CatalogTable, readCatalog } from "../../../postgres/catalog/catalog.ts";
import type { createTableSearch } from "../../../rag_server/mod.ts";
import { createFence } from "../../../text/fence.ts";
import { countTokens } from "../../../text/token_count.ts";
import type { CallContext } from "../../call_context.ts";
import { databaseArgument, type DatabaseDirectory } from "../databases/database_directory.ts";
import { defineTool, type Tool } from "../tool.ts";
import { diversePassages } from "./diverse_passages.ts";
import { type Embedding, embedText } from "./embedding.ts";
import { columnsToSearch, readTableName, tableWithVectors } from "./searched_columns.ts";
import { questionArgument } from "./pipeline_directory.ts";

/** The tool's names of distances, and pgvector's. */
const distances = { cosine: "cosine", l2: "l2", inner_product: "ip" } as const;
type Metric = keyof typeof distances;
const metrics = Object.keys(distances) as [Metric, ...Metric[]];

const input = z.strictObject({
  table_name: z.string().min(1).max(300).describe("As schema.table where several schemas have it."),
  query_text: questionArgument,
  top_n: z.int().min(1).max(100).default(10),
  chunk_size_tokens: z.int().min(40).max(2_000).default(100),
  lambda: z.number().min(0).max(1).default(0.6).describe("0: most diverse, 1: most relevant."),
  max_output_tokens: z.int().min(100).max(20_000).default(2_500),
  distance_metric: z.enum(metrics).optional().describe("Default: the index's, else cosine."),
  database: databaseArgument,
});

const output = z.object({
  database: z.string(),
  table: z.string(),
  text_column: z.string(),
  vector_column: z.string(),
  distance_metric: z.string(),
  model: z.string(),
  row_count: z.int().describe("Rows found; not all need have a passage."),
  results: z.array(z.object({
    id: z.string().optional().describe("Of the row, where it has a primary key of one column."),
    title: z.string().optional(),
    source: z.string().optional(),
    url: z.string().optional(),
    similarity: z.number().optional().describe("Of the row: cosine, -1 to 1."),
    text: z.string(),
  })),
  tokens: z.int(),
});

export function similaritySearch(
  { directory, embedding }: { readonly directory: DatabaseDirectory; readonly embedding: Embedding },
): Tool {
  let search: ReturnType<typeof createTableSearch> | undefined;

  return defineTool({
    name: "similarity_search",
    title: "Search a table by meaning",
    description:
      "Find passages in one table with pgvector embeddings, by meaning and words. Use it where rows hold texts " +
      "and no exact words are known; get_schema_info with vector_tables_only lists such tables. For figures use " +
      "query_database.",
    input,
    output,
    untrusted: ["table", "text_column", "vector_column", "results"],
    annotations: { idempotentHint: true, openWorldHint: true },
    async run(args, context) {
      const { query_text: question, table_name: name } = args;
      const { principal, signal, span, client } = context;
      const database = directory.resolve(principal, args.database);
      const table = tableWithVectors(name, await findTables(database, name, context));
      client?.notifyProgress?.(0, 3, "embedding");
      const vector = await embedText(embedding, question, "query", context);
      const { model, vectorWeight } = embedding;
      const columns = columnsToSearch(name, table, { dimensions: vector.length, model });
      client?.notifyProgress?.(1, 3, "searching");
      search ??= (await import("../../../rag_server/mod.ts")).createTableSearch();
      const { documents, distance } = await search({
        database,
        principal,
        schema: table.schema,
        table: table.name,
        ...columns,
        question,
        embedding: vector,
        vectorWeight,
        distance: args.distance_metric && distances[args.distance_metric],
        limit: args.top_n,
        signal,
        span,
        logger: context.logger,
      });
      client?.notifyProgress?.(2, 3, "choosing passages");
      const passages = await diversePassages(question, documents, {
        chunkTokens: args.chunk_size_tokens,
        lambda: args.lambda,
        maxTokens: args.max_output_tokens,
      }, signal);
      const results = passages.map(({ document: { id, title, source, url, similarity }, text }) => ({
        ...defined({ id, title, source, url }),
        ...(similarity !== undefined && { similarity: Math.round(similarity * 1e4) / 1e4 }),
        text,
      }));
      const qualified = `${table.schema}.${table.name}`;
      const metric = metrics.find((metric) => distances[metric] === distance) ?? distance;
      const head = `Table: ${qualified}, text: ${columns.textColumn}, vectors: ${columns.vectorColumn}`;
      const list = results.map(({ text, ...about }, at) => `[${at + 1}] ${aboutText(about)}\n${text}`);
      return {
        text: `Database: ${database.name}\nDistance: ${metric}, model: ${model}\n\n` +
          `${createFence().wrap([head, ...list].join("\n\n"))}\n\n` +
          `${results.length} passages of ${documents.length} rows`,
        data: {
          database: database.name,
          table: qualified,
          text_column: columns.textColumn,
          vector_column: columns.vectorColumn,
          distance_metric: metric,
          model,
          row_count: documents.length,
          results,
          tokens: results.reduce((sum, { text }) => sum + countTokens(text), 0),
        },
      };
    },
  });
}

/** Those that the caller may read, by the first reading of the name that leads to any. */
async function findTables(
  database: Parameters<typeof readCatalog>[0],
  name: string,
  { principal, signal, span }: CallContext,
): Promise<readonly CatalogTable[]> {
  for (const filter of readTableName(name)) {
    const { tables } = await readCatalog(database, { principal, signal, span, filter });
    if (tables.length > 0) return tables;
  }
  return [];
}

function aboutText(about: Readonly<Record<string, string | number>>): string {
  return Object.entries(about).map(([name, value]) => `${name}: ${value}`).join(", ");
}
