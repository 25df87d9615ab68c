import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { columnKind, conceptColumn, labelsAt } from "./columns.ts";
import {
  hasMember,
  isFlagged,
  isMissing,
  isNamed,
  numberSql,
  oneOf,
  textEquals,
  textMatches,
  type Value,
} from "./condition_sql.ts";
import { columnAt, measuredOrReferenceAt, mentionAt, type Recogniser, type Scan } from "./draft.ts";
import { timeSpanAt } from "./period.ts";
import { stateConditionAt } from "./state_condition.ts";
import { type Phrase, phraseAt, skipWords, type Token, wordAt, wordSet } from "./request_tokens.ts";
import * as phrases from "./phrases.ts";

/** A condition as SQL, and the token after it. */
export interface Condition {
  readonly sql: string;
  readonly end: number;
}

/** What was said before a column. */
interface Lead {
  /** Whether a bare value may follow the column, as after "with", "in" and the like. */
  isIntroduced: boolean;
  isNegated: boolean;
}

/** Any condition, with the words that lead into it; "not in category X" denies what follows. */
export const recogniseFilter: Recogniser = (scan, start) => {
  const { tokens, draft } = scan;
  const lead = { isIntroduced: false, isNegated: false };
  for (let at = start; at < tokens.length; at++) {
    const isOwned = phrases.possessives.has(wordAt(tokens, at - 1));
    const found = columnConditionAt(scan, at, lead) ??
      (isOwned ? undefined : impliedConditionAt(scan, at, lead.isNegated));
    if (found !== undefined) {
      draft.conditions.push(found.sql);
      return found.end;
    }
    const word = wordAt(tokens, at);
    if (word === "not" && !lead.isNegated) lead.isNegated = true;
    else if (phrases.filterLeads.has(word)) lead.isIntroduced = true;
    else if (!phrases.filterLinks.has(word)) return undefined;
  }
  return undefined;
};

const keyWords = wordSet("number id no");

/** "order 17": the row with that key, which also names the table. */
export const recogniseKey: Recogniser = (scan, at) => {
  const mention = mentionAt(scan, at);
  const [key, other] = scan.table.columns.filter(({ isPrimaryKey }) => isPrimaryKey);
  if (!mention || mention.isPlural || !key || other || columnKind(key) !== "number") return undefined;
  const next = skipWords(scan.tokens, mention.end, keyWords);
  const number = scan.tokens[next];
  if (number?.kind !== "number") return undefined;
  scan.draft.conditions.push(`${numberSql(key)} = ${number.key}`);
  scan.draft.namesTable = scan.draft.isSingular = scan.draft.isOneRow = true;
  return next + 1;
};

const beforeValue = wordSet("of a an the");

/** "price over 100", "category is Garden", "status shipped or pending", "customer 42" from a token on. */
function columnConditionAt(scan: Scan, at: number, lead: Lead): Condition | undefined {
  const match = measuredOrReferenceAt(scan, at, "compare");
  if (match === undefined) return undefined;
  const equality = phraseAt(scan.tokens, match.end, phrases.equalityPhrases);
  const next = skipWords(scan.tokens, equality?.end ?? match.end, beforeValue);
  return valueConditionAt(scan, next, match.column, {
    isNegated: lead.isNegated !== (equality?.meaning === "not"),
    isIntroduced: lead.isIntroduced || equality !== undefined,
  });
}

/** What a column is compared with, from a token on. A date's conditions are periods. */
function valueConditionAt(scan: Scan, at: number, column: CatalogColumn, lead: Lead): Condition | undefined {
  const { tokens } = scan;
  const { isNegated, isIntroduced } = lead;
  switch (columnKind(column)) {
    case "number": {
      const test = numberTestAt(tokens, at, column, isNegated);
      return test && (test.isComparison || isIntroduced) ? test : undefined;
    }
    case "text":
    case "list":
      return textConditionAt(scan, at, column, lead);
    case "exact": {
      const token = tokens[at];
      return token?.kind === "quoted"
        ? { sql: oneOf(column, [token.key], isNegated), end: at + 1 }
        : undefined;
    }
    case "enum": {
      const labels = labelsAt(tokens, at, column);
      return labels && { sql: oneOf(column, labels.meaning, isNegated), end: labels.end };
    }
    case "flag": {
      const truth = ["no", "false", "yes", "true"].indexOf(wordAt(tokens, at));
      return truth < 0 ? undefined : { sql: isFlagged(column, truth > 1 === isNegated), end: at + 1 };
    }
    default:
      return undefined;
  }
}

