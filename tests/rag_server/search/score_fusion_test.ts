import assert from "node:assert/strict";
import { defined } from "../../../src/core/defined.ts";
import { agreedSql, foundSql, fuseTables, fusionSql } from "../../../src/rag_server/search/fusion.ts";
import { joinSql, sql, type SqlText, verbatim } from "../../../src/postgres/sql_text.ts";
import { testWithPgvector } from "../../support/database.ts";
import { candidateOf, tableSearch } from "../fused_tables.ts";
import { createSearchFixture } from "../search_fixture.ts";

/** What a search found, by id; undefined for what it gave no score. */
type List = readonly (readonly [id: string, score: number | undefined])[];

/** A sum of standard scores as clients see it. */
const share = (sum: number) => (1 + sum / (1 + Math.abs(sum))) / 2;

function fuse(nearest: List, matching: List, vectorWeight = 0.5): [string, number][] {
  const found = [nearest, matching].map((list) => new Map(list));
  const candidates = [...new Set([...nearest, ...matching].map(([id]) => id))].map((id) => {
    const [nearestScore, matchingScore] = found.map((list) => list.get(id));
    return candidateOf({
      id,
      ...(nearestScore !== undefined && { nearestScore }),
      ...(matchingScore !== undefined && { matchingScore }),
    });
  });
  return fuseTables([tableSearch(candidates)], vectorWeight).map((
    { id, score },
  ) => [id ?? "", score]);
}

function assertScores(fused: readonly [string, number][], expected: readonly [string, number][]) {
  assert.deepEqual(fused.map(([id]) => id), expected.map(([id]) => id));
  fused.forEach(([id, score], at) => assert.ok(Math.abs(score - share(expected[at]?.[1] ?? NaN)) < 1e-9, id));
}

Deno.test("standard scores are weighted and added up; what a list lacks counts as its least", () => {
  // mean 2, deviation √2; the words' mean 6, deviation 2
  const nearest: List = [["a", 4], ["b", 2], ["c", 2], ["d", 0]].map((
    [id, score],
  ) => [`${id}`, Number(score)]);
  const matching: List = [["a", 4], ["e", 8]];
  const far = 2 / Math.SQRT2;
  assertScores(fuse(nearest, matching, 0.5), [
    ["a", 0.5 * far - 0.5],
    ["e", -0.5 * far + 0.5],
    ["b", -0.5],
    ["c", -0.5],
    ["d", -0.5 * far - 0.5],
  ]);
  assertScores(fuse(nearest, matching, 0.75).slice(0, 1), [["a", 0.75 * far - 0.25]]);
});

Deno.test("equal scores give nothing, and the other list decides", () => {
  const nearest: List = [["a", -0.3], ["b", -0.2], ["c", -0.1]];
  for (const equal of [[], [["a", 7]], [["a", 0.1], ["b", 0.1 + 1e-16], ["c", 0.1]]] as List[]) {
    assertScores(fuse(nearest, equal), [["c", 0.5 * Math.sqrt(1.5)], ["b", 0], ["a", -0.5 * Math.sqrt(1.5)]]);
  }
  // noise of single precision is no difference
  assertScores(fuse([["b", -3], ["a", -3.0000001]], []), [["a", 0], ["b", 0]]);
  assert.deepEqual(fuse([], []), []);
});

Deno.test("what one list prefers as much as the other prefers another is a tie, which the ids break", () => {
  for (const [one, other] of [[0.1, 0.7], [1 / 3, 1e6], [-1e-8, 3]] as const) {
    const fused = fuse([["b", other], ["a", one]], [["a", 12.3], ["b", 4.56]]);
    assertScores(fused, [["a", 0], ["b", 0]]);
    assert.equal(fused[0]?.[1], fused[1]?.[1]);
  }
});

Deno.test("scores fall strictly from 1 to 0 where the lists differ, however far apart they are", () => {
  const far: List = [["a", 1e20], ["b", 3], ["c", 2.999999], ["d", -5]];
  const list: List = [...far, ...Array.from({ length: 396 }, (_, n) => [`n${n}`, -6] as const)];
  for (const [nearest, matching, weight] of [[list.slice(1), [], 1], [[], list.slice(1), 0]] as const) {
    const scores = fuse(nearest, matching, weight).slice(0, 4).map(([, score]) => score);
    scores.forEach((score, at) => assert.ok(score > (scores[at + 1] ?? 0) && score < 1, `${scores}`));
  }
  assert.equal(fuse(list, [], 1)[0]?.[0], "a");
});

