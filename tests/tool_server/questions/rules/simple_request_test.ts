import assert from "node:assert/strict";
import fc from "fast-check";
import { loadModule, parseSync } from "libpg-query";
import type { Catalog } from "../../../../src/postgres/catalog/catalog.ts";
import { writeStatement } from "../../../../src/tool_server/questions/rules/simple_request.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { refusedRequests } from "./refused_requests.ts";
import { shopCatalog, shopSchema } from "./shop_catalog.ts";

await loadModule();

/** Pairs of a request, which is a comment there, and its statement. */
const simpleRequests = Deno.readTextFileSync(new URL("simple_requests.sql", import.meta.url))
  .trimEnd().split(/;\n\n|;$/).filter((entry) => entry !== "").map(
    (entry): [request: string, sql: string] => {
      const [request = "", ...lines] = entry.split("\n");
      return [request.slice("-- ".length), lines.join("\n")];
    },
  );

function isOneSelect(sql: string): boolean {
  const statements = parseSync(sql).stmts ?? [];
  return statements.length === 1 && Object.keys(statements[0]?.stmt ?? {}).join() === "SelectStmt";
}

function statementOf(request: string, catalog: Catalog = shopCatalog): string {
  const answer = writeStatement(request, catalog);
  return answer.kind === "statement"
    ? answer.sql
    : answer.reason.replace("Cannot answer the request", "refused");
}

for (const [request, sql] of simpleRequests) {
  Deno.test(`writeStatement() writes the statement for: ${request}`, () => {
    assert.equal(statementOf(request), sql);
    assert.ok(isOneSelect(statementOf(request)));
  });
}

for (const [request, reason] of refusedRequests) {
  Deno.test(`writeStatement() refuses: ${JSON.stringify(request)}`, () => {
    const answer = writeStatement(request, shopCatalog);
    assert.ok(answer.kind === "refused", statementOf(request));
    assert.ok(answer.reason.startsWith(`Cannot answer the request: ${reason}`), answer.reason);
    assert.match(
      answer.reason,
      /\. The local provider reads simple requests over one table .* send SQL, or /,
    );
  });
}

Deno.test("writeStatement() names the table that it reads", () => {
  const named = (request: string) => {
    const answer = writeStatement(request, shopCatalog);
    return answer.kind === "statement" ? answer.table : undefined;
  };
  assert.equal(named("count order lines"), "order_lines");
  assert.equal(named("how many shipments"), "archive.shipments");
});

/** The shop's catalog with changes to one table. */
function variant(change: (tables: Catalog["tables"]) => Catalog["tables"]): Catalog {
  return { tables: change(shopCatalog.tables) };
}

Deno.test("writeStatement() refuses a name that two schemas have, unless the schema is said", () => {
  const catalog = variant((tables) => [
    ...tables,
    ...tables.filter(({ name }) => name === "orders").map((table) => ({ ...table, schema: "archive" })),
  ]);
  assert.match(
    statementOf("count orders", catalog),
    /^refused: ambiguous: it could be about orders, archive\.orders\. /,
  );
  assert.equal(statementOf("count archive.orders", catalog), "SELECT count(*) AS count\nFROM archive.orders");
  assert.equal(statementOf("count public.orders", catalog), "SELECT count(*) AS count\nFROM orders");
});

Deno.test("writeStatement() refuses what thousands of tables could be without reading it against each", () => {
  const catalog = variant((tables) =>
    Array.from(
      { length: 3000 },
      (_, tenant) => tables.map((table) => ({ ...table, schema: `tenant${tenant}` })),
    ).flat()
  );
  assert.match(
    statementOf("count orders", catalog),
    /^refused: ambiguous: .*tenant7\.orders and 2992 more\. /,
  );
  assert.match(
    statementOf("average rating", catalog),
    /^refused: ambiguous: .*tenant7\.reviews and 2992 more\. /,
  );
  assert.equal(
    statementOf("count tenant12.orders", catalog),
    "SELECT count(*) AS count\nFROM tenant12.orders",
  );
});

