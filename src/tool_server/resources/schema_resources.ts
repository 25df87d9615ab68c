import { AppError } from "../../core/app_error.ts";
import { type Catalog, type CatalogTable, readCatalog } from "../../postgres/catalog/catalog.ts";
import type { CatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import type { CallContext } from "../call_context.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";
import { tableData } from "../tools/get_schema_info.ts";
import { dataNotice } from "../tools/tool.ts";
import { defineResource } from "./builtin_resource.ts";
import type { CompleteNames } from "./complete_names.ts";
import { addressTemplates, formatAddress } from "./resource_address.ts";

interface SchemaResourceOptions {
  readonly directory: DatabaseDirectory;
  readonly completeNames: CompleteNames;
  readonly scopes?: readonly string[] | undefined;
}

/** A cached catalog is known to be current for this long; a table is read anew, but no less likely to change. */
const freshness = { ttlMs: 2_000, cacheScope: "private" } as const;

/** `pg://{database}/schema`: what a database holds. */
export function schemaResource(
  { catalogs, ...options }: SchemaResourceOptions & {
    readonly catalogs: Pick<CatalogCache<{ readonly catalog: Catalog }>, "get">;
  },
) {
  // a catalog is one of one database, and stays the same object until it changes
  const texts = new WeakMap<Catalog, string>();
  return defineResource({
    kind: "schema",
    scopes: options.scopes,
    freshness,
    description: {
      uriTemplate: addressTemplates.schema,
      name: "schema",
      title: "Schema of a database",
      description:
        "The tables and views of a database that you may read: with their columns, or of a large " +
        "database their names and how to go on.",
    },
    complete: options.completeNames,
    async read({ database: name }, context) {
      const database = findDatabase(options.directory, name, context);
      if (database === undefined) return undefined;
      const { catalog } = await catalogs.get(database, context);
      const text = texts.get(catalog) ?? schemaText(name, catalog);
      texts.set(catalog, text);
      return text;
    },
  });
}

/** `pg://{database}/{schema}/{table}`: one table or view. */
export function tableResource(options: SchemaResourceOptions) {
  return defineResource({
    kind: "table",
    scopes: options.scopes,
    freshness,
    description: {
      uriTemplate: addressTemplates.table,
      name: "table",
      title: "Table or view",
      description:
        "A table's or view's columns with types, keys, references, indexes, comments and an estimate " +
        "of its rows.",
    },
    complete: options.completeNames,
    async read({ database: name, schema, table }, context) {
      const database = findDatabase(options.directory, name, context);
      if (database === undefined) return undefined;
      const { principal, signal, span } = context;
      const { tables: [found] } = await readCatalog(database, {
        principal,
        signal,
        span,
        filter: { schema, table },
      }).catch(nothingWhereNoName);
      return found === undefined ? undefined : tableText(name, found);
    },
  });
}

function findDatabase(directory: DatabaseDirectory, name: string, { principal }: CallContext) {
  const isKnown = directory.list(principal).some((database) => database.name === name);
  return isKnown ? directory.resolve(principal, name) : undefined;
}

/** SQLSTATEs of a text that the database's encoding has no characters for: nothing there has such a name. */
const notInEncoding: readonly unknown[] = ["22P05", "22021"];

function nothingWhereNoName(error: unknown): Catalog {
  if (error instanceof AppError && notInEncoding.includes(error.data?.["sqlState"])) return { tables: [] };
  throw error;
}

/** Of more, the tables are listed without their columns: a model reads about 70 tokens a column. */
const detailedColumns = 300;
/** Of more, schemas are listed, with the names of their largest tables. */
const listedTables = 500;
const namedTables = 40;
/** Some databases have a schema for each of their customers. */
const listedSchemas = 100;

function schemaText(database: string, { tables }: Catalog): string {
  const columns = tables.reduce((sum, table) => sum + table.columns.length, 0);
  const detail = columns <= detailedColumns
    ? "columns"
    : tables.length <= listedTables
    ? "tables"
    : "schemas";
  return JSON.stringify({
    data_notice: dataNotice([detail === "schemas" ? "schemas" : "tables"]),
    database,
    table_count: tables.length,
    detail,
    ...(detail === "columns"
      ? { tables: tables.map((table) => tableData(table, true)) }
      : { next: nextStep(database), ...(detail === "tables" ? lines(tables) : summary(tables)) }),
  });
}

function nextStep(database: string): string {
  const prefix = formatAddress({ kind: "schema", database }).replace(/schema$/, "");
  return `Read ${prefix}{schema}/{table} for the columns, keys and indexes of one table; percent-encode the names`;
}

function lines(tables: readonly CatalogTable[]) {
  return {
    tables: tables.map((table) => ({ ...tableData(table, false), column_count: table.columns.length })),
  };
}

function summary(tables: readonly CatalogTable[]) {
  const bySchema = [...Map.groupBy(tables, ({ schema }) => schema)];
  const shown = bySchema.toSorted(([, a], [, b]) => b.length - a.length).slice(0, listedSchemas);
  const schemas = shown.map(([schema, members]) => ({
    schema,
    table_count: members.length,
    largest_tables: members.toSorted((a, b) => b.estimatedRows - a.estimatedRows).slice(0, namedTables)
      .map(({ name }) => name).sort(),
  }));
  return { schema_count: bySchema.length, schemas };
}

function tableText(database: string, table: CatalogTable): string {
  const { columns, indexes, ...rest } = tableData(table, true);
  const primaryKey = table.columns.filter(({ isPrimaryKey }) => isPrimaryKey).map(({ name }) => name);
  const foreignKeys = table.foreignKeys.map((key) => ({
    columns: key.columns,
    references: { schema: key.targetSchema, table: key.targetTable, columns: key.targetColumns },
    uri: formatAddress({ kind: "table", database, schema: key.targetSchema, table: key.targetTable }),
  }));
  const data = { ...rest, columns, primary_key: primaryKey, foreign_keys: foreignKeys, indexes };
  // all of it is others' words but for the database's name
  return JSON.stringify({ data_notice: dataNotice(["table"]), database, table: data });
}
