import { dayNumber, shopRows } from "./shop_rows.ts";
import { commentStatements, insertStatement } from "./table_rows.ts";

/** What can be asked of the shop in words: a definitions file. */
export function readShopQuestions(): Promise<string> {
  return Deno.readTextFile(new URL("./shop_questions.yaml", import.meta.url));
}

/** The role of the demo's connections: it may read the shop and do nothing else. */
export const demoRole = "postern_demo";

/**
 * The SQL that makes the shop in an empty database, to be run by a superuser in this order. The same day gives the same
 * SQL everywhere: the newest orders are of the day before `now` (in UTC), the oldest of two years before.
 */
export function demoShopSql(now: Date): string[] {
  const tables = shopRows(dayNumber(now));
  return [
    shopTables,
    // checking each foreign key by a query of its own would take most of the start
    "SET session_replication_role = replica",
    ...tables.map(insertStatement),
    "RESET session_replication_role",
    shopViewsAndIndexes,
    ...commentStatements(shopComments),
    `CREATE ROLE ${demoRole} LOGIN;
     REVOKE TEMPORARY, CREATE ON DATABASE postgres FROM PUBLIC;
     REVOKE CREATE ON SCHEMA public FROM PUBLIC;
     GRANT USAGE ON SCHEMA public TO ${demoRole};
     GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${demoRole};`,
    `ANALYZE ${tables.map(({ table }) => table).join(", ")}`,
  ];
}

/** The shop's tables; `public` is the only schema that its clients look in. */
const shopTables = `
CREATE TYPE customer_tier AS ENUM ('standard', 'silver', 'gold');
CREATE TYPE order_status AS ENUM ('pending', 'paid', 'shipped', 'delivered', 'cancelled', 'returned');

CREATE TABLE suppliers (
  id integer PRIMARY KEY,
  name text NOT NULL UNIQUE,
  country char(2) NOT NULL,
  contact_email text NOT NULL,
  lead_time_days integer NOT NULL CHECK (lead_time_days > 0),
  partner_since date NOT NULL
);

CREATE TABLE categories (
  id integer PRIMARY KEY,
  parent_id integer REFERENCES categories,
  name text NOT NULL UNIQUE,
  description text NOT NULL
);

CREATE TABLE products (
  id integer PRIMARY KEY,
  sku text NOT NULL UNIQUE,
  name text NOT NULL,
  category_id integer NOT NULL REFERENCES categories,
  supplier_id integer NOT NULL REFERENCES suppliers,
  price numeric(12,2) NOT NULL CHECK (price > 0),
  cost numeric(12,2) NOT NULL CHECK (cost > 0 AND cost < price),
  in_stock integer NOT NULL CHECK (in_stock >= 0),
  tags text[] NOT NULL DEFAULT '{}',
  attributes jsonb NOT NULL DEFAULT '{}',
  discontinued boolean NOT NULL DEFAULT false,
  listed_on date NOT NULL
);

CREATE TABLE customers (
  id integer PRIMARY KEY,
  email text NOT NULL UNIQUE,
  full_name text NOT NULL,
  city text NOT NULL,
  country char(2) NOT NULL,
  tier customer_tier NOT NULL DEFAULT 'standard',
  newsletter boolean NOT NULL,
  birth_date date,
  registered_at timestamptz NOT NULL
);

CREATE TABLE orders (
  id integer PRIMARY KEY,
  customer_id integer NOT NULL REFERENCES customers,
  status order_status NOT NULL,
  placed_at timestamptz NOT NULL,
  shipped_at timestamptz CHECK (shipped_at >= placed_at),
  delivered_at timestamptz CHECK (delivered_at >= shipped_at),
  shipping_fee numeric(12,2) NOT NULL CHECK (shipping_fee >= 0),
  discount_percent smallint NOT NULL DEFAULT 0 CHECK (discount_percent BETWEEN 0 AND 50),
  note text
);

CREATE TABLE order_lines (
  order_id integer NOT NULL REFERENCES orders,
  line_number smallint NOT NULL CHECK (line_number > 0),
  product_id integer NOT NULL REFERENCES products,
  quantity integer NOT NULL CHECK (quantity > 0),
  unit_price numeric(12,2) NOT NULL CHECK (unit_price > 0),
  PRIMARY KEY (order_id, line_number)
);

CREATE TABLE reviews (
  id integer PRIMARY KEY,
  product_id integer NOT NULL REFERENCES products,
  customer_id integer NOT NULL REFERENCES customers,
  rating smallint NOT NULL CHECK (rating BETWEEN 1 AND 5),
  title text,
  body text NOT NULL,
  helpful_votes integer NOT NULL DEFAULT 0 CHECK (helpful_votes >= 0),
  written_at timestamptz NOT NULL,
  UNIQUE (product_id, customer_id)
);
`;

