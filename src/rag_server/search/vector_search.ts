import { Buffer } from "node:buffer";
import { quoteIdentifier, sql, type SqlText, verbatim, verbatimSql } from "../../postgres/sql_text.ts";
import type { DocumentTable } from "./document_table.ts";
import { usualDepth } from "./fusion.ts";
import { type Distance, distanceOf, indexFor } from "./vector_index.ts";

interface VectorSearch {
  readonly table: DocumentTable;
  /** SQL of the column's type that reads no row of the table, such as a parameter or a scalar subquery. */
  readonly embedding: SqlText;
  /**
   * Of the embedding: vectors of another length, which a column without one may hold, are left out where it is given.
   */
  readonly dimensions?: number | undefined;
  readonly limit: number;
  /** Over the table's columns, by their bare names. */
  readonly filter: SqlText | undefined;
  /** Columns that the rows have besides, each with a comma before it. Optional; none where {@linkcode isProbed}. */
  readonly carried?: SqlText | undefined;
}

const operators: Readonly<Record<Distance, string>> = { cosine: "<=>", l2: "<->", ip: "<#>", l1: "<+>" };

/**
 * Numbers in all vectors of a table, those of 1,000 rows with 384 for example. Where it has no more, each row is compared:
 * that takes about as long as an index scan, and misses none.
 */
const fewNumbers = 400_000;
/** To come by a row costs about as much as to compare so many numbers. */
const numbersPerRow = 384;

/** Where at most so many rows may be seen, each is compared: that is cheaper than an index scan past the others. */
export const rowsToCompare = 2_000;

/**
 * One statement for the rows nearest to an embedding: `id text`, `distance float8` by the index's operator (cosine
 * without an index, or what the column is said to have), lower is nearer, as many as asked for where there are that many. The rows of a small table are
 * compared one by one, and so are the few that a narrow filter, a view's condition or a row-level policy leaves; else the
 * index is asked, unless callers have rows of their own (`isExact`). It may come back short where these hide most of what it visits; then, and only then, all rows are
 * compared. Needs {@linkcode vectorSettings}.
 */
export function vectorSearch(search: VectorSearch): SqlText {
  const { table, embedding, dimensions, limit, filter, carried = sql`` } = search;
  const { relation, vector: { column } } = table;
  const index = indexFor(table, dimensions);
  const key = quoteIdentifier(table.key.name);
  const orderedBy = { castTo: index?.castTo, distance: distanceOf(table, dimensions) };
  const distance = distanceSql(table, orderedBy, column, embedding);
  const source = verbatimSql`FROM ${relation} AS source
    WHERE ${filter ?? "true"} AND ${column} IS NOT NULL AND ${hasLengthSql(table, dimensions) ?? "true"}
      AND ${saysSomethingSql(table)}`;
  const rows = verbatimSql`SELECT ${key}::text AS id, ${distance} AS distance${carried} ${source}`;
  // a number, as a plan that is kept would be made for a tenth of the rows
  const most = verbatim(String(limit));
  const order = sql`ORDER BY ${distance} LIMIT ${most}`;
  // a sum is nothing that an index is ordered by, so all rows are compared
  const compared = sql`${distance} + 0`;
  const exactOrder = sql`ORDER BY ${compared} LIMIT ${most}`;
  // of equals, a place among the rows of others would decide which are left out
  if (table.isExact) return verbatimSql`${rows} ORDER BY ${compared}, ${key}::text COLLATE "C" LIMIT ${most}`;
  if (index === undefined) return sql`${rows} ${order}`;
  if (isSmall(table, dimensions)) return sql`${rows} ${exactOrder}`;

  const areFew = isProbed(search)
    ? sql`(SELECT count(*) <= ${rowsToCompare} FROM postern_probe)`
    : sql`false`;
  const found = sql`(SELECT count(*) FROM postern_indexed)`;
  const all = sql`WITH postern_indexed AS MATERIALIZED (${rows} AND NOT ${areFew} ${order}),
    postern_compared AS MATERIALIZED (
      ${rows} AND NOT ${areFew} AND ${found} < ${limit} ${exactOrder}
    )
    SELECT * FROM postern_indexed WHERE ${found} >= ${limit} UNION ALL SELECT * FROM postern_compared`;
  if (!isProbed(search)) return all;
  const few = sql`SELECT id::text, ${distanceSql(table, orderedBy, "embedding", embedding)} AS distance
    FROM postern_probe WHERE ${areFew} ORDER BY distance LIMIT ${most}`;
  const probe = verbatimSql`SELECT ${key} AS id, ${column} AS embedding ${source}`;
  return sql`WITH postern_probe AS MATERIALIZED (
      ${probe} LIMIT ${rowsToCompare + 1}
    )
    (${all}) UNION ALL (${few})`;
}