Deno.test("writeStatement() prefers a table to a view of the same name", () => {
  const catalog = variant((tables) => [
    ...tables.filter(({ name }) => name === "orders").map((table) => ({
      ...table,
      schema: "api",
      kind: "VIEW" as const,
    })),
    ...tables,
  ]);
  assert.equal(statementOf("count orders", catalog), "SELECT count(*) AS count\nFROM orders");
});

Deno.test("writeStatement() refuses a column that two columns could be", () => {
  const catalog = variant((tables) =>
    tables.map((table) => ({
      ...table,
      columns: table.name !== "customers"
        ? table.columns
        : table.columns.flatMap((column) =>
          column.name === "name"
            ? [{ ...column, name: "first_name" }, { ...column, name: "last_name" }]
            : [column]
        ),
    }))
  );
  assert.match(
    statementOf("customers sorted by name", catalog),
    /^refused: "name" could be first_name or last_name\. /,
  );
  assert.equal(
    statementOf("last name of customers", catalog),
    "SELECT last_name\nFROM customers\nORDER BY id",
  );
});

Deno.test("writeStatement() leaves out columns that only a machine reads, and prefers a birthday to no guess", () => {
  const [customers] = shopCatalog.tables.filter(({ name }) => name === "customers");
  const [key, name] = customers?.columns ?? [];
  assert.ok(customers && key && name);
  const columns = [
    key,
    name,
    { ...name, name: "embedding", type: "vector(3)", vectorDimensions: 3 },
    { ...name, name: "birth_date", type: "date" },
    { ...name, name: "created_at", type: "timestamp with time zone" },
  ];
  const catalog = { tables: [{ ...customers, columns }] };
  assert.equal(
    statementOf("newest customer", catalog),
    "SELECT id, name, birth_date, created_at\nFROM customers\nWHERE created_at = (SELECT max(created_at) FROM customers)\nORDER BY id",
  );
  assert.match(statementOf("oldest customer", catalog), /^refused: not understood: "oldest"\. /);
});

Deno.test("writeStatement() compares money and prices in cents by what they hold", () => {
  const [products] = shopCatalog.tables.filter(({ name }) => name === "products");
  assert.ok(products);
  const priced = (name: string, type: string): Catalog => ({
    tables: [{
      ...products,
      columns: products.columns.map((column) => column.name === "price" ? { ...column, name, type } : column),
    }],
  });
  assert.match(
    statementOf("products with price over 10", priced("price", "money")),
    /WHERE price::numeric > 10\n/,
  );
  assert.match(
    statementOf("average price of products", priced("price", "money")),
    /^SELECT avg\(price::numeric\) /,
  );
  assert.match(
    statementOf("cheapest product", priced("price_cents", "integer")),
    /WHERE price_cents = \(SELECT min\(price_cents\) FROM products\)\n/,
  );
  assert.match(statementOf("products under $20", priced("price_cents", "integer")), /^refused: /);
  assert.match(statementOf("products with price under 20", priced("price_cents", "integer")), /^refused: /);
});

Deno.test("writeStatement() asks the table that is named, not one with a column of that name", () => {
  const [customers] = shopCatalog.tables.filter(({ name }) => name === "customers");
  const [key, name] = customers?.columns ?? [];
  assert.ok(customers && key && name);
  const patients = { ...customers, name: "patient", columns: [key, name, { ...name, name: "sex" }] };
  const nurses = { ...customers, name: "nurse", columns: [key, { ...name, name: "patient" }] };
  const catalog = { tables: [nurses, patients] };
  assert.match(statementOf("how many patients are M", catalog), /^refused: not understood: "m"/);
  assert.equal(
    statementOf("how many patients with sex M", catalog),
    "SELECT count(*) AS count\nFROM patient\nWHERE lower(sex) = lower('M')",
  );
});

Deno.test("writeStatement() shows all of what has no plural", () => {
  const [products] = shopCatalog.tables.filter(({ name }) => name === "products");
  assert.ok(products);
  const catalog = { tables: [{ ...products, name: "equipment" }] };
  assert.equal(
    statementOf("cheapest equipment", catalog),
    "SELECT *\nFROM equipment\nORDER BY price, id",
  );
});

