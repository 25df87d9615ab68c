import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { columnKind } from "./column_kind.ts";
import { isFlagged, isKnown, oneOf } from "./conditions.ts";
import type { Scan } from "./draft.ts";
import type { ColumnCondition } from "./column_condition.ts";
import { isParticiple, participleDate } from "./date_columns.ts";
import { labelsAt } from "./labels.ts";
import { isOvertaken } from "./lasting_states.ts";
import { phraseAt } from "./phrases.ts";
import { speaksOfTime } from "./recognise_period.ts";
import type { Token } from "./tokens.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { equalityPhrases } from "./vocabulary.ts";

/** "active" for "inactive", "paid" for "unpaid". */
function withoutPrefix(token: Token | undefined): Token[] {
  const word = token?.kind === "word" ? /^(?:in|un)(.{3,})$/.exec(token.key)?.[1] : undefined;
  return token === undefined || word === undefined ? [] : [{ ...token, key: word, stem: wordStem(word) }];
}

/** "newsletter of customers" asks for the column's values. */
function isAskedFor({ tokens }: Scan, at: number): boolean {
  return ["of", "for"].includes(tokens[at]?.key ?? "");
}

function flagConditionAt(scan: Scan, at: number, isNegated: boolean): ColumnCondition | undefined {
  const opposite = withoutPrefix(scan.tokens[at]);
  for (const [tokens, start, negates] of [[scan.tokens, at, false], [opposite, 0, true]] as const) {
    const match = scan.columns.at(tokens, start);
    if (match === undefined || !("column" in match) || columnKind(match.column) !== "flag") continue;
    if (isAskedFor(scan, at + match.length)) return undefined;
    return { condition: isFlagged(match.column, isNegated !== negates), length: match.length };
  }
  return undefined;
}

const pastWords = new Set(["was", "were", "been", "have", "has", "had", "wasn't", "weren't"]);
const betweenPastAndEvent = new Set(["not", "already", "yet"]);

/** "were shipped", "have not been shipped": what happened, not what is. */
function tellsPast({ tokens }: Scan, at: number): boolean {
  let before = at - 1;
  while (betweenPastAndEvent.has(tokens[before]?.key ?? "")) before -= 1;
  return pastWords.has(tokens[before]?.key ?? "");
}

function enumsWith({ tokens, table }: Scan, at: number): readonly CatalogColumn[] {
  if (tokens[at]?.kind !== "word") return [];
  return table.columns.filter((column) =>
    columnKind(column) === "enum" && labelsAt(tokens, at, column.labels).length > 0
  );
}

const hasStatus = (columns: readonly CatalogColumn[]): boolean =>
  columns.some(({ name }) =>
    identifierWords(name).some((word) => ["status", "state", "stage"].includes(word))
  );

/**
 * "were shipped", "not shipped", "unshipped" beside a column `shipped_at`, which tells it better than a status that has
 * gone on since. "Shipped orders" may mean either.
 */
function eventConditionAt(scan: Scan, at: number, isNegated: boolean): ColumnCondition | undefined {
  const { tokens, table, draft, takenBy } = scan;
  if (isListed(scan, at)) return undefined;
  const opposite = withoutPrefix(tokens[at])[0];
  for (const [token, negates] of [[tokens[at], isNegated], [opposite, !isNegated]] as const) {
    const column = token?.kind === "word" ? participleDate(table.columns, token.key) : undefined;
    if (token === undefined || !column?.nullable || !isParticiple(token.key)) continue;
    const isLabel = enumsWith({ ...scan, tokens: [token] }, 0).length > 0;
    if (speaksOfTime(tokens, at + 1) || (!isLabel && hasStatus(table.columns))) return undefined;
    const isEvent = negates || tellsPast(scan, at) || takenBy[at - 1] === "table";
    if (isLabel && !isEvent) {
      draft.problems.push(
        `"${token.key}" may mean a status or a ${column.name}: say "with status ${token.key}"` +
          ` or "were ${token.key}"`,
      );
    }
    return { condition: isKnown(column, negates), length: 1 };
  }
  return undefined;
}

function labelConditionAt(scan: Scan, at: number, isNegated: boolean): ColumnCondition | undefined {
  const { tokens, table, draft } = scan;
  const having = enumsWith(scan, at);
  const column = having[0];
  const isAfterTable = scan.takenBy.includes("table");
  if (column === undefined) return undefined;
  const { labels, length } = labelsAt(tokens, at, column.labels);
  const isDated = labels.some((label) => participleDate(table.columns, label)?.nullable);
  // "shipped last month" beside a column `shipped_at` is told by that
  if (isAfterTable && length === 1 && isDated && speaksOfTime(tokens, at + 1)) return undefined;
  if (having.length > 1) {
    draft.problems.push(`"${labels[0]}" could be a value of ${having.map(({ name }) => name).join(" or ")}`);
  }
  const mayBePast = labels.length === 1 || tellsPast(scan, at);
  if (isDated || (mayBePast && labels.some((label) => isOvertaken(label, column.labels)))) {
    const said = labels.join(" or ");
    draft.problems.push(
      `"${said}" may mean the ${column.name} now or what happened once: say "with ` +
        `${identifierWords(column.name).join(" ")} ${said}"`,
    );
  }
  // "orders shipped last month" asks when they were shipped, which a status and the date of the order do not tell.
  if (isAfterTable && speaksOfTime(tokens, at + length)) {
    draft.problems.push(`no date column of ${table.name} tells when something was "${labels.at(-1)}"`);
  }
  return { condition: oneOf(column, labels, isNegated), length };
}

function isListed(scan: Scan, at: number): boolean {
  return enumsWith(scan, at).some(({ labels }) => labelsAt(scan.tokens, at, labels).labels.length > 1);
}

/** "shipped", "pending or paid", "not active": a state named by itself, which only one column can be in. */
export function stateConditionAt(scan: Scan, start: number, isDenied: boolean): ColumnCondition | undefined {
  const equality = phraseAt(scan.tokens, start, equalityPhrases);
  const denies = equality?.meaning === "not";
  if (denies && isDenied) return undefined;
  const at = start + (denies ? equality.length : 0);
  const isNegated = denies || isDenied;
  const own = scan.columns.at(scan.tokens, at);
  const isColumnName = own !== undefined && own.length > 1 && "column" in own && own.isExact;
  if (isColumnName && columnKind(own.column) !== "flag") return undefined;
  const found = flagConditionAt(scan, at, isNegated) ?? eventConditionAt(scan, at, isNegated) ??
    labelConditionAt(scan, at, isNegated);
  return found && { condition: found.condition, length: at + found.length - start };
}
