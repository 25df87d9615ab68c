import words from "./shop_words.json" with { type: "json" };
import { createRandomNumbers } from "../core/random_numbers.ts";
import { quoteLiteral } from "../postgres/sql_text.ts";

/** What the rows are put together from. Names of suppliers and places have the two letters of their country beside them. */
const { departments, productLines, colors, tags, suppliers, places, firstNames, lastNames } = words;
const { orderNotes, awkwardReviewBodies } = words;
const reviewTitles: Readonly<Record<number, readonly string[]>> = words.reviewTitles;
const reviewBodies: Readonly<Record<number, readonly string[]>> = words.reviewBodies;

/** How far the shop's history goes back. */
const historyDays = 760;
const productsPerCategory = 16;
const customerCount = 800;

interface Product {
  readonly id: number;
  readonly priceCents: number;
}

interface Customer {
  readonly id: number;
  readonly registeredDay: number;
  readonly tier: string;
}

/**
 * All rows of the shop, in an order that its foreign keys allow. They depend on `today` alone (a day as `dayNumber()`
 * counts it): the newest orders are of the day before, and the seasons fall on the months that they should.
 */
export function shopRows(today: number): TableRows[] {
  const random = createSeededRandom(20_260_101);
  const firstDay = today - historyDays;
  const supplierTable = supplierRows(random);
  const categories = categoryRows();
  const { table: products, products: catalog } = productRows(random, firstDay);
  const { table: customers, customers: people } = customerRows(random, today);
  const { orders, lines, purchases } = orderRows(random, today, catalog, people);
  const reviews = reviewRows(random, today, purchases);
  return [supplierTable, categories, products, customers, orders, lines, reviews];
}

function supplierRows(random: SeededRandom): TableRows {
  const rows = suppliers.map(([name = "", country = ""], index) => [
    index + 1,
    name,
    country,
    `sales@${plainWord(name)}.example`,
    random.integer(3, 45),
    dateText(dayNumber(new Date("2009-03-01")) + random.integer(0, 4500)),
  ]);
  return { table: "suppliers", columns: "id name country contact_email lead_time_days partner_since", rows };
}

function categoryRows(): TableRows {
  const parents = departments.map(({ name, description }, index) => [index + 1, null, name, description]);
  const children = departments.flatMap(({ categories }, index) =>
    categories.map(({ name, description }) => [index + 1, name, description])
  );
  const rows = [...parents, ...children.map((child, index) => [parents.length + index + 1, ...child])];
  return { table: "categories", columns: "id parent_id name description", rows };
}

function productRows(random: SeededRandom, firstDay: number): { table: TableRows; products: Product[] } {
  const rows: Value[][] = [];
  const products: Product[] = [];
  departments.flatMap(({ categories }) => categories).forEach(
    ({ nouns, materials, price, weightGrams }, index) => {
      const [cheapest = 0, dearest = 0] = price;
      const kinds = productLines.flatMap((line) => nouns.map((noun) => ({ line, noun })));
      for (const { line, noun } of random.sample(kinds, productsPerCategory)) {
        const id = products.length + 1;
        const material = random.pick(materials);
        const priceCents = random.integer(cheapest, dearest) * 100 + random.pick([0, 50, 90, 95]);
        products.push({ id, priceCents });
        rows.push([
          id,
          `${line.slice(0, 2).toUpperCase()}-${String(1000 + id * 7)}`,
          `${line} ${material} ${noun}`,
          departments.length + index + 1,
          random.integer(1, suppliers.length),
          euros(priceCents),
          euros(Math.floor(priceCents * random.integer(35, 70) / 100)),
          random.chance(6) ? 0 : random.integer(1, 400),
          random.sample(tags, random.integer(0, 3)),
          attributes(random, material, weightGrams),
          random.chance(5),
          dateText(firstDay - random.integer(10, 900)),
        ]);
      }
    },
  );
  const columns =
    "id sku name category_id supplier_id price cost in_stock tags attributes discontinued listed_on";
  return { table: { table: "products", columns, rows }, products };
}

