import { defined } from "../../core/defined.ts";
import { Buffer } from "node:buffer";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { readerFor } from "../../core/principal.ts";
import type { StatementError } from "../../postgres/read/statement_error.ts";
import type { Database } from "../../postgres/database.ts";
import type { Row } from "../../postgres/read/portal.ts";
import {
  arrayText,
  identifierSql,
  joinSql,
  nameOf,
  renderSql,
  sql,
  type SqlText,
  verbatim,
  verbatimSql,
} from "../../postgres/sql_text.ts";
import type { SearchCaller } from "../filter/check_filter.ts";
import { parseExactJson } from "../query.ts";
import type { RetrievedDocument } from "./fusion.ts";
import type { ColumnType } from "./column_type.ts";
import type { DocumentTable } from "./document_table.ts";
import { trimmedSql } from "./vector_search.ts";
import { sha256 } from "../../core/text/sha256.ts";

/** What a table says of a document besides its text, in the columns that ingested tables have, and `url`. */
export interface DocumentDetails {
  readonly title?: string;
  /** A file's path, for example. */
  readonly source?: string;
  /** Where the document itself stands; http or https. */
  readonly url?: string;
  /** Of a chunk in its source, from 0. */
  readonly position?: number;
  /** In its source. */
  readonly page?: number;
  /** The headings above it, the outermost first, with ` > ` between. */
  readonly heading?: string;
  /** Where it begins and ends in the text of its source, in Unicode characters; the end is excluded. */
  readonly char_start?: number;
  readonly char_end?: number;
  /** The ids of the chunks before and after it in its source, where an index finds them. */
  readonly previous?: string;
  readonly next?: string;
  /** The columns that the configuration names for it, by their names, as JSON. */
  readonly columns?: Readonly<Record<string, unknown>>;
}

export interface StoredDocument extends DocumentDetails {
  /** Cut off where it is longer than a search reads. */
  readonly text: string;
}

/** The documents of a pipeline's tables one by one. */
export type StoredDocuments = ReturnType<typeof createStoredDocuments>;

/** The most of each document that is read, from its beginning: sixteen times the characters of a prompt of 4,000 tokens. */
export const maxCharacters = 64_000;

/** Rows that one id may stand for, as those of a view. */
const maxRows = 50;

/** To look for a text without an id, every row is read. */
const scanTimeoutMs = 5_000;

