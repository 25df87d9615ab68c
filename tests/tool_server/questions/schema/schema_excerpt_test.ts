import assert from "node:assert/strict";
import type { Catalog } from "../../../../src/postgres/catalog/catalog.ts";
import { type SampleValues, tableKey } from "../../../../src/postgres/catalog/sample_values.ts";
import {
  excerptSchema,
  type SchemaExcerpt,
} from "../../../../src/tool_server/questions/schema/schema_excerpt.ts";
import { createSchemaIndex } from "../../../../src/tool_server/questions/schema/schema_index.ts";
import { buildCatalog, buildCatalogColumn, unrelatedTables } from "../build_catalog.ts";

const library = {
  members: "id* bigint, full_name text, city text, joined_on date",
  books: "id* bigint, title text, isbn text, publisher_id bigint > publishers.id",
  authors: "id* bigint, name text, born integer",
  book_authors: "book_id* bigint > books.id, author_id* bigint > authors.id",
  publishers: "id* bigint, name text, address text",
  loans:
    "id* bigint, member_id bigint > members.id, book_id bigint > books.id, due_date date, returned_at timestamp with time zone",
  loans_archive:
    "id* bigint, member_id bigint, book_id bigint, due_date date, returned_at timestamp with time zone",
};

async function ask(
  catalog: Catalog,
  question: string,
  options: {
    maxTokens?: number;
    samples?: SampleValues;
    recentStatements?: readonly string[];
    meantTables?: readonly number[];
  } = {},
): Promise<SchemaExcerpt & { names: string[] }> {
  const { maxTokens = 700, samples = new Map(), ...more } = options;
  const index = await createSchemaIndex({ catalog, samples });
  const excerpt = excerptSchema(index, { question, maxTokens, ...more });
  return { ...excerpt, names: excerpt.tables.map(({ schema, name }) => `${schema}.${name}`) };
}

function amongMany(tables: Readonly<Record<string, string>>): Catalog {
  return buildCatalog({ ...unrelatedTables(120), ...tables });
}

Deno.test("a schema that fits is written whole, with its joins, and the same for every request", async () => {
  const catalog = buildCatalog({
    loans: library.loans,
    members: library.members,
    books: "id* bigint, title text",
  }, {
    members: { comment: "People with a card", estimatedRows: 1234 },
  });
  const excerpt = await ask(catalog, "how many members are there?");
  assert.deepEqual(excerpt.names, ["public.loans", "public.members", "public.books"]);
  assert.equal(excerpt.omittedTables, 0);
  assert.equal(
    excerpt.text.slice(excerpt.text.indexOf("TABLE members"), excerpt.text.indexOf("TABLE books")),
    `TABLE members ( -- People with a card; ~1200 rows
  id bigint PK,
  full_name text,
  city text,
  joined_on date,
)
`,
  );
  assert.match(excerpt.text, / {2}returned_at timestamptz,\n/);
  assert.match(excerpt.text, /-- Joins:\n[^]*loans\.member_id = members\.id\n/);
  for (const question of ["books by title", "which loan is due in 2025?", "?"]) {
    assert.equal((await ask(catalog, question)).text, excerpt.text);
  }
});

Deno.test("in a schema that fits, a wide table that the request does not hit is cut", async () => {
  const catalog = buildCatalog({
    members: library.members,
    readings: "id* bigint, " + Array.from({ length: 300 }, (_, i) => `m${i} integer`).join(", "),
    samples: "id* bigint, " + Array.from({ length: 300 }, (_, i) => `s${i} integer`).join(", "),
  });
  const { text, omittedTables } = await ask(catalog, "members with readings", { maxTokens: 20_000 });
  assert.equal(omittedTables, 0);
  assert.match(text, /\n {2}m299 int,\n/);
  assert.match(text, /TABLE samples \(\n {2}id bigint PK,\n[^]* {2}-- … 241 more columns\n\)/);
  assert.doesNotMatch((await ask(catalog, "?", { maxTokens: 20_000 })).text, /more columns/);
  const recentStatements = ["SELECT s7 FROM samples"];
  const followed = await ask(catalog, "and of the members?", { maxTokens: 20_000, recentStatements });
  assert.match(followed.text, /\n {2}s299 int,\n/);
  assert.equal((await ask(catalog, "members with readings", { maxTokens: 2_000 })).omittedTables, 0);
});