Deno.test("of several tables the best of all make one list, as long as one table's may be", () => {
  const near = (name: string, scores: readonly number[]) =>
    tableSearch(scores.map((nearestScore, at) => candidateOf({ id: `${name}${at}`, nearestScore })), {
      depth: 3,
    });
  const tables = [near("a", [-0.1, -0.5]), near("b", [-0.2, -0.3, -0.9])];
  const far = Math.sqrt(1.5);
  // the list: -0.1, -0.2, -0.3
  assertScores(fuseTables(tables, 1).map(({ id, score }) => [id ?? "", score]), [
    ["a0", far],
    ["b0", 0],
    ["a1", -far],
    ["b1", -far],
    ["b2", -far],
  ]);
  const short = tables.map((table) => ({ ...table, depth: 5 }));
  assert.deepEqual(fuseTables(short, 1).map(({ id }) => id), ["a0", "b0", "b1", "a1", "b2"]);
});

Deno.test("tables with distances of different kinds are compared by the candidates' similarities", () => {
  const near = (table: string, kind: "cosine" | "ip", found: readonly (readonly [number, number])[]) =>
    tableSearch(
      found.map(([nearestScore, similarity], at) =>
        candidateOf({ id: `${table}${at}`, nearestScore, similarity })
      ),
      { distance: kind },
    );
  const tables = [near("a", "cosine", [[-0.1, 0.9], [-0.6, 0.4]]), near("b", "ip", [[50, 0.7], [40, 0.5]])];
  assert.deepEqual(fuseTables(tables, 1).map(({ id }) => id), ["a0", "b0", "b1", "a1"]);
  const without = [
    near("a", "cosine", [[-0.1, 0.9]]),
    tableSearch([candidateOf({ id: "b", nearestScore: 3 })], { distance: "ip" }),
  ];
  assert.deepEqual(fuseTables(without, 1).map(({ id }) => id), ["a0", "b"]);
});

testWithPgvector("PostgreSQL fuses one table's lists as fuseTables() does", async () => {
  await using fixture = await createSearchFixture("");
  const random = seeded(11);
  const shapes: (() => number)[] = [
    () => random(),
    () => -random() * 1e6,
    () => 1 + random() * 1e-9,
    () => Math.round(random() * 3),
    () => 7,
    () => random() < 0.1 ? 1e12 : random(),
    () => random() * 1e-12,
  ];
  const listOf = (size: number): List => {
    const shape = shapes[Math.floor(random() * shapes.length)] ?? random;
    const ids = shuffled(Array.from({ length: 12 }, (_, n) => `${n}`), random).slice(0, size);
    return ids.map((id) => [id, random() < 0.05 ? undefined : shape()]);
  };
  for (let round = 0; round < 120; round++) {
    const [nearest, matching] = [listOf(Math.floor(random() * 9)), listOf(Math.floor(random() * 9))];
    const vectorWeight = [0, 0.01, 0.3, 0.5, 0.9, 1][Math.floor(random() * 6)] ?? 0.5;
    const hasWords = vectorWeight < 1;
    const found = foundSql({ vectorWeight, hasWords, depth: 5 });
    const lists = sql`postern_nearest AS (${listSql(nearest)}), postern_matching AS (${listSql(matching)})`;
    const all = (statement: SqlText) =>
      fixture.rows(sql`WITH ${lists}, postern_all AS (${found}) ${statement}`);
    const candidates = (await all(sql`SELECT * FROM postern_all`)).map((row) => {
      const [nearestScore, matchingScore] = row.slice(1)
        .map((value) => value === null ? undefined : Number(value));
      return candidateOf({
        id: row[0] ?? "",
        ...(nearestScore !== undefined && { nearestScore }),
        ...(matchingScore !== undefined && { matchingScore }),
      });
    });
    const rows = await all(sql`SELECT id, score FROM (${fusionSql(vectorWeight)}) f`);
    const expected = fuseTables([tableSearch(candidates)], vectorWeight);
    const context = JSON.stringify({ vectorWeight, nearest, matching });
    assert.deepEqual(rows.map(([id]) => id), expected.map(({ id }) => id), context);
    // PostgreSQL counts a sum of standard scores in steps of 1e-12
    rows.forEach(([, score], at) =>
      assert.ok(Math.abs(share(Number(score) * 1e-12) - (expected[at]?.score ?? NaN)) < 1e-9, context)
    );
  }
});

