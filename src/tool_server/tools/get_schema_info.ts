import { defined } from "../../core/defined.ts";
import { z } from "zod";
import { type CatalogColumn, type CatalogTable, readCatalog } from "../../postgres/catalog/catalog.ts";
import { createFence } from "../../text/fence.ts";
import { formatTsv } from "../../text/tsv.ts";
import {
  modelLine,
  modelText,
  type SemanticModels,
  type VisibleModel,
} from "../questions/models/semantic_models.ts";
import { linkToTable } from "../resources/resource_address.ts";
import { databaseArgument, type DatabaseDirectory } from "./databases/database_directory.ts";
import { schemaInfoReply as output } from "./schema_info_reply.ts";
import { defineTool, type Tool } from "./tool.ts";

// a larger catalog, asked for without a filter, is answered by its summary
const detailedTables = 10;

const input = z.strictObject({
  schema_name: z.string().min(1).max(128).optional(),
  table_name: z.string().min(1).max(128).optional().describe("Needs schema_name."),
  vector_tables_only: z.boolean().default(false).describe("Only tables with a pgvector column."),
  compact: z.boolean().default(false).describe("Without columns."),
  include_partitions: z.boolean().default(false),
  database: databaseArgument,
}).refine((args) => args.table_name === undefined || args.schema_name !== undefined, {
  path: ["schema_name"],
  message: "is needed where table_name is given",
});

interface SchemaInfoOptions {
  readonly directory: DatabaseDirectory;
  /** Whether a table's resource can be read. */
  readonly linksToTables?: boolean;
  /** The models of this moment; absent or undefined: there are none. */
  readonly models?: () => SemanticModels | undefined;
}

export function getSchemaInfo(options: SchemaInfoOptions): Tool {
  return defineTool({
    name: "get_schema_info",
    title: "Get schema information",
    description:
      "Show tables and views with columns, types, keys, references, indexes and comments. Call it before writing SQL. " +
      "Of more than ten tables it shows a summary; name a schema or table for the columns.",
    input,
    output,
    untrusted: ["tables"],
    annotations: { idempotentHint: true },
    async run(args, { principal, signal, span }) {
      const database = options.directory.resolve(principal, args.database);
      const { tables } = await readCatalog(database, {
        principal,
        signal,
        span,
        filter: {
          vectorTablesOnly: args.vector_tables_only,
          withPartitions: args.include_partitions,
          ...defined({ schema: args.schema_name, table: args.table_name }),
        },
      });
      if (tables.length === 0) return nothingFound(database.name, args);
      const filtered = args.schema_name !== undefined || args.vector_tables_only;
      const summary = !filtered && !args.compact && tables.length > detailedTables;
      const detailed = !summary && !args.compact;
      const only = args.table_name === undefined ? undefined : tables[0];
      const body = summary
        ? schemaSummary(tables)
        : detailed
        ? `${schemaColumns(tables)}${schemaIndexes(tables)}`
        : schemaTables(tables);
      const models = options.models?.()?.ofTables(database.name, tables) ?? [];
      const leftOut = args.include_partitions
        ? 0
        : tables.reduce((sum, { partitions = 0 }) => sum + partitions, 0);
      const notes = [
        ...(leftOut === 0
          ? []
          : [`Left out: ${leftOut} partitions of these tables. include_partitions=true shows them.`]),
        ...(summary ? [moreCalls] : []),
      ];
      return {
        // names and comments were written by whoever may write them
        text: `Database: ${database.name}\n\n${createFence().wrap(body)}${modelsText(models, detailed)}${
          notes.map((note) => `\n\n${note}`).join("")
        }`,
        data: {
          database: database.name,
          table_count: tables.length,
          tables: tables.map((table) => tableData(table, detailed)),
          partitions_left_out: leftOut,
          ...(models.length === 0 ? {} : { models: models.map((model) => modelData(model, detailed)) }),
        },
        ...(options.linksToTables && only !== undefined && {
          links: [linkToTable(database.name, only.schema, only.name)],
        }),
      };
    },
  });
}

function nothingFound(database: string, args: z.output<typeof input>) {
  const where = [
    args.schema_name === undefined ? "" : ` in schema ${JSON.stringify(args.schema_name)}`,
    args.table_name === undefined ? "" : ` named ${JSON.stringify(args.table_name)}`,
    args.vector_tables_only ? " with a vector column" : "",
  ].join("");
  return {
    text: `Database: ${database}\n\nNo table or view${where} that you may read. ` +
      "Names are compared exactly, upper and lower case included." +
      (args.table_name === undefined || args.include_partitions
        ? ""
        : " Partitions are shown with include_partitions=true."),
    data: { database, table_count: 0, tables: [], partitions_left_out: 0 },
  };
}