Deno.test("unique columns are told, and which foreign keys always refer to a row", async () => {
  const { tables } = buildCatalog({
    loans: "id* bigint, member_id bigint > members.id, book_id bigint > books.id, no text, note text",
    members: library.members,
    books: "id* bigint, title text",
  });
  const changed = new Map([["member_id", { nullable: false }], ["no", { isUnique: true, nullable: false }]]);
  const catalog = {
    tables: tables.map((table) => ({
      ...table,
      columns: table.columns.map((column) => ({ ...column, ...changed.get(column.name) })),
    })),
  };
  const { text } = await ask(catalog, "loans");
  assert.match(
    text,
    /id bigint PK,\n {2}member_id bigint NOT NULL,\n {2}book_id bigint,\n {2}no text UNIQUE,\n {2}note text,\n/,
  );
});

Deno.test("of a large schema the named tables are described, with those between them", async () => {
  const { names, text, omittedTables, tables } = await ask(
    amongMany(library),
    "Which author wrote the most books?",
  );
  assert.deepEqual(names.slice(0, 3).sort(), ["public.authors", "public.book_authors", "public.books"]);
  assert.match(text, /public\.book_authors\.author_id = public\.authors\.id/);
  assert.equal(omittedTables, 127 - tables.length);
});

Deno.test("tables that only join the named ones come before others that share their words", async () => {
  const note = "id* bigint, body text";
  const catalog = amongMany({
    pilots: "id* bigint, name text",
    crews: "id* bigint, pilot_id bigint > pilots.id, rota_id bigint > rotas.id",
    rotas: "id* bigint, week integer",
    legs: "id* bigint, rota_id bigint > rotas.id, airport_id bigint > airports.id",
    airports: "id* bigint, code text",
    pilot_notes: `${note}, pilot_id bigint > pilots.id`,
    pilot_photos: `${note}, pilot_id bigint > pilots.id`,
    airport_notes: `${note}, airport_id bigint > airports.id`,
    airport_photos: `${note}, airport_id bigint > airports.id`,
  });
  const { names } = await ask(catalog, "Which pilots were at which airports?");
  const expected = ["airports", "crews", "legs", "pilots", "rotas"].map((name) => `public.${name}`);
  assert.deepEqual(names.slice(0, 5).sort(), expected);
});

Deno.test("a join that no foreign key declares is found by the column's name and said to be so", async () => {
  const { text } = await ask(
    buildCatalog({
      customers: "id* bigint, name text",
      invoices: "id* bigint, customer_id bigint, total numeric",
    }),
    "invoices per customer",
  );
  assert.match(text, /invoices\.customer_id = customers\.id -- by the names, not declared/);
});

Deno.test("a key of several columns and one to the same table are joined as they are", async () => {
  const key = {
    columns: ["year", "no"],
    targetSchema: "public",
    targetTable: "bills",
    targetColumns: ["year", "no"],
  };
  const boss = { columns: ["boss_id"], targetSchema: "public", targetTable: "staff", targetColumns: ["id"] };
  const catalog = buildCatalog(
    {
      bills: "year* integer, no* integer",
      bill_lines: "year integer, no integer, amount numeric",
      staff: "id* integer, boss_id integer",
    },
    { bill_lines: { foreignKeys: [key] }, staff: { foreignKeys: [boss] } },
  );
  const { text } = await ask(catalog, "bills and staff");
  assert.match(text, /bill_lines\.year = bills\.year AND bill_lines\.no = bills\.no$/m);
  assert.match(text, /staff\.boss_id = staff\.id -- the table with itself/);
});

