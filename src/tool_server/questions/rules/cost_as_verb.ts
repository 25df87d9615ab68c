import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { conceptColumn } from "./concept_columns.ts";
import type { Token } from "./tokens.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";

/** "the cost", "average cost", "cost of": a noun. */
const beforeNoun = new Set(
  ("the a an our their its of by with whose where and or show list per average avg mean total sum median minimum min " +
    "maximum max highest lowest most least is with without no sorted ordered in ,").split(" "),
);
const afterNoun = new Set(["of", "is", "="]);

/** Whether a "cost" is what products do: "what does product 5 cost", "products that cost more than 10". */
function isVerb(tokens: readonly Token[], at: number): boolean {
  const before = tokens[at - 1];
  const after = tokens[at + 1]?.key ?? "";
  return before !== undefined && !beforeNoun.has(before.key) && !afterNoun.has(after);
}

/**
 * What a thing costs is its price, also beside a column `cost` for what the seller pays: there, the verb is read as the
 * price's name.
 */
export function readCostAsPrice(tokens: readonly Token[], { columns }: CatalogTable): readonly Token[] {
  const price = conceptColumn(columns, "price", "compare");
  if (price === undefined || !identifierWords(price.name).includes("price")) return tokens;
  return tokens.flatMap((token, at) => {
    const isCost = token.kind === "word" && ["cost", "costs", "costing"].includes(token.key);
    if (!isCost || !isVerb(tokens, at)) return [token];
    return identifierWords(price.name).map((key): Token => ({ ...token, key, stem: wordStem(key) }));
  });
}