function attributes(
  random: SeededRandom,
  material: string,
  [lightest = 0, heaviest = 0]: readonly number[],
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
    const [city = "", country = ""] = random.pick(places);
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
  const columns = "id email full_name city country tier newsletter birth_date registered_at";
  return { table: { table: "customers", columns, rows }, customers };
}

/** That a customer got a product; reviews are written of these. */
interface Purchase {
  readonly customerId: number;
  readonly product: Product;
  readonly deliveredDay: number;
}

/** Orders in a day in percent of a usual one, January to December: presents in winter, little in summer. */
const monthPercent = [80, 75, 90, 100, 110, 95, 75, 70, 95, 105, 150, 185];
/** Sunday to Saturday. */
const weekdayPercent = [125, 110, 95, 95, 90, 85, 100];
const usualOrdersPerDay = 6;

interface Course {
  readonly status: string;
  readonly shippedDay?: number;
  readonly deliveredDay?: number;
}

/** Orders of every day up to the one before `today`, with their lines. */
function orderRows(
  random: SeededRandom,
  today: number,
  products: readonly Product[],
  customers: readonly Customer[],
): { orders: TableRows; lines: TableRows; purchases: Purchase[] } {
  const orders: Value[][] = [];
  const lines: Value[][] = [];
  const purchases: Purchase[] = [];
  for (let day = today - historyDays; day < today; day++) {
    const known = customers.filter(({ registeredDay }) => registeredDay < day);
    for (const second of secondsOfOrders(random, day, today)) {
      const order = newOrder(random, orders.length + 1, day, random.pick(known), products);
      const course = courseOf(random, day, today);
      orders.push(orderRow(random, order, course, second));
      order.items.forEach(({ product, quantity, unitCents }, index) => {
        lines.push([order.id, index + 1, product.id, quantity, euros(unitCents)]);
        const { deliveredDay } = course;
        if (deliveredDay !== undefined) {
          purchases.push({ customerId: order.customer.id, product, deliveredDay });
        }
      });
    }
  }
  return {
    orders: {
      table: "orders",
      columns: "id customer_id status placed_at shipped_at delivered_at shipping_fee discount_percent note",
      rows: orders,
    },
    lines: {
      table: "order_lines",
      columns: "order_id line_number product_id quantity unit_price",
      rows: lines,
    },
    purchases,
  };
}

function secondsOfOrders(random: SeededRandom, day: number, today: number): number[] {
  const date = new Date(day * 86_400_000);
  const season = monthPercent[date.getUTCMonth()] ?? 100;
  const weekday = weekdayPercent[date.getUTCDay()] ?? 100;
  const trend = 130 - Math.floor((today - day) * 60 / historyDays);
  const expected = usualOrdersPerDay * season * weekday * trend / 1_000_000;
  const count = Math.max(1, Math.round(expected * random.integer(60, 140) / 100));
  return Array.from({ length: count }, () => random.integer(6 * 3600, 86_399)).sort((a, b) => a - b);
}

function newOrder(
  random: SeededRandom,
  id: number,
  day: number,
  customer: Customer,
  products: readonly Product[],
) {
  // the smaller of two picks: products from the top of the catalog sell better
  const popular = () =>
    Math.min(random.integer(0, products.length - 1), random.integer(0, products.length - 1));
  const chosen = new Set(Array.from({ length: random.pick([1, 1, 1, 2, 2, 3, 4]) }, popular));
  const items = products.filter((_, index) => chosen.has(index)).map((product) => ({
    product,
    quantity: product.priceCents > 20_000 ? 1 : random.pick([1, 1, 1, 1, 2, 2, 3, 6]),
    // last year's prices were lower
    unitCents: Math.round(product.priceCents * (random.chance(30) ? random.integer(88, 99) : 100) / 100),
  }));
  return { id, customer, day, items };
}

function courseOf(random: SeededRandom, day: number, today: number): Course {
  if (random.chance(4)) return { status: "cancelled" };
  const shippedDay = day + random.integer(1, 3);
  if (shippedDay >= today) return { status: random.chance(25) ? "pending" : "paid" };
  const deliveredDay = shippedDay + random.integer(1, 6);
  if (deliveredDay >= today) return { status: "shipped", shippedDay };
  return { status: random.chance(5) ? "returned" : "delivered", shippedDay, deliveredDay };
}

