import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { columnKind } from "./column_kind.ts";
import type { Concept } from "./vocabulary.ts";

interface ConceptNames {
  /** Column names in order of preference. */
  readonly names: readonly string[];
  /** Names in another unit: good for an order, wrong for a comparison with a number. */
  readonly orderOnly: readonly string[];
  /** A comment that begins with one of these says the same as a name. */
  readonly commentWords: readonly string[];
}

const list = (names: string): readonly string[] => names.split(" ").filter((name) => name !== "");

const concepts: Readonly<Record<Concept, ConceptNames>> = {
  price: {
    names: list("price unit_price list_price sale_price cost amount total total_amount"),
    orderOnly: list("price_cents unit_price_cents cost_cents amount_cents total_cents"),
    commentWords: list("price cost"),
  },
  revenue: {
    names: list("revenue sales turnover income total total_amount order_total grand_total amount"),
    orderOnly: [],
    commentWords: list("revenue turnover"),
  },
  size: {
    names: list("size total total_amount order_total amount"),
    orderOnly: list("size_bytes bytes total_cents amount_cents"),
    commentWords: list("size"),
  },
  rating: {
    names: list("rating average_rating stars score"),
    orderOnly: [],
    commentWords: list("rating stars"),
  },
  weight: { names: list("weight weight_kg weight_g"), orderOnly: [], commentWords: list("weight") },
  length: {
    names: list("length duration"),
    orderOnly: list("length_cm duration_ms"),
    commentWords: list("length"),
  },
  height: { names: list("height"), orderOnly: list("height_cm"), commentWords: list("height") },
  name: { names: list("name title label full_name"), orderOnly: [], commentWords: [] },
};

/** Words that a request may use for a concept in a column's place. */
export const conceptWords: ReadonlyMap<string, Concept> = new Map([
  ["price", "price"],
  ["cost", "price"],
  ["expense", "price"],
  ["revenue", "revenue"],
  ["sale", "revenue"],
  ["turnover", "revenue"],
  ["income", "revenue"],
  ["rating", "rating"],
  ["star", "rating"],
  ["score", "rating"],
]);

/** The column that holds a concept; undefined where the table has none. */
export function conceptColumn(
  columns: readonly CatalogColumn[],
  concept: Concept,
  use: "order" | "compare",
): CatalogColumn | undefined {
  const { names, orderOnly, commentWords } = concepts[concept];
  const fitting = columns.filter((column) => columnKind(column) === (concept === "name" ? "text" : "number"));
  for (const name of use === "order" ? [...names, ...orderOnly] : names) {
    const found = fitting.find((column) => column.name.toLowerCase() === name);
    if (found !== undefined) return found;
  }
  const told = fitting.filter(({ comment }) =>
    commentWords.some((word) => comment.toLowerCase().startsWith(word)) && !/\bcents?\b/i.test(comment)
  );
  return told.length === 1 ? told[0] : undefined;
}
