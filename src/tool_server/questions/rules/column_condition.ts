import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { type ColumnKind, columnKind } from "./column_kind.ts";
import {
  compareNumber,
  hasMember,
  isFlagged,
  isNamed,
  oneOf,
  textEquals,
  textMatches,
  type Value,
} from "./conditions.ts";
import { conceptColumn } from "./concept_columns.ts";
import type { Scan } from "./draft.ts";
import { valueAt } from "./filter_values.ts";
import { labelsAt } from "./labels.ts";
import { measuredColumnAt } from "./measured_column.ts";
import { numberTestAt } from "./number_test.ts";
import { phraseAt, skipWords } from "./phrases.ts";
import { equalityPhrases, textMatches as textMatchPhrases } from "./vocabulary.ts";

export interface ColumnCondition {
  readonly condition: string;
  readonly length: number;
}

/** What was said between a column and its value. */
interface Link {
  readonly isNegated: boolean;
  /** Whether a bare value may follow: "category is X" or "in category X", but not "show category X". */
  readonly takesValue: boolean;
}

type Reader = (scan: Scan, at: number, column: CatalogColumn, link: Link) => ColumnCondition | undefined;

const readNumber: Reader = ({ tokens }, at, column, { isNegated, takesValue }) => {
  const test = numberTestAt(tokens, at, column);
  if (test === undefined || (!test.isComparison && !takesValue)) return undefined;
  if (!isNegated) return test;
  return test.isComparison
    ? undefined
    : { condition: compareNumber(column, "<>", tokens[at]?.key ?? ""), length: test.length };
};

const readText: Reader = (scan, at, column, { isNegated, takesValue }) => {
  const match = phraseAt(scan.tokens, at, textMatchPhrases);
  const found = valueAt(scan, at + (match?.length ?? 0));
  if (found === undefined) return undefined;
  if (match !== undefined) {
    if (isNegated) return undefined;
    return {
      condition: textMatches(column, found.value, match.meaning),
      length: match.length + found.length,
    };
  }
  if (!takesValue) return undefined;
  const condition = textIs(scan, column, found.value, isNegated);
  return condition === undefined ? undefined : { condition, length: found.length };
};

/** The characters that `character(2)` and the like have room for. */
function longestText({ type }: CatalogColumn): number {
  return Number(/^(?:character|varchar|char)\b.*\((\d+)\)/.exec(type)?.[1] ?? Infinity);
}

/** A word is a part of a name; of other columns it is the whole, and no answer where the column cannot hold it. */
function textIs({ table }: Scan, column: CatalogColumn, value: Value, isNegated: boolean) {
  const allowed = column.allowedValues.map((each) => each.toLowerCase());
  const isAllowed = allowed.length === 0 || allowed.includes(value.text.toLowerCase());
  if (value.text.length > longestText(column) || !isAllowed) return undefined;
  const isName = column === conceptColumn(table.columns, "name", "compare");
  if (!isName || value.isQuoted) return textEquals(column, value, isNegated);
  return isNegated ? undefined : isNamed(column, value);
}

const readQuoted: Reader = ({ tokens }, at, column, { isNegated }) => {
  const token = tokens[at];
  return token?.kind === "quoted"
    ? { condition: oneOf(column, [token.key], isNegated), length: 1 }
    : undefined;
};

const readLabels: Reader = (scan, at, column, { isNegated }) => {
  const { labels, length } = labelsAt(scan.tokens, at, column.labels);
  return length === 0 ? undefined : { condition: oneOf(column, labels, isNegated), length };
};

const readMember: Reader = (scan, at, column, { isNegated, takesValue }) => {
  const match = phraseAt(scan.tokens, at, textMatchPhrases);
  const contains = match?.meaning("") === "%%" ? match.length : 0;
  const found = valueAt(scan, at + contains);
  if (found === undefined || isNegated || (contains === 0 && !takesValue)) return undefined;
  return { condition: hasMember(column, found.value), length: contains + found.length };
};

const truths: ReadonlyMap<string, boolean> = new Map([["true", true], ["yes", true], ["false", false], [
  "no",
  false,
]]);

const readTruth: Reader = ({ tokens }, at, column, { isNegated }) => {
  const truth = truths.get(tokens[at]?.key ?? "");
  return truth === undefined ? undefined : { condition: isFlagged(column, truth === isNegated), length: 1 };
};

/** A date's conditions are periods. */
const readers: Readonly<Partial<Record<ColumnKind, Reader>>> = {
  number: readNumber,
  text: readText,
  exact: readQuoted,
  enum: readLabels,
  list: readMember,
  flag: readTruth,
};

const betweenColumnAndValue = new Set(["of", "a", "an", "the"]);

/** What was said before a column. */
export interface Lead {
  /** Whether a bare value may follow the column, as after "with", "in" and the like. */
  readonly isIntroduced: boolean;
  readonly isNegated: boolean;
}

/** "price over 100", "category is Garden", "status shipped or pending", "customer 42" from a token on. */
export function columnConditionAt(scan: Scan, at: number, lead: Lead): ColumnCondition | undefined {
  const match = measuredColumnAt(scan, at, "compare") ?? scan.columns.referenceAt(scan.tokens, at);
  if (match === undefined) return undefined;
  const afterColumn = at + match.length;
  const equality = phraseAt(scan.tokens, afterColumn, equalityPhrases);
  const next = skipWords(scan.tokens, afterColumn + (equality?.length ?? 0), betweenColumnAndValue);
  const link: Link = {
    isNegated: lead.isNegated !== (equality?.meaning === "not"),
    takesValue: lead.isIntroduced || equality !== undefined,
  };
  const found = readers[columnKind(match.column)]?.(scan, next, match.column, link);
  return found && { condition: found.condition, length: next + found.length - at };
}
