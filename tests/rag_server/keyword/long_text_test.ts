import assert from "node:assert/strict";
import { quoteLiteral } from "../../../src/postgres/sql_text.ts";
import { lexemesSql } from "../../../src/rag_server/keyword/term_sql.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "./fixture.ts";

const docs = `CREATE TABLE docs (id int PRIMARY KEY, body text);
  INSERT INTO docs VALUES (1, 'the green whale swims'), (2, 'green grass')`;

/** Different letters of East Asia, as SQL. @param sign what stands behind each 40 of them */
const letters = (first: number, count: number, sign = "") =>
  `(SELECT string_agg(chr(${first} + i * 7919 % 20000) || CASE WHEN i % 40 = 0 THEN '${sign}' ELSE '' END, '')
    FROM generate_series(1, ${count}) i)`;

/** Texts with words that PostgreSQL leaves out as too long, or with more words than fit into one tsvector. */
const longTexts = [
  "repeat('1', 2100) || ' V'",
  "repeat('acgt', 1000) || '61'",
  letters(19_968, 100_000, "，"),
  letters(131_072, 100_000),
];

testWithPostgres("no text is too long for an index, whatever its words", async () => {
  const rows = longTexts.map((text, at) => `(${at} + $1, ${text} || ' seen')`);
  const insert = (from: number) => `INSERT INTO docs VALUES ${rows.join(",").replaceAll("$1", String(from))}`;
  await using fixture = await createKeywordFixture(`${docs}; ${insert(10)}`);
  await fixture.build();
  await fixture.query(insert(20));
  const index = await fixture.find();
  assert.equal((await fixture.ask(index, "seen", { limit: 20 })).length, 4, "what follows within the bound");
  assert.deepEqual((await fixture.ask(index, `whale ${"a".repeat(1_900)}12`)).map(({ id }) => id), ["1"]);
});

testWithPostgres("what is read of long words and long questions is bounded", async () => {
  await using fixture = await createKeywordFixture(docs);
  const terms = async (text: string) => {
    const rows = await fixture.query(
      `SELECT kind, term FROM (${lexemesSql(text, "'pg_catalog.german'", true)}) t ORDER BY 1, 2`,
    );
    return rows.map(([kind, term]) => `${kind}${term}`);
  };
  const word = Array.from({ length: 64 }, (_, at) => String.fromCharCode(97 + at * at * 7 % 26)).join("");
  const grams = async (text: string) =>
    (await terms(quoteLiteral(text))).filter((term) => term.startsWith("g"));
  assert.deepEqual(await grams(`${word}bcdfg`), await grams(word));
  assert.equal((await terms(letters(19_968, 1_000))).length, 1_000 + 995, "no pair at every 200 letters");
  assert.deepEqual(await fixture.idsOf(`${"x ".repeat(900)}whale`), ["1"]);
  assert.deepEqual(await fixture.idsOf(`${"x ".repeat(1_000)}whale`), []);
});