/** Whether a search looks first whether it may see but few rows. */
export function isProbed({ table, filter }: Pick<VectorSearch, "table" | "filter">): boolean {
  return filter !== undefined || table.mayHideRows;
}

/** Whether comparing all rows of a table is as good as asking its index; not where their number is unknown. */
function isSmall({ rows, vector }: DocumentTable, dimensions = vector.dimensions): boolean {
  return rows > 0 && dimensions !== undefined && rows * Math.max(dimensions, numbersPerRow) <= fewNumbers;
}

/** Longer texts count as not blank, so that PostgreSQL need not read them from TOAST. */
const longestBlankBytes = 2_000;

/** Whether a row has a text with more than blanks in it. */
function saysSomethingSql({ textColumn }: DocumentTable): string {
  const text = `${textColumn}::text`;
  // most texts begin with more than a blank, which bytes tell sooner than characters
  return `(octet_length(${text}) > ${longestBlankBytes} OR ${text} COLLATE "C" >= '!' OR ${
    trimmedSql(text)
  } <> '')`;
}

/** A text without the blanks around it. */
export function trimmedSql(text: string): string {
  return `btrim(${text}, E' \\t\\n\\v\\f\\r')`;
}

/**
 * Whether a row's vector has the embedding's length; undefined where the column's type says so. An index over the
 * vectors
 * of one length alone has `vector_dims(column) = 3` for its condition, which PostgreSQL must find in this. Otherwise it
 * would take that for few rows, and rather compare them than walk an index, so it gets a form that it makes no guess
 * of.
 */
function hasLengthSql(table: DocumentTable, dimensions: number | undefined): string | undefined {
  if (dimensions === undefined || table.vector.dimensions !== undefined) return undefined;
  const isEqual = `${lengthSql(table)} = ${dimensions}`;
  const isOfIndex = indexFor(table, dimensions)?.condition?.includes("vector_dims(") ?? false;
  return isOfIndex ? isEqual : `CASE WHEN ${isEqual} THEN true END`;
}

/** How many dimensions a row's vector has. */
export function lengthSql({ vector: { column, type }, extension }: DocumentTable): string {
  // sparse vectors have no function for it; their text ends with it, as in {1:2}/3
  return type.endsWith("sparsevec")
    ? `split_part(${column}::text, '/', 2)::int`
    : `${extension.schema}.vector_dims(${column})`;
}

function distanceSql(
  { extension }: DocumentTable,
  { castTo, distance }: { readonly castTo?: string | undefined; readonly distance: Distance },
  column: string,
  embedding: SqlText,
): SqlText {
  const cast = castTo === undefined ? "" : `::${castTo}`;
  const operator = `OPERATOR(${extension.schema}.${operators[distance]})`;
  return verbatimSql`(${column}${cast} ${operator} ${embedding}${cast})`;
}

/**
 * Of a row, from -1 to 1; NULL where it has no vector, or one without a direction.
 *
 * @param dimensions of the embedding: a vector of another length counts as none where they are given
 */
export function similaritySql(table: DocumentTable, embedding: SqlText, dimensions?: number): SqlText {
  const { column } = table.vector;
  const hasLength = hasLengthSql(table, dimensions);
  const operand = hasLength === undefined ? column : `CASE WHEN ${hasLength} THEN ${column} END`;
  return sql`(1 - nullif(${distanceSql(table, { distance: "cosine" }, operand, embedding)}, 'NaN'))`;
}

