import type { Catalog, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { isView, tableNames } from "./columns.ts";
import { type Reading, readRequest } from "./read_request.ts";
import { renderStatement } from "./statement_sql.ts";
import { phraseAt, type Token, tokenise } from "./request_tokens.ts";

/** A statement and the table that it reads, or why there is none. */
export type SimpleAnswer =
  | { readonly kind: "statement"; readonly sql: string; readonly table: string }
  /** `choices`: the tables that it could be about, where it is not clear which. */
  | { readonly kind: "refused"; readonly reason: string; readonly choices?: readonly string[] };

/** UTF-16 units; longer texts are no simple requests. */
const maxLength = 1000;
const maxNamed = 8;
/** Tables that are read closely; a request that fits more says too little, and a catalog may hold thousands. */
const maxCandidates = 20;

const ability =
  "The local provider reads simple requests over one table (show, count, how many, top, latest, average, total, per; " +
  "with periods and comparisons; a value of several words in quotes). For anything else send SQL, or ask the " +
  "administrator to configure a completion provider";

/**
 * Reads a simple English request over one table and writes the statement for it. Every word has to mean something:
 * a request of which one is not understood, or that can be read in two ways, is refused with the reason.
 * @param chosen the table that it is about, of those that were offered as `choices` before
 */
export function writeStatement(request: string, catalog: Catalog, chosen?: string): SimpleAnswer {
  const tables = chosen === undefined
    ? catalog.tables
    : catalog.tables.filter((table) => displayName(table) === chosen);
  if (request.length > maxLength) return refuse(`a simple request has at most ${maxLength} characters`);
  if (request.includes("\0")) return refuse("a request cannot hold a NUL character");
  const tokens = tokenise(request);
  let first: readonly Reading[] = [];
  for (const { isNamed, tables: likely } of candidates(tokens, tables)) {
    if (likely.length > maxCandidates) {
      return first.length > 0 ? explain(first, tables) : refuseAmbiguous(likely);
    }
    const readings = likely.map((table) => readRequest(request, tokens, table));
    const clear = (isNamed ? readings : figures(readings)).filter(isClear);
    if (clear.length > 0) return choose(clear, isNamed);
    if (first.length === 0) first = readings;
  }
  return explain(first, tables);
}

/**
 * The tables that a request may be about, the likeliest first: those it names; those whose names are a part of
 * another's, as "order" is in "average order total" beside a view `order_totals`; those of which it says a column's
 * own name, as "average rating per product" does of the table that has ratings.
 */
function* candidates(tokens: readonly Token[], tables: readonly CatalogTable[]) {
  const said = new Set(tokens.map(({ stem }) => stem));
  const isSaid = ({ name }: { name: string }) =>
    identifierWords(name).every((word) => said.has(wordStem(word)));
  const sayable = tables.filter(isSaid);
  const named = mentionedTables(tokens, sayable);
  yield { isNamed: true, tables: named };
  const others = sayable.filter((table) => !named.includes(table));
  yield { isNamed: true, tables: others.filter((table) => mentionedTables(tokens, [table]).length > 0) };
  yield { isNamed: false, tables: tables.filter((table) => !isSaid(table) && table.columns.some(isSaid)) };
}

/** The tables that a request names: where one name holds another, as "order lines" holds "order", the longer. */
function mentionedTables(tokens: readonly Token[], tables: readonly CatalogTable[]): CatalogTable[] {
  const names = tableNames(tables);
  const mentioned = new Set<CatalogTable>();
  for (let at = 0; at < tokens.length;) {
    const found = phraseAt(tokens, at, names, "stem");
    found?.meaning.forEach((table) => mentioned.add(table));
    at = found?.end ?? at + 1;
  }
  return tables.filter((table) => mentioned.has(table));
}

const isClear = ({ unknown, draft }: Reading): boolean => unknown.length === 0 && draft.refusals.length === 0;

/**
 * The readings that ask for a figure of a column's, which tells the table where none is named: those that say a column's
 * own name where any does, else those that say what it may mean.
 */
function figures(readings: readonly Reading[]): readonly Reading[] {
  const asking = readings.filter(({ draft }) => draft.measures.length > 0 || draft.distinct !== undefined);
  const exact = asking.filter(({ draft, unknown }) =>
    unknown.length === 0 && draft.measures.every(({ isExact }) => isExact)
  );
  return exact.length > 0 ? exact : asking;
}

/** The answer where one reading is clear; several are ambiguous. A name tells a table more surely than a view. */
function choose(clear: readonly Reading[], isNamed: boolean): SimpleAnswer {
  const ofTables = isNamed ? clear.filter(({ table }) => !isView(table)) : [];
  const [only, ...others] = ofTables.length > 0 ? ofTables : clear;
  if (only === undefined) return refuse("it asks for nothing");
  if (others.length > 0) return refuseAmbiguous([only, ...others].map(({ table }) => table));
  return { kind: "statement", sql: renderStatement(only.draft, only.table), table: displayName(only.table) };
}

/** Why no reading is clear, told by the one that understood most. */
function explain(readings: readonly Reading[], tables: readonly CatalogTable[]): SimpleAnswer {
  const best = readings.toSorted((a, b) => a.unknown.length - b.unknown.length)[0];
  if (tables.length === 0) return refuse("you may read no table");
  if (best === undefined) {
    return refuse(`it names no table; the tables are ${enumerate(tables.map(displayName))}`);
  }
  const others = mentionedTables(best.unknown, tables.filter((table) => table !== best.table));
  if (others.length > 0) {
    return refuse(`it needs more than one table: ${enumerate([best.table, ...others].map(displayName))}`);
  }
  if (best.ambiguity !== undefined) return refuse(best.ambiguity);
  const words = [...new Set(best.unknown.map(({ key }) => `"${key}"`))];
  if (words.length > 0) return refuse(`not understood: ${enumerate(words)}`);
  return refuse(best.draft.refusals[0] ?? "it names no table and no column to calculate from");
}

function refuse(why: string): SimpleAnswer & { readonly kind: "refused" } {
  return { kind: "refused", reason: `Cannot answer the request: ${why}. ${ability}` };
}

function refuseAmbiguous(tables: readonly CatalogTable[]): SimpleAnswer {
  const choices = tables.map(displayName);
  return { ...refuse(`ambiguous: it could be about ${enumerate(choices)}`), choices };
}

function enumerate(names: readonly string[]): string {
  const shown = names.slice(0, maxNamed).join(", ");
  return names.length > maxNamed ? `${shown} and ${names.length - maxNamed} more` : shown;
}

/** The table's name as a reader knows it: with its schema unless that is `public`. */
function displayName({ schema, name }: CatalogTable): string {
  return schema === "public" ? name : `${schema}.${name}`;
}
