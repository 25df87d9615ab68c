import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { columnKind, hasWord, labelsAt, participle, participleDate } from "./columns.ts";
import { isFlagged, isKnown, oneOf } from "./statement_sql.ts";
import { columnAt, type Scan } from "./draft.ts";
import { speaksOfTime } from "./period.ts";
import { phraseAt, type Token, wordAt, wordSet } from "./request_tokens.ts";
import { equalityPhrases } from "./phrases.ts";

/** "shipped", "pending or paid", "not active": a state named by itself, which only one column can be in. */
export function stateConditionAt(scan: Scan, start: number, isDenied: boolean) {
  const equality = phraseAt(scan.tokens, start, equalityPhrases);
  const denial = equality?.meaning === "not" ? equality : undefined;
  if (denial && isDenied) return undefined;
  const at = denial?.end ?? start;
  const isNegated = denial !== undefined || isDenied;
  const own = columnAt(scan, at);
  if (own?.isExact && own.end > at + 1 && columnKind(own.column) !== "flag") return undefined;
  const opposite = withoutPrefix(scan, at);
  return flagConditionAt(scan, at, isNegated) ?? (opposite && flagConditionAt(opposite, at, !isNegated)) ??
    eventConditionAt(scan, at, isNegated) ?? labelConditionAt(scan, at, isNegated);
}

/** "active" for "inactive", "paid" for "unpaid". */
function withoutPrefix(scan: Scan, at: number): Scan | undefined {
  const token = scan.tokens[at];
  const key = token?.kind === "word" ? /^(?:in|un)(.{3,})$/.exec(token.key)?.[1] : undefined;
  return token && key !== undefined
    ? { ...scan, tokens: scan.tokens.with(at, { ...token, key, stem: wordStem(key) }) }
    : undefined;
}

function flagConditionAt(scan: Scan, at: number, isNegated: boolean) {
  const match = columnAt(scan, at);
  if (match === undefined || columnKind(match.column) !== "flag") return undefined;
  // "newsletter of customers" asks for the column's values
  if (["of", "for"].includes(wordAt(scan.tokens, match.end))) return undefined;
  return { meaning: isFlagged(match.column, isNegated), end: match.end };
}

const pastWords = wordSet("was were been have has had wasn't weren't");
const betweenPastAndEvent = wordSet("not already yet");

/** "were shipped", "have not been shipped": what happened, not what is. */
function tellsPast(tokens: readonly Token[], at: number): boolean {
  let before = at - 1;
  while (betweenPastAndEvent.has(wordAt(tokens, before))) before -= 1;
  return pastWords.has(wordAt(tokens, before));
}

/** The enumerations that have what begins at a token for a label. */
function statesAt({ tokens, table }: Scan, at: number) {
  if (tokens[at]?.kind !== "word") return [];
  return table.columns.flatMap((column) => {
    const found = columnKind(column) === "enum" ? labelsAt(tokens, at, column) : undefined;
    return found ? [{ column, labels: found.meaning, end: found.end }] : [];
  });
}

const statusWords = wordSet("status state stage");

/**
 * "were shipped", "not shipped", "unshipped" beside a column `shipped_at`, which tells it better than a status that has
 * gone on since. "Shipped orders" may mean either.
 */
function eventConditionAt(scan: Scan, at: number, isDenied: boolean) {
  const { tokens, table, draft, takenBy } = scan;
  if (statesAt(scan, at).some(({ labels }) => labels.length > 1)) return undefined;
  for (const [variant, isNegated] of [[scan, isDenied], [withoutPrefix(scan, at), !isDenied]] as const) {
    const token = variant?.tokens[at];
    const column = token?.kind === "word" ? participleDate(table, token.key) : undefined;
    if (!token || !column?.nullable || !participle.test(token.key)) continue;
    const isLabel = statesAt({ ...scan, tokens: [token] }, 0).length > 0;
    if (speaksOfTime(tokens, at + 1)) return undefined;
    if (!isLabel && table.columns.some((column) => hasWord(column, statusWords))) return undefined;
    if (isLabel && !isNegated && !tellsPast(tokens, at) && takenBy[at - 1] !== "table") {
      draft.refusals.push(
        `"${token.key}" may mean a status or a ${column.name}: say "with status ${token.key}"` +
          ` or "were ${token.key}"`,
      );
    }
    return { meaning: isKnown(column, isNegated), end: at + 1 };
  }
  return undefined;
}

function labelConditionAt(scan: Scan, at: number, isNegated: boolean) {
  const { tokens, table, draft } = scan;
  const states = statesAt(scan, at);
  const [first] = states;
  if (first === undefined) return undefined;
  const { column, labels, end } = first;
  const isDated = labels.some((label) => participleDate(table, label)?.nullable);
  const isTimed = scan.takenBy.includes("table") && speaksOfTime(tokens, end);
  // "shipped last month" beside a column `shipped_at` is told by that
  if (isTimed && isDated && end === at + 1) return undefined;
  if (states.length > 1) {
    const names = states.map(({ column }) => column.name).join(" or ");
    draft.refusals.push(`"${labels[0]}" could be a value of ${names}`);
  }
  const mayBePast = labels.length === 1 || tellsPast(tokens, at);
  if (isDated || (mayBePast && labels.some((label) => isOvertaken(label, column)))) {
    const said = labels.join(" or ");
    draft.refusals.push(
      `"${said}" may mean the ${column.name} now or what happened once: say "with ` +
        `${identifierWords(column.name).join(" ")} ${said}"`,
    );
  }
  // "orders shipped last month" asks when they were shipped, which a status and the date of the order do not tell
  if (isTimed) {
    draft.refusals.push(`no date column of ${table.name} tells when something was "${labels.at(-1)}"`);
  }
  return { meaning: oneOf(column, labels, isNegated), end };
}

/** What stays true of a thing when its status goes on. */
const lasting = wordSet(
  "confirmed approved accepted authorized authorised paid packed shipped dispatched sent delivered received completed " +
    "fulfilled returned refunded",
);

/**
 * Whether a later label of the same enumeration is true of things that were in this state before: of "pending, paid,
 * shipped", what is shipped was paid too, so that "paid" by itself may mean both.
 */
function isOvertaken(label: string, { labels }: CatalogColumn): boolean {
  const isLasting = (text: string) => lasting.has(identifierWords(text).join("_"));
  return isLasting(label) && labels.slice(labels.indexOf(label) + 1).some(isLasting);
}
