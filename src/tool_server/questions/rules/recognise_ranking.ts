import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { columnKind } from "./column_kind.ts";
import { conceptColumn } from "./concept_columns.ts";
import { beginsWhatLasts, creationDate, hasBirthdays } from "./date_columns.ts";
import type { Draft, Ordering, Recogniser, Scan } from "./draft.ts";
import { columnNear } from "./measured_column.ts";
import { phraseAt, skipWords } from "./phrases.ts";
import { tableMentionAt } from "./table_mentions.ts";
import type { Token } from "./tokens.ts";
import { directions, orderPhrases, rankWords, type Superlative, superlatives } from "./vocabulary.ts";

/** No answer holds more rows; the bound keeps the number within what LIMIT takes. */
const largestLimit = 1_000_000;

function wholeNumberAt(tokens: readonly Token[], at: number): number | undefined {
  const token = tokens[at];
  if (token?.kind !== "number" || token.isMoney === true || !/^\d{1,7}$/.test(token.key)) return undefined;
  const value = Number(token.key);
  return value >= 1 && value <= largestLimit ? value : undefined;
}

function setLimit(draft: Draft, limit: number | undefined): void {
  if (limit === undefined) return;
  if (draft.limit !== undefined) draft.problems.push(`${draft.limit} and ${limit} rows cannot both be shown`);
  draft.limit = limit;
}

function setOrdering(draft: Draft, next: Ordering): void {
  const { ordering } = draft;
  if (ordering !== undefined && (ordering.column !== next.column || ordering.direction !== next.direction)) {
    draft.problems.push("rows can be in one order only");
  }
  draft.ordering = next;
}

/** The column that a superlative speaks about without naming it. */
function impliedColumn(scan: Scan, superlative: Superlative): CatalogColumn | undefined {
  if (superlative.by === undefined) return undefined;
  if (superlative.by === "age" && hasBirthdays(scan.table.columns)) return undefined;
  if (superlative.by === "date" || superlative.by === "age") {
    const column = scan.draft.dateColumn ?? creationDate(scan.table.columns);
    // the oldest customer need not be the first that registered
    const mayBeAge = superlative.by === "age" && column !== undefined && beginsWhatLasts(column);
    return mayBeAge ? undefined : column;
  }
  return conceptColumn(scan.table.columns, superlative.by, "order");
}

/** Words that ask for a date's own bounds; "best month" and "highest month" ask for another column's. */
const boundWords = new Set(["minimum", "min", "maximum", "max"]);

/** Whether a superlative can be about a column: "cheapest" is not about a weight, nor "latest" about a total. */
function canRank(
  scan: Scan,
  { superlative: { by }, words }: SuperlativeMatch,
  column: CatalogColumn,
): boolean {
  const isTime = by === "date" || by === "age";
  if (columnKind(column) === "date") return isTime || boundWords.has(words);
  return by === undefined || by === "size" ||
    (!isTime && column === conceptColumn(scan.table.columns, by, "order"));
}

/** "highest price": the rows that have it where the table is next to it or was named before, else the price itself. */
function namedExtreme(scan: Scan, match: SuperlativeMatch): number {
  const { end: at, limit, superlative: { direction } } = match;
  const near = columnNear(scan, at, ["number", "date"]);
  if (near === undefined || !canRank(scan, match, near.column)) return 0;
  const { column, isExact, end } = near;
  const ranksRows = limit !== undefined || scan.draft.mentions.length > 0 ||
    tableMentionAt(scan.tokens, end, scan.table);
  if (ranksRows) setOrdering(scan.draft, { column, direction, isSuperlative: true });
  else scan.draft.measures.push({ aggregate: direction === "DESC" ? "max" : "min", column, isExact });
  return end - at;
}

interface SuperlativeMatch {
  readonly superlative: Superlative;
  readonly words: string;
  readonly limit?: number;
  readonly end: number;
}