/** What stands on the tables; made after they are filled, which is faster. */
const shopViewsAndIndexes = `
CREATE INDEX products_category_id_idx ON products (category_id);
CREATE INDEX products_supplier_id_idx ON products (supplier_id);
CREATE INDEX products_attributes_idx ON products USING gin (attributes);
CREATE INDEX products_tags_idx ON products USING gin (tags);
CREATE INDEX orders_customer_id_idx ON orders (customer_id);
CREATE INDEX orders_placed_at_idx ON orders (placed_at);
CREATE INDEX order_lines_product_id_idx ON order_lines (product_id);
CREATE INDEX reviews_customer_id_idx ON reviews (customer_id);

CREATE VIEW order_totals AS
SELECT o.id AS order_id, o.customer_id, o.status, o.placed_at,
       count(*) AS line_count,
       round(sum(l.quantity * l.unit_price) * (100 - o.discount_percent) / 100, 2) AS goods_total,
       round(sum(l.quantity * l.unit_price) * (100 - o.discount_percent) / 100, 2) + o.shipping_fee AS total
FROM orders o JOIN order_lines l ON l.order_id = o.id
GROUP BY o.id;

CREATE VIEW monthly_revenue AS
SELECT date_trunc('month', placed_at)::date AS month,
       count(*) AS order_count,
       sum(goods_total) AS revenue,
       round(avg(goods_total), 2) AS average_order_value
FROM order_totals
WHERE status NOT IN ('cancelled', 'returned')
GROUP BY 1;

CREATE MATERIALIZED VIEW product_sales AS
SELECT p.id AS product_id, p.name, c.name AS category,
       coalesce(s.units_sold, 0) AS units_sold,
       coalesce(s.revenue, 0)::numeric(12,2) AS revenue,
       r.review_count, r.average_rating
FROM products p
JOIN categories c ON c.id = p.category_id
LEFT JOIN (
  SELECT l.product_id, sum(l.quantity) AS units_sold, sum(l.quantity * l.unit_price) AS revenue
  FROM order_lines l JOIN orders o ON o.id = l.order_id
  WHERE o.status NOT IN ('cancelled', 'returned')
  GROUP BY l.product_id
) s ON s.product_id = p.id
CROSS JOIN LATERAL (
  SELECT count(*) AS review_count, round(avg(rating), 2) AS average_rating FROM reviews WHERE product_id = p.id
) r;
CREATE UNIQUE INDEX product_sales_product_id_idx ON product_sales (product_id);
`;

/** What a model reads to understand the tables. */
const shopComments: Readonly<Record<string, string>> = {
  "TABLE suppliers": "Companies that the shop buys its products from",
  "COLUMN suppliers.country": "ISO 3166-1 alpha-2 code",
  "COLUMN suppliers.lead_time_days": "Days from an order with the supplier to the goods in the warehouse",
  "COLUMN suppliers.partner_since": "Day of the first contract",
  "TABLE categories": "Product categories in two levels: departments, and the categories in them",
  "COLUMN categories.parent_id": "The department; NULL for a department itself",
  "TABLE products": "Everything that the shop sells or sold; always in a category of the second level",
  "COLUMN products.sku": "Stock keeping unit, printed on the label",
  "COLUMN products.price":
    "Current price in EUR, value-added tax included; past prices are in order_lines.unit_price",
  "COLUMN products.cost": "What the supplier charges for one, in EUR",
  "COLUMN products.in_stock": "Pieces in the warehouse now",
  "COLUMN products.tags": "Words for the search, for example bestseller, handmade, vegan",
  "COLUMN products.attributes":
    "Facts that differ by category: material, color, weight_g, dimensions_cm, warranty_years",
  "COLUMN products.discontinued": "True once it is no longer sold",
  "TABLE customers": "People with an account",
  "COLUMN customers.tier": "Loyalty level; gold ships for free",
  "COLUMN customers.country": "ISO 3166-1 alpha-2 code",
  "COLUMN customers.birth_date": "NULL where the customer did not tell it",
  "TABLE orders": "One row for each order placed, cancelled ones too",
  "COLUMN orders.status":
    "pending → paid → shipped → delivered; or cancelled before shipping, or returned after delivery",
  "COLUMN orders.placed_at": "When the customer placed the order",
  "COLUMN orders.shipped_at": "When the parcel left the warehouse; NULL until then",
  "COLUMN orders.delivered_at": "When the parcel reached the customer; NULL until then",
  "COLUMN orders.shipping_fee": "In EUR",
  "COLUMN orders.discount_percent": "Taken off the sum of the lines",
  "COLUMN orders.note": "What the customer wrote for the warehouse",
  "TABLE order_lines": "The products of an order",
  "COLUMN order_lines.unit_price": "Price of one in EUR on the day of the order",
  "TABLE reviews": "Customers' opinions of products; at most one for each customer and product",
  "COLUMN reviews.rating": "1 (bad) to 5 (excellent)",
  "COLUMN reviews.helpful_votes": "How many readers found it helpful",
  "VIEW order_totals":
    "Each order with its sum after discount (goods_total) and with shipping (total), in EUR",
  "VIEW monthly_revenue":
    "Orders and revenue by month in EUR, without shipping, cancelled and returned orders",
  "MATERIALIZED VIEW product_sales":
    "Units, revenue in EUR and ratings of each product over all time; computed when the demo starts",
};
