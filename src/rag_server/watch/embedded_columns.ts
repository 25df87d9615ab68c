import { AppError } from "../../core/app_error.ts";
import { sha256 } from "../../core/text/sha256.ts";
import type { Read } from "../../postgres/read/read_trusted.ts";
import type { SqlSession } from "../../postgres/sql_session.ts";
import { nameInMessage } from "../../postgres/sql_text.ts";
import { type DocumentTable, findRelation } from "../search/document_table.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import type { Retriever } from "../search/retriever.ts";
import type { SearchedTableSettings } from "../search/searched_table.ts";

/** The record of which model a column's vectors are of, and of whether questions are searched there. */
export const embeddedColumns = "postern.embedded_columns";

/** The form of the record and the queue that this version knows. */
const knownFormat = 1;

/** A column as it is on record. */
export interface EmbeddedColumn {
  readonly name: string;
  /** Its table, qualified and quoted. */
  readonly relation: string;
  /** Not quoted. */
  readonly vectorColumn: string;
  readonly model: string;
  /** Whether `-reembed` switched questions to it. */
  readonly isCurrent: boolean;
}

/** A column whose vectors follow the texts of its table. */
export interface WatchedColumn extends Omit<EmbeddedColumn, "isCurrent"> {
  /** Its table, as it is configured. */
  readonly table: string;
  /** Quoted. */
  readonly textColumn: string;
  /** Tells the rows apart: quoted, and its type as SQL. */
  readonly key: { readonly column: string; readonly type: string };
  /** Of pgvector, quoted. */
  readonly schema: string;
  /** `r` for a table, `p` for one with partitions. */
  readonly kind: string;
  /** Of the vectors that it takes. Optional: none where it takes any. */
  readonly dimensions?: number;
  /** Whether the column takes no NULL. */
  readonly isRequired: boolean;
}

/**
 * The columns that are on record: none where nothing is, or this role may not read it.
 *
 * @throws {AppError} `conflict` for a record of a newer version
 */
export async function readEmbeddedColumns(read: Read): Promise<readonly EmbeddedColumn[]> {
  const [found] = await read(`SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'postern' AND c.relname = 'embedded_columns'
      AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')`);
  if (found === undefined) return [];
  const [row] = await read(`SELECT json_agg(json_build_object('name', e.name, 'model', e.model,
      'relation', format('%I.%I', n.nspname, c.relname), 'vectorColumn', e.vector_column, 'isCurrent', e.is_current,
      'format', e.format))
    FROM ${embeddedColumns} e JOIN pg_class c ON c.oid = e.target JOIN pg_namespace n ON n.oid = c.relnamespace`);
  const columns: (EmbeddedColumn & { format: number })[] = JSON.parse(row?.[0] ?? "[]") ?? [];
  if (columns.every(({ format }) => format <= knownFormat)) return columns;
  throw new AppError(
    "conflict",
    `Cannot use the table ${embeddedColumns}: a newer version of Postern made it; use that version`,
  );
}

/** Has questions searched in these columns, or not any more: all of them in one step. */
export async function switchColumns(
  session: SqlSession,
  columns: readonly Pick<EmbeddedColumn, "name">[],
  isCurrent: boolean,
): Promise<void> {
  await session.query(
    `UPDATE ${embeddedColumns} SET is_current = $1 WHERE name = ANY (string_to_array($2, ' '))`,
    [String(isCurrent), columns.map(({ name }) => name).join(" ")],
  );
}

/** The column's entry in the record. */
export function onRecord(
  columns: readonly EmbeddedColumn[],
  { relation, vectorColumn }: Pick<EmbeddedColumn, "relation" | "vectorColumn">,
): EmbeddedColumn | undefined {
  return columns.find((column) => column.relation === relation && column.vectorColumn === vectorColumn);
}

/** What else may be the cause, where two models of folders differ by name. */
export function renamedFolderHint(recorded: string, own: string): string {
  if (![recorded, own].every((name) => name.startsWith("onnx/"))) return "";
  return `; if only its folder was renamed, set model: ${recorded.slice("onnx/".length)} beside model_path`;
}

/** Relations that have no rows of their own to watch, by their kinds. */
const otherKinds = new Map([["v", "a view"], ["m", "a materialized view"], ["f", "a foreign table"]]);

/**
 * What of a table a queue of its column needs.
 *
 * @param vectorColumn not quoted; need not exist yet
 * @throws {AppError} `invalid` for a view, and for a table whose rows cannot be told apart; `conflict` where the column has
 * vectors of another model
 */