testWithPgvector("PostgreSQL lets the nearest documents agree as fuseTables() does", async () => {
  await using fixture = await createSearchFixture("");
  const random = seeded(7);
  for (const size of [9, 40, 70]) {
    const rows = Array.from({ length: size }, (_, n) => ({
      id: String(n).padStart(2, "0"),
      scores: [-random(), random() < 0.3 ? undefined : 9 * random()] as const,
      // some have no vector, and some none with a direction
      unit: random() < 0.1 ? undefined : random() < 0.1 ? [0, 0] : [random() - 0.5, random() - 0.5],
    }));
    const listed = joinSql(
      rows.map(({ id, scores: [nearest, matching], unit }) =>
        sql`(${id}::text, ${String(nearest)}::float8, ${
          matching === undefined ? null : String(matching)
        }::float8,
          ${unit === undefined ? null : `[${unit.join(",")}]`}::vector)`
      ),
      ", ",
    );
    const agreed = agreedSql(verbatim("(1 - nullif(one.unit <=> other.unit, 'NaN'))"));
    const found = await fixture.rows(sql`WITH units AS (
        SELECT * FROM (VALUES ${listed}) v(id, nearest_score, matching_score, unit)
      ), postern_all AS (SELECT id, nearest_score, matching_score FROM units),
      postern_fused AS (${fusionSql(0.4)}),
      postern_distinct AS (SELECT f.*, u.unit FROM postern_fused f JOIN units u USING (id))
      SELECT id, agreed_score, agreed_nearest, agreed_matching FROM (${agreed}) a
      ORDER BY agreed_score DESC, score DESC, id`);
    const numberOf = (text: string | null | undefined) => typeof text === "string" ? Number(text) : undefined;
    const candidates = found.map(([id, , nearest, matching]) => {
      const [nearestScore, matchingScore] = rows.find((row) => row.id === id)?.scores ?? [];
      return candidateOf({
        id: id ?? "",
        ...defined({ nearestScore, matchingScore }),
        ...(nearest !== null && {
          agreed: defined({ nearestScore: numberOf(nearest), matchingScore: numberOf(matching) }),
        }),
      });
    });
    assert.equal(
      candidates.filter((candidate) => candidate.agreed).length,
      Math.min(size < 11 ? 0 : size, 50),
    );
    const fused = fuseTables([tableSearch(candidates)], 0.4);
    assert.deepEqual(fused.slice(0, 50).map(({ id }) => id), found.slice(0, 50).map(([id]) => id));
    fused.forEach(({ score }, at) =>
      assert.ok(Math.abs(share(Number(found[at]?.[1]) * 1e-12) - score) < 1e-9, `${size}, ${at}`)
    );
  }
});

Deno.test("what agrees in one table alone counts in none", () => {
  const one = tableSearch([
    candidateOf({ id: "b", nearestScore: -0.2, agreed: { nearestScore: -0.1 } }),
    candidateOf({ id: "a", nearestScore: -0.1, agreed: { nearestScore: -0.3 } }),
    candidateOf({ id: "c", nearestScore: -0.3, agreed: { nearestScore: -0.3 } }),
  ]);
  assert.deepEqual(fuseTables([one], 1).map(({ id }) => id), ["b", "a", "c"]);
  const other = tableSearch([candidateOf({ id: "d", nearestScore: -0.4 })]);
  assert.deepEqual(fuseTables([one, other], 1).map(({ id }) => id), ["a", "b", "c", "d"]);
});

function listSql(list: List): SqlText {
  const rows = list.toSorted((a, b) => (b[1] ?? -Infinity) - (a[1] ?? -Infinity)).map(([id, score]) =>
    sql`(${id}::text, ${score === undefined ? null : String(score)}::float8)`
  );
  const none = sql`SELECT ''::text AS id, 0::float8 AS score WHERE false`;
  return rows.length === 0
    ? none
    : sql`SELECT * FROM (VALUES ${joinSql(rows, ", ")}) ${verbatim("v(id, score)")}`;
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  return items.map((item) => ({ item, at: random() })).toSorted((a, b) => a.at - b.at).map(({ item }) =>
    item
  );
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
