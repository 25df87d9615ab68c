import { AppError } from "../../core/app_error.ts";
import { type SqlSession, sqlStateOf, transaction } from "../../postgres/sql_session.ts";
import { nameInMessage, quoteIdentifier, quoteParts } from "../../postgres/sql_text.ts";
import { extensionSql, findRelation, primaryKeySql } from "../search/document_table.ts";

/** A pipeline's table as it is configured; names as they are, not quoted. */
export interface IngestTableOptions {
  /** `documents`, `app.documents`, or quoted as SQL needs it; a bare name is tried as it is written first. */
  readonly table: string;
  readonly textColumn: string;
  readonly vectorColumn: string;
  /** Where it is absent, the column of the primary key; `id` in a table that is made. */
  readonly idColumn?: string;
}

/** The details of a chunk, besides its text and vector, for which a table may have columns. */
export const detailNames = ["source", "title", "position", "page", "metadata"] as const;
export type DetailName = (typeof detailNames)[number];

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
}

/** A relation's qualified name, and its oid where it exists. */
export interface NamedRelation {
  readonly relation: string;
  readonly oid?: string;
  readonly kind?: string;
}

/** @throws {AppError} `invalid` where the name has more parts than a schema and a table, or none */
export async function nameRelation(session: SqlSession, table: string): Promise<NamedRelation> {
  const found = await findRelation((sql, parameters) => session.query(sql, parameters), table);
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

interface Column {
  readonly name: string;
  readonly quoted: string;
  /** The dimensions of a vector; -1 where the type has none. */
  readonly modifier: number;
  /** The type's bare name, qualified, and as SQL. */
  readonly typeName: string;
  readonly qualifiedType: string;
  readonly sqlType: string;
  readonly isText: boolean;
  readonly isNullable: boolean;
  readonly needsValue: boolean;
  readonly isGenerated: boolean;
}

const columnsSql = `
  SELECT coalesce(json_agg(json_build_object('name', a.attname, 'quoted', quote_ident(a.attname),
    'modifier', a.atttypmod, 'typeName', t.typname, 'qualifiedType', format('%I.%I', n.nspname, t.typname),
    'sqlType', format_type(t.oid, -1), 'isText', t.typcategory = 'S',
    'isNullable', NOT a.attnotnull, 'needsValue', a.attnotnull AND NOT a.atthasdef AND a.attidentity = '',
    'isGenerated', a.attgenerated <> '' OR a.attidentity = 'a') ORDER BY a.attnum), '[]')
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped`;

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
  const [row] = await session.query(columnsSql, [oid]);
  const columns: readonly Column[] = JSON.parse(row?.[0] ?? "[]");
  const find = (name: string) => {
    const column = columns.find((candidate) => candidate.name === name);
    if (column === undefined) throw fail(`it has no column "${name}"`);
    return column;
  };
  const text = find(options.textColumn);
  if (!text.isText) throw fail(`column "${text.name}" has type ${text.sqlType}; expected text`);
  const vector = find(options.vectorColumn);
  if (!["vector", "halfvec"].includes(vector.typeName)) {
    throw fail(`column "${vector.name}" has type ${vector.sqlType}; expected vector or halfvec`);
  }
  const idName = options.idColumn ?? (await session.query(primaryKeySql, [oid]))[0]?.[0];
  if (!idName) throw fail("it has no primary key of one column; name the id_column");
  const id = find(idName);
  const needsId = id.needsValue;
  if (needsId && !id.isText && id.typeName !== "uuid") {
    throw fail(`column "${id.name}" has no default; make it an identity column`);
  }
  const taken = [text, vector, id];
  const others = columns.filter((column) => !taken.includes(column));
  const details = new Map(others.filter(fitsDetail).map(({ name, sqlType }) => [name, sqlType]));
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
    idType: id.sqlType,
    needsId,
    details,
  };
}

function fitsDetail({ name, isText, isGenerated, isNullable, typeName }: Column): boolean {
  if (isGenerated || !detailNames.some((detail) => detail === name)) return false;
  // most formats have no pages
  if (name === "page" && !isNullable) return false;
  if (name === "position" || name === "page") return ["int2", "int4", "int8"].includes(typeName);
  if (name === "metadata") return ["json", "jsonb"].includes(typeName);
  return isText;
}

/** The most dimensions that pgvector's indexes take. */
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
  const details = { source: "text NOT NULL", title: "text NOT NULL", position: "int NOT NULL", page: "int" };
  const columns = [
    `${quoteIdentifier(idColumn)} bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY`,
    ...Object.entries(details).filter(([name]) => !own.includes(name))
      .map(([name, type]) => `${name} ${type}`),
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
      ? "this role may not create the extension vector; ask an administrator to run CREATE EXTENSION vector"
      : "the server does not have the extension vector (pgvector)";
    throw new AppError("unavailable", `Cannot ingest into ${nameInMessage(table)}: ${reason}`, { cause });
  }
  const [made] = await session.query(extensionSql);
  return made?.[1] ?? "public";
}
