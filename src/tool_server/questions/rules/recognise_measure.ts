import { columnKind } from "./column_kind.ts";
import type { Recogniser, Scan } from "./draft.ts";
import { columnNear } from "./measured_column.ts";
import { phraseAt, skipWords } from "./phrases.ts";
import type { ColumnMatch } from "./table_columns.ts";
import { tableMentionAt } from "./table_mentions.ts";
import type { Token } from "./tokens.ts";
import {
  type Aggregate,
  aggregates,
  countPhrases,
  distinctWords,
  groupPhrases,
  joints,
} from "./vocabulary.ts";

/** "average", or several joined: "minimum, maximum and average". */
function aggregatesAt(tokens: readonly Token[], start: number): { kinds: Aggregate[]; end: number } {
  const kinds: Aggregate[] = [];
  let end = start;
  let next = start;
  while (kinds.length === 0 || next > end) {
    const found = phraseAt(tokens, next, aggregates);
    if (found === undefined) break;
    kinds.push(found.meaning);
    end = next + found.length;
    next = skipWords(tokens, end, joints);
  }
  return { kinds, end };
}

const beforeTable = new Set(["of", "for", "the", "all", "our"]);

/** A column that is itself called "total": "total of orders" and "total per month" ask for its sum. */
function recogniseTotal(scan: Scan, at: number, { column, length }: ColumnMatch): number {
  const { tokens, table, draft } = scan;
  const end = at + length;
  const next = skipWords(tokens, end, beforeTable);
  const isOfMany = next > end && tableMentionAt(tokens, next, table)?.isPlural === true;
  const isSum = tokens[at]?.key === "total" &&
    (isOfMany || phraseAt(tokens, end, groupPhrases)?.meaning === "always");
  if (!isSum || columnKind(column) !== "number") return 0;
  draft.measures.push({ aggregate: "sum", column, isExact: true });
  return length;
}

/** "average price", "total revenue", "minimum and maximum order total". */
export const recogniseAggregate: Recogniser = (scan, start) => {
  const { kinds, end } = aggregatesAt(scan.tokens, start);
  if (kinds.length === 0) return 0;
  const own = scan.columns.at(scan.tokens, start);
  if (own !== undefined && "column" in own && kinds.length === 1) {
    const length = recogniseTotal(scan, start, own);
    if (length > 0 || start + own.length > end) return length;
  }
  const near = columnNear(scan, end, ["number"]);
  if (near === undefined) return 0;
  const { column, isExact } = near;
  scan.draft.measures.push(...kinds.map((aggregate) => ({ aggregate, column, isExact })));
  return near.end - start;
};

/** "how many", "count", "number of"; "total order count" is the same. */
export const recogniseCount: Recogniser = ({ tokens, draft, table }, at) => {
  const noun = tokens[at]?.key === "total" ? tableMentionAt(tokens, at + 1, table) : undefined;
  if (noun !== undefined && tokens[at + 1 + noun.length]?.key === "count") return 1;
  const found = phraseAt(tokens, at, countPhrases);
  if (found !== undefined) draft.counts = true;
  return found?.length ?? 0;
};

/** "distinct categories". */
export const recogniseDistinct: Recogniser = (scan, at) => {
  if (!distinctWords.has(scan.tokens[at]?.key ?? "")) return 0;
  const near = columnNear(scan, at + 1);
  if (near === undefined) return 0;
  if (scan.draft.distinct !== undefined) {
    scan.draft.problems.push("only one column's distinct values fit in a list");
  }
  scan.draft.distinct = near.column;
  return near.end - at;
};
