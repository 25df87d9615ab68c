import { AppError } from "../../core/app_error.ts";
import { quoteParts } from "../../postgres/sql_text.ts";
import type { SqlSession } from "../../postgres/sql_session.ts";
import { primaryKeySql, relationSql } from "../search/document_table.ts";

/** A pipeline's table as it is configured; names as they are, not quoted. */
export interface IngestTableOptions {
  /** `documents`, `app.documents`, or quoted as SQL needs it; a bare name is tried as it is written first. */
  readonly table: string;
  readonly textColumn: string;
  readonly vectorColumn: string;
  /** Where it is absent, the column of the primary key; `id` in a table that is made. */
  readonly idColumn?: string;
}

/** What of a chunk besides its text and vector a table has a column for. */
export const detailNames = ["source", "title", "position", "metadata"] as const;
export type DetailName = (typeof detailNames)[number];

/** A table that chunks can be written to; names are quoted. */
export interface IngestTable {
  readonly oid: string;
  readonly relation: string;
  readonly textColumn: string;
  readonly vectorColumn: string;
  /** As SQL, without dimensions. */
  readonly vectorType: string;
  /** Absent where the column takes any number. */
  readonly dimensions?: number;
  readonly idColumn: string;
  readonly idType: string;
  /** Whether a row needs an id given, which a UUID can be. */
  readonly needsId: boolean;
  /** By what they hold, their type as SQL. */
  readonly details: ReadonlyMap<DetailName, string>;
}

/** A relation's qualified name, and its oid where it exists. */
export interface NamedRelation {
  readonly relation: string;
  readonly oid?: string;
  readonly kind?: string;
}

/** @throws {AppError} `invalid` where the name has more parts than a schema and a table, or none */
export async function findRelation(session: SqlSession, table: string): Promise<NamedRelation> {
  const exact = quoteParts(table);
  const isSimple = /^[\w$.]+$/.test(table);
  const candidates = table.includes('"') ? [table] : isSimple ? [exact, table] : [exact];
  for (const candidate of candidates) {
    const [row] = await session.query(relationSql, [candidate]);
    const [oid, relation, kind] = row ?? [];
    if (oid && relation && kind) return { oid, relation, kind };
  }
  const [row] = await session.query(qualifiedSql, [candidates[0] ?? ""]);
  if (!row?.[0]) throw new AppError("invalid", `Cannot ingest into "${table}": it names no table`);
  return { relation: row[0] };
}

const qualifiedSql = `
  SELECT CASE cardinality(parts) WHEN 1 THEN format('%I.%I', current_schema(), parts[1])
    WHEN 2 THEN format('%I.%I', parts[1], parts[2]) END
  FROM parse_ident($1) parts`;

interface Column {
  readonly name: string;
  readonly quoted: string;
  readonly modifier: number;
  /** The type's bare name, qualified, and as SQL. */
  readonly typeName: string;
  readonly qualifiedType: string;
  readonly sqlType: string;
  readonly isText: boolean;
  readonly needsValue: boolean;
  readonly isGenerated: boolean;
}

const columnSql = `
  SELECT a.attname, quote_ident(a.attname), a.atttypmod, t.typname, format('%I.%I', n.nspname, t.typname),
    format_type(t.oid, -1), (t.typcategory = 'S')::int,
    (a.attnotnull AND NOT a.atthasdef AND a.attidentity = '')::int,
    (a.attgenerated <> '' OR a.attidentity = 'a')::int
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_namespace n ON n.oid = t.typnamespace
  WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`;

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
    new AppError("invalid", `Cannot ingest into "${options.table}": ${reason}`);
  if (kind !== "r" && kind !== "p") throw fail("it is not a table");
  const columns = (await session.query(columnSql, [oid])).map(readColumn);
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
  const details = new Map(
    detailNames.flatMap((name) => {
      const column = columns.find((candidate) => candidate.name === name);
      return column !== undefined && !taken.includes(column) && fits(name, column)
        ? [[name, column.sqlType] as const]
        : [];
    }),
  );
  const missing = columns.find((column) =>
    column.needsValue && !taken.includes(column) && !details.has(column.name as DetailName)
  );
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

function readColumn(row: readonly (string | null)[]): Column {
  const [name, quoted, modifier, typeName, qualifiedType, sqlType, isText, needsValue, isGenerated] = row;
  return {
    name: name ?? "",
    quoted: quoted ?? "",
    modifier: Number(modifier),
    typeName: typeName ?? "",
    qualifiedType: qualifiedType ?? "",
    sqlType: sqlType ?? "",
    isText: isText === "1",
    needsValue: needsValue === "1",
    isGenerated: isGenerated === "1",
  };
}

function fits(name: DetailName, { isText, isGenerated, typeName }: Column): boolean {
  if (isGenerated) return false;
  if (name === "position") return ["int2", "int4", "int8"].includes(typeName);
  if (name === "metadata") return ["json", "jsonb"].includes(typeName);
  return isText;
}
