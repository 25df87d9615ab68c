import assert from "node:assert/strict";
import { createDemoDatabase, demoDatabaseOptions } from "../../src/demo/demo_database.ts";
import { handbookSections, readHandbook } from "../../src/demo/demo_handbook.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { localCompletion } from "../../src/llm/local/local_completion.ts";
import { localEmbedding } from "../../src/llm/local/local_embedding.ts";
import { pg } from "../../src/postgres/connection.ts";
import { fuseTables } from "../../src/rag_server/search/fusion.ts";
import { words } from "../../src/text/words.ts";
import { candidateOf, tableSearch } from "../rag_server/fused_tables.ts";
import { handbookQuestions } from "./handbook_questions.ts";

const signal = new AbortController().signal;

interface Found {
  readonly id: string;
  readonly page: string;
  readonly section: string;
  readonly content: string;
  readonly distance: string;
}

async function openHandbook() {
  const statementTimeoutMs = 30_000;
  const server = await createDemoDatabase({ statementTimeoutMs, logger: silentLogger });
  const { user, database, openStream } = demoDatabaseOptions(server, statementTimeoutMs);
  assert.ok(openStream !== undefined);
  const client = new pg.Client({ user, database, ssl: false, stream: openStream });
  await client.connect();
  return {
    read: async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
      (await client.query<Row>(sql, values)).rows,
    async [Symbol.asyncDispose]() {
      await client.end();
      await server.close();
    },
  };
}

type Handbook = Awaited<ReturnType<typeof openHandbook>>;

/** Both searches as plain as they can be, over all rows, and their fusion. */
async function topFive(handbook: Handbook, question: string): Promise<Found[]> {
  const { vectors } = await localEmbedding().embed({ texts: [question], purpose: "query", signal });
  const near = await handbook.read<Found>(
    // the sum keeps the index out, which would give some rows only
    "SELECT id::text, page, section, content, embedding <=> $1::vector AS distance FROM handbook_pages ORDER BY (embedding <=> $1::vector) + 0, id",
    [`[${vectors[0]?.join()}]`],
  );
  const anyWord = [...words(question)].join(" or ");
  const worded = await handbook.read<{ id: string; score: string }>(
    `SELECT id::text, ts_rank(text, query, 1) AS score FROM handbook_pages, to_tsvector('english', content) text,
       websearch_to_tsquery('english', $1) query WHERE text @@ query ORDER BY ts_rank(text, query, 1) DESC, id`,
    [anyWord],
  );
  const candidates = near.map(({ id, distance }) => {
    const found = worded.find((each) => each.id === id);
    return candidateOf({ id, nearestScore: -Number(distance), matchingScore: Number(found?.score ?? 0) });
  });
  const best = fuseTables([tableSearch(candidates)], 0.3).slice(0, 5);
  return best.flatMap((document) => near.filter(({ id }) => id === document.id));
}

Deno.test("handbookSections() cuts a page at its headings and refuses one without front matter", () => {
  const start = "---\naudience: managers\nupdated: 2025-02-03\n---\n\n# Tea\n\n";
  const common = { page: "tea", title: "Tea", audience: "managers", updatedOn: "2025-02-03" };
  assert.deepEqual(
    handbookSections("tea", `${start}For all.\n\n## Green\n\n70 degrees.\n\n## Black\n\nHot.\n`),
    [
      { ...common, section: "Green", content: "# Tea › Green\n\nFor all.\n\n70 degrees." },
      { ...common, section: "Black", content: "# Tea › Black\n\nHot." },
    ],
  );
  assert.throws(() => handbookSections("tea", "# Tea\n\n## Green\n\n70 degrees."), {
    message: "Cannot read the handbook's page tea: it has no front matter and title",
  });
});

Deno.test("the demo's handbook", async (t) => {
  await using handbook = await openHandbook();

  await t.step("holds what is in its folder", async () => {
    const rows = await handbook.read(`SELECT page, title, section, audience, updated_on::text AS "updatedOn",
      content FROM handbook_pages ORDER BY id`);
    assert.deepEqual(
      rows,
      await readHandbook(),
      "dist/ holds an old snapshot: run tools/build_demo_snapshot.ts",
    );
    assert.ok(rows.length >= 100);
    assert.deepEqual(
      await handbook.read("SELECT DISTINCT audience FROM handbook_pages ORDER BY 1"),
      [{ audience: "everyone" }, { audience: "managers" }, { audience: "warehouse" }],
    );
  });

  await t.step("has sections short enough to quote", async () => {
    for (const { content, page, section } of await readHandbook()) {
      const count = content.split(/\s+/).length;
      assert.ok(count >= 25 && count <= 250, `${page}, ${section}: ${count} words`);
    }
  });

  await t.step("says what the shop's rows say", async () => {
    const facts = await handbook.read<{ page: string; section: string; fact: string }>(`
      SELECT 'shipping' AS page, 'Shipping fees' AS section, shipping_fee::text AS fact
        FROM orders WHERE shipping_fee > 0 GROUP BY 3
      UNION ALL SELECT 'orders', 'The course of an order', unnest(enum_range(NULL::order_status))::text
      UNION ALL SELECT 'loyalty', 'Benefits of each tier', unnest(enum_range(NULL::customer_tier))::text
      UNION ALL SELECT 'promotions', 'Allowed discounts', discount_percent::text
        FROM orders WHERE discount_percent > 0 GROUP BY 3
      UNION ALL SELECT 'catalog', 'Departments and categories', name FROM categories WHERE parent_id IS NULL
      UNION ALL SELECT 'catalog', 'Tags', unnest(tags) FROM products GROUP BY 3
      UNION ALL SELECT 'warranties', 'How long a warranty lasts', attributes->>'warranty_years'
        FROM products WHERE attributes ? 'warranty_years' GROUP BY 3`);
    assert.equal(facts.length, 3 + 6 + 3 + 4 + 5 + 7 + 4);
    const sections = await readHandbook();
    for (const { page, section, fact } of facts) {
      const written = sections.find((one) => one.page === page && one.section === section);
      assert.ok(written?.content.includes(fact), `${page}, ${section}: ${fact}`);
    }
  });

  await t.step("has embeddings that the provider still makes", async () => {
    const [row] = await handbook.read<{ content: string; embedding: string }>(
      "SELECT content, embedding::text FROM handbook_pages WHERE id = 7",
    );
    const { vectors } = await localEmbedding().embed({
      texts: [row?.content ?? ""],
      purpose: "document",
      signal,
    });
    assert.deepEqual(new Float32Array(JSON.parse(row?.embedding ?? "[]")), vectors[0]);
  });

  await t.step("answers the questions that it should", async () => {
    const notFound: string[] = [];
    const notAnswered: string[] = [];
    for (const { question, page, section, phrase } of handbookQuestions) {
      const found = await topFive(handbook, question);
      if (!found.some((row) => row.page === page && row.section === section)) notFound.push(question);
      const { text } = await localCompletion().complete({
        messages: [{ role: "user", content: question }],
        grounding: { question, documents: found.map(({ content }) => content) },
        signal,
      });
      if (!text.includes(phrase)) notAnswered.push(question);
    }
    assert.equal(handbookQuestions.length, 30);
    assert.ok(notFound.length <= 3, `not found: ${notFound.join(" ")}`);
    assert.ok(notAnswered.length <= 8, `not answered: ${notAnswered.join(" ")}`);
  });
});