/** The columns that clients of this tool know, and what each holds. */
const columnCells: readonly [string, (table: CatalogTable, column: CatalogColumn) => string][] = [
  ["schema", (table) => table.schema],
  ["table", (table) => table.name],
  ["type", (table) => table.kind],
  ["table_desc", (table) => table.comment],
  ["column", (_, column) => column.name],
  ["data_type", (_, column) => column.type],
  ["nullable", (_, column) => column.nullable ? "YES" : "NO"],
  ["col_desc", (_, column) => column.comment],
  ["is_pk", (_, column) => String(column.isPrimaryKey)],
  ["is_unique", (_, column) => String(column.isUnique)],
  ["fk_ref", (_, column) => column.reference],
  ["is_indexed", (_, column) => String(column.isIndexed)],
  ["identity", (_, column) => column.identity],
  ["default", (_, column) => column.default],
  ["is_vector", (_, column) => String(column.vectorDimensions !== undefined)],
  ["vector_dims", (_, column) => String(column.vectorDimensions ?? 0)],
  ["labels", (_, column) => column.labels.join(", ")],
];

/** One line a column. */
function schemaColumns(tables: readonly CatalogTable[]): string {
  return formatTsv(
    columnCells.map(([name]) => name),
    tables.flatMap((table) =>
      table.columns.map((column) => columnCells.map(([, cell]) => cell(table, column)))
    ),
  );
}

/** The indexes' definitions after an empty line; nothing where there are none. */
function schemaIndexes(tables: readonly CatalogTable[]): string {
  const definitions = tables.flatMap((table) => table.indexes.map((index) => index.definition));
  return definitions.length === 0 ? "" : `\n\nIndexes:\n${definitions.join("\n")}`;
}

/** One line a table. */
function schemaTables(tables: readonly CatalogTable[]): string {
  return formatTsv(
    ["schema", "table", "type", "table_desc", "columns", "estimated_rows"],
    tables.map((table) => [
      table.schema,
      table.name,
      table.kind,
      table.comment,
      String(table.columns.length),
      table.estimatedRows < 0 ? null : String(table.estimatedRows),
    ]),
  );
}

// a summary that names every table of a large catalog would cost what it is there to save
const namedTables = 40;

/** How many tables each schema has, and the largest of them by name. */
function schemaSummary(tables: readonly CatalogTable[]): string {
  const schemas = Map.groupBy(tables, (table) => table.schema);
  const lines = [...schemas].map(([schema, members]) => {
    const largest = members.toSorted((a, b) => b.estimatedRows - a.estimatedRows).slice(0, namedTables);
    const rest = members.length - largest.length;
    const names = largest.map((table) => table.name).sort().join(", ") +
      (rest > 0 ? ` and ${rest} more` : "");
    return [schema, String(members.length), names];
  });
  return `Summary of ${tables.length} tables and views:\n${formatTsv(["schema", "tables", "names"], lines)}`;
}

/** The calls that show more than a summary; without names, which stand between the marks. */
const moreCalls = 'Next: get_schema_info(schema_name="…") for the columns of a schema, ' +
  'get_schema_info(schema_name="…", table_name="…") for one table, ' +
  "get_schema_info(compact=true) for a line on every table.";

/** A table as data; `detailed` with its columns and indexes. */
export function tableData(table: CatalogTable, detailed: boolean) {
  const { schema, name } = table;
  return {
    schema,
    name,
    type: table.kind,
    description: table.comment,
    estimated_rows: table.estimatedRows,
    ...(table.partitions ? { partitions: table.partitions } : {}),
    ...(detailed && {
      columns: table.columns.map((column) => ({
        name: column.name,
        data_type: column.type,
        nullable: column.nullable,
        description: column.comment,
        default: column.default,
        identity: column.identity,
        is_pk: column.isPrimaryKey,
        is_unique: column.isUnique,
        is_indexed: column.isIndexed,
        fk_ref: column.reference,
        labels: [...column.labels],
        ...defined({ vector_dims: column.vectorDimensions }),
      })),
      indexes: table.indexes.map((index) => index.definition),
    }),
  };
}

/** What the administrator wrote stands outside of the marks. */
function modelsText(models: readonly VisibleModel[], detailed: boolean): string {
  if (models.length === 0) return "";
  const lines = models.map((model) => detailed ? modelText(model) : modelLine(model));
  return `\n\nThe administrator's names for what these tables hold${detailed ? ", with their SQL" : ""}:\n${
    lines.join("\n")
  }`;
}

function modelData({ name, synonyms, description, table, ...model }: VisibleModel, detailed: boolean) {
  const expressions = (list: VisibleModel["measures"]) =>
    list.map(({ name, synonyms, description, sql }) => ({ name, synonyms: [...synonyms], description, sql }));
  return {
    name,
    synonyms: [...synonyms],
    description,
    schema: table.schema,
    table: table.name,
    ...(detailed && {
      measures: expressions(model.measures),
      dimensions: expressions(model.dimensions),
      joins: model.joins.map(({ to, on, description }) => ({ to, on, description })),
    }),
  };
}
