import assert from "node:assert/strict";
import { createLogger } from "../../../../src/core/logger.ts";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { readSections } from "../../../../src/tool_server/definitions/sections.ts";
import { readModels } from "../../../../src/tool_server/questions/models/read_models.ts";
import {
  createSemanticModels,
  fittingModels,
  modelText,
} from "../../../../src/tool_server/questions/models/semantic_models.ts";
import { buildCatalog } from "../build_catalog.ts";

const guard = await createStatementGuard();

async function read(text: string, databases = ["shop"]) {
  const { sections, faults } = await readSections(text);
  assert.ok(sections && faults.length === 0, JSON.stringify(faults));
  return await readModels(sections.models, {
    guard,
    signal: new AbortController().signal,
    databases,
  });
}

const shop = `
models:
  - name: order
    synonyms: [purchase, deal]
    description: one for each checkout
    database: shop
    table: orders
    joins:
      - {to: client, on: orders.customer_id = customers.id}
    measures:
      - name: net revenue
        synonyms: [turnover]
        sql: |
          sum(total)
            FILTER (WHERE status <> 'returned')
        description: without returns
      - {name: units, sql: "sum((SELECT sum(l.quantity) FROM order_lines l WHERE l.order_id = orders.id))"}
    dimensions:
      - {name: month, sql: "date_trunc('month', placed_at)"}
  - name: client
    database: shop
    table: public.customers
    dimensions:
      - {name: market, synonyms: [region], sql: customers.country}
`;

const tables = () =>
  buildCatalog({
    customers: "id, country text",
    order_lines: "order_id, quantity",
    orders: "id, customer_id, total numeric, status text, placed_at timestamptz",
  }).tables;

const database = { name: "shop", rightsKey: () => "" };
const local = { kind: "local" } as const;

async function shopModels() {
  const lines: string[] = [];
  const { models, faults } = await read(shop);
  assert.deepEqual(faults, []);
  const logger = createLogger({ level: "info", format: "text", write: (line) => lines.push(line) });
  return { models: createSemanticModels(models, { logger }), lines };
}

Deno.test("a model with a fault is left out with its place, and the others stay", async () => {
  const { models, faults } = await read(`
models:
  - name: order
    database: shop
    table: orders
    measures:
      - {name: revenue, sql: "sum(total"}
      - {name: revenue, sql: sum(total)}
  - name: line
    database: shop
    table: order_lines
    joins: [{to: order, on: a.id = b.id}]
  - {name: client, database: shop, table: a.b.c}
  - name: product
    database: shop
    table: products
    joins: [{to: nothing, on: "x ="}]
    dimensions:
      - name: margin
        sql: |
          price -
          cost; DROP TABLE products
  - {name: line, database: shop, table: t}
`);
  assert.deepEqual(models.map(({ name, joins }) => [name, joins]), [["line", []]]);
  assert.deepEqual(faults.map(({ line, path, message }) => `${line} ${path}: ${message}`), [
    "13 models[2].table: expected a table's name, or schema.name",
    '7 models[0].measures[0].sql: syntax error at or near "FROM"',
    "8 models[0].measures[1].name: another one has this name",
    "17 models[3].joins[0].to: there is no model of that name for the database",
    '17 models[3].joins[0].on: syntax error at or near ")"',
    '20 models[3].dimensions[0].sql: line 2 of it: syntax error at or near ";"',
    "23 models[4].name: another model of the database has this name",
  ]);
});

Deno.test("the models of a catalog stand as a language model reads them", async () => {
  const { models, lines } = await shopModels();
  const visible = models.ofCatalog(database, local, tables());
  assert.equal(
    visible.map((model) => modelText(model)).join("\n"),
    `\
order (also purchase, deal): rows of public.orders -- one for each checkout
  measure net revenue (also turnover) = sum(total) FILTER (WHERE status <> 'returned') -- without returns
  measure units = sum((SELECT sum(l.quantity) FROM order_lines l WHERE l.order_id = orders.id))
  dimension month = date_trunc('month', placed_at)
  join client: orders.customer_id = customers.id
client: rows of public.customers
  dimension market (also region) = customers.country`,
  );
  assert.deepEqual(lines, []);
});

Deno.test("what a catalog does not have is left out, and the log tells of it once for each change", async () => {
  const { models, lines } = await shopModels();
  const without = () =>
    tables().flatMap((each) =>
      each.name === "customers"
        ? []
        : [{ ...each, columns: each.columns.filter(({ name }) => name !== "total") }]
    );
  for (let times = 0; times < 2; times++) {
    const visible = models.ofCatalog(database, local, without());
    assert.deepEqual(
      visible.map(({ name, measures, joins }) => [name, measures.map(({ name }) => name), joins]),
      [
        ["order", ["units"], []],
      ],
    );
  }
  models.ofCatalog(database, local, tables());
  models.ofCatalog({ name: "shop", rightsKey: () => "user:bo" }, local, without());
  assert.deepEqual(lines.map((line) => line.replace(/^\S+ /, "").trim()), [
    "WARN  Models name what the database does not have, and go without it: column total (measure net revenue of model order); table public.customers (model client) database=shop",
    "INFO  The database has all that its models name again database=shop",
  ]);
});

Deno.test("of a part of the catalog, a model shows what that part has", async () => {
  const { models } = await shopModels();
  const [order, ...others] = models.ofTables("shop", tables().slice(2));
  assert.deepEqual(others, []);
  assert.deepEqual(order?.measures.map(({ name }) => name), ["net revenue"]);
  assert.deepEqual(order?.joins, []);
  assert.deepEqual(models.ofTables("crm", tables()), []);
});

Deno.test("a request gets the models that it names, and what it names of them", async () => {
  const { models } = await shopModels();
  const visible = models.ofCatalog(database, local, tables());
  const fitting = (request: string) =>
    fittingModels(visible, request).map(({ model, named }) => [model.name, [...named]]);
  assert.deepEqual(fitting("turnover per region"), [["order", ["net revenue"]], ["client", ["market"]]]);
  assert.deepEqual(fitting("how many clients made purchases?"), [["order", []], ["client", []]]);
  assert.deepEqual(fitting("net price of products"), []);
});

Deno.test("models without a database are those of each that has their tables, and join each other", async () => {
  const text = shop.replaceAll("    database: shop\n", "");
  const only = await read(text);
  assert.deepEqual(only.models.map(({ database }) => database), ["shop", "shop"]);
  const { models, faults } = await read(text, ["shop", "crm"]);
  assert.deepEqual(faults, []);
  const lines: string[] = [];
  const logger = createLogger({ level: "info", format: "json", write: (line) => void lines.push(line) });
  const both = createSemanticModels(models, { logger });
  assert.deepEqual(both.ofCatalog(database, local, tables()).map(({ name, joins }) => [name, joins.length]), [
    ["order", 1],
    ["client", 0],
  ]);
  const other = { name: "crm", rightsKey: () => "" };
  assert.deepEqual(both.ofCatalog(other, local, buildCatalog({ leads: "id" }).tables), []);
  assert.deepEqual(lines, []);
  const named = await read(shop + "  - { name: client, table: customers }\n", ["shop", "crm"]);
  assert.match(named.faults[0]?.message ?? "", /another model of the database has this name/);
});
