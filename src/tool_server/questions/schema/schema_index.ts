import { forEachInSlices, yieldToEventLoop } from "../../../core/async/yield.ts";
import type { Catalog, CatalogTable, SessionFacts } from "../../../postgres/catalog/catalog.ts";
import { type SampleValues, tableKey } from "../../../postgres/catalog/sample_values.ts";
import { createVocabulary, type Vocabulary } from "./catalog_vocabulary.ts";
import { createJoinFinder, createJoinGraph, type Join, numbersByKey } from "./joins.ts";
import {
  createCompoundSplitter,
  nameStems,
  splitCompounds,
  type TableWords,
  tableWords,
} from "./name_words.ts";
import { type CopyMarks, createCopyFinder, overviewOrder, tableWeight } from "./table_weights.ts";
import { createValueIndex, knownValues } from "./value_index.ts";

/** A catalog prepared for {@linkcode excerptSchema}. Tables are numbered as in the catalog's list. */
export type SchemaIndex = Awaited<ReturnType<typeof createSchemaIndex>>;

/**
 * Prepares a catalog for excerpts, once per catalog; what it keeps is in proportion to the catalog. Works in slices of
 * a few milliseconds and lets the event loop run between them.
 */
export async function createSchemaIndex(
  snapshot: { catalog: Catalog; samples: SampleValues; session?: SessionFacts },
) {
  const { catalog, samples, session } = snapshot;
  // first all names, so that those which are several words in one can be cut into words that others have
  const uncut: TableWords[] = [];
  const catalogWords = new Set<string>();
  await forEachInSlices(catalog.tables, (table) => {
    const words = tableWords(table);
    uncut.push(words);
    for (const stem of [...words.name, ...words.columns.flat()]) catalogWords.add(stem);
  });
  const splitCompound = createCompoundSplitter(catalogWords);
  const tables: TableWords[] = [];
  const postings = createPostingLists(uncut.length);
  const vocabulary = createVocabulary();
  const values = createValueIndex();
  await forEachInSlices(uncut.entries(), ([at, whole]) => {
    const words = splitCompounds(whole, splitCompound);
    tables.push(words);
    addNames(words, at, postings, vocabulary);
    addComments(words.table, at, postings);
    const sampled = samples.get(tableKey(words.table.schema, words.table.name));
    words.table.columns.forEach((column, place) => {
      values.add(at, place, knownValues(column, sampled?.get(column.name)));
    });
  });
  const relations = await relateTables(tables);
  await yieldToEventLoop();
  const byName = tablesByName(catalog.tables);
  await yieldToEventLoop();
  const weights = catalog.tables.map((table, at) =>
    tableWeight(table, relations.joins.joinsOf(at).length, relations.copyMarks[at]?.factor ?? 1)
  );
  return {
    catalog,
    samples,
    session,
    tables,
    ...relations,
    /** How likely each table is meant, whatever the request; from 0. */
    weights,
    /** All tables, the most telling ones first, for requests that point at none. */
    overview: overviewOrder(catalog.tables, weights),
    postings,
    vocabulary,
    splitCompound,
    values,
    /** The tables of a name in small letters, with the schema before it or without. */
    byName,
  };
}

/** Finds which tables join and which are copies of others. */
async function relateTables(tables: readonly TableWords[]) {
  const copyMarksOf = createCopyFinder(tables);
  await yieldToEventLoop();
  const joinsFrom = createJoinFinder(tables);
  await yieldToEventLoop();
  const copyMarks: CopyMarks[] = [];
  const joins: Join[] = [];
  await forEachInSlices(tables.entries(), ([at, words]) => {
    copyMarks.push(copyMarksOf(words));
    joins.push(...joinsFrom(at));
  });
  await yieldToEventLoop();
  // ways lead rather through tables of rows than through copies and views
  const tolls = tables.map(({ table }, at) =>
    (copyMarks[at]?.factor === 1 ? 0 : 2) + (table.kind.endsWith("VIEW") ? 1 : 0)
  );
  return {
    copyMarks,
    /** The tables that look to hold a table's earlier rows; under undefined those that hold nobody's. */
    archives: Map.groupBy(copyMarks.keys(), (at) => copyMarks[at]?.archiveOf),
    joins: createJoinGraph(tolls, joins),
  };
}

function addNames(words: TableWords, at: number, postings: PostingLists, vocabulary: Vocabulary): void {
  const add = (term: string, field: "name" | "schema" | "column", share: number) => {
    postings.add(term, field, at, share);
    vocabulary.add(term, { isTableName: field === "name" && words.name.length === 1 });
  };
  for (const stem of words.name) add(stem, "name", 1);
  for (const stem of words.schema) add(stem, "schema", 1);
  for (const column of words.columns) {
    for (const stem of column) add(stem, "column", 1 / Math.sqrt(column.length));
  }
}

function addComments(table: CatalogTable, at: number, postings: PostingLists): void {
  const add = (comment: string, field: "comment" | "columnComment") => {
    if (comment === "") return;
    for (const stem of nameStems(comment.slice(0, longestComment))) postings.add(stem, field, at, 1);
  };
  add(table.comment, "comment");
  for (const column of table.columns) add(column.comment, "columnComment");
}

const longestComment = 1000;

function tablesByName(tables: readonly CatalogTable[]): Map<string, number[]> {
  return numbersByKey(tables, (table) => {
    const name = table.name.toLowerCase();
    return [name, `${table.schema.toLowerCase()}.${name}`];
  });
}

/** Where a word may stand; how much a hit there says about the table is the ranking's matter. */
export type Field = "name" | "schema" | "column" | "comment" | "columnComment";

/** The tables that have a word in one field, in ascending order, and for each how much of the name the word is. */
interface Postings {
  readonly tables: number[];
  readonly shares: number[];
}

type TermPostings = Partial<Record<Field, Postings>>;

/** An inverted index from the words of a catalog to its tables. */
function createPostingLists(tableCount: number) {
  const terms = new Map<string, TermPostings>();
  const scale = Math.log(tableCount + 1);

  return {
    terms,
    /** Tables are added in ascending order. A table that is added twice keeps the larger share. */
    add(term: string, field: Field, table: number, share: number): void {
      const entry = terms.get(term) ?? {};
      terms.set(term, entry);
      const { tables, shares } = entry[field] ??= { tables: [], shares: [] };
      const last = tables.length - 1;
      if (tables[last] !== table) {
        tables.push(table);
        shares.push(share);
      } else if (share > (shares[last] ?? 0)) shares[last] = share;
    },
    /** 1 for a word that one table has, 0 for a word that all have. */
    rarity: ({ tables }: Postings): number => Math.log((tableCount + 1) / tables.length) / scale,
  };
}

type PostingLists = ReturnType<typeof createPostingLists>;
