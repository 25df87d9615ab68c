import assert from "node:assert/strict";
import { createRandom, pick } from "../../../bench/random.ts";
import { keywordSearch } from "../../../src/rag_server/keyword/keyword_search.ts";
import { renderSql, sql, type SqlText, verbatim } from "../../../src/postgres/sql_text.ts";
import { testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture, type KeywordFixture } from "./fixture.ts";

/** A table of every document's words, for scores that owe nothing to the index. */
const referenceTable = `CREATE TABLE reference AS
  SELECT s.id, u.lexeme, cardinality(u.positions)::float8 AS count,
    sum(cardinality(u.positions)) OVER (PARTITION BY s.id)::float8 AS length
  FROM docs s CROSS JOIN LATERAL unnest(to_tsvector('english', s.body)) u`;

async function fullScores(
  fixture: KeywordFixture,
  question: string,
  condition = "true",
): Promise<unknown[][]> {
  return await fixture.query(`WITH total AS MATERIALIZED (
      SELECT (SELECT count(*) FROM docs)::float8 AS n, (SELECT sum(count) FROM reference) / (SELECT count(*) FROM docs) AS mean
    ), words AS MATERIALIZED (
      SELECT u.lexeme, cardinality(u.positions) AS count, (SELECT count(*) FROM reference r WHERE r.lexeme = u.lexeme) AS df
      FROM unnest(to_tsvector('english', $q$${question}$q$)) u
    )
    SELECT r.id::text, sum(w.count * ln(1 + (n - df + 0.5) / (df + 0.5)) *
      r.count / (r.count + 1.2 * (0.6 + 0.4 * r.length / mean))) AS score
    FROM reference r JOIN words w USING (lexeme) CROSS JOIN total
    WHERE r.id IN (SELECT id FROM docs WHERE ${condition})
    GROUP BY r.id ORDER BY 2 DESC, r.id LIMIT 10`);
}

// the word of rank n is n times rarer than the first
const zipfian = (random: () => number, words: number) => `w${Math.floor(words ** random())}q`;

async function createZipfianFixture(rows: number): Promise<KeywordFixture> {
  const random = createRandom(7);
  const fixture = await createKeywordFixture(
    "CREATE TABLE docs (id int PRIMARY KEY, body text, share float8)",
  );
  for (let from = 0; from < rows; from += 2_000) {
    const values = Array.from({ length: 2_000 }, (_, at) => {
      const length = pick([15, 30, 60], random());
      const body = Array.from({ length }, () => zipfian(random, 4_000)).join(" ");
      return `(${from + at}, '${body}', ${random()})`;
    });
    await fixture.query(`INSERT INTO docs VALUES ${values.join(",")}`);
  }
  await fixture.query(referenceTable);
  await fixture.query("CREATE INDEX ON reference (lexeme); ANALYZE");
  return fixture;
}

async function assertSameRanking(
  fixture: KeywordFixture,
  question: string,
  condition?: { sql: string; filter: SqlText },
): Promise<void> {
  const index = await fixture.find();
  assert.equal(index.kind, "postern");
  const hits = await fixture.ask(index, question, condition && { filter: condition.filter });
  const expected = await fullScores(fixture, question, condition?.sql);
  assert.equal(hits.length, expected.length, question);
  for (const [at, [id, score]] of expected.entries()) {
    assert.equal(hits[at]?.id, id, `${question}: place ${at + 1}`);
    assert.ok(Math.abs((hits[at]?.score ?? 0) - Number(score)) < 1e-9, `${question}: score ${at + 1}`);
  }
}

