import { columnKind } from "./column_kind.ts";
import { isFlagged, oneOf } from "./conditions.ts";
import type { Scan } from "./draft.ts";
import type { ColumnCondition } from "./column_condition.ts";
import { participleDate } from "./date_columns.ts";
import { labelsAt } from "./labels.ts";
import { phraseAt } from "./phrases.ts";
import { isPeriodAt } from "./recognise_period.ts";
import type { Token } from "./tokens.ts";
import { wordStem } from "../../text/word_stem.ts";
import { equalityPhrases } from "./vocabulary.ts";

/** "active" for "inactive", "paid" for "unpaid". */
function withoutPrefix(token: Token | undefined): Token[] {
  const word = token?.kind === "word" ? /^(?:in|un)(.{3,})$/.exec(token.key)?.[1] : undefined;
  return token === undefined || word === undefined ? [] : [{ ...token, key: word, stem: wordStem(word) }];
}

function flagConditionAt(scan: Scan, at: number, isNegated: boolean): ColumnCondition | undefined {
  const opposite = withoutPrefix(scan.tokens[at]);
  for (const [tokens, start, negates] of [[scan.tokens, at, false], [opposite, 0, true]] as const) {
    const match = scan.columns.at(tokens, start);
    if (match === undefined || !("column" in match) || columnKind(match.column) !== "flag") continue;
    return { condition: isFlagged(match.column, isNegated !== negates), length: match.length };
  }
  return undefined;
}

/** "shipped last month" beside a column `shipped_at`, which then says more than a status. */
function isDatedEvent({ tokens, table }: Scan, at: number): boolean {
  return participleDate(table.columns, tokens[at]?.key ?? "") !== undefined && isPeriodAt(tokens, at + 1);
}

function labelConditionAt(scan: Scan, at: number, isNegated: boolean): ColumnCondition | undefined {
  const { tokens, table, draft } = scan;
  if (tokens[at]?.kind !== "word") return undefined;
  const having = table.columns.filter((column) =>
    columnKind(column) === "enum" && labelsAt(tokens, at, column.labels).length > 0
  );
  const column = having[0];
  const isAfterTable = scan.takenBy.includes("table");
  if (column === undefined || (isAfterTable && isDatedEvent(scan, at))) return undefined;
  const { labels, length } = labelsAt(tokens, at, column.labels);
  if (having.length > 1) {
    draft.problems.push(`"${labels[0]}" could be a value of ${having.map(({ name }) => name).join(" or ")}`);
  }
  // "orders shipped last month" asks when they were shipped, which a status and the date of the order do not tell.
  if (isAfterTable && isPeriodAt(tokens, at + length)) {
    draft.problems.push(`no date column of ${table.name} tells when something was "${labels.at(-1)}"`);
  }
  return { condition: oneOf(column, labels, isNegated), length };
}

/** "shipped", "pending or paid", "not active": a state named by itself, which only one column can be in. */
export function stateConditionAt(scan: Scan, start: number): ColumnCondition | undefined {
  const equality = phraseAt(scan.tokens, start, equalityPhrases);
  const isNegated = equality?.meaning === "not";
  const at = start + (isNegated ? equality?.length ?? 0 : 0);
  const found = flagConditionAt(scan, at, isNegated) ?? labelConditionAt(scan, at, isNegated);
  return found && { condition: found.condition, length: at + found.length - start };
}