export async function watchedColumn(
  read: Read,
  { name: table, relation, textColumn, key, columns, extension: { schema } }: DocumentTable,
  { vectorColumn, model }: { readonly vectorColumn: string; readonly model: string },
): Promise<WatchedColumn> {
  const fail = (reason: string) =>
    new AppError("invalid", `Cannot watch table ${nameInMessage(table)}: ${reason}`);
  const [row] = await read(
    `SELECT c.relkind, coalesce(bool_or(a.attnotnull), false), quote_ident($3), max(a.atttypmod)
      FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = $2 AND NOT a.attisdropped
      WHERE c.oid = $1::regclass GROUP BY c.relkind`,
    [relation, vectorColumn, key.name],
  );
  const [kind = "", isRequired, keyColumn, dimensions] = row ?? [];
  const other = otherKinds.get(kind ?? "");
  if (other !== undefined) {
    throw fail(`it is ${other}, which has no rows of its own; watch the table that it reads`);
  }
  if (!key.isId) throw fail("it has no primary key of one column; name the id_column");
  const known = onRecord(await readEmbeddedColumns(read), { relation, vectorColumn });
  if (known !== undefined && known.model !== model) {
    const found = `its column "${vectorColumn}" has vectors of ${known.model}, not of ${model}`;
    const advice = `name a new column in reembed${renamedFolderHint(known.model, model)}`;
    throw new AppError("conflict", `Cannot embed table ${nameInMessage(table)}: ${found}; ${advice}`);
  }
  return {
    name: known?.name ?? sha256(`${relation}.${vectorColumn}`).slice(0, 12),
    relation,
    vectorColumn,
    model,
    table,
    textColumn,
    key: { column: keyColumn ?? "", type: columns.get(key.name)?.sqlType ?? key.type },
    schema,
    kind: kind ?? "",
    ...(Number(dimensions) > 0 && { dimensions: Number(dimensions) }),
    isRequired: isRequired === "t",
  };
}

/** The model that a pipeline replaces its own by. */
export interface NextModel {
  readonly embedding: EmbeddingProvider;
  /** Of each of its tables. */
  readonly vectorColumn: string;
}

/** Columns of vectors, and the model that they are of: never the one without the other. */
export interface ServedModel {
  readonly tables: readonly SearchedTableSettings[];
  readonly embedding: EmbeddingProvider;
  /** What is wrong with the pair. Optional: none where nothing is known to be. */
  readonly fault?: AppError;
}

/**
 * Which of a pipeline's two models questions are embedded and searched with: the next one, where `-reembed` switched all
 * tables to its column, else its own. A server that has not yet heard of a switch goes on with the other pair, which is as
 * right: a column never gets vectors of another model.
 *
 * @throws {AppError} as {@linkcode readEmbeddedColumns}, and where the database cannot be read
 */
export async function chooseModel(
  read: Read,
  { tables, own, next }: {
    readonly tables: readonly SearchedTableSettings[];
    readonly own: EmbeddingProvider;
    readonly next?: NextModel | undefined;
  },
): Promise<ServedModel> {
  const columns = await readEmbeddedColumns(read);
  if (columns.length === 0) return { tables, embedding: own };
  const placed = await Promise.all(tables.map(async (table) => ({
    ...table,
    relation: (await findRelation(read, table.table))?.relation ?? "",
  })));
  if (next !== undefined) {
    const { embedding, vectorColumn } = next;
    const entries = placed.map(({ relation }) => onRecord(columns, { relation, vectorColumn }));
    if (entries.every((entry) => entry?.isCurrent && entry.model === embedding.name)) {
      return { tables: tables.map((table) => ({ ...table, vectorColumn })), embedding };
    }
  }
  for (const table of placed) {
    const { model = own.name } = onRecord(columns, table) ?? {};
    if (model === own.name) continue;
    const found = `its column "${table.vectorColumn}" has vectors of ${model}`;
    const reason = `${found}, but embedding_llm is ${own.name}${renamedFolderHint(model, own.name)}`;
    const fault = new AppError("upstream", `Cannot use table ${nameInMessage(table.table)}: ${reason}`);
    return { tables, embedding: own, fault };
  }
  return { tables, embedding: own };
}

/** The retriever over a model's columns. It takes an embedding of the question by that model alone. */
export function withModel(retriever: Retriever, { embedding: model, fault }: ServedModel): Retriever {
  return {
    ...retriever,
    retrieve(request) {
      const { embedding } = request;
      if (embedding instanceof Float32Array) return retriever.retrieve(request);
      return retriever.retrieve({
        ...request,
        embedding: () => fault === undefined ? embedding(model) : Promise.reject(fault),
      });
    },
  };
}