testWithPostgres("a ranking is that of full scoring, with filters of every selectivity", async (t) => {
  await using fixture = await createZipfianFixture(14_000);
  await fixture.build({ batchRows: 5_000 });
  // as lists are where a word is in more documents than they hold
  await fixture.query(`UPDATE postern.keyword_1_lists
    SET floor = entries[4096] >> 48, entries = entries[1:4096] WHERE df > 4096`);

  await t.step("words that many documents have, few, and both", async () => {
    for (
      const question of [
        "w1q w2q",
        "w1q w2q w3q w4q w5q",
        "w3q w40q w300q",
        "w2000q w1q",
        "w7q w7q w7q w90q",
        "w5q",
      ]
    ) {
      await assertSameRanking(fixture, question);
    }
  });
  await t.step("filters", async () => {
    for (const share of ["0.5", "0.05", "0.001"]) {
      const filter = sql`source.share < ${share}::float8`;
      for (const question of ["w3q w4q", "w30q w200q w4q"]) {
        await assertSameRanking(fixture, question, { sql: `share < ${share}`, filter });
      }
      // of words that nearly all documents have, the best may be on no list
      const common = "w1q w2q w3q";
      const hits = new Set((await fixture.ask(await fixture.find(), common, { filter })).map(({ id }) => id));
      const expected = await fullScores(fixture, common, `share < ${share}`);
      assert.ok(expected.filter(([id]) => hits.has(`${id}`)).length >= 9, share);
    }
    const none = await fixture.ask(await fixture.find(), "w1q", { filter: verbatim("share > 2") });
    assert.deepEqual(none, []);
  });
  await t.step("after changes, before and after a refresh's statistics", async () => {
    await fixture.query(
      "UPDATE docs SET body = body || ' w1q w2q w2q' WHERE id % 100 = 3; DELETE FROM docs WHERE id % 100 = 4",
    );
    await fixture.query(`DROP TABLE reference; ${referenceTable}; CREATE INDEX ON reference (lexeme)`);
    const before = await fixture.idsOf("w1q w2q w30q");
    assert.equal(before.length, 10);
    await fixture.build();
    await assertSameRanking(fixture, "w1q w2q w30q");
    assert.deepEqual(await fixture.query("SELECT count(*) FROM postern.keyword_1_recent"), [["0"]]);
  });
});

const few = `CREATE TABLE docs (id text PRIMARY KEY, body text, lang text);
  INSERT INTO docs VALUES ('a', 'green whales', 'english'), ('b', 'a whale; and a whale', 'english'), ('c', 'grass', 'english')`;

testWithPostgres("any question is answered, and one without words that rank by nothing", async () => {
  await using fixture = await createKeywordFixture(few);
  await fixture.build();
  const kinds = [await fixture.find(), await plain(fixture)];
  for (const index of kinds) {
    const ids = async (question: string) => (await fixture.ask(index, question)).map(({ id }) => id);
    for (
      const nothing of ["", " ", "😀", "' \" \\ ; -- /* $1", "& | ! <-> ( ) :*", "\0", "zebra"]
    ) {
      assert.deepEqual(await ids(nothing), [], JSON.stringify(nothing));
    }
    for (
      const question of [
        "whale",
        "WHALES!",
        "the whale's",
        '"whale" zebra',
        "whale | & zebra",
        "whale\0s",
        "-whale",
      ]
    ) {
      assert.deepEqual((await ids(question)).toSorted(), ["a", "b"], question);
    }
    const endless = Array.from({ length: 10_000 }, (_, at) => `word${at}`);
    assert.deepEqual((await ids(`whale ${endless.join(" ")}`)).length, 2);
    assert.deepEqual((await ids("green whale"))[0], "a");
  }
});

async function plain(fixture: KeywordFixture) {
  const index = await fixture.find({ textColumn: "lang" });
  assert.equal(index.kind, "tsvector");
  return { ...index, textColumn: '"body"' };
}

testWithPostgres("what an apostrophe or an abbreviation adds to a question finds nothing", async () => {
  await using fixture = await createKeywordFixture(`${few};
    INSERT INTO docs VALUES ('d', 'plan D', 'english'), ('e', 'e.g. me', 'english'), ('f', 'we have ve', 'english')`);
  await fixture.build();
  for (const index of [await fixture.find(), await plain(fixture)]) {
    const hits = await fixture.ask(index, "I'd ask for grass, e.g. where we've been");
    assert.deepEqual(hits.map(({ id }) => id), ["c"]);
  }
});

