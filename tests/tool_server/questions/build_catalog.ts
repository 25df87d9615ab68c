import type {
  Catalog,
  CatalogColumn,
  CatalogForeignKey,
  CatalogTable,
} from "../../../src/postgres/catalog/catalog.ts";

/**
 * A catalog in short: for each table its columns, separated by commas, as `name type`, with `*` behind the name of a
 * primary key's column and `> schema.table.column` for a foreign key of one column. Names without a dot are of `public`.
 */
export function buildCatalog(
  tables: Readonly<Record<string, string>>,
  more: Readonly<Record<string, Partial<CatalogTable>>> = {},
): Catalog {
  const built = Object.entries(tables).map(([name, columns]) => ({
    ...buildTable(name, columns),
    ...more[name],
  }));
  return { tables: built };
}

function buildTable(written: string, columns: string): CatalogTable {
  const [schema, name] = qualified(written);
  const parsed = columns.split(",").map((column) => buildColumn(column.trim()));
  return {
    schema,
    name,
    kind: "TABLE",
    comment: "",
    estimatedRows: -1,
    columns: parsed.map(({ column }) => column),
    indexes: [],
    foreignKeys: parsed.flatMap(({ foreignKey }) => foreignKey === undefined ? [] : [foreignKey]),
  };
}

function buildColumn(written: string): { column: CatalogColumn; foreignKey: CatalogForeignKey | undefined } {
  const [definition = "", target] = written.split(/\s*>\s*/);
  const [marked = "", ...type] = definition.split(/\s+/);
  const name = marked.replace("*", "");
  const column = buildCatalogColumn(name, type.join(" ") || "integer", {
    isPrimaryKey: marked.endsWith("*"),
    reference: target ?? "",
  });
  if (target === undefined) return { column, foreignKey: undefined };
  const dot = target.lastIndexOf(".");
  const [targetSchema, targetTable] = qualified(target.slice(0, dot));
  const targetColumns = [target.slice(dot + 1)];
  return { column, foreignKey: { columns: [name], targetSchema, targetTable, targetColumns } };
}

export function buildCatalogColumn(
  name: string,
  type: string,
  more: Partial<CatalogColumn> = {},
): CatalogColumn {
  return {
    name,
    type,
    nullable: true,
    comment: "",
    default: "",
    identity: "",
    isPrimaryKey: false,
    isUnique: false,
    isIndexed: false,
    reference: "",
    labels: [],
    allowedValues: [],
    ...more,
  };
}

function qualified(written: string): [schema: string, name: string] {
  const [first = "", second] = written.split(".");
  return second === undefined ? ["public", first] : [first, second];
}

/** Tables with nothing to do with a test's, so that a catalog is larger than a budget. */
export function unrelatedTables(count: number): Record<string, string> {
  const kinds = ["gauge", "valve", "pipe", "tank", "pump", "flange", "rotor", "sluice"];
  return Object.fromEntries(
    Array.from({ length: count }, (_, at) => [
      `plant.${kinds[at % kinds.length]}_${
        String.fromCharCode(97 + at % 26, 97 + Math.floor(at / 26) % 26)
      }x`,
      "id* integer, serial text, mounted_on date, pressure numeric, material text, colour text, tolerance numeric",
    ]),
  );
}