Deno.test("writeStatement() reads a participle by its date where no status could tell it", () => {
  const orders = shopCatalog.tables.filter(({ name }) => name === "orders");
  const withStatus = (
    columns: (table: Catalog["tables"][number]) => Catalog["tables"][number]["columns"],
  ) => ({
    tables: orders.map((table) => ({ ...table, columns: columns(table) })),
  });
  const without = withStatus(({ columns }) => columns.filter(({ name }) => name !== "status"));
  assert.equal(
    statementOf("how many orders were delivered", without),
    "SELECT count(*) AS count\nFROM orders\nWHERE delivered_at IS NOT NULL",
  );
  const withText = withStatus(({ columns }) =>
    columns.map((column) => column.name === "status" ? { ...column, type: "text", labels: [] } : column)
  );
  assert.match(
    statementOf("how many orders were delivered", withText),
    /^refused: not understood: "delivered"/,
  );
});

Deno.test("writeStatement() refuses a value that a column has no room for or does not allow", () => {
  const changed = (more: object) =>
    variant((tables) =>
      tables.map((table) => ({
        ...table,
        columns: table.columns.map((column) => column.name === "country" ? { ...column, ...more } : column),
      }))
    );
  const short = changed({ type: "character(2)" });
  assert.match(statementOf("customers in country Germany", short), /^refused: not understood: "country"/);
  assert.match(statementOf("customers in country DE", short), /lower\('DE'\)/);
  const listed = changed({ allowedValues: ["Austria", "Germany"] });
  assert.match(statementOf("customers in country germany", listed), /lower\('germany'\)/);
  assert.match(statementOf("customers in country Norway", listed), /^refused: not understood: "country"/);
});

Deno.test("writeStatement() refuses what is too long, holds NUL, or has no tables", () => {
  assert.match(statementOf("orders ".repeat(200)), /^refused: a simple request has at most 1000 characters/);
  assert.match(statementOf("orders\0"), /^refused: a request cannot hold a NUL/);
  assert.match(statementOf("count orders", { tables: [] }), /^refused: you may read no table/);
});

const vocabulary = [
  ...new Set(
    [...simpleRequests, ...refusedRequests].flatMap(([request]) => request.split(/(?<=\s)|(?=[,'"?])/)),
  ),
];

Deno.test("writeStatement() never throws, and what it writes is one SELECT, whatever the text", () => {
  const sentence = fc.array(fc.constantFrom(...vocabulary), { maxLength: 12 }).map((words) =>
    words.join(" ")
  );
  const mixed = fc.array(fc.oneof(fc.constantFrom(...vocabulary), fc.string({ unit: "binary" })), {
    maxLength: 9,
  })
    .map((words) => words.join(" "));
  const text = fc.oneof(fc.string({ unit: "binary" }), sentence, mixed);
  fc.assert(
    fc.property(text, (request) => {
      const answer = writeStatement(request, shopCatalog);
      assert.ok(answer.kind === "refused" || isOneSelect(answer.sql));
    }),
    { numRuns: 3000 },
  );
});

Deno.test("writeStatement() keeps a quoted value one literal, whatever is in it", () => {
  const text = fc.string({ unit: "binary" }).filter((value) => !value.includes("\0"));
  fc.assert(fc.property(text, (value) => {
    const sql = statementOf(`customers where name is '${value.replaceAll("'", "''")}'`);
    assert.ok(isOneSelect(sql), sql);
    const where = JSON.stringify(parseSync(sql).stmts);
    assert.ok(where.includes(JSON.stringify(value.toWellFormed())), where);
  }));
});

testWithPostgres("every statement that writeStatement() writes runs on PostgreSQL", async () => {
  await using database = await createTestDatabase();
  await database.query(shopSchema);
  for (const [request] of simpleRequests) {
    await assert.doesNotReject(database.query(statementOf(request)), request);
  }
});
