import { AppError } from "../../core/app_error.ts";
import { quoteIdentifier } from "../../postgres/sql_text.ts";
import { type SqlSession, sqlStateOf, transaction } from "../../postgres/sql_session.ts";
import { extensionSql } from "../search/document_table.ts";
import type { IngestTableOptions } from "./ingest_table.ts";

/** What pgvector's indexes take at most, in dimensions. */
const mostOfVector = 2_000;
const mostOfHalfvec = 4_000;

/**
 * Makes a table of chunks with an index for cosine distance, over half precision where vectors are longer than the index
 * takes otherwise, and none where they are longer than that.
 *
 * @param relation qualified and quoted
 * @throws {AppError} `unavailable` where pgvector is missing and this role may not add it
 */
export async function createIngestTable(
  session: SqlSession,
  options: IngestTableOptions,
  { relation, dimensions }: { readonly relation: string; readonly dimensions: number },
): Promise<void> {
  const schema = await ensureExtension(session, options.table);
  const { textColumn, vectorColumn, idColumn = "id" } = options;
  const own = [idColumn, textColumn, vectorColumn];
  const details = [["source", "text NOT NULL"], ["title", "text NOT NULL"], [
    "position",
    "int NOT NULL",
  ]] as const;
  const columns = [
    `${quoteIdentifier(idColumn)} bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY`,
    ...details.filter(([name]) => !own.includes(name)).map(([name, type]) => `${name} ${type}`),
    `${quoteIdentifier(textColumn)} text NOT NULL`,
    `${quoteIdentifier(vectorColumn)} ${schema}.vector(${dimensions}) NOT NULL`,
  ];
  await transaction(session, async () => {
    await session.query(`CREATE TABLE ${relation} (${columns.join(", ")})`);
    const key = indexKey(quoteIdentifier(vectorColumn), schema, dimensions);
    if (key !== undefined) await session.query(`CREATE INDEX ON ${relation} USING hnsw (${key})`);
  });
}

function indexKey(column: string, schema: string, dimensions: number): string | undefined {
  if (dimensions <= mostOfVector) return `${column} ${schema}.vector_cosine_ops`;
  if (dimensions > mostOfHalfvec) return undefined;
  return `(${column}::${schema}.halfvec(${dimensions})) ${schema}.halfvec_cosine_ops`;
}

const insufficientPrivilege = "42501";

/** Its schema, quoted. */
async function ensureExtension(session: SqlSession, table: string): Promise<string> {
  const [present] = await session.query(extensionSql);
  if (present?.[1]) return present[1];
  try {
    await session.query("CREATE EXTENSION IF NOT EXISTS vector");
  } catch (cause) {
    const reason = sqlStateOf(cause) === insufficientPrivilege
      ? "this role may not add the extension vector; have an administrator run CREATE EXTENSION vector"
      : "the server does not have the extension vector (pgvector)";
    throw new AppError("unavailable", `Cannot ingest into "${table}": ${reason}`, { cause });
  }
  const [made] = await session.query(extensionSql);
  return made?.[1] ?? "public";
}
