import { createSeededRandom, type SeededRandom } from "./seeded_random.ts";
import { orderRows } from "./shop_orders.ts";
import { reviewRows } from "./shop_reviews.ts";
import {
  type Customer,
  dateText,
  dayNumber,
  euros,
  historyDays,
  type Product,
  type TableRows,
  timeText,
  type Value,
} from "./shop_values.ts";
import {
  colors,
  departments,
  firstNames,
  lastNames,
  places,
  productLines,
  supplierNames,
  tags,
} from "./shop_words.ts";

const productsPerCategory = 16;
const customerCount = 800;

/**
 * All rows of the shop, in an order that its foreign keys allow. They depend on `today` alone (a day as `dayNumber()`
 * counts it): the newest orders are of the day before, and the seasons fall on the months that they should.
 */
export function shopRows(today: number): TableRows[] {
  const random = createSeededRandom(20_260_101);
  const firstDay = today - historyDays;
  const suppliers = supplierRows(random);
  const categories = categoryRows();
  const { table: products, products: catalog } = productRows(random, firstDay);
  const { table: customers, customers: people } = customerRows(random, today);
  const { orders, lines, purchases } = orderRows(random, today, catalog, people);
  const reviews = reviewRows(random, today, purchases);
  return [suppliers, categories, products, customers, orders, lines, reviews];
}

function supplierRows(random: SeededRandom): TableRows {
  const rows = supplierNames.map(([name, country], index) => [
    index + 1,
    name,
    country,
    `sales@${plainWord(name)}.example`,
    random.integer(3, 45),
    dateText(dayNumber(new Date("2009-03-01")) + random.integer(0, 4500)),
  ]);
  return {
    table: "suppliers",
    columns: ["id", "name", "country", "contact_email", "lead_time_days", "partner_since"],
    rows,
  };
}

function categoryRows(): TableRows {
  const parents = departments.map(({ name, description }, index) => [index + 1, null, name, description]);
  const children = departments.flatMap(({ categories }, index) =>
    categories.map(({ name, description }) => [index + 1, name, description])
  );
  const rows = [...parents, ...children.map((child, index) => [parents.length + index + 1, ...child])];
  return { table: "categories", columns: ["id", "parent_id", "name", "description"], rows };
}

function productRows(random: SeededRandom, firstDay: number): { table: TableRows; products: Product[] } {
  const rows: Value[][] = [];
  const products: Product[] = [];
  departments.flatMap(({ categories }) => categories).forEach((words, index) => {
    const kinds = productLines.flatMap((line) => words.nouns.map((noun) => ({ line, noun })));
    for (const { line, noun } of random.sample(kinds, productsPerCategory)) {
      const id = products.length + 1;
      const material = random.pick(words.materials);
      const priceCents = random.integer(words.price[0], words.price[1]) * 100 + random.pick([0, 50, 90, 95]);
      products.push({ id, priceCents });
      rows.push([
        id,
        `${line.slice(0, 2).toUpperCase()}-${String(1000 + id * 7)}`,
        `${line} ${material} ${noun}`,
        departments.length + index + 1,
        random.integer(1, supplierNames.length),
        euros(priceCents),
        euros(Math.floor(priceCents * random.integer(35, 70) / 100)),
        random.chance(6) ? 0 : random.integer(1, 400),
        random.sample(tags, random.integer(0, 3)),
        attributes(random, material, words.weightGrams),
        random.chance(5),
        dateText(firstDay - random.integer(10, 900)),
      ]);
    }
  });
  const columns =
    "id sku name category_id supplier_id price cost in_stock tags attributes discontinued listed_on".split(
      " ",
    );
  return { table: { table: "products", columns, rows }, products };
}

function attributes(
  random: SeededRandom,
  material: string,
  [lightest, heaviest]: readonly [number, number],
): Record<string, unknown> {
  return {
    material,
    color: random.pick(colors),
    weight_g: random.integer(lightest, heaviest),
    dimensions_cm: {
      width: random.integer(5, 120),
      height: random.integer(2, 90),
      depth: random.integer(2, 60),
    },
    ...(random.chance(60) ? { warranty_years: random.pick([2, 3, 5, 10]) } : {}),
  };
}

function customerRows(random: SeededRandom, today: number): { table: TableRows; customers: Customer[] } {
  const rows: Value[][] = [];
  const customers: Customer[] = [];
  for (let id = 1; id <= customerCount; id++) {
    const [first, last] = [random.pick(firstNames), random.pick(lastNames)];
    const [city, country] = random.pick(places);
    const tier = random.pick(["standard", "standard", "standard", "standard", "silver", "silver", "gold"]);
    const registeredDay = today - random.integer(1, historyDays + 400);
    customers.push({ id, registeredDay, tier });
    rows.push([
      id,
      `${plainWord(first)}.${plainWord(last)}.${id}@mail.example`,
      `${first} ${last.replace("-", " ")}`,
      city,
      country,
      tier,
      random.chance(40),
      random.chance(70) ? dateText(today - 365 * 18 - random.integer(0, 365 * 60)) : null,
      timeText(registeredDay, random.integer(0, 86_399)),
    ]);
  }
  const columns = "id email full_name city country tier newsletter birth_date registered_at".split(" ");
  return { table: { table: "customers", columns, rows }, customers };
}

/** A word of a to z for an address: accents dropped, letters that have no accent to drop left out. */
function plainWord(text: string): string {
  return text.normalize("NFD").toLowerCase().replace(/[^a-z]/g, "") || "customer";
}
