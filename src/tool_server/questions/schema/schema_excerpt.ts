import { countTokens } from "../../../text/token_count.ts";
import { excerptParts } from "./fit_excerpt.ts";
import { rankTables } from "./rank_tables.ts";
import { readQuestion } from "./read_question.ts";
import type { SchemaIndex } from "./schema_index.ts";

export interface SchemaExcerpt {
  /** For the prompt: tables like CREATE TABLE, join conditions, further tables' names; empty where nothing fits. */
  readonly text: string;
  /** The tables described, in the text's order: best first where not all are. */
  readonly tables: readonly { schema: string; name: string }[];
  /** The text's, by `countTokens`. */
  readonly tokens: number;
  /** How many tables of the catalog are not described. */
  readonly omittedTables: number;
}

/**
 * Chooses and writes what a model needs to know of a schema for a request in words, in at most `maxTokens`. A schema
 * that fits goes in whole, in the catalog's order, but for columns of wide tables that nothing points at. Of a larger
 * one: the tables that the request's words point at, those that join them, their neighbours; each whole or cut to its
 * likely columns. `recentStatements` are the caller's last ones, oldest first: their tables matter for a request that
 * follows on them. The same input gives the same text.
 */
export function excerptSchema(
  index: SchemaIndex,
  request: { question: string; recentStatements?: readonly string[]; maxTokens: number },
): SchemaExcerpt {
  const ranking = rankTables(
    index,
    readQuestion(request.question, index.splitCompound),
    request.recentStatements ?? [],
  );
  const { text, described } = excerptParts(index, ranking, request.maxTokens);
  const tables = described.flatMap((at) => {
    const table = index.catalog.tables[at];
    return table === undefined ? [] : [{ schema: table.schema, name: table.name }];
  });
  return {
    text,
    tables,
    tokens: countTokens(text),
    omittedTables: index.catalog.tables.length - tables.length,
  };
}
