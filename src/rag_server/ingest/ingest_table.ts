import { AppError } from "../../core/app_error.ts";
import { type SqlSession, sqlStateOf, transaction } from "../../postgres/sql_session.ts";
import { nameInMessage, quoteIdentifier, quoteLiteral, quoteParts } from "../../postgres/sql_text.ts";
import { buildVectorIndex, type BuildVectorIndexOptions } from "../search/build_vector_index.ts";
import { type CatalogColumn, readColumns } from "../search/column_type.ts";
import { extensionSql, findRelation, primaryKeySql } from "../search/document_table.ts";
import { findVectorIndexes } from "../search/vector_index.ts";
import { detailTypes } from "./metadata_kinds.ts";
import type { MetadataRules } from "./metadata_rules.ts";

/** A pipeline's table as it is configured; names as they are, not quoted. */
export interface IngestTableOptions {
  /** `documents`, `app.documents`, or quoted as SQL needs it; a bare name is tried as it is written first. */
  readonly table: string;
  readonly textColumn: string;
  readonly vectorColumn: string;
  /** Where it is absent, the column of the primary key; `id` in a table that is made. */
  readonly idColumn?: string;
  /** Optional; omit where no columns are filled by rules. */
  readonly metadata?: MetadataRules;
}

/** The details of a chunk, besides its text and vector, for which a table may have columns. */
export const detailNames = [...Object.keys(detailTypes), "metadata"];

/** A table that chunks can be written to; names are quoted. */
export interface IngestTable {
  readonly oid: string;
  readonly relation: string;
  readonly textColumn: string;
  readonly vectorColumn: string;
  /** As SQL, without dimensions. */
  readonly vectorType: string;
  /** Optional: none where the column takes any number. */
  readonly dimensions?: number;
  readonly idColumn: string;
  readonly idType: string;
  /** Whether a row needs an id given, which a UUID can be. */
  readonly needsId: boolean;
  /** The type as SQL of each column for one of {@linkcode detailNames}. */
  readonly details: ReadonlyMap<string, string>;
  /** The columns that rules fill. */
  readonly metadata: readonly string[];
  /** Those of them that hold lists, and those of whole numbers; not quoted. */
  readonly lists: ReadonlySet<string>;
  readonly integers: ReadonlySet<string>;
}

/** A relation's qualified name, and its oid where it exists. */
export interface NamedRelation {
  readonly relation: string;
  readonly oid?: string;
  readonly kind?: string;
}

/** @throws {AppError} `invalid` where the name has more parts than a schema and a table, or none */
export async function nameRelation(session: SqlSession, table: string): Promise<NamedRelation> {
  const found = await findRelation(session.query, table);
  if (found !== undefined) return found;
  const [row] = await session.query(qualifiedSql, [table.includes('"') ? table : quoteParts(table)]);
  if (!row?.[0]) {
    throw new AppError("invalid", `Cannot ingest into ${nameInMessage(table)}: this is not a table's name`);
  }
  return { relation: row[0] };
}

const qualifiedSql = `
  SELECT CASE cardinality(parts) WHEN 1 THEN format('%I.%I', current_schema(), parts[1])
    WHEN 2 THEN format('%I.%I', parts[1], parts[2]) END
  FROM parse_ident($1) parts`;

/**
 * Looks at a table that exists.
 *
 * @throws {AppError} `invalid` where chunks cannot be written to it, and why
 */
export async function readIngestTable(
  session: SqlSession,
  options: IngestTableOptions,
  { oid = "", relation, kind }: NamedRelation,
): Promise<IngestTable> {
  const fail = (reason: string) =>
    new AppError("invalid", `Cannot ingest into ${nameInMessage(options.table)}: ${reason}`);
  if (kind !== "r" && kind !== "p") throw fail("it is not a table");
  const columns = await readColumns(session.query, oid);
  const find = (name: string) => {
    const column = columns.get(name);
    if (column === undefined) throw fail(`it has no column "${name}"`);
    return column;
  };
  const text = find(options.textColumn);
  if (!isText(text)) throw fail(`column "${text.name}" has type ${text.type.sqlType}; expected text`);
  const vector = find(options.vectorColumn);
  if (!["vector", "halfvec"].includes(vector.typeName)) {
    throw fail(`column "${vector.name}" has type ${vector.type.sqlType}; expected vector or halfvec`);
  }
  const idName = options.idColumn ?? (await session.query(primaryKeySql, [oid]))[0]?.[0];
  if (!idName) throw fail("it has no primary key of one column; name the id_column");
  const id = find(idName);
  const needsId = id.needsValue;
  if (needsId && !isText(id) && id.typeName !== "uuid") {
    throw fail(`column "${id.name}" has no default; make it an identity column`);
  }
  const taken = [text, vector, id];
  const byRules = Object.keys(options.metadata ?? {}).map((name) => {
    const column = columns.get(name);
    if (column === undefined) throw fail(`it has no column "${name}" for metadata.${name}; add it`);
    if (!taken.includes(column) && !column.isGenerated) return column;
    throw fail(`metadata.${name} cannot fill column "${name}": that has values of its own`);
  });
  const ofType = (types: RegExp) =>
    new Set(byRules.filter(({ typeName }) => types.test(typeName)).map(({ name }) => name));
  const others = [...columns.values()].filter((column) => ![...taken, ...byRules].includes(column));
  const details = new Map(others.filter(fitsDetail).map(({ name, type }) => [name, type.sqlType]));
  const missing = others.find(({ name, needsValue }) => needsValue && !details.has(name));
  if (missing !== undefined) throw fail(`column "${missing.name}" needs a value; give it a default`);
  return {
    oid,
    relation,
    textColumn: text.quoted,
    vectorColumn: vector.quoted,
    vectorType: vector.qualifiedType,
    ...(vector.modifier > 0 && { dimensions: vector.modifier }),
    idColumn: id.quoted,
    idType: id.type.sqlType,
    needsId,
    details,
    metadata: byRules.map(({ quoted }) => quoted),
    lists: ofType(/^_/),
    integers: ofType(/^_?int[248]$/),
  };
}