/** A superlative with a number before or after it. A longer column name is none: "last name". */
function superlativeAt({ tokens, columns }: Scan, start: number): SuperlativeMatch | undefined {
  const before = wholeNumberAt(tokens, start);
  const at = before === undefined ? start : start + 1;
  const found = phraseAt(tokens, at, superlatives);
  if (found === undefined || (columns.at(tokens, at)?.length ?? 0) > found.length) return undefined;
  const end = at + found.length;
  const words = tokens.slice(at, end).map(({ key }) => key).join(" ");
  const after = before === undefined ? wholeNumberAt(tokens, end) : undefined;
  const limit = before ?? after;
  return {
    superlative: found.meaning,
    words,
    end: after === undefined ? end : end + 1,
    ...(limit === undefined ? {} : { limit }),
  };
}

/** "ten most expensive", "latest 5", "top 3", "highest total", "newest first". */
export const recogniseSuperlative: Recogniser = (scan, start) => {
  const { draft } = scan;
  const found = superlativeAt(scan, start);
  if (found === undefined) return 0;
  const { superlative, words, limit, end } = found;
  const named = namedExtreme(scan, found);
  const implied = named === 0 ? impliedColumn(scan, superlative) : undefined;
  if (named === 0 && implied === undefined && !rankWords.has(words)) return 0;
  const { direction } = superlative;
  if (implied !== undefined) setOrdering(draft, { column: implied, direction, isSuperlative: true });
  else if (named === 0) draft.rank = direction;
  setLimit(draft, limit);
  const isOrder = limit === undefined && named === 0 && scan.tokens[end]?.key === "first";
  return end + named + (isOrder ? 1 : 0) - start;
};

/** "by price", "sorted by price descending". */
export const recogniseOrder: Recogniser = (scan, start) => {
  const { tokens, draft } = scan;
  const lead = phraseAt(tokens, start, orderPhrases);
  if (lead === undefined) return 0;
  const skipped = skipWords(tokens, start + lead.length, new Set(["the", "their", "its"]));
  const adjective = phraseAt(tokens, skipped, directions);
  const at = skipped + (adjective?.length ?? 0);
  const near = columnNear(scan, at) ?? dateAt(scan, at);
  if (near === undefined) return 0;
  const ending = directionAt(tokens, near.end);
  const direction = ending?.meaning ?? adjective?.meaning ?? draft.rank;
  if (direction === undefined && lead.meaning === "sort or group" && isCategory(scan, near.column)) {
    draft.problems.push(`"by ${near.column.name}" may mean sorted by it or counted per it: say which`);
  }
  setOrdering(draft, {
    column: near.column,
    direction: direction ?? "ASC",
    isSuperlative: draft.rank !== undefined,
  });
  return near.end + (ending?.length ?? 0) - start;
};

/** Whether rows are as likely counted by the column as sorted by it. */
function isCategory({ table }: Scan, column: CatalogColumn): boolean {
  return ["enum", "flag", "text"].includes(columnKind(column)) &&
    column !== conceptColumn(table.columns, "name", "order");
}

function dateAt(scan: Scan, at: number) {
  const column = scan.tokens[at]?.key === "date" ? creationDate(scan.table.columns) : undefined;
  return column && { column, end: at + 1 };
}

const beforeDirection = new Set([",", "in"]);

function directionAt(tokens: readonly Token[], at: number) {
  const direct = phraseAt(tokens, at, directions);
  if (direct !== undefined) return direct;
  const next = skipWords(tokens, at, beforeDirection);
  const found = next > at ? phraseAt(tokens, next, directions) : undefined;
  return found && { meaning: found.meaning, length: next + found.length - at };
}

/** "5 products", "limit 10". A number that may be a year is neither. */
export const recogniseLimit: Recogniser = ({ tokens, draft }, start) => {
  const isSaid = tokens[start]?.key === "limit";
  const at = isSaid ? start + 1 : start;
  const limit = wholeNumberAt(tokens, at);
  const mayBeYear = limit !== undefined && limit >= 1900 && limit < 2100;
  if (limit === undefined || (!isSaid && (mayBeYear || draft.mentions.length > 0))) return 0;
  setLimit(draft, limit);
  return at + 1 - start;
};
