import type {
  Catalog,
  CatalogColumn,
  CatalogTable,
  TableKind,
} from "../../../../src/postgres/catalog/catalog.ts";

/** The fixture's tables as SQL, so that what is written for the catalog below can run. */
export const shopSchema = `
  CREATE TYPE order_status AS ENUM ('pending', 'paid', 'in_transit', 'shipped', 'cancelled');
  CREATE TABLE customers (
    id bigint PRIMARY KEY, name text NOT NULL, email text, phone text, country text NOT NULL, city text,
    is_active boolean NOT NULL, credit_limit numeric(12,2), created_at timestamptz NOT NULL);
  CREATE TABLE products (
    id bigint PRIMARY KEY, name text NOT NULL, description text, category text NOT NULL, price numeric(12,2) NOT NULL,
    weight integer, tags text[] NOT NULL, discontinued boolean NOT NULL, attributes jsonb, updated_at timestamptz);
  CREATE TABLE orders (
    id bigint PRIMARY KEY, customer_id bigint NOT NULL REFERENCES customers, status order_status NOT NULL,
    total numeric(12,2) NOT NULL, placed_at timestamptz NOT NULL, delivered_at timestamptz, note text);
  CREATE TABLE order_lines (
    order_id bigint REFERENCES orders, product_id bigint REFERENCES products, quantity integer NOT NULL,
    unit_price numeric(12,2) NOT NULL, PRIMARY KEY (order_id, product_id));
  CREATE TABLE reviews (
    id bigint PRIMARY KEY, product_id bigint NOT NULL REFERENCES products, customer_id bigint NOT NULL REFERENCES customers,
    rating integer NOT NULL, title text, body text, created_at timestamptz NOT NULL);
  CREATE VIEW order_totals AS
    SELECT order_id, sum(quantity * unit_price) AS revenue FROM order_lines GROUP BY order_id;
  CREATE SCHEMA archive;
  CREATE TABLE archive.shipments (
    id bigint PRIMARY KEY, "from" text, "Carrier Name" text, amt numeric(12,2), weight_kg numeric, shipped_on date, due_date date);
`;

function column(name: string, type: string, more: Partial<CatalogColumn> = {}): CatalogColumn {
  return {
    name,
    type,
    nullable: false,
    comment: "",
    default: "",
    identity: "",
    isPrimaryKey: false,
    isUnique: false,
    isIndexed: false,
    reference: "",
    labels: [],
    allowedValues: [],
    ...more,
  };
}

const optional = { nullable: true };
const key = column("id", "bigint", { isPrimaryKey: true, isIndexed: true });
const moment = "timestamp with time zone";
const money = "numeric(12,2)";

function table(
  name: string,
  columns: readonly CatalogColumn[],
  kind: TableKind = "TABLE",
  schema = "public",
): CatalogTable {
  return { schema, name, kind, comment: "", estimatedRows: -1, columns, indexes: [], foreignKeys: [] };
}

const customers = table("customers", [
  key,
  column("name", "text"),
  column("email", "text", optional),
  column("phone", "text", optional),
  column("country", "text"),
  column("city", "text", optional),
  column("is_active", "boolean"),
  column("credit_limit", money, optional),
  column("created_at", moment),
]);
const products = table("products", [
  key,
  column("name", "text"),
  column("description", "text", optional),
  column("category", "text"),
  column("price", money),
  column("weight", "integer", { nullable: true, comment: "In grams" }),
  column("tags", "text[]"),
  column("discontinued", "boolean"),
  column("attributes", "jsonb", optional),
  column("updated_at", moment, optional),
]);
const orders = table("orders", [
  key,
  column("customer_id", "bigint", { reference: "public.customers.id" }),
  column("status", "order_status", { labels: ["pending", "paid", "in_transit", "shipped", "cancelled"] }),
  column("total", money),
  column("placed_at", moment),
  column("delivered_at", moment, optional),
  column("note", "text", optional),
]);
const orderLines = table("order_lines", [
  column("order_id", "bigint", { isPrimaryKey: true, reference: "public.orders.id" }),
  column("product_id", "bigint", { isPrimaryKey: true, reference: "public.products.id" }),
  column("quantity", "integer"),
  column("unit_price", money),
]);
const reviews = table("reviews", [
  key,
  column("product_id", "bigint", { reference: "public.products.id" }),
  column("customer_id", "bigint", { reference: "public.customers.id" }),
  column("rating", "integer"),
  column("title", "text", optional),
  column("body", "text", optional),
  column("created_at", moment),
]);
const orderTotals = table("order_totals", [
  column("order_id", "bigint", optional),
  column("revenue", "numeric", optional),
], "VIEW");
const shipments = table(
  "shipments",
  [
    key,
    column("from", "text", optional),
    column("Carrier Name", "text", optional),
    column("amt", money, { nullable: true, comment: "Freight charge in euros" }),
    column("weight_kg", "numeric", optional),
    column("shipped_on", "date", optional),
    column("due_date", "date", optional),
  ],
  "TABLE",
  "archive",
);

/** A small shop, with a schema and names that need quoting beside the plain ones. */
export const shopCatalog: Catalog = {
  tables: [shipments, customers, orderLines, orderTotals, orders, products, reviews],
};