testWithPostgres("a limit is from 1 to 400", async () => {
  await using fixture = await createKeywordFixture(few);
  const index = await fixture.find();
  for (const limit of [0, 401, 1.5, NaN]) {
    await assert.rejects(
      fixture.ask(index, "whale", { limit }),
      /Cannot rank by keywords: the limit is not from 1 to 400/,
    );
  }
  assert.equal((await fixture.ask(index, "whale", { limit: 1 })).length, 1);
});

testWithPostgres("a table of two languages is asked in both", async () => {
  await using fixture = await createKeywordFixture(`${few};
    INSERT INTO docs VALUES ('d', 'die Häuser der Stadt', 'german'), ('e', 'to die in Venice', 'english'), ('f', 'ein Haus', 'klingon')`);
  await fixture.build({ configColumn: "lang" });
  assert.deepEqual(await fixture.idsOf("Haus"), ["d"].concat(["f"]).toSorted());
  assert.deepEqual(await fixture.idsOf("whales"), ["b", "a"]);
  assert.deepEqual((await fixture.idsOf("die")).toSorted(), ["d", "e"], "also where it is a stop word");
  await fixture.query("INSERT INTO docs VALUES ('g', 'les baleines bleues', 'french')");
  assert.deepEqual(await fixture.idsOf("baleine"), ["g"], "a language that the table had not before");
});

testWithPostgres("a ranking is a part that fits into a larger statement", async () => {
  await using fixture = await createKeywordFixture(few);
  await fixture.build();
  const search = keywordSearch(await fixture.find(), {
    question: "whale",
    limit: 5,
    filter: sql`id <> ${"b"}`,
  });
  const whole = renderSql(
    sql`WITH keyword AS (${search}) SELECT ${"first"}::text, id FROM keyword WHERE ${"x"}::text = 'x'`,
  );
  const read = await fixture.database.read({
    principal: { kind: "local" },
    signal: new AbortController().signal,
    trusted: true,
    ...whole,
  });
  assert.deepEqual(read.ok && read.rows, [["first", "a"]]);
});

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Actual Rows": number;
  readonly "Actual Loops": number;
  readonly Plans?: readonly PlanNode[];
}

/** Entries that the lists' unnest() gave. */
function entriesRead(node: PlanNode): number {
  const parts = node.Plans ?? [];
  const isOfLists = node["Node Type"] === "ProjectSet" &&
    parts.some((part) => part["Relation Name"] === "keyword_1_lists");
  return isOfLists
    ? node["Actual Rows"] * node["Actual Loops"]
    : parts.reduce((sum, part) => sum + entriesRead(part), 0);
}

testWithPostgres(
  "how many entries of long lists are read grows with the question's words, to a bound",
  async () => {
    const length = 2_500;
    const words = Array.from({ length: 40 }, (_, at) => `w${at}q`);
    await using fixture = await createKeywordFixture(`CREATE TABLE docs (id int PRIMARY KEY, body text);
    INSERT INTO docs SELECT id, '${words.join(" ")}' FROM generate_series(1, ${length}) id`);
    await fixture.build();
    const index = await fixture.find();
    const entriesOf = async (count: number) => {
      const search = keywordSearch(index, { question: words.slice(0, count).join(" "), limit: 10 });
      const read = await fixture.database.read({
        principal: { kind: "local" },
        signal: new AbortController().signal,
        trusted: true,
        ...renderSql(sql`EXPLAIN (ANALYZE, FORMAT JSON, TIMING off) ${search}`),
      });
      assert.ok(read.ok, read.ok ? "" : read.error.message);
      return entriesRead(JSON.parse(read.rows[0]?.[0] ?? "")[0].Plan);
    };
    const best = 2_048;
    for (
      const { asked, whole } of [
        { asked: 4, whole: 4 },
        // 20,000 entries at least, and 1,500 a word
        { asked: 12, whole: 8 },
        { asked: 20, whole: 12 },
        // 50,000 at most
        { asked: 40, whole: 20 },
      ]
    ) {
      const expected = whole * length + (asked - whole) * best;
      const entries = await entriesOf(asked);
      // a plan tells of rows as a mean of its loops, some releases of PostgreSQL as a whole number
      assert.ok(
        Math.abs(entries - expected) <= asked,
        `${asked} words: ${entries} entries, expected ${expected}`,
      );
    }
  },
);