const isText = ({ type }: CatalogColumn) => type.category === "S";

function fitsDetail(column: CatalogColumn): boolean {
  const { name, isGenerated, isNullable, typeName } = column;
  if (isGenerated || !detailNames.includes(name)) return false;
  // most formats have no pages
  if (name === "page" && !isNullable) return false;
  if (/^(?:position|page|char_.*)$/.test(name)) return ["int2", "int4", "int8"].includes(typeName);
  if (name === "metadata") return ["json", "jsonb"].includes(typeName);
  return isText(column);
}

/** The comment on a table until {@linkcode indexNewTable} has been there, so that a run after one that was killed sees it. */
const awaitsIndex = "Postern: -ingest makes the vector index at its end";

/**
 * Makes a table of chunks. It has no vector index yet: to build one over many rows takes a third of the time that it takes
 * to add them to it one by one.
 *
 * @param relation qualified and quoted
 * @param lists names of columns for metadata that are lists of text
 * @throws {AppError} `unavailable` where pgvector is missing and this role may not add it
 */
export async function createIngestTable(
  session: SqlSession,
  options: IngestTableOptions,
  { relation, dimensions }: { readonly relation: string; readonly dimensions: number },
  lists: ReadonlySet<string>,
): Promise<void> {
  const schema = await ensureExtension(session, options.table);
  const { textColumn, vectorColumn, idColumn = "id" } = options;
  const own = [idColumn, textColumn, vectorColumn];
  const columns = [
    `${quoteIdentifier(idColumn)} bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY`,
    ...Object.entries(detailTypes).filter(([name]) => !own.includes(name))
      .map(([name, type]) => `${name} ${type}`),
    ...Object.keys(options.metadata ?? {})
      .map((name) => `${quoteIdentifier(name)} ${lists.has(name) ? "text[]" : "text"}`),
    `${quoteIdentifier(textColumn)} text NOT NULL`,
    `${quoteIdentifier(vectorColumn)} ${schema}.vector(${dimensions}) NOT NULL`,
  ];
  await transaction(session, async () => {
    await session.query(`CREATE TABLE ${relation} (${columns.join(", ")})`);
    await session.query(`COMMENT ON TABLE ${relation} IS ${quoteLiteral(awaitsIndex)}`);
    // to find a chunk's neighbours
    if (!own.some((name) => name === "source" || name === "position")) {
      await session.query(`CREATE INDEX ON ${relation} (source, position)`);
    }
  });
}

/**
 * Makes the vector index of a table that {@linkcode createIngestTable} made in this run or in one that was stopped.
 *
 * @throws {AppError} as `buildVectorIndex`
 */
export async function indexNewTable(
  session: SqlSession,
  { oid, relation, vectorColumn, vectorType, dimensions }: IngestTable,
  options: Pick<BuildVectorIndexOptions, "connection" | "signal" | "onProgress">,
): Promise<void> {
  const [row] = await session.query(ownCommentSql, [oid]);
  if (row?.[0] !== awaitsIndex || dimensions === undefined) return;
  const vector = { column: vectorColumn, type: vectorType, dimensions };
  const indexes = await findVectorIndexes(session.query, oid, vector, false);
  const extension = { schema: vectorType.slice(0, vectorType.lastIndexOf(".")), isIterative: false };
  const table = { name: relation, relation, vector: { ...vector, indexes }, extension };
  await buildVectorIndex({ ...options, table, dimensions });
  await session.query(`COMMENT ON TABLE ${relation} IS NULL`);
}

/** None of a table that is another role's, which alone may make an index. */
const ownCommentSql =
  "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = $1::oid AND pg_has_role(relowner, 'USAGE')";

const insufficientPrivilege = "42501";

/** Its schema, quoted. */
async function ensureExtension(session: SqlSession, table: string): Promise<string> {
  const [present] = await session.query(extensionSql);
  if (present?.[1]) return present[1];
  try {
    await session.query("CREATE EXTENSION IF NOT EXISTS vector");
  } catch (cause) {
    const reason = sqlStateOf(cause) === insufficientPrivilege
      ? "this role may not create the extension vector; ask an administrator to run CREATE EXTENSION vector"
      : "the server does not have the extension vector (pgvector)";
    throw new AppError("unavailable", `Cannot ingest into ${nameInMessage(table)}: ${reason}`, { cause });
  }
  const [made] = await session.query(extensionSql);
  return made?.[1] ?? "public";
}
