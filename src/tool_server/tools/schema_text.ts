import type { CatalogTable } from "../../core/catalog.ts";
import { formatTsv } from "../../text/tsv.ts";

/** One line a column, in the columns that clients of this tool know. */
export function schemaColumns(tables: readonly CatalogTable[]): string {
  const header = [
    ...[
      "schema",
      "table",
      "type",
      "table_desc",
      "column",
      "data_type",
      "nullable",
      "col_desc",
      "is_pk",
      "is_unique",
    ],
    ...["fk_ref", "is_indexed", "identity", "default", "is_vector", "vector_dims", "labels"],
  ];
  const rows = tables.flatMap((table) =>
    table.columns.map((column) => [
      table.schema,
      table.name,
      table.kind,
      table.comment,
      column.name,
      column.type,
      column.nullable ? "YES" : "NO",
      column.comment,
      String(column.isPrimaryKey),
      String(column.isUnique),
      column.reference,
      String(column.isIndexed),
      column.identity,
      column.default,
      String(column.vectorDimensions !== undefined),
      String(column.vectorDimensions ?? 0),
      column.labels.join(", "),
    ])
  );
  return formatTsv(header, rows);
}

/** The indexes' definitions after an empty line; nothing where there are none. */
export function schemaIndexes(tables: readonly CatalogTable[]): string {
  const definitions = tables.flatMap((table) => table.indexes.map((index) => index.definition));
  return definitions.length === 0 ? "" : `\n\nIndexes:\n${definitions.join("\n")}`;
}

/** One line a table. */
export function schemaTables(tables: readonly CatalogTable[]): string {
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
export function schemaSummary(tables: readonly CatalogTable[]): string {
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
export const moreCalls = 'Next: get_schema_info(schema_name="…") for the columns of a schema, ' +
  'get_schema_info(schema_name="…", table_name="…") for one table, ' +
  "get_schema_info(compact=true) for a line on every table.";
