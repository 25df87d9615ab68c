import type { SeededRandom } from "./seeded_random.ts";
import {
  type Customer,
  euros,
  historyDays,
  type Product,
  type TableRows,
  timeText,
  type Value,
} from "./shop_values.ts";
import { orderNotes } from "./shop_words.ts";

/** That a customer got a product; reviews are written of these. */
export interface Purchase {
  readonly customerId: number;
  readonly product: Product;
  readonly deliveredDay: number;
}

/** Orders in a day in percent of a usual one, January to December: presents in winter, little in summer. */
const monthPercent = [80, 75, 90, 100, 110, 95, 75, 70, 95, 105, 150, 185];
/** Sunday to Saturday. */
const weekdayPercent = [125, 110, 95, 95, 90, 85, 100];
const usualOrdersPerDay = 6;

interface Order {
  readonly id: number;
  readonly customer: Customer;
  readonly day: number;
  readonly items: readonly {
    readonly product: Product;
    readonly quantity: number;
    readonly unitCents: number;
  }[];
}

interface Course {
  readonly status: string;
  readonly shippedDay?: number;
  readonly deliveredDay?: number;
}

/** Orders of every day up to the one before `today`, with their lines. */
export function orderRows(
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
      columns: "id customer_id status placed_at shipped_at delivered_at shipping_fee discount_percent note"
        .split(" "),
      rows: orders,
    },
    lines: {
      table: "order_lines",
      columns: ["order_id", "line_number", "product_id", "quantity", "unit_price"],
      rows: lines,
    },
    purchases,
  };
}

function secondsOfOrders(random: SeededRandom, day: number, today: number): number[] {
  const date = new Date(day * 86_400_000);
  const season = monthPercent[date.getUTCMonth()] ?? 100;
  const weekday = weekdayPercent[date.getUTCDay()] ?? 100;
  const growth = 130 - Math.floor((today - day) * 60 / historyDays);
  const expected = usualOrdersPerDay * season * weekday * growth / 1_000_000;
  const count = Math.max(1, Math.round(expected * random.integer(60, 140) / 100));
  return Array.from({ length: count }, () => random.integer(6 * 3600, 86_399)).sort((a, b) => a - b);
}

function newOrder(
  random: SeededRandom,
  id: number,
  day: number,
  customer: Customer,
  products: readonly Product[],
): Order {
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

function orderRow(random: SeededRandom, order: Order, course: Course, second: number): Value[] {
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