/**
 * A row's vector as {@linkcode nearnessSql} reads it over and over: of length 1 and out of TOAST. NULL where it has none, or
 * one of another length than the embedding's.
 */
export function unitSql(table: DocumentTable, dimensions: number): SqlText {
  const { vector: { column }, extension: { schema, isIterative } } = table;
  const hasLength = hasLengthSql(table, dimensions);
  const vector = hasLength === undefined ? column : `CASE WHEN ${hasLength} THEN ${column} END`;
  // pgvector before 0.7 has no l2_normalize
  return verbatim(isIterative ? `${schema}.l2_normalize(${vector})` : vector);
}

/** How near two vectors are to each other, from -1 to 1; NULL where one has no direction. */
export function nearnessSql({ extension: { schema } }: DocumentTable, one: string, other: string): SqlText {
  return verbatim(`(1 - nullif(${one} OPERATOR(${schema}.<=>) ${other}, 'NaN'))`);
}

/** An embedding as SQL of the column's type: bytes as pgvector's `vector_recv` reads them, since texts of numbers take long. */
export function embeddingSql({ vector, extension }: DocumentTable, embedding: Float32Array): SqlText {
  const bytes = Buffer.alloc(4 + 4 * embedding.length);
  // PostgreSQL says so where they are too many
  bytes.writeInt16BE(Math.min(embedding.length, 0x7fff));
  embedding.forEach((value, at) => bytes.writeFloatBE(value, 4 + 4 * at));
  return sql`${bytes}::${verbatim(`${extension.schema}.vector::${vector.type}`)}`;
}

/**
 * The least `hnsw.ef_search` by the number of rows: what is as good as more there, within 0.4 % of the ten nearest. Of a
 * million rows, 400 finds 96 % of them, 100 finds 92 %, and 600 no more than 400. A list of 100 for the fusion needs more
 * than the few documents of an answer. The figures of smaller tables are in
 * docs/adr/0014-plans-that-keep-the-vector-index.md.
 */
function minBreadth(rows: number, limit: number): number {
  // none are known of a foreign table
  if (rows === 0 || rows > 200_000) return 400;
  if (limit < usualDepth) return rows <= 30_000 ? 40 : 80;
  return rows <= 30_000 ? 200 : 300;
}

/** What pgvector takes for `hnsw.ef_search` at most. */
const maxBreadth = 1_000;

/**
 * What PostgreSQL is told that pages cost. It counts the pages of the index, but not the pages of TOAST, where a scan of
 * the table has to read most of the vectors; so it would rather read a table of up to 20,000 rows than its index. Other
 * searches look up rows by an index too, so this does not lead them astray. A cost of 0.1 is not enough for vectors of
 * 1,536 dimensions.
 */
const pageCosts = { seq_page_cost: "1", random_page_cost: "0.01" };

/**
 * The settings that a statement with a vector search runs under. An index scan goes on where too little of what
 * it visited may be seen, in an order that may be slightly off, as what reads it sorts.
 */
export function vectorSettings(
  { table: { vector, extension, largestRows }, limit, filter }: Pick<
    VectorSearch,
    "table" | "limit" | "filter"
  >,
): Readonly<Record<string, string>> {
  // an index of fewer is only read more thoroughly
  const mostLists = Math.max(0, ...vector.indexes.map(({ lists = 0 }) => lists));
  // of what the index visits, a filter hides a part: one that hides half leaves as many as without it
  const least = minBreadth(largestRows, limit) * (filter === undefined ? 1 : 2);
  const breadth = Math.max(2 * limit, least);
  return {
    ...pageCosts,
    // an answer that is fetched in parts gets none, so no plan should count on them
    max_parallel_workers_per_gather: "0",
    "hnsw.ef_search": String(Math.min(breadth, maxBreadth)),
    ...(extension.isIterative && { "hnsw.iterative_scan": "relaxed_order" }),
    // each setting costs every question some time
    ...(mostLists > 0 && {
      "ivfflat.probes": String(Math.ceil(Math.sqrt(mostLists))),
      ...(extension.isIterative && { "ivfflat.iterative_scan": "relaxed_order" }),
    }),
  };
}