const results: readonly (readonly [question: string, table: string, why: string])[] = [
  ["Where do our clients live?", "crm.cust_mst", "a synonym, abbreviated"],
  ["total qty in the depot", "inv.stock_lvl", "an abbreviation in the request"],
  ["list all salesorderheader rows", "sales.salesorderheader", "a name in one word"],
  ["sales order headers of May", "sales.salesorderheader", "the words of a name in one word"],
  ["shipped parcels", "logistics.shipments", "a verb"],
  ["the newest shpmnts", "logistics.shipments", "a word without its vowels"],
  ["how many emplyoees?", "hr.employees", "a misspelling"],
  ["general ledger balances", "fin.gl_bal", "initials"],
  ["average KÜNDIGUNGSFRIST", "hr.employees", "an accent, and a comment on a column"],
  ["people who failed the audit", "quality.inspections", "a comment on the table"],
  ["anything on Ponta Delgada?", "logistics.ports", "a sampled value"],
  ["number of deferred ones", "fin.gl_bal", "an enumeration's label"],
];

function manyTeams(): Catalog {
  const catalog = amongMany({
    "crm.cust_mst": "cust_id* bigint, nm text, addr text",
    "inv.stock_lvl": "item_no text, whs text, qty numeric",
    "sales.salesorderheader": "salesorderid* bigint, orderdate date, totaldue numeric",
    "logistics.shipments": "id* bigint, sent_on date",
    "logistics.ports": "id* bigint, label text",
    "hr.employees": "id* bigint, full_name text",
    "fin.gl_bal": "acct text, prd text, amt numeric",
    "quality.inspections": "id* bigint, verdict text",
  });
  const tables = catalog.tables.map((table) => {
    if (table.name === "employees") {
      const notice = buildCatalogColumn("ntc", "interval", { comment: "Kundigungsfrist" });
      return { ...table, columns: [...table.columns, notice] };
    }
    if (table.name === "gl_bal") {
      const state = buildCatalogColumn("st", "fin.state", { labels: ["open", "deferred"] });
      return { ...table, columns: [...table.columns, state] };
    }
    return table.name === "inspections" ? { ...table, comment: "Every audit and who failed it" } : table;
  });
  return { tables };
}

for (const [question, table, why] of results) {
  Deno.test(`"${question}" leads to ${table}: ${why}`, async () => {
    const samples = new Map([[
      tableKey("logistics", "ports"),
      new Map([["label", ["Funchal", "Ponta Delgada"]]]),
    ]]);
    const { names } = await ask(manyTeams(), question, { samples });
    assert.equal(names[0], table);
  });
}

Deno.test("a value that the request names stands first among its column's values", async () => {
  const cities = Array.from({ length: 30 }, (_, at) => `City ${String.fromCharCode(65 + at % 26)}${at}`);
  const samples = new Map([[tableKey("public", "members"), new Map([["city", [...cities, "Évora"]]])]]);
  const { text } = await ask(amongMany(library), "members from evora", { samples });
  assert.match(text, /city text, -- values: 'Évora', 'City A0'/);
});

Deno.test("a copy comes after its original unless the request asks for it", async () => {
  const asked = await ask(amongMany(library), "loans in the archive");
  assert.equal(asked.names[0], "public.loans_archive");
  const plain = await ask(amongMany(library), "overdue loans");
  assert.equal(plain.names[0], "public.loans");
});

Deno.test("an archive is described where the request names a year", async () => {
  assert.ok((await ask(amongMany(library), "loans in 2019")).names.includes("public.loans_archive"));
});

Deno.test("tables of one name are told apart by the module that the request names", async () => {
  const columns = "id* bigint, opened_on date, note text, amount numeric";
  const modules = ["hr", "fin", "crm", "ops", "legal"];
  const bySchema = amongMany(Object.fromEntries(modules.map((name) => [`${name}.requests`, columns])));
  assert.equal((await ask(bySchema, "open requests in human resources")).names[0], "hr.requests");
  const byPrefix = amongMany(Object.fromEntries(modules.map((name) => [`app.${name}_requests`, columns])));
  assert.equal((await ask(byPrefix, "finance requests by month")).names[0], "app.fin_requests");
});

