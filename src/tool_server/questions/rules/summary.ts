import { columnKind, creationDate } from "./columns.ts";
import { isKnown } from "./statement_sql.ts";
import {
  columnAt,
  columnNear,
  type Grouping,
  isAggregated,
  mentionAt,
  type Recogniser,
  type Scan,
} from "./draft.ts";
import { listAt, type Phrase, phraseAt, skipWords, wordAt, wordSet } from "./request_tokens.ts";
import {
  aggregates,
  articles,
  countPhrases,
  distinctWords,
  groupPhrases,
  joints,
  timeAdjectives,
  type TimeUnit,
  timeUnits,
} from "./phrases.ts";

/** "how many", "count", "number of"; "total order count" is the same. */
export const recogniseCount: Recogniser = (scan, at) => {
  const noun = wordAt(scan.tokens, at) === "total" ? mentionAt(scan, at + 1) : undefined;
  if (noun !== undefined && wordAt(scan.tokens, noun.end) === "count") return at + 1;
  const found = phraseAt(scan.tokens, at, countPhrases);
  if (found !== undefined) scan.draft.counts = true;
  return found?.end;
};

/** "distinct categories". */
export const recogniseDistinct: Recogniser = (scan, at) => {
  const near = distinctWords.has(wordAt(scan.tokens, at)) ? columnNear(scan, at + 1) : undefined;
  if (near === undefined) return undefined;
  if (scan.draft.distinct !== undefined) {
    scan.draft.refusals.push("a list can show the distinct values of only one column");
  }
  scan.draft.distinct = near.column;
  return near.end;
};

/** "average price", "total revenue", "minimum and maximum order total". */
export const recogniseAggregate: Recogniser = (scan, start) => {
  const said = listAt(scan.tokens, start, joints, (at) => phraseAt(scan.tokens, at, aggregates));
  if (said === undefined) return undefined;
  const { meaning: kinds, end } = said;
  const own = kinds.length === 1 ? columnAt(scan, start) : undefined;
  if (own !== undefined && columnKind(own.column) === "number" && asksTotal(scan, start, own.end)) {
    scan.draft.measures.push({ aggregate: "sum", column: own.column, isExact: true });
    return own.end;
  }
  if (own !== undefined && own.end > end) return undefined;
  const near = columnNear(scan, end, ["number"]);
  if (near === undefined) return undefined;
  const { column, isExact } = near;
  scan.draft.measures.push(...kinds.map((aggregate) => ({ aggregate, column, isExact })));
  return near.end;
};

const beforeTable = wordSet("of for the all our");

/** A column that is itself called "total": "total of orders" and "total per month" ask for its sum. */
function asksTotal(scan: Scan, at: number, end: number): boolean {
  const next = skipWords(scan.tokens, end, beforeTable);
  const isOfMany = next > end && mentionAt(scan, next)?.isPlural === true;
  return wordAt(scan.tokens, at) === "total" &&
    (isOfMany || phraseAt(scan.tokens, end, groupPhrases)?.meaning === "always");
}

const betweenGroups = wordSet("and & , the a an our per by");

/** "per month", "by status", "for each customer", and further ones joined by "and". */
export const recogniseGroup: Recogniser = (scan, start) => {
  const { tokens, draft } = scan;
  const lead = phraseAt(tokens, start, groupPhrases);
  if (lead === undefined) return undefined;
  const first = skipWords(tokens, lead.end, articles);
  const isTime = phraseAt(tokens, first, timeUnits) !== undefined;
  if (lead.meaning === "aggregated" && !isAggregated(draft) && !isTime) return undefined;
  const groups = listAt(tokens, first, betweenGroups, (at) => groupingAt(scan, at));
  draft.groups.push(...groups?.meaning ?? []);
  return groups?.end;
};

/** "monthly". */
export const recogniseTimeAdjective: Recogniser = (scan, at) => {
  const unit = phraseAt(scan.tokens, at, timeAdjectives);
  const grouping = unit && timeGrouping(scan, unit.meaning);
  if (grouping !== undefined) scan.draft.groups.push(grouping);
  return grouping && unit?.end;
};

/** What rows are grouped by: "month", a column, or the "customer" that `customer_id` refers to. */
function groupingAt(scan: Scan, at: number): Phrase<Grouping> | undefined {
  const match = columnAt(scan, at, scan.groupedNames);
  const unit = phraseAt(scan.tokens, at, timeUnits);
  if (match !== undefined && (unit === undefined || match.isExact)) {
    const { column, end } = match;
    const isMoment = columnKind(column) === "date" && column.type !== "date";
    return { meaning: isMoment ? { column, unit: "day" } : { column }, end };
  }
  const grouping = unit && timeGrouping(scan, unit.meaning);
  return unit && grouping && { meaning: grouping, end: unit.end };
}

function timeGrouping({ draft, table }: Scan, unit: TimeUnit): Grouping | undefined {
  const event = draft.dateColumn;
  // what was not shipped was shipped in no month
  if (event?.nullable && !draft.periods.has(event)) draft.conditions.push(isKnown(event, false));
  const column = event ?? creationDate(table);
  if (column !== undefined && event === undefined && !draft.saysCreation) {
    draft.assumedDates.push({ column, use: "group", words: `per ${unit}` });
  }
  return column && { column, unit };
}
