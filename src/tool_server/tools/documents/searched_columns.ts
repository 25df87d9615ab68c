import { AppError } from "../../../core/app_error.ts";
import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";

/** Which table and columns a search by meaning reads. */
interface SearchedColumns {
  readonly textColumn: string;
  readonly vectorColumn: string;
  readonly titleColumn: string | undefined;
}

/** The parts that `table_name` may stand for: a table's name alone, or one behind its schema's. */
export function readTableName(name: string): readonly { readonly schema?: string; readonly table: string }[] {
  const [, schema, table] = /^"?([^".]+)"?\."?([^"]+)"?$/.exec(name) ?? [];
  const bare = name.replace(/^"(.*)"$/, "$1");
  const exact = [
    { table: bare },
    ...(schema === undefined || table === undefined ? [] : [{ schema, table }]),
  ];
  const folded = exact.map((one) => ({
    table: one.table.toLowerCase(),
    ...("schema" in one && { schema: one.schema.toLowerCase() }),
  }));
  return [...exact, ...folded.filter((one, at) => JSON.stringify(one) !== JSON.stringify(exact[at]))];
}

/**
 * The one table of those with that name that has vectors.
 * @throws {AppError} `invalid`, saying what is missing, or which schemas there are to choose from
 */
export function tableWithVectors(name: string, found: readonly CatalogTable[]): CatalogTable {
  const fail = refusalOf(name);
  if (found.length === 0) {
    throw fail(
      "there is no such table that you may read; get_schema_info with vector_tables_only lists those with vectors",
    );
  }
  const [table, ...others] = found.filter(({ columns }) => columns.some(isVector));
  if (table === undefined) {
    throw fail(
      "it has no column of pgvector's; get_schema_info with vector_tables_only lists the tables that have one",
    );
  }
  if (others.length > 0) {
    const names = [table, ...others].map(({ schema, name }) => `${schema}.${name}`).join(", ");
    throw fail(`several schemas have it; name one of ${names}`);
  }
  return table;
}

/**
 * The columns to search by an embedding of that length.
 * @throws {AppError} `invalid` where none fits
 */
export function columnsToSearch(
  name: string,
  { columns }: CatalogTable,
  { dimensions, model }: { readonly dimensions: number; readonly model: string },
): SearchedColumns {
  const fail = refusalOf(name);
  const vectors = columns.filter(isVector);
  // one without a length may hold such vectors
  const vector = vectors.find((column) => column.vectorDimensions === dimensions) ??
    vectors.find((column) => column.vectorDimensions === 0);
  if (vector === undefined) {
    const lengths = vectors.map((column) => `${column.name} has ${column.vectorDimensions} dimensions`).join(
      ", ",
    );
    throw fail(
      `${lengths}, but model ${model} makes ${dimensions}; embedding in the configuration has to name the model that ` +
        "made the vectors",
    );
  }
  const texts = columns.filter(({ type }) => isText.test(type));
  const named = (names: readonly string[]) =>
    names.map((name) => texts.find((column) => column.name.toLowerCase() === name)).find((column) =>
      column !== undefined
    );
  const own = vector.name.toLowerCase().replace(/_?(embeddings?|vectors?|vec|emb)$/, "");
  const text = named([own, ...textNames]) ?? texts.find((column) => !isAside(column)) ?? texts[0];
  if (text === undefined) throw fail("it has no column of text beside its vectors");
  const title = named(titleNames.filter((title) => title !== text.name.toLowerCase()));
  return { textColumn: text.name, vectorColumn: vector.name, titleColumn: title?.name };
}

function refusalOf(name: string): (reason: string) => AppError {
  return (reason) =>
    new AppError("invalid", `Cannot search table ${JSON.stringify(name.slice(0, 200))}: ${reason}`);
}

function isVector({ vectorDimensions }: CatalogColumn): boolean {
  return vectorDimensions !== undefined;
}

const isText = /^(text|character( varying)?|citext)\b(?!.*\[\])/;

/** What columns of documents are usually called, the surest first. */
const textNames = [
  "content",
  "text",
  "body",
  "chunk",
  "chunk_text",
  "document",
  "description",
  "passage",
  "summary",
];
const titleNames = ["title", "name", "subject", "headline", "heading"];

/** Whether a text says what a row is about, or where it is from, rather than what it says. */
function isAside({ name, isPrimaryKey, isUnique, reference }: CatalogColumn): boolean {
  return isPrimaryKey || isUnique || reference !== "" || titleNames.includes(name.toLowerCase()) ||
    /(^|_)(id|key|code|url|uri|source|path|file|lang|language|type|kind|status)$/i.test(name);
}
