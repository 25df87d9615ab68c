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
} from "./statement_sql.ts";
import { columnAt, mentionAt, type Recogniser, type Scan } from "./draft.ts";
import { timeSpanAt } from "./period.ts";
import { stateConditionAt } from "./state_condition.ts";
import {
  firstOf,
  mapPhrase,
  type Phrase,
  phraseAt,
  skipWords,
  type Token,
  wordAt,
  wordSet,
} from "./request_tokens.ts";
import * as phrases from "./phrases.ts";

/** A condition as SQL. */
type Condition = Phrase<string> | undefined;

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
      draft.conditions.push(found.meaning);
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
function columnConditionAt(scan: Scan, at: number, lead: Lead): Condition {
  const match = columnAt(scan, at, scan.comparedNames);
  if (match === undefined) return undefined;
  const equality = phraseAt(scan.tokens, match.end, phrases.equalityPhrases);
  const next = skipWords(scan.tokens, equality?.end ?? match.end, beforeValue);
  return valueConditionAt(scan, next, match.column, {
    isNegated: lead.isNegated !== (equality?.meaning === "not"),
    isIntroduced: lead.isIntroduced || equality !== undefined,
  });
}

/** What a column is compared with, from a token on. A date's conditions are periods. */
function valueConditionAt(scan: Scan, at: number, column: CatalogColumn, lead: Lead): Condition {
  const { tokens } = scan;
  const { isNegated, isIntroduced } = lead;
  const word = wordAt(tokens, at);
  const token = tokens[at];
  switch (columnKind(column)) {
    case "number":
      return mapPhrase(
        numberTestAt(tokens, at, isNegated),
        ({ test, isComparison }) => isComparison || isIntroduced ? `${numberSql(column)} ${test}` : undefined,
      );
    case "enum":
      return mapPhrase(labelsAt(tokens, at, column), (labels) => oneOf(column, labels, isNegated));
    case "flag":
      return truths.has(word)
        ? { meaning: isFlagged(column, truths.get(word) === isNegated), end: at + 1 }
        : undefined;
    case "exact":
      return token?.kind === "quoted"
        ? { meaning: oneOf(column, [token.key], isNegated), end: at + 1 }
        : undefined;
    case "text":
    case "list":
      return textConditionAt(scan, at, column, lead);
    default:
      return undefined;
  }
}

const truths = new Map([["yes", true], ["true", true], ["no", false], ["false", false]]);

function textConditionAt(scan: Scan, at: number, column: CatalogColumn, lead: Lead): Condition {
  const match = phraseAt(scan.tokens, at, phrases.textMatches);
  if (match === undefined && !lead.isIntroduced) return undefined;
  return mapPhrase(valueAt(scan, match?.end ?? at), (value) => {
    if (match === undefined && columnKind(column) === "text") {
      return textIs(scan, column, value, lead.isNegated);
    }
    if (lead.isNegated) return undefined;
    if (match !== undefined && columnKind(column) === "text") {
      return textMatches(column, value, match.meaning);
    }
    return match === undefined || match.meaning("") === "%%" ? hasMember(column, value) : undefined;
  });
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
  const isName = column === conceptColumn(table, "name");
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
  const next = tokens.findIndex((token, index) =>
    index > at &&
    (token.kind === "symbol" || !/^[-_]?$/.test(source.slice(tokens[index - 1]?.end, token.start)))
  );
  return next < 0 ? tokens.length : next;
}

/** A comparison as SQL, without its column. */
interface NumberTest {
  readonly test: string;
  /** Whether more was said than the number itself. */
  readonly isComparison: boolean;
  /** Whether a currency was named. */
  readonly isMoney: boolean;
}

