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

/** What is left of a table's weight where the planner knows it to be empty. */
export const emptyFactor = 0.6;

/** How often a table is meant, as far as the catalog tells: one that many join and that holds many rows; from 0. */
function tableWeight(table: CatalogTable, joinCount: number, copyFactor: number): number {
  const rows = Math.max(0, table.estimatedRows);
  const emptiness = table.estimatedRows === 0 ? emptyFactor : 1;
  return copyFactor * emptiness * (Math.log2(1 + joinCount) + 0.3 * Math.log10(1 + rows));
}

const nextOfSchema = 0.8;

/** All tables, those first that tell most about the database; each schema's best come before any schema's tenth. */
function overviewOrder(tables: readonly CatalogTable[], weights: readonly number[]): number[] {
  const weight = (table: number) => weights[table] ?? 0;
  const bySchema = Map.groupBy(tables.keys(), (table) => tables[table]?.schema ?? "");
  const value = new Map<number, number>();
  for (const members of bySchema.values()) {
    members.sort((a, b) => weight(b) - weight(a) || a - b);
    members.forEach((table, at) => value.set(table, weight(table) * nextOfSchema ** at));
  }
  return [...value.keys()].sort((a, b) => (value.get(b) ?? 0) - (value.get(a) ?? 0) || a - b);
}

/** Words that no table has in its name but a copy. */
const marks = new Set(
  "archive archived arch archiv arc backup bak bkp old tmp temp staging stg legacy obsolete".split(" "),
);
/** Words that make a copy of a table whose name without them is another's. */
const marksBesideOriginal = new Set(
  "copy deprecated test dummy trash deleted import raw snapshot shadow stage history hist log audit".split(
    " ",
  ),
);
const pastMarks = /^(?:arch\w*|arc|hist\w*|old|(?:19|20)\d\d\w*)$/;
/** Those that are often asked for in their own right. */
const mildMarks = new Set(["history", "hist", "log", "audit"]);
const period = /^(?:(?:19|20)\d\d(?:q[1-4]|\d\d(?:\d\d)?)?|[yq]\d{1,4}|p\d+|v\d+|\d+)$/;

/** What makes a table look like another's copy. */
interface CopyMarks {
  /** The words that say so; a request that has one of them asks for the copy. */
  readonly words: readonly string[];
  /** The number of the table whose earlier rows this one looks to hold, where there is one. */
  readonly archiveOf?: number | undefined;
  /** What the table's score is multiplied by, above 0 to 1; 1 for a table that is no copy. */
  readonly factor: number;
}

/**
 * Recognizes archives, backups, staging tables and the like by their names: `orders_old`, `archive.orders`,
 * `orders_2019`. Marks count for more where the table without them exists.
 */
function createCopyFinder(tables: readonly TableWords[]): (words: TableWords) => CopyMarks {
  const originals = new Map(tables.map(({ name }, at) => [name.join("_"), at]));
  const inSchema = new Map(tables.map(({ table, name }, at) => [`${table.schema} ${name.join("_")}`, at]));

  return ({ table, schema, name }) => {
    const sure = [...schema, ...name].filter((stem) => marks.has(stem));
    const inName = name.filter((stem) =>
      marks.has(stem) || marksBesideOriginal.has(stem) || period.test(stem)
    );
    const rest = name.filter((stem) => !inName.includes(stem)).join("_");
    const original = inSchema.get(`${table.schema} ${rest}`) ?? originals.get(rest);
    if (inName.length > 0 && original !== undefined) {
      const isMild = inName.every((stem) => mildMarks.has(stem));
      const archiveOf = inName.some((stem) => pastMarks.test(stem)) ? original : undefined;
      return { words: [...new Set([...inName, ...sure])], archiveOf, factor: isMild ? 0.8 : 0.3 };
    }
    // by its schema alone it goes by its original's own name, and so needs no link to it
    return sure.length > 0 && rest !== "" ? { words: sure, factor: 0.5 } : { words: [], factor: 1 };
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