function orderRow(
  random: SeededRandom,
  order: ReturnType<typeof newOrder>,
  course: Course,
  second: number,
): Value[] {
  const { shippedDay, deliveredDay } = course;
  const goodsCents = order.items.reduce((sum, { quantity, unitCents }) => sum + quantity * unitCents, 0);
  const isFree = order.customer.tier === "gold" || goodsCents >= 15_000;
  return [
    order.id,
    order.customer.id,
    course.status,
    timeText(order.day, second),
    shippedDay === undefined ? null : timeText(shippedDay, random.integer(7 * 3600, 16 * 3600)),
    deliveredDay === undefined ? null : timeText(deliveredDay, random.integer(8 * 3600, 19 * 3600)),
    isFree ? "0.00" : random.pick(["4.90", "6.90", "9.90"]),
    random.chance(12) ? random.pick([5, 10, 15, 20]) : 0,
    random.chance(7) ? random.pick(orderNotes) : null,
  ];
}

/** One row in this many has a text that is hard to print. */
const awkwardEvery = 40;

/** Reviews of a part of the purchases, the oldest first. */
function reviewRows(random: SeededRandom, today: number, purchases: readonly Purchase[]): TableRows {
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
    columns: "id product_id customer_id rating title body helpful_votes written_at",
    rows,
  };
}

/** Some products please less than others. */
function ratingOf(random: SeededRandom, productId: number): number {
  return random.pick(productId % 9 === 0 ? [1, 1, 2, 2, 3, 3, 4] : [2, 3, 4, 4, 4, 5, 5, 5, 5]);
}

/** A word of a to z for an address: accents dropped, letters that have no accent to drop left out. */
function plainWord(text: string): string {
  return text.normalize("NFD").toLowerCase().replace(/[^a-z]/g, "") || "customer";
}

/** The days since 1970-01-01 in UTC. */
export function dayNumber(time: Date): number {
  return Math.floor(time.getTime() / 86_400_000);
}

function dateText(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

/** A `timestamptz` on that day, `second` seconds after midnight in UTC. */
function timeText(day: number, second: number): string {
  return new Date((day * 86_400 + second) * 1000).toISOString();
}

function euros(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** Random choices that are the same on every machine and in every version for one seed. */
export interface SeededRandom {
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** True `percent` times of a hundred. */
  chance(percent: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** `count` different items, or all where there are fewer. */
  sample<T>(items: readonly T[], count: number): T[];
}

/** @param seed a whole number */
export function createSeededRandom(seed: number): SeededRandom {
  const next = createRandomNumbers(seed);

  function integer(min: number, max: number): number {
    return min + Math.floor(next() * (max - min + 1));
  }

  function pick<T>(items: readonly T[]): T {
    const [item] = items.slice(integer(0, items.length - 1));
    if (item === undefined) throw new RangeError("Cannot pick an item: there are none");
    return item;
  }

  function sample<T>(items: readonly T[], count: number): T[] {
    const left = [...items];
    const taken: T[] = [];
    while (taken.length < count && left.length > 0) {
      taken.push(...left.splice(integer(0, left.length - 1), 1));
    }
    return taken;
  }

  return { integer, chance: (percent) => integer(1, 100) <= percent, pick, sample };
}

type Value = string | number | boolean | null | readonly string[] | Readonly<Record<string, unknown>>;

/** Rows of one table, in the order of `columns`, whose names are apart by spaces. */
export interface TableRows {
  readonly table: string;
  readonly columns: string;
  readonly rows: readonly (readonly Value[])[];
}

/** One JSON text for all rows: PostgreSQL takes it faster than a list of VALUES. */
export function insertStatement({ table, columns, rows }: TableRows): string {
  const names = columns.split(" ");
  const objects = rows.map((row) => Object.fromEntries(names.map((name, index) => [name, row[index]])));
  const list = names.join(", ");
  return `INSERT INTO ${table} (${list})
SELECT ${list} FROM json_populate_recordset(NULL::${table}, ${quoteLiteral(JSON.stringify(objects))})`;
}
