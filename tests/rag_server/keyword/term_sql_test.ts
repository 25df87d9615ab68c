import assert from "node:assert/strict";
import { createRandom, pick } from "../../../bench/random.ts";
import { quoteLiteral } from "../../../src/postgres/sql_text.ts";
import { lexemesSql } from "../../../src/rag_server/keyword/term_sql.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture } from "./fixture.ts";

const compounds: readonly (readonly [text: string, words: readonly string[]])[] = [
  ["the XJ-9000 is a +42 model", ["xj", "9000", "42"]],
  ["and/or input/output", ["input", "output", "outputs"]],
  ["see src/rag/query.ts, or config.example.yaml.", ["rag", "query.ts", "src/rag", "example", "yaml"]],
  ["binds p53/MDM2 and TGF-β/Smad", ["MDM2", "p53", "smad", "TGF"]],
  ["since v1.22.333 of 10.77.0.1:8080", ["1.22.333", "v1.22.333", "10.77.0.1", "8080"]],
  ["https://www.acme.example/shop/red-shoes?size=51&colour=blue", ["acme", "shop", "shoe", "colour", "blue"]],
  ["to anne.mueller@mail.bigfirm.example", ["anne", "Mueller", "bigfirm", "mail.bigfirm"]],
  ["~/notes_of_may.txt by jdbc://", ["note", "may", "txt", "jdbc"]],
  ["(dpkg.deb)", ["dpkg", "deb"]],
];

testWithPostgres("a word inside of a compound finds it, and a compound finds its words", async () => {
  const rows = compounds.map(([text], at) => `(${at}, '${text}')`);
  await using fixture = await createKeywordFixture(
    `CREATE TABLE docs (id int PRIMARY KEY, body text); INSERT INTO docs VALUES ${rows.join(",")}`,
  );
  const assertFound = async () => {
    for (const [at, [, words]] of compounds.entries()) {
      for (const word of words) {
        assert.ok((await fixture.idsOf(word)).includes(String(at)), `${word} finds "${compounds[at]?.[0]}"`);
      }
    }
  };
  await assertFound();
  await fixture.build();
  await assertFound();
  await fixture.query(`DELETE FROM docs; INSERT INTO docs VALUES ${rows.join(",")}`);
  await assertFound();
  await fixture.query("INSERT INTO docs VALUES (50, 'model 9000'), (51, 'nothing'), (52, 'outputs only')");
  assert.deepEqual(await fixture.idsOf("XJ-9000"), ["0", "50"]);
  assert.deepEqual((await fixture.idsOf("stdin/output")).toSorted(), ["1", "52"]);
});

/** Words of a text, and what is none of its words. */
const parts: readonly (readonly [text: string, words: readonly string[], others: readonly string[]])[] = [
  ["birds (e.g., gulls), i.e. these--i.e., those", ["e.g", "i.e", "gulls", "those"], ["e", "g", "i"]],
  ["the U.S.-based U.S.A. at 5 p.m.", ["U.S", "based", "u.s.a", "5", "p.m"], ["u", "s", "a", "p", "m"]],
  ["z.B. d.h. т.е. π.χ. c.-à-d. a.k.a.", ["z.B", "т.е", "π.χ", "a.k.a"], ["z", "B", "h", "k"]],
  ["J.R.Smith and Ph.D.s", ["J.R", "smith", "ph"], ["j", "r", "d"]],
  ["R J Smith on vitamin C, in R", ["r", "j", "c"], []],
  ["an I/O-bound A/B-test", ["i/o", "bound", "a/b", "test"], ["i", "o", "a", "b"]],
  ["C++/C#/Rust", ["c", "rust"], []],
  ["R&D, B2B, TGF-β/Smad, x-ray/CT", ["r", "d", "b2b", "tgf", "β", "smad", "x", "ray", "CT"], ["2"]],
  ["type-2/F-5", ["type", "2", "f", "5"], []],
  ["v1.2.3, v4.5-beta and python3.11", ["1.2.3", "4.5", "beta", "python3"], ["1", "2", "3", "4", "v"]],
  ["-7.5 to 8.5% of 2-9.5/6", ["7.5", "8.5", "9.5", "2", "6"], ["7", "5", "8", "9"]],
  [
    "from 17.5.2024 to 2025.06.18, not 1.20267.3",
    ["17.5.2024", "2024", "2025", "2025.06.18"],
    ["17", "5", "06", "18", "20267", "3"],
  ],
  ["see 192.0.2.7:8080/x", ["192.0.2.7", "8080"], ["192", "0", "2", "7", "x"]],
  ["中/日/東京", ["中", "日", "東京"], []],
  ["mail j.smith@a.example or http://b.example/c/d.e", ["smith", "example"], ["j", "b", "c", "d", "e"]],
];

