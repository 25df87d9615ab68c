import { quoteIdentifier } from "../../postgres/sql_text.ts";
import type { SearchedTableSettings } from "../search/searched_table.ts";
import { addIdColumn } from "./add_id_column.ts";
import { error, type Finding } from "./check.ts";
import { isWritable } from "./ingest_knowledge.ts";
import { relationName } from "./relation_name.ts";
import type { ColumnFacts, TableFacts } from "./table_facts.ts";

/** A guess for where the provider does not tell. */
const usualDimensions = 1_536;
const vectorTypes = ["vector", "halfvec", "sparsevec"];

/** There is no such table: as it would be made. */
export function missingTable(settings: SearchedTableSettings, dimensions = usualDimensions): Finding {
  const { table, textColumn, vectorColumn, idColumn = "id" } = settings;
  const finding = `There is no table or view "${table}"`;
  const name = relationName(table);
  if (name === undefined) {
    return error(
      finding,
      `-- No table can have this name: write it as documents, app.documents, or quoted as in "App"."Odd ""Name"""`,
    );
  }
  const schema = name.schema === undefined ? "" : `CREATE SCHEMA IF NOT EXISTS ${name.schema};\n`;
  return error(
    finding,
    `-- Correct the table's name in the configuration, or make it:
${schema}CREATE TABLE ${name.relation} (
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
    ...textFaults(facts, textColumn, find(textColumn)),
    ...vectorFaults(facts, vectorColumn, find(vectorColumn), dimensions),
    ...(idColumn === undefined || find(idColumn) !== undefined ? [] : [missingIdColumn(facts, idColumn)]),
  ];
}

function textFaults(facts: TableFacts, name: string, column: ColumnFacts | undefined): Finding[] {
  if (column === undefined) return [missingColumn(facts, name, "text")];
  return column.isText || column.isDomain ? [] : [otherType(facts, column, "text", "text")];
}

function vectorFaults(
  facts: TableFacts,
  name: string,
  column: ColumnFacts | undefined,
  dimensions: number,
): Finding[] {
  if (column === undefined) return [missingColumn(facts, name, `vector(${dimensions})`)];
  if (vectorTypes.includes(column.typeName) || column.isDomain) return [];
  return [otherType(facts, column, "vector, halfvec or sparsevec", `vector(${dimensions})`)];
}

function missingColumn({ relation, kind }: TableFacts, name: string, definition: string): Finding {
  const finding = `${relation} has no column "${name}"`;
  if (!isWritable(kind)) {
    return error(
      finding,
      `-- Correct the column's name in the configuration, or change what ${relation} reads`,
    );
  }
  return error(
    finding,
    `-- Correct the column's name in the configuration, or add it:
ALTER TABLE ${relation} ADD COLUMN ${quoteIdentifier(name)} ${definition};`,
  );
}

function missingIdColumn(facts: TableFacts, name: string): Finding {
  return error(
    `${facts.relation} has no column "${name}"`,
    `-- Correct the column's name in the configuration, or add it:\n${addIdColumn(facts, name)}`,
  );
}

function otherType(
  { relation, kind }: TableFacts,
  { name, type }: ColumnFacts,
  expected: string,
  better: string,
): Finding {
  const finding = `Column "${name}" of ${relation} has type ${type}; expected ${expected}`;
  if (!isWritable(kind)) {
    return error(finding, `-- Name another column in the configuration, or change what ${relation} reads`);
  }
  const column = quoteIdentifier(name);
  // a list of numbers is cast as it is, text by way of its own form
  const value = type.endsWith("[]") || better === "text" ? column : `${column}::text`;
  return error(
    finding,
    `-- Name another column in the configuration, or change its type:
ALTER TABLE ${relation} ALTER COLUMN ${column} TYPE ${better} USING ${value}::${better};`,
  );
}
