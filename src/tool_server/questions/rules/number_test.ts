import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { betweenNumbers, compareNumber } from "./conditions.ts";
import { phraseAt, skipWords } from "./phrases.ts";
import type { Token } from "./tokens.ts";
import { comparisonEndings, comparisons, currencyWords } from "./vocabulary.ts";

/** A test of a column against numbers. */
export interface NumberTest {
  readonly condition: string;
  readonly length: number;
  /** Whether more was said than the number itself. */
  readonly isComparison: boolean;
  /** Whether a currency was named. */
  readonly isMoney: boolean;
}

interface Amount {
  readonly number: string;
  readonly end: number;
  readonly isMoney: boolean;
}

/** PostgreSQL's numeric takes far more digits; no honest request does. */
const maxDigits = 30;

function amountAt(tokens: readonly Token[], at: number): Amount | undefined {
  const token = tokens[at];
  if (token?.kind !== "number" || token.key.length > maxDigits) return undefined;
  const end = skipWords(tokens, at + 1, currencyWords);
  return { number: token.key, end, isMoney: token.isMoney === true || end > at + 1 };
}

function betweenAt(tokens: readonly Token[], at: number, column: CatalogColumn): NumberTest | undefined {
  const low = tokens[at]?.key === "between" ? amountAt(tokens, at + 1) : undefined;
  const high = low && tokens[low.end]?.key === "and" ? amountAt(tokens, low.end + 1) : undefined;
  if (!low || !high) return undefined;
  const condition = betweenNumbers(column, low.number, high.number);
  return { condition, length: high.end - at, isComparison: true, isMoney: low.isMoney || high.isMoney };
}

/** "over 100", "between 10 and 20", "4 or more", "5" from a token on. */
export function numberTestAt(
  tokens: readonly Token[],
  at: number,
  column: CatalogColumn,
): NumberTest | undefined {
  const between = betweenAt(tokens, at, column);
  if (between !== undefined) return between;
  const lead = phraseAt(tokens, at, comparisons);
  const amount = amountAt(tokens, at + (lead?.length ?? 0));
  if (amount === undefined) return undefined;
  const ending = lead === undefined ? phraseAt(tokens, amount.end, comparisonEndings) : undefined;
  const operator = lead?.meaning ?? ending?.meaning ?? "=";
  return {
    condition: compareNumber(column, operator, amount.number),
    length: amount.end + (ending?.length ?? 0) - at,
    isComparison: lead !== undefined || ending !== undefined,
    isMoney: amount.isMoney,
  };
}