/** How often a text has a word, by its lexemes. */
const countSql = (text: string, word: string, config: string) =>
  `(SELECT sum(t.count) FROM (${lexemesSql(quoteLiteral(text), `'${config}'`)}) t
    JOIN (${lexemesSql(quoteLiteral(word), `'${config}'`)}) w USING (term))`;

testWithPostgres(
  "a word that stands alone counts as PostgreSQL counts it, and one inside as it is there",
  async () => {
    await using fixture = await createKeywordFixture("");
    const text =
      `state-of-the-art state; input/output input, x/output <a href="/tag.html">state</a> <!-- a/tag -->`;
    const counts = await fixture.query(
      `SELECT ${
        ["state", "art", "input", "output", "href", "tag", "html"]
          .map((word) => countSql(text, word, "pg_catalog.english")).join(", ")
      }`,
    );
    assert.deepEqual(counts, [["3", "1", "1", "2", null, null, null]]);
  },
);

/** Whether a text has no number with dots, whose digits are no words. */
function isWithoutNumber({ text }: { readonly text: string }): boolean {
  return !/[0-9][.][0-9]/.test(text);
}

testWithPostgres("no sign between words hides one of them", async () => {
  await using fixture = await createKeywordFixture("");
  const random = createRandom(11);
  const words = ["abcx", "qq", "zed", "x9", "9000", "12", "Ünder", "βeta", "v2", "com", "html", "mail"];
  const signs = [..."!\"#$%'()*+,-./:=?@[\\]^_`{|}~ &", "://", "..", "--", "…", "“", "–", "×"];
  const texts = Array.from({ length: 3_000 }, () => {
    const taken = Array.from({ length: 2 + Math.floor(4 * random()) }, () => pick(words, random()));
    return { taken, text: taken.map((word) => word + pick(signs, random())).join("") };
  });
  const rows = texts.filter(isWithoutNumber).map(({ taken, text }) =>
    `(${quoteLiteral(text)}, '{${taken.join(",")}}'::text[])`
  );
  const hidden = await fixture.query(`SELECT s.text, w.word
    FROM (VALUES ${rows.join(",")}) s(text, words) CROSS JOIN LATERAL unnest(s.words) w(word)
    WHERE NOT EXISTS (SELECT FROM (${lexemesSql("s.text", "'pg_catalog.simple'")}) t
      JOIN (${lexemesSql("w.word", "'pg_catalog.simple'")}) a USING (term))`);
  assert.deepEqual(hidden, []);
});

testWithPostgres("a letter or digit that is none of the text's words does not find it", async () => {
  await using fixture = await createKeywordFixture("");
  const found = async (text: string, words: readonly string[]) => {
    const rows = await fixture.query(
      `SELECT ${words.map((word) => `${countSql(text, word, "pg_catalog.simple")} > 0`).join(", ")}`,
    );
    return words.filter((_, at) => rows[0]?.[at] === "t");
  };
  for (const [text, words, others] of parts) {
    assert.deepEqual(await found(text, words), words, text);
    assert.deepEqual(await found(text, others), [], text);
  }
});

testWithPostgres("compounds are opened in every configuration", async () => {
  await using fixture = await createKeywordFixture(`
    CREATE TEXT SEARCH CONFIGURATION bare (COPY = english);
    ALTER TEXT SEARCH CONFIGURATION bare DROP MAPPING FOR host, file, url, url_path, hword_part, hword_asciipart, int;
    CREATE TABLE docs (id int PRIMARY KEY, body text, lang text);
    INSERT INTO docs VALUES (1, 'Stadt/Häuser.txt', 'german'), (2, 'the towns/houses.txt', 'english'), (3, 'cat-houses', 'bare')`);
  await fixture.build({ configColumn: "lang" });
  assert.deepEqual(await fixture.idsOf("Haus"), ["1"]);
  assert.deepEqual((await fixture.idsOf("house")).toSorted(), ["2", "3"]);
  assert.deepEqual((await fixture.idsOf("txt")).toSorted(), ["1", "2"]);
});

testWithPostgres("a column whose collation allows no regular expression is indexed", async () => {
  await using fixture = await createKeywordFixture(`
    CREATE COLLATION loose (provider = icu, locale = 'und', deterministic = false);
    CREATE TABLE docs (id int PRIMARY KEY, body text COLLATE loose);
    INSERT INTO docs VALUES (1, 'input/output')`);
  await fixture.build();
  await fixture.query("INSERT INTO docs VALUES (2, 'output/input')");
  assert.deepEqual(await fixture.idsOf("output"), ["1", "2"]);
});