function textConditionAt(scan: Scan, at: number, column: CatalogColumn, lead: Lead): Condition | undefined {
  const { isNegated, isIntroduced } = lead;
  const match = phraseAt(scan.tokens, at, phrases.textMatches);
  const value = valueAt(scan, match?.end ?? at);
  if (value === undefined || (match === undefined && !isIntroduced)) return undefined;
  const { meaning, end } = value;
  if (columnKind(column) === "list") {
    const isWhole = match === undefined || match.meaning("") === "%%";
    return isNegated || !isWhole ? undefined : { sql: hasMember(column, meaning), end };
  }
  if (match !== undefined) {
    return isNegated ? undefined : { sql: textMatches(column, meaning, match.meaning), end };
  }
  const sql = textIs(scan, column, meaning, isNegated);
  return sql === undefined ? undefined : { sql, end };
}

/** A word is a part of a name; of other columns it is the whole, and no answer where the column cannot hold it. */
function textIs(
  { table }: Scan,
  column: CatalogColumn,
  value: Value,
  isNegated: boolean,
): string | undefined {
  const { type, allowedValues } = column;
  const room = Number(/^(?:character|varchar|char)\b.*\((\d+)\)/.exec(type)?.[1] ?? Infinity);
  const isAllowed = allowedValues.length === 0 ||
    allowedValues.some((each) => each.toLowerCase() === value.text.toLowerCase());
  if (value.text.length > room || !isAllowed) return undefined;
  const isName = column === conceptColumn(table.columns, "name", "compare");
  if (!isName || value.isQuoted) return textEquals(column, value, isNegated);
  return isNegated ? undefined : isNamed(column, value);
}

/** A quoted text, a word, or several words in a row that begin with a capital letter. */
function valueAt(scan: Scan, at: number): Phrase<Value> | undefined {
  const { tokens, source } = scan;
  const first = tokens[at];
  if (first?.kind === "quoted") return { meaning: { text: first.key, isQuoted: true }, end: at + 1 };
  if (first?.kind !== "word" || isReserved(scan, at)) return undefined;
  const isCapital = (index: number) => /^\p{Lu}/u.test(source.slice(tokens[index]?.start));
  let end = endOfWord(scan, at);
  while (isCapital(at) && tokens[end]?.kind === "word" && isCapital(end) && !isReserved(scan, end)) {
    end = endOfWord(scan, end);
  }
  return { meaning: { text: source.slice(first.start, tokens[end - 1]?.end), isQuoted: false }, end };
}

/** Whether a word means something to the reading itself, so that it cannot pass for a value unless quoted. */
function isReserved(scan: Scan, at: number): boolean {
  const { tokens, columnNames } = scan;
  return phrases.reservedWords.has(wordAt(tokens, at)) || mentionAt(scan, at) !== undefined ||
    phraseAt(tokens, at, columnNames, "stem") !== undefined || timeSpanAt(tokens, at) !== undefined ||
    phraseAt(tokens, at, phrases.reservedPhrases) !== undefined;
}

/** Where a word ends that holds marks, as "T-shirt" and "snake_case" do. */
function endOfWord({ tokens, source }: Scan, at: number): number {
  const isJoined = (index: number) => {
    const token = tokens[index];
    return token !== undefined && token.kind !== "symbol" &&
      /^[-_]?$/.test(source.slice(tokens[index - 1]?.end, token.start));
  };
  let end = at + 1;
  while (isJoined(end)) end += 1;
  return end;
}

/** A test of a column against numbers. */
interface NumberTest extends Condition {
  /** Whether more was said than the number itself. */
  readonly isComparison: boolean;
  /** Whether a currency was named. */
  readonly isMoney: boolean;
}

/** PostgreSQL's numeric takes far more digits; no honest request does. */
const maxDigits = 30;

