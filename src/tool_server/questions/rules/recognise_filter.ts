import { columnKind } from "./column_kind.ts";
import { type ColumnCondition, columnConditionAt, type Lead } from "./column_condition.ts";
import { conceptColumn } from "./concept_columns.ts";
import { compareNumber, hasMember, isMissing, isNamed, textEquals } from "./conditions.ts";
import type { Recogniser, Scan } from "./draft.ts";
import { valueAt } from "./filter_values.ts";
import { numberTestAt } from "./number_test.ts";
import { phraseAt, skipWords } from "./phrases.ts";
import { stateConditionAt } from "./state_condition.ts";
import { tableMentionAt } from "./table_mentions.ts";
import {
  absencePhrases,
  articles,
  conceptComparisons,
  currencyWords,
  filterLeads,
  filterLinks,
  namingWords,
  possessives,
  taggingPhrases,
} from "./vocabulary.ts";

type ConditionReader = (scan: Scan, at: number) => ColumnCondition | undefined;

/** "without a comment": the column is empty; "without status shipped": it holds something else. */
const absenceAt: ConditionReader = (scan, at) => {
  const lead = phraseAt(scan.tokens, at, absencePhrases);
  if (lead === undefined) return undefined;
  const next = skipWords(scan.tokens, at + lead.length, articles);
  const before = next - at;
  if (columnConditionAt(scan, next, { isIntroduced: true, isNegated: false }) !== undefined) {
    const other = columnConditionAt(scan, next, { isIntroduced: true, isNegated: true });
    return other && { condition: other.condition, length: before + other.length };
  }
  const match = scan.columns.at(scan.tokens, next);
  if (match === undefined || !("column" in match)) return undefined;
  const condition = isMissing(match.column);
  return condition === undefined ? undefined : { condition, length: before + match.length };
};

/** "cheaper than 20", "rated at least 4". */
const conceptComparisonAt: ConditionReader = ({ tokens, table }, at) => {
  const lead = phraseAt(tokens, at, conceptComparisons);
  const column = lead && conceptColumn(table.columns, lead.meaning.by, "compare");
  const number = lead && tokens[at + lead.length];
  if (!column || number?.kind !== "number") return undefined;
  const end = skipWords(tokens, at + lead.length + 1, currencyWords);
  return { condition: compareNumber(column, lead.meaning.operator, number.key), length: end - at };
};

/** "under $20", "over 100 euros": money means the price. */
const moneyAt: ConditionReader = ({ tokens, table }, at) => {
  const column = conceptColumn(table.columns, "price", "compare");
  const test = column && numberTestAt(tokens, at, column);
  return test?.isMoney && test.isComparison ? test : undefined;
};

/** "5 star", "4-star". */
const starsAt: ConditionReader = ({ tokens, table }, at) => {
  const number = tokens[at];
  const column = conceptColumn(table.columns, "rating", "compare");
  if (number?.kind !== "number" || tokens[at + 1]?.stem !== "star" || column === undefined) return undefined;
  return { condition: compareNumber(column, "=", number.key), length: 2 };
};

/** "named Ada", "called 'Desk lamp'". */
const namingAt: ConditionReader = (scan, at) => {
  const column = conceptColumn(scan.table.columns, "name", "compare");
  const found = namingWords.has(scan.tokens[at]?.key ?? "") ? valueAt(scan, at + 1) : undefined;
  if (column === undefined || found === undefined) return undefined;
  const { value } = found;
  const condition = value.isQuoted ? textEquals(column, value, false) : isNamed(column, value);
  return { condition, length: 1 + found.length };
};

/** "tagged summer". */
const taggingAt: ConditionReader = (scan, at) => {
  const lead = phraseAt(scan.tokens, at, taggingPhrases);
  const column = scan.table.columns.find((column) =>
    columnKind(column) === "list" && ["tags", "labels"].includes(column.name)
  );
  const found = lead && valueAt(scan, at + lead.length);
  return column && found && { condition: hasMember(column, found.value), length: lead.length + found.length };
};

const readers: readonly ConditionReader[] = [
  absenceAt,
  conceptComparisonAt,
  moneyAt,
  starsAt,
  namingAt,
  taggingAt,
];

/** A condition that does not name its column. */
function impliedConditionAt(scan: Scan, at: number, { isNegated }: Lead): ColumnCondition | undefined {
  const state = stateConditionAt(scan, at, isNegated);
  if (state !== undefined || isNegated) return state;
  for (const read of readers) {
    const found = read(scan, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

const keyWords = new Set(["number", "id", "no"]);

/** "order 17": the row with that key. */
const keyAt: ConditionReader = ({ tokens, table }, at) => {
  const mention = tableMentionAt(tokens, at, table);
  const keys = table.columns.filter(({ isPrimaryKey }) => isPrimaryKey);
  const key = keys[0];
  if (!mention || mention.isPlural || keys.length !== 1 || !key || columnKind(key) !== "number") {
    return undefined;
  }
  const next = skipWords(tokens, at + mention.length, keyWords);
  const number = tokens[next];
  if (number?.kind !== "number") return undefined;
  return { condition: compareNumber(key, "=", number.key), length: next + 1 - at };
};

/** The row of one key; it also names the table. */
export const recogniseKey: Recogniser = (scan, at) => {
  const found = keyAt(scan, at);
  if (found === undefined) return 0;
  scan.draft.conditions.push(found.condition);
  scan.draft.mentions.push({ isPlural: false });
  scan.draft.isOneRow = true;
  return found.length;
};

/** Any condition, with the words that lead into it; "not in category X" denies what follows. */
export const recogniseFilter: Recogniser = (scan, start) => {
  const { tokens, draft } = scan;
  const lead = { isIntroduced: false, isNegated: false };
  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at];
    const isOwned = possessives.has(tokens[at - 1]?.key ?? "");
    const found = columnConditionAt(scan, at, lead) ??
      (isOwned ? undefined : impliedConditionAt(scan, at, lead));
    if (found !== undefined) {
      draft.conditions.push(found.condition);
      return at + found.length - start;
    }
    if (token?.kind !== "word" && token?.kind !== "symbol") return 0;
    if (token.key === "not" && !lead.isNegated) lead.isNegated = true;
    else if (filterLeads.has(token.key)) lead.isIntroduced = true;
    else if (!filterLinks.has(token.key)) return 0;
  }
  return 0;
};
