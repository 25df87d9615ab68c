import type { Recogniser, Scan } from "./draft.ts";
import { tableMentionAt } from "./table_mentions.ts";
import { possessives } from "./vocabulary.ts";
import { isPlural } from "../../../text/word_stem.ts";

const betweenColumns = new Set(["and", ",", "&", "the", "a", "an"]);
const opens = new Set(["verb", "projection"]);

/** Whether a column's name here asks to show it: after "show" or "their", or in "product names"; not in "products in stock". */
function isOpen({ source, tokens, takenBy }: Scan, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && takenBy[before] === "" && betweenColumns.has(tokens[before]?.key ?? "")) before -= 1;
  const token = tokens[before];
  if (token === undefined || possessives.has(token.key)) return true;
  if (takenBy[before] === "table") return !isPlural(token.key) || /['’]/.test(source[token.end] ?? "");
  return opens.has(takenBy[before] ?? "");
}

/** "name and price" in "show the name and price of products". */
export const recogniseProjection: Recogniser = (scan, at) => {
  if (possessives.has(scan.tokens[at]?.key ?? "")) {
    const next = scan.columns.at(scan.tokens, at + 1);
    return next !== undefined && "column" in next ? 1 : 0;
  }
  const match = scan.columns.at(scan.tokens, at);
  if (match === undefined || !("column" in match) || !isOpen(scan, at)) return 0;
  // "total orders" may be their number or the sum of a column.
  if (tableMentionAt(scan.tokens, at + match.length, scan.table) !== undefined) return 0;
  if (!scan.draft.projection.includes(match.column)) scan.draft.projection.push(match.column);
  return match.length;
};