function amountAt(tokens: readonly Token[], at: number) {
  const token = tokens[at];
  if ((token?.kind !== "number" && token?.kind !== "money") || token.key.length > maxDigits) return undefined;
  const end = skipWords(tokens, at + 1, phrases.currencyWords);
  return { number: token.key, end, isMoney: token.kind === "money" || end > at + 1 };
}

/** "over 100", "between 10 and 20", "4 or more", "5" from a token on; only the last can be denied. */
function numberTestAt(
  tokens: readonly Token[],
  at: number,
  column: CatalogColumn,
  isNegated = false,
): NumberTest | undefined {
  const value = numberSql(column);
  const low = wordAt(tokens, at) === "between" ? amountAt(tokens, at + 1) : undefined;
  const high = low && wordAt(tokens, low.end) === "and" ? amountAt(tokens, low.end + 1) : undefined;
  if (low && high && !isNegated) {
    const sql = `${value} BETWEEN ${low.number} AND ${high.number}`;
    return { sql, end: high.end, isComparison: true, isMoney: low.isMoney || high.isMoney };
  }
  const lead = phraseAt(tokens, at, phrases.comparisons);
  const amount = amountAt(tokens, lead?.end ?? at);
  if (amount === undefined) return undefined;
  const ending = lead ? undefined : phraseAt(tokens, amount.end, phrases.comparisonEndings);
  const said = (lead ?? ending)?.meaning;
  if (isNegated && said !== undefined) return undefined;
  return {
    sql: `${value} ${said ?? (isNegated ? "<>" : "=")} ${amount.number}`,
    end: ending?.end ?? amount.end,
    isComparison: said !== undefined,
    isMoney: amount.isMoney,
  };
}

/** A condition that does not name its column. */
function impliedConditionAt(scan: Scan, at: number, isNegated: boolean): Condition | undefined {
  const state = stateConditionAt(scan, at, isNegated);
  if (state !== undefined || isNegated) return state;
  for (const read of [absenceAt, conceptComparisonAt, moneyAt, starsAt, namingAt, taggingAt]) {
    const found = read(scan, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

type ConditionReader = (scan: Scan, at: number) => Condition | undefined;

/** "without a comment": the column is empty; "without status shipped": it holds something else. */
const absenceAt: ConditionReader = (scan, at) => {
  const lead = phraseAt(scan.tokens, at, phrases.absencePhrases);
  if (lead === undefined) return undefined;
  const next = skipWords(scan.tokens, lead.end, phrases.articles);
  if (columnConditionAt(scan, next, { isIntroduced: true, isNegated: false }) !== undefined) {
    return columnConditionAt(scan, next, { isIntroduced: true, isNegated: true });
  }
  const match = columnAt(scan, next);
  const sql = match && isMissing(match.column);
  return match && sql !== undefined ? { sql, end: match.end } : undefined;
};

/** "cheaper than 20", "rated at least 4". */
const conceptComparisonAt: ConditionReader = ({ tokens, table }, at) => {
  const lead = phraseAt(tokens, at, phrases.conceptComparisons);
  const column = lead && conceptColumn(table.columns, lead.meaning.by, "compare");
  if (!column) return undefined;
  const { operator } = lead.meaning;
  const amount = operator && amountAt(tokens, lead.end);
  if (operator === undefined) return numberTestAt(tokens, lead.end, column);
  return amount && { sql: `${numberSql(column)} ${operator} ${amount.number}`, end: amount.end };
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
  return { sql: `${numberSql(column)} = ${number.key}`, end: at + 2 };
};

/** "named Ada", "called 'Desk lamp'". */
const namingAt: ConditionReader = (scan, at) => {
  const column = conceptColumn(scan.table.columns, "name", "compare");
  const value = phrases.namingWords.has(wordAt(scan.tokens, at)) ? valueAt(scan, at + 1) : undefined;
  return column && value && { sql: isNamed(column, value.meaning), end: value.end };
};

/** "tagged summer". */
const taggingAt: ConditionReader = (scan, at) => {
  const lead = phraseAt(scan.tokens, at, phrases.taggingPhrases);
  const column = scan.table.columns.find((column) =>
    columnKind(column) === "list" && ["tags", "labels"].includes(column.name)
  );
  const value = lead && valueAt(scan, lead.end);
  return column && value && { sql: hasMember(column, value.meaning), end: value.end };
};
