import { identifierWords } from "../../../text/word_stem.ts";

/** What stays true of a thing when its status goes on. */
const lasting = new Set(
  ("confirmed approved accepted authorized authorised paid packed shipped dispatched sent delivered received " +
    "completed fulfilled returned refunded").split(" "),
);

/**
 * Whether a later label of the same enumeration is true of things that were in this state before: of "pending, paid,
 * shipped", what is shipped was paid too, so that "paid" by itself may mean both.
 */
export function isOvertaken(label: string, labels: readonly string[]): boolean {
  const key = (text: string) => identifierWords(text).join("_");
  return lasting.has(key(label)) &&
    labels.slice(labels.indexOf(label) + 1).some((later) => lasting.has(key(later)));
}
