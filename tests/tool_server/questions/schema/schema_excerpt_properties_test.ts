import assert from "node:assert/strict";
import fc from "fast-check";
import type { Catalog } from "../../../../src/postgres/catalog/catalog.ts";
import { countTokens } from "../../../../src/text/token_count.ts";
import { excerptSchema } from "../../../../src/tool_server/questions/schema/schema_excerpt.ts";
import { createSchemaIndex } from "../../../../src/tool_server/questions/schema/schema_index.ts";
import { buildCatalog, buildCatalogColumn } from "../build_catalog.ts";

const word = fc.constantFrom(
  "order",
  "customer",
  "Line",
  "qty",
  "select",
  "übersicht",
  "x",
  "archive",
  "2019",
  "stock",
);
const name = fc.oneof(
  { weight: 4, arbitrary: fc.array(word, { minLength: 1, maxLength: 3 }).map((words) => words.join("_")) },
  fc.string({ minLength: 1, maxLength: 20, unit: "grapheme" }).map((text) =>
    text.replace(/[\p{C}\s]/gu, "") || "q"
  ),
);
const text = fc.string({ maxLength: 300, unit: "binary" });

const column = fc.record({
  name,
  type: fc.constantFrom("integer", "text", "date"),
  comment: fc.oneof(fc.constant(""), text),
  labels: fc.oneof(fc.constant([]), fc.array(text, { maxLength: 20 })),
  isPrimaryKey: fc.boolean(),
}).map(({ name, type, ...more }) => buildCatalogColumn(name, type, more));

const table = fc.record({
  schema: fc.constantFrom("public", "hr", "Old Data"),
  name,
  comment: fc.oneof(fc.constant(""), text),
  columns: fc.uniqueArray(column, { maxLength: 25, selector: (each) => each.name }),
  estimatedRows: fc.integer({ min: -1, max: 1e9 }),
});

/** Tables with foreign keys between their first columns, now and then to a table that is not there. */
const catalogs: fc.Arbitrary<Catalog> = fc.record({
  tables: fc.uniqueArray(table, { maxLength: 25, selector: (each) => `${each.schema}.${each.name}` }),
  targets: fc.array(fc.nat({ max: 30 }), { minLength: 25, maxLength: 25 }),
}).map(({ tables, targets }) => ({
  tables: tables.map((entry, at) => {
    const target = tables[targets[at] ?? 0];
    const [from, to] = [entry.columns[0], target?.columns[0]];
    const refers = from !== undefined && target !== undefined && to !== undefined;
    const foreignKeys = refers
      ? [{
        columns: [from.name],
        targetSchema: target.schema,
        targetTable: target.name,
        targetColumns: [to.name],
      }]
      : [];
    return { ...entry, kind: "TABLE" as const, indexes: [], foreignKeys };
  }),
}));

const requests = fc.record({
  question: fc.oneof(text, fc.array(fc.oneof(word, name), { maxLength: 12 }).map((words) => words.join(" "))),
  recentStatements: fc.array(name.map((table) => `SELECT * FROM "${table}" JOIN hr.order ON true`), {
    maxLength: 3,
  }),
  maxTokens: fc.integer({ min: 0, max: 2500 }),
});

Deno.test("an excerpt keeps to its budget, counts right, and is the same each time", async () => {
  await fc.assert(
    fc.asyncProperty(catalogs, requests, async (catalog, request) => {
      const index = await createSchemaIndex({ catalog, samples: new Map() });
      const excerpt = excerptSchema(index, request);
      assert.ok(countTokens(excerpt.text) <= request.maxTokens);
      assert.equal(excerpt.tokens, countTokens(excerpt.text));
      assert.equal(excerpt.omittedTables, catalog.tables.length - excerpt.tables.length);
      assert.deepEqual(excerptSchema(index, request), excerpt);
    }),
    { numRuns: 150 },
  );
});

/** Reads an excerpt's tables back: their names and columns without quotes, in the text's order. */
function readBack(text: string): { table: string; columns: string[] }[] {
  const identifier = String.raw`("(?:[^"]|"")+"|[a-z0-9_]+)`;
  const unquote = (name: string) => name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name;
  const tables: { table: string; columns: string[] }[] = [];
  for (const line of text.split("\n")) {
    const head = new RegExp(String.raw`^TABLE (?:${identifier}\.)?${identifier} \(`).exec(line);
    const field = new RegExp(String.raw`^ {2}${identifier} (?:int|text|date)\b`).exec(line);
    if (head !== null) {
      tables.push({ table: `${unquote(head[1] ?? "public")}.${unquote(head[2] ?? "")}`, columns: [] });
    }
    if (field !== null) tables.at(-1)?.columns.push(unquote(field[1] ?? ""));
  }
  return tables;
}

Deno.test("what an excerpt describes is in the catalog, each table once, and is what it says it describes", async () => {
  await fc.assert(
    fc.asyncProperty(catalogs, requests, async (catalog, request) => {
      const index = await createSchemaIndex({ catalog, samples: new Map() });
      const excerpt = excerptSchema(index, request);
      const known = new Map(catalog.tables.map((each) => [`${each.schema}.${each.name}`, each]));
      const described = readBack(excerpt.text);
      assert.deepEqual(
        described.map(({ table }) => table),
        excerpt.tables.map((each) => `${each.schema}.${each.name}`),
      );
      for (const { table, columns } of described) {
        const names = known.get(table)?.columns.map((each) => each.name) ?? [];
        assert.ok(columns.every((each) => names.includes(each)), table);
      }
    }),
    { numRuns: 150 },
  );
});

Deno.test("long and strange requests are answered", async () => {
  const index = await createSchemaIndex({
    catalog: buildCatalog({ orders: "id* integer, placed_on date", customers: "id* integer, name text" }),
    samples: new Map(),
  });
  const strange = [
    "orders ".repeat(15_000),
    '"'.repeat(100_000),
    "“".repeat(100_000),
    "a.".repeat(50_000),
    "_".repeat(100_000),
    "🦉".repeat(25_000),
    "ordersʼ\u0000\ud800 of\u202e",
    "aB".repeat(50_000),
    "from ".repeat(20_000),
  ];
  for (const question of strange) {
    const excerpt = excerptSchema(index, { question, recentStatements: [question], maxTokens: 200 });
    assert.equal(excerpt.tables.length, 2);
  }
});
