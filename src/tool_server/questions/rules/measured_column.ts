import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { type ColumnKind, columnKind, isOrderable } from "./column_kind.ts";
import { conceptColumn, conceptWords } from "./concept_columns.ts";
import type { Scan } from "./draft.ts";
import { skipWords } from "./phrases.ts";
import { tableMentionAt } from "./table_mentions.ts";
import type { ColumnMatch } from "./table_columns.ts";

/** The column named at a token, be it by its name or by a concept such as "revenue" or "cost". */
export function measuredColumnAt(scan: Scan, at: number, use: "order" | "compare"): ColumnMatch | undefined {
  const match = scan.columns.at(scan.tokens, at);
  if (match !== undefined) {
    return "column" in match && (use === "compare" || isOrderable(match.column)) ? match : undefined;
  }
  const token = scan.tokens[at];
  const concept = token?.kind === "word" ? conceptWords.get(token.stem) : undefined;
  const column = concept && conceptColumn(scan.table.columns, concept, use);
  return column && { column, length: 1, isExact: false };
}

const beforeColumn = new Set(["the", "a", "an", "our", "of"]);

/** A column near a word that asks for one, and the token after it. */
export interface NearColumn {
  readonly column: CatalogColumn;
  readonly isExact: boolean;
  readonly end: number;
}

/**
 * The column that begins at a token, after an article, or in or after the table's name: "average order total" finds
 * `total` of `orders` and of a view `order_totals` alike.
 */
export function columnNear(scan: Scan, at: number, kinds?: readonly ColumnKind[]): NearColumn | undefined {
  const first = skipWords(scan.tokens, at, beforeColumn);
  const mentionLength = tableMentionAt(scan.tokens, first, scan.table)?.length ?? 0;
  for (let place = first; place <= first + mentionLength; place++) {
    const match = measuredColumnAt(scan, place, "order");
    const isInsideName = place > first && place < first + mentionLength;
    if (match === undefined || kinds?.includes(columnKind(match.column)) === false) continue;
    if (isInsideName && !match.isExact) continue;
    return { column: match.column, isExact: match.isExact, end: place + match.length };
  }
  return undefined;
}
