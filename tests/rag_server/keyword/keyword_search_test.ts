import assert from "node:assert/strict";
import { askedText, keywordSearch } from "../../../src/rag_server/keyword/keyword_search.ts";
import { renderSql, sql } from "../../../src/postgres/sql_text.ts";

const source = { table: "public.docs", idColumn: '"id"', textColumn: '"body"' };
const question = { question: "green whale", limit: 7, filter: sql`year > ${2000}::int` };

function rendered(index: Parameters<typeof keywordSearch>[0]) {
  const { sql: text, parameters } = renderSql(keywordSearch(index, question));
  return { sql: text.replace(/\s+/g, " "), parameters };
}

Deno.test("pg_textsearch is asked through the order of its index", () => {
  assert.deepEqual(
    rendered({ kind: "pg_textsearch", ...source, schema: "public", index: "public.docs_idx" }),
    {
      sql: `SELECT r.key::text AS id, r.score FROM ( SELECT source."id" AS key, ` +
        `-(source."body" OPERATOR(public.<@>) public.to_bm25query($1, 'public.docs_idx'))::float8 AS score ` +
        `FROM public.docs AS source WHERE (year > $2::int) ` +
        `ORDER BY source."body" OPERATOR(public.<@>) public.to_bm25query($3, 'public.docs_idx') LIMIT 7 ` +
        `) r WHERE r.score > 0 ORDER BY r.score DESC, r.key`,
      parameters: ["green whale", "2000", "green whale"],
    },
  );
});

Deno.test("pg_search is asked for any word, in both of its interfaces", () => {
  const index = { kind: "pg_search", ...source, keyField: '"key"', field: "body" } as const;
  assert.deepEqual(rendered({ ...index, hasMatchOperator: true }), {
    sql:
      `SELECT r.key::text AS id, r.score FROM ( SELECT source."id" AS key, pdb.score(source."key")::float8 AS score ` +
      `FROM public.docs AS source WHERE source."body" ||| $1::text AND (year > $2::int) ` +
      `ORDER BY pdb.score(source."key") DESC LIMIT 7 ) r ORDER BY r.score DESC, r.key`,
    parameters: ["green whale", "2000"],
  });
  assert.match(
    rendered({ ...index, hasMatchOperator: false }).sql,
    /WHERE source\."key" @@@ paradedb\.match\('body', \$1::text\) AND .* ORDER BY paradedb\.score\(source\."key"\) DESC/,
  );
});

Deno.test("vchord_bm25 is asked with the tokenizer of its vectors", () => {
  const index = {
    kind: "vchord_bm25",
    ...source,
    index: "public.v_idx",
    vectorColumn: '"vec"',
    tokenizer: "it's",
  };
  assert.match(
    rendered({ ...index, kind: "vchord_bm25" }).sql,
    /ORDER BY source\."vec" OPERATOR\(bm25_catalog\.<&>\) bm25_catalog\.to_bm25query\('public\.v_idx'::regclass, tokenizer_catalog\.tokenize\(\$3, 'it''s'\)::bm25_catalog\.bm25vector\) LIMIT 7/,
  );
});

Deno.test("askedText() leaves out endings and abbreviations that tell nothing", () => {
  for (
    const [question, expected] of [
      ["I'd like what we've in Anna's shop, don’t I'm", "I like what we in Anna shop, don I"],
      ["birds (e.g., gulls), I.E. these--i.e. those", "birds (., gulls), . these--. those"],
      ["birds.e.g.gulls i.e.those", "birds..gulls .those"],
      ["птицы, т.е. чайки; π.χ. και", "птицы, . чайки; . και"],
    ] as const
  ) {
    assert.equal(askedText(question), expected);
  }
});

Deno.test("askedText() keeps words of one letter, names and other abbreviations", () => {
  for (
    const question of [
      "vitamin C in 'R' or \"D\"",
      "O'Brien d'Alembert qu'il",
      "U.S. u.s. p.m. a.k.a. J.R.Smith А.С.Пушкин",
      "s.h.i.e.l.d A.E.G. i.e.e.e",
      "pie.gz i.e2 v1.2.3 x-ray 中.日",
    ]
  ) {
    assert.equal(askedText(question), question);
  }
});
