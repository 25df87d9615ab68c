import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { isPlural } from "../../../text/word_stem.ts";
import { beginsWhatLasts, columnKind, conceptColumn, creationDate, hasBirthdays } from "./columns.ts";
import {
  columnAt,
  columnNear,
  type Draft,
  mentionAt,
  type Ordering,
  type Recogniser,
  type Scan,
} from "./draft.ts";
import { phraseAt, skipWords, type Token, wordAt, wordSet } from "./request_tokens.ts";
import {
  directions,
  orderPhrases,
  possessives,
  rankWords,
  type Superlative,
  superlatives,
} from "./phrases.ts";

/** No answer holds more rows; the bound keeps the number within what LIMIT takes. */
const largestLimit = 1_000_000;

function wholeNumberAt(tokens: readonly Token[], at: number): number | undefined {
  const token = tokens[at];
  const value = token?.kind === "number" && /^\d{1,7}$/.test(token.key) ? Number(token.key) : 0;
  return value >= 1 && value <= largestLimit ? value : undefined;
}

function setLimit(draft: Draft, limit: number | undefined): void {
  if (limit === undefined) return;
  if (draft.limit !== undefined) {
    draft.refusals.push(`the request asks for ${draft.limit} rows and for ${limit} rows: give one number`);
  }
  draft.limit = limit;
}

function setOrdering(draft: Draft, next: Ordering): void {
  const { ordering } = draft;
  if (ordering !== undefined && (ordering.column !== next.column || ordering.direction !== next.direction)) {
    draft.refusals.push("rows can be in one order only");
  }
  draft.ordering = next;
}

/** "ten most expensive", "latest 5", "top 3", "highest total", "newest first". */
export const recogniseSuperlative: Recogniser = (scan, start) => {
  const { draft, tokens } = scan;
  const before = wholeNumberAt(tokens, start);
  const at = before === undefined ? start : start + 1;
  const found = phraseAt(tokens, at, superlatives);
  // a longer column name is none: "last name"
  if (found === undefined || (phraseAt(tokens, at, scan.columnNames, "stem")?.end ?? 0) > found.end) {
    return undefined;
  }
  const words = tokens.slice(at, found.end).map(({ key }) => key).join(" ");
  const limit = before ?? wholeNumberAt(tokens, found.end);
  const end = before === undefined && limit !== undefined ? found.end + 1 : found.end;
  const { direction } = found.meaning;
  const near = columnNear(scan, end, ["number", "date"]);
  const named = near && canRank(scan, found.meaning, words, near.column) ? near : undefined;
  const column = named?.column ?? impliedColumn(scan, found.meaning);
  if (named !== undefined && limit === undefined && !draft.namesTable && !mentionAt(scan, named.end)) {
    // "highest price" by itself asks for the price, not for the rows that have it
    const { column, isExact } = named;
    draft.measures.push({ aggregate: direction === "DESC" ? "max" : "min", column, isExact });
  } else if (column !== undefined) {
    setOrdering(draft, { column, direction, isSuperlative: true });
  } else if (rankWords.has(words)) {
    draft.rank = direction;
  } else return undefined;
  setLimit(draft, limit);
  if (named !== undefined) return named.end;
  return limit === undefined && wordAt(tokens, end) === "first" ? end + 1 : end;
};

/** Words that ask for a date's own bounds; "best month" and "highest month" ask for another column's. */
const boundWords = wordSet("minimum min maximum max");

/** Whether a superlative can be about a column: "cheapest" is not about a weight, nor "latest" about a total. */
function canRank({ table }: Scan, { by }: Superlative, words: string, column: CatalogColumn): boolean {
  const isTime = by === "date" || by === "age";
  if (columnKind(column) === "date") return isTime || boundWords.has(words);
  return by === undefined || by === "size" ||
    (!isTime && column === conceptColumn(table, by, "order"));
}

/** The column that a superlative speaks about without naming it. */
function impliedColumn({ draft, table }: Scan, { by }: Superlative): CatalogColumn | undefined {
  if (by === undefined) return undefined;
  if (by !== "date" && by !== "age") return conceptColumn(table, by, "order");
  const column = draft.dateColumn ?? creationDate(table);
  if (by === "date" || column === undefined) return column;
  // the oldest customer need not be the first that registered
  return hasBirthdays(table) || beginsWhatLasts(column) ? undefined : column;
}

const beforeOrder = wordSet("the their its");
const beforeDirection = wordSet(", in");
const categories = ["enum", "flag", "text"];

/** "by price", "sorted by price descending". */
export const recogniseOrder: Recogniser = (scan, start) => {
  const { tokens, draft, table } = scan;
  const lead = phraseAt(tokens, start, orderPhrases);
  if (lead === undefined) return undefined;
  const at = skipWords(tokens, lead.end, beforeOrder);
  const adjective = phraseAt(tokens, at, directions);
  const near = columnNear(scan, adjective?.end ?? at) ?? dateAt(scan, adjective?.end ?? at);
  if (near === undefined) return undefined;
  const { column, end } = near;
  const suffix = phraseAt(tokens, end, directions) ??
    phraseAt(tokens, skipWords(tokens, end, beforeDirection), directions);
  const direction = (suffix ?? adjective)?.meaning ?? draft.rank;
  const isCategory = categories.includes(columnKind(column)) &&
    column !== conceptColumn(table, "name", "order");
  if (direction === undefined && lead.meaning === "sort or group" && isCategory) {
    draft.refusals.push(`"by ${column.name}" may mean sorted by it or counted per it: say which`);
  }
  setOrdering(draft, { column, direction: direction ?? "ASC", isSuperlative: draft.rank !== undefined });
  return suffix?.end ?? end;
};

function dateAt({ tokens, table }: Scan, at: number) {
  const column = wordAt(tokens, at) === "date" ? creationDate(table) : undefined;
  return column && { column, isExact: false, end: at + 1 };
}

/** "5 products", "limit 10". A number that may be a year is neither. */
export const recogniseLimit: Recogniser = ({ tokens, draft }, start) => {
  const isSaid = wordAt(tokens, start) === "limit";
  const at = isSaid ? start + 1 : start;
  const limit = wholeNumberAt(tokens, at);
  const mayBeYear = limit !== undefined && limit >= 1900 && limit < 2100;
  if (limit === undefined || (!isSaid && (mayBeYear || draft.namesTable))) return undefined;
  setLimit(draft, limit);
  return at + 1;
};

const betweenColumns = wordSet("and , & the a an");

/** "name and price" in "show the name and price of products". */
export const recogniseProjection: Recogniser = (scan, at) => {
  if (possessives.has(wordAt(scan.tokens, at))) return columnAt(scan, at + 1) && at + 1;
  const match = columnAt(scan, at);
  // "total orders" may be their number or the sum of a column
  if (match === undefined || !asksColumn(scan, at) || mentionAt(scan, match.end)) return undefined;
  if (!scan.draft.projection.includes(match.column)) scan.draft.projection.push(match.column);
  return match.end;
};

/** Whether a column's name asks to show it: after "show" or "their", or in "product names"; not in "products in stock". */
function asksColumn({ source, tokens, takenBy }: Scan, at: number): boolean {
  let before = at - 1;
  while (takenBy[before] === "" && betweenColumns.has(wordAt(tokens, before))) before -= 1;
  const token = tokens[before];
  if (token === undefined || possessives.has(token.key)) return true;
  if (takenBy[before] === "table") return !isPlural(token.key) || /['’]/.test(source[token.end] ?? "");
  return takenBy[before] === "verb" || takenBy[before] === "projection";
}
