import { quoteIdentifier } from "../../postgres/quote_identifier.ts";
import type { SearchedTableSettings } from "../open_searched_table.ts";
import { error, type Finding } from "./check.ts";
import type { ColumnFacts, TableFacts } from "./table_facts.ts";

/** A guess for where the provider does not tell. */
const usualDimensions = 1_536;
const vectorTypes = ["vector", "halfvec", "sparsevec"];

/** There is no such table: as it would be made. */
export function missingTable(settings: SearchedTableSettings, dimensions = usualDimensions): Finding {
  const { table, textColumn, vectorColumn, idColumn = "id" } = settings;
  const isPlain = /^[\w$.]+$/.test(table) || table.includes('"');
  const name = isPlain ? table : quoteIdentifier(table);
  return error(
    `There is no table or view "${table}"`,
    `-- Correct the table's name in the configuration, or make it:
CREATE TABLE ${name} (
  ${quoteIdentifier(idColumn)} bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  ${quoteIdentifier(textColumn)} text NOT NULL,
  ${quoteIdentifier(vectorColumn)} vector(${dimensions})
);`,
  );
}

/** What keeps a table that is there from being searched: rights, columns, their types. */
export function tableFaults(
  settings: SearchedTableSettings,
  facts: TableFacts,
  dimensions = usualDimensions,
): Finding[] {
  const { relation, role, schema, columns } = facts;
  if (!facts.mayUseSchema) {
    return [
      error(`Role ${role} may not use schema ${schema}`, `GRANT USAGE ON SCHEMA ${schema} TO ${role};`),
    ];
  }
  const { textColumn, vectorColumn, idColumn } = settings;
  const named = [textColumn, vectorColumn, ...(idColumn === undefined ? [] : [idColumn])];
  const found = columns.filter(({ name }) => named.includes(name));
  const unreadable = found.filter(({ isReadable }) => !isReadable).map(({ name }) => `"${name}"`);
  const rights = unreadable.length === 0 ? [] : [error(
    `Role ${role} may not read ${relation}: ${unreadable.join(", ")}`,
    `GRANT SELECT ON ${relation} TO ${role};`,
  )];
  const find = (column: string) => found.find(({ name }) => name === column);
  return [
    ...rights,
    ...textFaults(relation, textColumn, find(textColumn)),
    ...vectorFaults(relation, vectorColumn, find(vectorColumn), dimensions),
    ...(idColumn === undefined || find(idColumn) !== undefined ? [] : [missingColumn(
      relation,
      idColumn,
      `bigint GENERATED ALWAYS AS IDENTITY ${facts.hasPrimaryKey ? "UNIQUE" : "PRIMARY KEY"}`,
    )]),
  ];
}

function textFaults(relation: string, name: string, column: ColumnFacts | undefined): Finding[] {
  if (column === undefined) return [missingColumn(relation, name, "text")];
  return column.isText || column.isDomain ? [] : [otherType(relation, column, "text", "text")];
}

function vectorFaults(
  relation: string,
  name: string,
  column: ColumnFacts | undefined,
  dimensions: number,
): Finding[] {
  if (column === undefined) return [missingColumn(relation, name, `vector(${dimensions})`)];
  if (vectorTypes.includes(column.typeName) || column.isDomain) return [];
  return [otherType(relation, column, "vector, halfvec or sparsevec", `vector(${dimensions})`)];
}

function missingColumn(relation: string, name: string, definition: string): Finding {
  return error(
    `${relation} has no column "${name}"`,
    `-- Correct the column's name in the configuration, or add it:
ALTER TABLE ${relation} ADD COLUMN ${quoteIdentifier(name)} ${definition};`,
  );
}

function otherType(relation: string, { name, type }: ColumnFacts, expected: string, better: string): Finding {
  const column = quoteIdentifier(name);
  // a list of numbers is cast as it is, text by way of its own form
  const value = type.endsWith("[]") || better === "text" ? column : `${column}::text`;
  return error(
    `Column "${name}" of ${relation} has type ${type}; expected ${expected}`,
    `-- Name another column in the configuration, or change its type:
ALTER TABLE ${relation} ALTER COLUMN ${column} TYPE ${better} USING ${value}::${better};`,
  );
}
