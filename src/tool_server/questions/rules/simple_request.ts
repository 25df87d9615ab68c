import type { Catalog, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { type Reading, readRequest } from "./read_request.ts";
import { renderStatement } from "./render_statement.ts";
import { displayName, isMentioned, mentionedTables } from "./table_mentions.ts";
import { type Token, tokenise } from "./tokens.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";

/** A statement and the table that it reads, or why there is none. */
export type SimpleAnswer =
  | { readonly kind: "statement"; readonly sql: string; readonly table: string }
  | { readonly kind: "refused"; readonly reason: string };

/** UTF-16 units; longer texts are no simple requests. */
const maxLength = 1000;
const maxNamed = 8;
/** Tables that are read closely; a request that fits more says too little, and a catalog may hold thousands. */
const maxCandidates = 20;

const ability =
  "The local provider reads simple requests over one table (show, count, how many, top, latest, average, total, per; " +
  "with periods and comparisons; a value of several words in quotes). For anything else send SQL, or have a " +
  "completion provider configured";

const refuse = (why: string): SimpleAnswer => ({
  kind: "refused",
  reason: `Cannot answer the request: ${why}. ${ability}`,
});
const isView = ({ kind }: CatalogTable): boolean => kind === "VIEW" || kind === "MATERIALIZED VIEW";
const isClear = ({ unknown, draft }: Reading): boolean => unknown.length === 0 && draft.problems.length === 0;
/** Whether a figure of a column's is asked for, which tells the table where none is named. */
const asksFigure = ({ draft }: Reading): boolean => draft.measures.length > 0 || draft.distinct !== undefined;
const isExact = ({ draft }: Reading): boolean => draft.measures.every(({ isExact }) => isExact);

function enumerate(names: readonly string[]): string {
  const shown = names.slice(0, maxNamed).join(", ");
  return names.length > maxNamed ? `${shown} and ${names.length - maxNamed} more` : shown;
}

/**
 * The tables that a request may be about, the likeliest first: those it names; those whose names are a part of
 * another's, as "order" is in "average order total" beside a view `order_totals`; those of which it says a column's
 * own name, as "average rating per product" does of the table that has ratings.
 */
function candidates(tokens: readonly Token[], tables: readonly CatalogTable[]) {
  const said = new Set(tokens.map(({ stem }) => stem));
  const isSaid = (name: string) => identifierWords(name).every((word) => said.has(wordStem(word)));
  const sayable = tables.filter(({ name }) => isSaid(name));
  const named = mentionedTables(tokens, sayable);
  const partlyNamed = sayable.filter((table) => !named.includes(table) && isMentioned(tokens, table));
  const byColumn = () =>
    tables.filter((table) => !sayable.includes(table) && table.columns.some(({ name }) => isSaid(name)));
  return { named, partlyNamed, byColumn };
}

/** The clear readings where no table is named: by a column's own name where any table has one, else by what it may mean. */
function clearFigures(readings: readonly Reading[]): readonly Reading[] {
  const figures = readings.filter(asksFigure);
  const exact = figures.filter((reading) => isExact(reading) && reading.unknown.length === 0);
  return (exact.length > 0 ? exact : figures).filter(isClear);
}

/** A table tells what its name says more surely than a view does. */
function closest(clear: readonly Reading[], isNamed: boolean): readonly Reading[] {
  const tables = isNamed ? clear.filter(({ table }) => !isView(table)) : [];
  return tables.length > 0 ? tables : clear;
}

const refuseAmbiguous = (tables: readonly CatalogTable[]): SimpleAnswer =>
  refuse(`ambiguous: it could be about ${enumerate(tables.map(displayName))}`);

/** The answer where one reading is clear; several are ambiguous. */
function choose(clear: readonly Reading[], isNamed: boolean): SimpleAnswer {
  const readings = closest(clear, isNamed);
  const [only, other] = readings;
  if (only === undefined) return refuse("nothing is asked");
  if (other !== undefined) return refuseAmbiguous(readings.map(({ table }) => table));
  return { kind: "statement", sql: renderStatement(only.draft, only.table), table: displayName(only.table) };
}

/** Why no reading is clear, told by the one that understood most. */
function explain(readings: readonly Reading[], tables: readonly CatalogTable[]): SimpleAnswer {
  const best = [...readings].sort((a, b) => a.unknown.length - b.unknown.length)[0];
  if (best === undefined) {
    const names = tables.map(displayName);
    return refuse(
      names.length === 0 ? "there is no table to ask" : `no table is named; there are ${enumerate(names)}`,
    );
  }
  const others = mentionedTables(best.unknown, tables.filter((table) => table !== best.table));
  if (others.length > 0) {
    return refuse(`it needs more than one table: ${enumerate([best.table, ...others].map(displayName))}`);
  }
  if (best.ambiguity !== undefined) return refuse(best.ambiguity);
  const words = [...new Set(best.unknown.map(({ key }) => `"${key}"`))];
  if (words.length > 0) return refuse(`not understood: ${enumerate(words)}`);
  return refuse(best.draft.problems[0] ?? "no table is named, nor a figure of one");
}

/**
 * Reads a simple English request over one table and writes the statement for it. Every word has to mean something:
 * a request of which one is not understood, or that can be read in two ways, is refused with the reason.
 */
export function writeStatement(request: string, catalog: Catalog): SimpleAnswer {
  if (request.length > maxLength) return refuse(`more than ${maxLength} characters are no simple request`);
  if (request.includes("\0")) return refuse("a request cannot hold a NUL character");
  const tokens = tokenise(request);
  const { named, partlyNamed, byColumn } = candidates(tokens, catalog.tables);
  let first: readonly Reading[] = [];
  for (const belonging of [() => named, () => partlyNamed, byColumn]) {
    const tables = belonging();
    if (tables.length > maxCandidates) {
      return first.length > 0 ? explain(first, catalog.tables) : refuseAmbiguous(tables);
    }
    const readings = tables.map((table) => readRequest(request, tokens, table));
    const clear = belonging === byColumn ? clearFigures(readings) : readings.filter(isClear);
    if (clear.length > 0) return choose(clear, belonging !== byColumn);
    if (first.length === 0) first = readings;
  }
  return explain(first, catalog.tables);
}
