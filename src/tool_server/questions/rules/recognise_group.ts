import { columnKind } from "./column_kind.ts";
import { creationDate } from "./date_columns.ts";
import { isKnown } from "./conditions.ts";
import { type Grouping, isAggregated, type Recogniser, type Scan } from "./draft.ts";
import { measuredColumnAt } from "./measured_column.ts";
import { phraseAt, skipWords } from "./phrases.ts";
import { articles, groupPhrases, joints, timeAdjectives, type TimeUnit, timeUnits } from "./vocabulary.ts";

function timeGrouping({ draft, table }: Scan, unit: TimeUnit): Grouping | undefined {
  const event = draft.dateColumn;
  // what was not shipped was shipped in no month
  if (event?.nullable && !draft.periods.has(event)) draft.conditions.push(isKnown(event, false));
  if (event !== undefined) return { column: event, unit };
  const column = creationDate(table.columns);
  if (column !== undefined && !draft.saysCreation) {
    draft.assumedDates.push({ column, use: "group", words: `per ${unit}` });
  }
  return column && { column, unit };
}

/** What rows are grouped by: "month", a column, or the "customer" that `customer_id` refers to. */
function groupingAt(scan: Scan, at: number): { grouping: Grouping; length: number } | undefined {
  const match = measuredColumnAt(scan, at, "order") ?? scan.columns.referenceAt(scan.tokens, at);
  const unit = phraseAt(scan.tokens, at, timeUnits);
  if (match !== undefined && (unit === undefined || match.isExact)) {
    const cut = columnKind(match.column) === "date" && match.column.type !== "date";
    const grouping: Grouping = cut ? { column: match.column, unit: "day" } : { column: match.column };
    return { grouping, length: match.length };
  }
  const grouping = unit && timeGrouping(scan, unit.meaning);
  return unit && grouping && { grouping, length: unit.length };
}

/** "per month", "by status", "for each customer", and further ones joined by "and". */
export const recogniseGroup: Recogniser = (scan, start) => {
  const { tokens, draft } = scan;
  const lead = phraseAt(tokens, start, groupPhrases);
  if (lead === undefined) return 0;
  let end = start + lead.length;
  let at = skipWords(tokens, end, articles);
  const isTime = phraseAt(tokens, at, timeUnits) !== undefined;
  if (lead.meaning === "aggregated" && !isAggregated(draft) && !isTime) return 0;
  let found = groupingAt(scan, at);
  if (found === undefined) return 0;
  while (found !== undefined) {
    draft.groups.push(found.grouping);
    end = at + found.length;
    at = skipWords(tokens, end, new Set([...joints, ...articles, "per", "by"]));
    found = at > end ? groupingAt(scan, at) : undefined;
  }
  return end - start;
};

/** "monthly". */
export const recogniseTimeAdjective: Recogniser = (scan, at) => {
  const unit = phraseAt(scan.tokens, at, timeAdjectives);
  const grouping = unit && timeGrouping(scan, unit.meaning);
  if (!unit || !grouping) return 0;
  scan.draft.groups.push(grouping);
  return unit.length;
};