/** "over 100", "between 10 and 20", "4 or more", "5" from a token on; only the last can be denied. */
function numberTestAt(
  tokens: readonly Token[],
  at: number,
  isNegated = false,
): Phrase<NumberTest> | undefined {
  const lead = phraseAt(tokens, at, phrases.comparisons);
  const isRange = wordAt(tokens, at) === "between";
  const low = amountAt(tokens, isRange ? at + 1 : lead?.end ?? at);
  const high = isRange && low && wordAt(tokens, low.end) === "and"
    ? amountAt(tokens, low.end + 1)
    : undefined;
  const suffix = low && !lead && !isRange ? phraseAt(tokens, low.end, phrases.comparisonSuffixes) : undefined;
  const operator = (lead ?? suffix)?.meaning;
  const isComparison = isRange || operator !== undefined;
  if (!low || (isRange && !high) || (isNegated && isComparison)) return undefined;
  const test = high
    ? `BETWEEN ${low.number} AND ${high.number}`
    : `${operator ?? (isNegated ? "<>" : "=")} ${low.number}`;
  const isMoney = low.isMoney || high?.isMoney === true;
  return { meaning: { test, isComparison, isMoney }, end: (high ?? suffix ?? low).end };
}

/** PostgreSQL's numeric takes far more digits; no honest request does. */
const maxDigits = 30;

function amountAt(tokens: readonly Token[], at: number) {
  const token = tokens[at];
  if ((token?.kind !== "number" && token?.kind !== "money") || token.key.length > maxDigits) return undefined;
  const end = skipWords(tokens, at + 1, phrases.currencyWords);
  return { number: token.key, end, isMoney: token.kind === "money" || end > at + 1 };
}

/** A condition that does not name its column. */
function impliedConditionAt(scan: Scan, at: number, isNegated: boolean): Condition {
  const state = stateConditionAt(scan, at, isNegated);
  return isNegated ? state : state ?? firstOf(impliedReaders, (read) => read(scan, at));
}

const impliedReaders: readonly ((scan: Scan, at: number) => Condition)[] = [
  absenceAt,
  // "cheaper than 20", "rated at least 4"
  ({ tokens, table }, at) => {
    const lead = phraseAt(tokens, at, phrases.conceptComparisons);
    const column = lead && conceptColumn(table, lead.meaning.by);
    const operator = lead?.meaning.operator;
    const amount = lead && amountAt(tokens, lead.end);
    if (!column) return undefined;
    if (operator) {
      return amount && { meaning: `${numberSql(column)} ${operator} ${amount.number}`, end: amount.end };
    }
    return mapPhrase(numberTestAt(tokens, lead.end), ({ test }) => `${numberSql(column)} ${test}`);
  },
  // "under $20", "over 100 euros": money means the price
  ({ tokens, table }, at) => {
    const column = conceptColumn(table, "price");
    return mapPhrase(
      numberTestAt(tokens, at),
      ({ test, isMoney, isComparison }) =>
        column && isMoney && isComparison ? `${numberSql(column)} ${test}` : undefined,
    );
  },
  // "5 star", "4-star"
  ({ tokens, table }, at) => {
    const number = tokens[at];
    const column = conceptColumn(table, "rating");
    const isSaid = column && number?.kind === "number" && tokens[at + 1]?.stem === "star";
    return isSaid ? { meaning: `${numberSql(column)} = ${number.key}`, end: at + 2 } : undefined;
  },
  // "named Ada", "called 'Desk lamp'"
  (scan, at) => {
    const column = conceptColumn(scan.table, "name");
    const isSaid = phrases.namingWords.has(wordAt(scan.tokens, at));
    return column && isSaid ? mapPhrase(valueAt(scan, at + 1), (value) => isNamed(column, value)) : undefined;
  },
  // "tagged summer"
  (scan, at) => {
    const lead = phraseAt(scan.tokens, at, phrases.taggingPhrases);
    const column = scan.table.columns.find((column) =>
      columnKind(column) === "list" && /^(tags|labels)$/.test(column.name)
    );
    return column && lead && mapPhrase(valueAt(scan, lead.end), (value) => hasMember(column, value));
  },
];

/** "without a comment": the column is empty; "without status shipped": it holds something else. */
function absenceAt(scan: Scan, at: number): Condition {
  const lead = phraseAt(scan.tokens, at, phrases.absencePhrases);
  if (lead === undefined) return undefined;
  const next = skipWords(scan.tokens, lead.end, phrases.articles);
  if (columnConditionAt(scan, next, { isIntroduced: true, isNegated: false }) !== undefined) {
    return columnConditionAt(scan, next, { isIntroduced: true, isNegated: true });
  }
  const match = columnAt(scan, next);
  return match && mapPhrase({ meaning: match.column, end: match.end }, isMissing);
}
