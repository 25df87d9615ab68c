import type { SeededRandom } from "./seeded_random.ts";
import type { Purchase } from "./shop_orders.ts";
import { type TableRows, timeText, type Value } from "./shop_values.ts";
import { awkwardReviewBodies, reviewBodies, reviewTitles } from "./shop_words.ts";

/** One row in this many has a text that is hard to print. */
const awkwardEvery = 40;

/** Reviews of a part of the purchases, the oldest first. */
export function reviewRows(random: SeededRandom, today: number, purchases: readonly Purchase[]): TableRows {
  const reviewed = new Set<string>();
  const rows: Value[][] = [];
  for (const { customerId, product, deliveredDay } of purchases) {
    const key = `${customerId} ${product.id}`;
    const day = deliveredDay + random.integer(1, 30);
    if (!random.chance(18) || day >= today || reviewed.has(key)) continue;
    reviewed.add(key);
    const rating = ratingOf(random, product.id);
    const id = rows.length + 1;
    const body = id % awkwardEvery === 0 ? awkwardReviewBodies : reviewBodies[rating] ?? [];
    rows.push([
      id,
      product.id,
      customerId,
      rating,
      random.chance(75) ? random.pick(reviewTitles[rating] ?? []) : null,
      random.pick(body),
      random.chance(50) ? 0 : random.integer(1, 40),
      timeText(day, random.integer(0, 86_399)),
    ]);
  }
  return {
    table: "reviews",
    columns: "id product_id customer_id rating title body helpful_votes written_at".split(" "),
    rows,
  };
}

/** Some products please less than others. */
function ratingOf(random: SeededRandom, productId: number): number {
  return random.pick(productId % 9 === 0 ? [1, 1, 2, 2, 3, 3, 4] : [2, 3, 4, 4, 4, 5, 5, 5, 5]);
}
