import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { nameStems } from "./name_words.ts";
import type { CompoundSplitter } from "./split_compound.ts";

/** A table with the words of its names, cut once for all that looks at them. */
export interface TableWords {
  readonly table: CatalogTable;
  readonly schema: readonly string[];
  readonly name: readonly string[];
  /** One list a column, in the table's order. */
  readonly columns: readonly (readonly string[])[];
}

export function tableWords(table: CatalogTable): TableWords {
  return {
    table,
    schema: nameStems(table.schema),
    name: nameStems(table.name),
    columns: table.columns.map((column) => nameStems(column.name)),
  };
}

/** The same with words in one cut into their parts. */
export function splitCompounds(words: TableWords, split: CompoundSplitter): TableWords {
  return {
    table: words.table,
    schema: words.schema,
    name: words.name.flatMap(split),
    columns: words.columns.map((column) => column.flatMap(split)),
  };
}