Deno.test("a name written exactly wins over everything", async () => {
  const catalog = amongMany({ ...library, "odd.x_7": "id* integer, note text" });
  for (
    const question of ["books loans members in odd.x_7", 'books loans members of "x_7"', "join x_7 to books"]
  ) {
    assert.equal((await ask(catalog, question)).names[0], "odd.x_7");
  }
});

Deno.test("the last statements' tables matter to a request that follows on them", async () => {
  const recentStatements = ["SELECT 1 FROM public.books", 'SELECT count(*) FROM "loans" l'];
  const { names } = await ask(amongMany(library), "and by month?", { recentStatements });
  assert.equal(names[0], "public.loans");
  assert.ok(names.includes("public.books"));
});

Deno.test("a table that a request is known to mean comes first", async () => {
  const catalog = amongMany(library);
  const loans = catalog.tables.findIndex(({ name }) => name === "loans");
  const { names } = await ask(catalog, "and by month?", { meantTables: [loans] });
  assert.equal(names[0], "public.loans");
});

Deno.test("a request that hits nothing gets the most connected tables and the schemas", async () => {
  const catalog = amongMany(library);
  for (const question of ["what's in here?", "", "🦉", "これは何ですか"]) {
    const { names, text } = await ask(catalog, question);
    assert.ok(names.slice(0, 4).includes("public.books"), question);
    assert.match(text, /^-- Schemas: plant \(120 tables\), public \(7 tables\)$/m);
  }
});

Deno.test("a wide table keeps its keys and the request's columns and counts the rest", async () => {
  const columns = Array.from({ length: 300 }, (_, at) => `filler_${at} numeric`);
  const wide = [
    "id* bigint",
    ...columns.slice(0, 200),
    "book_id bigint > books.id",
    "damage_fee numeric",
    ...columns.slice(200),
  ];
  const { text } = await ask(
    amongMany({ ...library, loans: wide.join(", ") }),
    "damage fee of loans by book title",
  );
  const [described = ""] = /TABLE public\.loans \([^]*?\n\)/.exec(text) ?? [];
  for (const line of ["id bigint PK,", "book_id bigint,", "damage_fee numeric,"]) {
    assert.ok(described.includes(line), line);
  }
  assert.match(described, /-- … \d+ more columns/);
});

Deno.test("names that need quotes are quoted; others are bare", async () => {
  const { text } = await ask(buildCatalog({ "Sales.Order": "Id* integer, user text, plain text" }), "orders");
  assert.match(text, /^TABLE "Sales"\."Order" \(\n {2}"Id" int PK,\n {2}"user" text,\n {2}plain text,\n\)$/);
});

Deno.test("text from the database stays on its line and in its bounds", async () => {
  const comment = "Line\nDROP */ ` \u202e\u0000 ignore \u001b[31m" + "x".repeat(500);
  const catalog = buildCatalog({ notes: "id* integer, body text" }, { notes: { comment } });
  const samples = new Map([[
    tableKey("public", "notes"),
    new Map([["body", ["fine", "two\nlines", "it's"]]]),
  ]]);
  const { text } = await ask(catalog, "notes", { samples });
  const [first = "", ...rest] = text.split("\n");
  assert.equal(first, `TABLE notes ( -- Line DROP ignore [31m${"x".repeat(98)}…`);
  assert.equal(rest[1], "  body text, -- values: 'fine', 'it''s'");
});

Deno.test("where nothing fits the excerpt is empty", async () => {
  assert.deepEqual(await ask(buildCatalog({ notes: "id* integer" }), "notes", { maxTokens: 3 }), {
    text: "",
    tables: [],
    names: [],
    tokens: 0,
    omittedTables: 1,
  });
  const none = await ask({ tables: [] }, "anything");
  assert.equal(none.text, "");
});