export function createStoredDocuments(
  { database, tables, logger }: {
    readonly database: Database;
    /** In the pipeline's order. */
    readonly tables: readonly DocumentTable[];
    readonly logger: Logger;
  },
) {
  async function rowsOf(statement: SqlText, { caller, signal }: SearchCaller, timeoutMs?: number) {
    const result = await database.read({
      principal: readerFor(caller),
      trusted: true,
      signal,
      ...defined({ timeoutMs }),
      ...renderSql(statement),
    });
    if (result.ok) return result.rows;
    signal.throwIfAborted();
    // an id that is none of the column's type
    if (result.error.sqlState?.startsWith("22")) return [];
    throw statementFault("read the document", result.error);
  }

  /** By the ids' texts. */
  async function detailsIn(table: DocumentTable, ids: readonly string[], caller: SearchCaller) {
    const names = detailColumns(table);
    const { metadataColumns = [] } = table;
    if (!table.key.isId || names.length + metadataColumns.length === 0) {
      return new Map<string, DocumentDetails>();
    }
    const key = identifierSql(table.key.name);
    const columns = joinSql([
      ...[-1, 1].map((step) => neighbourSql(table, names, step)),
      ...names.map((name) => sql`${identifierSql(columnOf(name, table))}::text`),
      ...metadataColumns.map((name) => sql`to_json(${identifierSql(name)})::text`),
    ], ", ");
    const statement = sql`SELECT ${key}::text, ${columns} FROM ${verbatim(table.relation)} AS source
      WHERE ${table.filter ?? verbatim("true")}
        AND ${key} = ANY(${arrayText(ids)}::${verbatim(table.key.type)}[])`;
    try {
      const rows = await rowsOf(statement, caller);
      return new Map(rows.map(([id, previous, next, ...values]) => {
        const own = metadataColumns.map((name, at) => [name, values[names.length + at]] as const)
          .flatMap(([name, json]) => json ? [[name, parseExactJson(json)] as const] : []);
        const columns = own.length === 0 ? undefined : Object.fromEntries(own);
        const near = defined({ previous: previous ?? undefined, next: next ?? undefined });
        return [id ?? "", { ...detailsFrom(names, values), ...near, ...defined({ columns }) }];
      }));
    } catch (error) {
      caller.signal.throwIfAborted();
      // a role may read the text of a table and not its other columns; the text is what was asked for
      logger.warn("Documents are shown without titles: their columns cannot be read", {
        table: table.name,
        error,
      });
      return new Map<string, DocumentDetails>();
    }
  }

  async function readFrom(table: DocumentTable, reference: Reference, caller: SearchCaller) {
    const { key, textColumn, relation, filter } = table;
    if (key.isId !== (reference.kind === "id")) return undefined;
    const text = `${textColumn}::text`;
    const shown = `left(${text}, ${maxCharacters})`;
    const isId = reference.kind === "id";
    const isMeant = isId
      ? sql`${identifierSql(key.name)} = ${reference.value}::${verbatim(key.type)}`
      : sql`encode(sha256(convert_to(${verbatim(trimmedSql(shown))}, 'UTF8')), 'hex') = ${reference.value}`;
    const order = detailColumns(table).includes("position") ? "ORDER BY position" : "";
    const rows = await rowsOf(
      verbatimSql`SELECT ${shown} FROM ${relation} AS source WHERE ${filter ?? "true"} AND ${isMeant}
        ${order} LIMIT ${isId ? maxRows : 1}`,
      caller,
      isId ? undefined : scanTimeoutMs,
    );
    const texts = rows.flatMap(([text]) => text ?? []).filter((text) => text.trim() !== "");
    if (texts.length === 0) return undefined;
    const found = isId ? await detailsIn(table, [reference.value], caller) : undefined;
    const [details = {}] = found?.values() ?? [];
    return { text: texts.join("\n\n").slice(0, maxCharacters), ...details };
  }

  return {
    /** A name for a document that `read` finds it by: letters, digits and `-._~` alone. */
    keyOf({ table, id, content }: Pick<RetrievedDocument, "table" | "id" | "content">): string {
      const place = tables.findIndex(({ name }) => name === table) + 1;
      if (id === undefined) return `${place}~${sha256(trimmed(content))}`;
      return plainId.test(id) ? `${place}-${id}` : `${place}.${Buffer.from(id).toString("base64url")}`;
    },
    /** In the documents' order; empty where a table has nothing to say, or does not let the role read it. */
    async detailsOf(
      documents: readonly (Pick<RetrievedDocument, "table" | "id"> & { readonly content?: string })[],
      caller: SearchCaller,
    ): Promise<readonly DocumentDetails[]> {
      const idsByTable = Map.groupBy(
        documents.filter(({ id }) => id !== undefined),
        (document) => document.table,
      );
      const found = new Map(
        await Promise.all([...idsByTable].map(async ([name, members]) => {
          const table = tables.find((candidate) => candidate.name === name);
          const ids = members.flatMap(({ id }) => id ?? []);
          return [name, table && await detailsIn(table, ids, caller)] as const;
        })),
      );
      return documents.map(({ table, id, content = "" }) => {
        const details: DocumentDetails = found.get(table)?.get(id ?? "") ?? {};
        return { ...defined({ heading: headingIn(content, details) }), ...details };
      });
    },
    /**
     * Undefined where the key names no row that a search could find: the table's own filter holds here too.
     * @throws {AppError} as a search does, but never `invalid`
     */
    async read(key: string, caller: SearchCaller): Promise<StoredDocument | undefined> {
      const reference = readKey(key);
      const named = reference && tables[reference.place - 1];
      if (reference === undefined || named === undefined) return undefined;
      // a pipeline may have a table twice, each time with rows of its own
      for (const table of tables.filter(({ name }) => name === named.name)) {
        const found = await readFrom(table, reference, caller);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

/** What callers are told of a statement that failed: its own message may quote rows. */
export function statementFault(doing: string, { kind, sqlState }: StatementError): AppError {
  if (kind === "timeout") return new AppError("timeout", `Cannot ${doing}: it took too long`);
  const data = defined({ sqlState });
  return new AppError("upstream", `Cannot ${doing}: the database reported an error`, { data });
}

interface Reference {
  /** Of the table among the pipeline's, from 1. */
  readonly place: number;
  /** A document without an id is known by a hash of its text. */
  readonly kind: "id" | "hash";
  readonly value: string;
}

const plainId = /^[A-Za-z0-9_-]{1,200}$/;

function readKey(key: string): Reference | undefined {
  const [, place, mark, value] = /^([1-9]\d{0,3})([-.~])([A-Za-z0-9_-]{1,4000})$/.exec(key) ?? [];
  if (place === undefined || value === undefined) return undefined;
  const decoded = mark === "." ? Buffer.from(value, "base64url").toString() : value;
  // PostgreSQL has no place for it
  if (decoded.includes("\0")) return undefined;
  return { place: Number(place), kind: mark === "~" ? "hash" : "id", value: decoded };
}

/** As {@linkcode trimmedSql} does. */
function trimmed(text: string): string {
  return text.replace(/^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g, "");
}

/** The id of a row's neighbour in its source; NULL where there is none, or files of two sources have the same path. */
function neighbourSql(table: DocumentTable, names: readonly DetailName[], step: number): SqlText {
  const { key, relation, filter, isOrdered } = table;
  if (!isOrdered || !names.includes("source") || !names.includes("position")) return verbatim("NULL");
  return sql`(SELECT min(near.${identifierSql(key.name)}::text) FROM ${verbatim(relation)} AS near
    WHERE near.source = source.source AND near.position = source.position + ${verbatim(String(step))}
      AND ${filter ?? verbatim("true")} HAVING count(*) = 1)`;
}

type DetailName = Exclude<keyof DocumentDetails, "columns" | "previous" | "next">;

const textKinds: readonly ColumnType["kind"][] = ["text"];
const numberKinds: readonly ColumnType["kind"][] = ["smallint", "integer", "bigint"];
const detailKinds: readonly (readonly [DetailName, readonly ColumnType["kind"][]])[] = [
  ["title", textKinds],
  ["source", textKinds],
  ["url", textKinds],
  ["heading", textKinds],
  ["position", numberKinds],
  ["page", numberKinds],
  ["char_start", numberKinds],
  ["char_end", numberKinds],
];

/** The columns for details that a table has. */
function detailColumns({ columns, textColumn, titleColumn = "title" }: DocumentTable): DetailName[] {
  return detailKinds.flatMap(([name, kinds]) => {
    const column = columns.get(columnOf(name, { titleColumn }));
    return column !== undefined && kinds.includes(column.kind) && name !== nameOf(textColumn) ? [name] : [];
  });
}

function columnOf(name: DetailName, { titleColumn = "title" }: Pick<DocumentTable, "titleColumn">): string {
  return name === "title" ? titleColumn : name;
}

function detailsFrom(names: readonly DetailName[], values: Row): DocumentDetails {
  const valueOf = (name: DetailName) => {
    const value = values[names.indexOf(name)] ?? "";
    return value.trim() === "" ? undefined : value;
  };
  const [title, source, url, heading, ...numbers] = detailKinds.map(([name]) => valueOf(name));
  const [position, page, char_start, char_end] = numbers.map((value) =>
    value === undefined ? undefined : Number(value)
  );
  const own = [url, source].find((address) => address !== undefined && isWebAddress(address));
  return {
    ...defined({ title, source, url: own, heading, position, page, char_start, char_end }),
  };
}

/** An ingested chunk begins with its headings on a line of their own, the document's title first. */
function headingIn(content: string, { title }: DocumentDetails): string | undefined {
  const [, line = ""] = /^(?:#+ )?(.+)\n\n/.exec(content) ?? [];
  return title !== undefined && line.startsWith(title) && /^(?:$| [>›] )/.test(line.slice(title.length))
    ? line
    : undefined;
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}
