import { defined } from "../../core/defined.ts";
import { sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import type { Distance } from "./vector_index.ts";

/** Where a search has a document. */
export interface Standing {
  /** From 1; equal scores have the same. */
  readonly rank: number;
  /** Higher is better. */
  readonly score: number;
}

/** A document that answers a question. */
export interface RetrievedDocument {
  /** As it was configured. */
  readonly table: string;
  /** Optional: none where the table has no id. */
  readonly id?: string;
  /** Cut off where it is longer than the search's bound. */
  readonly content: string;
  /** The fusion's, from 0 to 1; comparable within one answer only. */
  readonly score: number;
  /** Cosine, from -1 to 1. Optional: none where the document has no vector. */
  readonly similarity?: number;
  /** Others that say nearly the same, and were left out for it. Optional: none where there are none. */
  readonly copies?: number;
  /** In the search by vectors. Optional: none where that did not find it. */
  readonly nearest?: Standing;
  /** In the search by words. Optional: none where that did not find it. */
  readonly matching?: Standing;
}

/** A document with what its own table's searches say of it. */
export interface Candidate extends Omit<RetrievedDocument, "score" | "copies"> {
  /** A hash of the whole text without the blanks around it: copies of a text have the same. */
  readonly digest: string;
  /** Its score in the search by vectors, higher is better. Optional. */
  readonly nearestScore?: number;
  /** Its score in the search by words, higher is better. Optional. */
  readonly matchingScore?: number;
  /**
   * Both scores of the documents nearest to it, on average, weighted by their nearness. Optional: none where one search alone
   * counts, and below the first documents.
   */
  readonly agreed?: { readonly nearestScore?: number; readonly matchingScore?: number };
}

/** The results of the searches of one table. */
export interface TableSearch {
  /** As the table's own search returned them. */
  readonly candidates: readonly Candidate[];
  /** The scores of all that the search by vectors found, whether or not they are among the candidates. */
  readonly nearestScores: readonly number[];
  /** The same of the search by words. */
  readonly matchingScores: readonly number[];
  /** The distance that the scores of the search by vectors tell. */
  readonly distance: Distance;
  /** How many documents each search was asked for. */
  readonly depth: number;
}

/** How many results each search may return where repeats fill its list. */
export const maxDepth = 400;

/** How far down both searches go: far enough to find what is good in both and best in neither. */
export const usualDepth = 100;

/** How far down each search goes. More documents only where more are asked for, or how many would change their order. */
export function depthOf(limit: number): number {
  return Math.min(Math.max(usualDepth, limit), maxDepth);
}

/**
 * Documents that are near each other tend to answer the same questions (the cluster hypothesis; van Rijsbergen,
 * "Information Retrieval", 1979). So of the first documents, each one's score is in part that of the documents nearest to it.
 */
export const agreement = { documents: 50, neighbours: 10, weight: 0.5 } as const;

/**
 * The results of one table's searches, in SQL: `id`, `nearest_score` and `matching_score`, each row once. It reads `id` and
 * `score` from `postern_nearest`, unless the weight is 0, and from `postern_matching` where words are searched. What has none
 * of the words has 0 for its score.
 *
 * @param depth of each search
 */
export function foundSql(
  { vectorWeight, hasWords, depth }: { vectorWeight: number; hasWords: boolean; depth: number },
): SqlText {
  if (!hasWords) {
    return sql`SELECT id, score AS nearest_score, 0::float8 AS matching_score FROM postern_nearest`;
  }
  if (vectorWeight === 0) {
    return sql`SELECT id, NULL::float8 AS nearest_score, score AS matching_score FROM postern_matching`;
  }
  // a list that is not full holds all that has any of the words
  const isShort = sql`m.id IS NULL AND (SELECT count(*) FROM postern_matching) < ${depth}`;
  return sql`SELECT id, n.score AS nearest_score,
      CASE WHEN ${isShort} THEN 0 ELSE m.score END AS matching_score
    FROM postern_nearest n FULL JOIN postern_matching m USING (id)`;
}

/**
 * One table's searches as one, in SQL: what `postern_all` has of {@linkcode foundSql}, with `score`, the best first. Its
 * `nearest_filled` and `matching_filled` are the scores that count, also of what a list lacks.
 *
 * @param vectorWeight from 0 to 1; what is left of 1 is the weight of the words
 */
export function fusionSql(vectorWeight: number): SqlText {
  const filled = (score: "nearest" | "matching") =>
    verbatim(`greatest(${score}_score, min(${score}_score) OVER ()) AS ${score}_filled`);
  return sql`SELECT *, ${filled("nearest")}, ${filled("matching")},
      ${scoreSql(vectorWeight)} AS score FROM postern_all ORDER BY score DESC, id COLLATE "C"`;
}

/**
 * What `postern_distinct` has of {@linkcode fusionSql}, with what the nearest of its first documents have on average, weighted
 * by their nearness: `agreed_nearest` and `agreed_matching`, NULL below the first ones, and where too few have a vector to
 * tell; and `agreed_score`, by which they are ordered. It reads each one's `unit`, the vector that nearness is told by.
 *
 * @param nearness of `postern_distinct`'s `one` and `other`, from -1 to 1, as SQL
 */
export function agreedSql(nearness: SqlText): SqlText {
  const { documents, neighbours, weight } = agreement;
  const mean = (column: string) =>
    verbatim(`sum(n.nearness * n.${column}) / nullif(sum(n.nearness), 0) AS ${column}`);
  // what has no neighbours must not be better for it
  const agreed = (column: string) => verbatim(`coalesce(near.${column}, avg(one.${column}) OVER ())`);
  return sql`WITH postern_first AS MATERIALIZED (
      SELECT * FROM postern_distinct ORDER BY score DESC, id COLLATE "C" LIMIT ${documents}
    ), postern_agreed AS MATERIALIZED (
      SELECT one.id, ${agreed("nearest_filled")} AS agreed_nearest,
        ${agreed("matching_filled")} AS agreed_matching,
        round(${1 - weight}::float8 * one.score + ${weight}::float8 * ${agreed("score")}) AS score
      FROM postern_first one CROSS JOIN LATERAL (
        SELECT ${mean("nearest_filled")}, ${mean("matching_filled")}, ${mean("score")}
        FROM (
          SELECT other.*, greatest(${nearness}, 0) AS nearness FROM postern_first other
          WHERE other.id <> one.id AND other.unit IS NOT NULL AND one.unit IS NOT NULL
          ORDER BY nearness DESC LIMIT ${neighbours}
        ) n
      ) near
      WHERE (SELECT count(unit) FROM postern_first) > ${neighbours}
    )
    SELECT f.*, a.agreed_nearest, a.agreed_matching,
      coalesce(a.score, least(f.score, (SELECT min(score) FROM postern_agreed))) AS agreed_score
    FROM postern_distinct f LEFT JOIN postern_agreed a USING (id)`;
}

/**
 * The documents of several tables as one list, the best first, each text once.
 *
 * @param vectorWeight from 0 to 1
 */
export function fuseTables(tables: readonly TableSearch[], vectorWeight: number): RetrievedDocument[] {
  const scores = scoresOf(tables, vectorWeight);
  const ranked = tables.flatMap(({ candidates }, table) =>
    candidates.map((candidate, place) => ({
      candidate,
      // one name may stand for rows of several tables
      key: `${candidate.id ?? candidate.digest}\0${String(table).padStart(4, "0")}`,
      score: scores[table]?.[place] ?? 0,
    }))
  ).sort((one, other) => other.score - one.score || (one.key < other.key ? -1 : 1));
  // the same text twice would take the room of another in a prompt
  return [...Map.groupBy(ranked, ({ candidate }) => candidate.digest).values()].flatMap(documentOf);
}

/** One document for the copies of a text, the best first: the best one with an id, with the best one's score. */
function documentOf(
  copies: readonly { readonly candidate: Candidate; readonly score: number }[],
): RetrievedDocument[] {
  const [best] = copies;
  if (best === undefined) return [];
  const named = copies.find(({ candidate }) => candidate.id !== undefined) ?? best;
  const { table, id, content, similarity, nearest, matching } = named.candidate;
  return [{
    table,
    ...defined({ id }),
    content,
    score: best.score,
    ...defined({ similarity, nearest, matching }),
  }];
}

/** How the scores of a list lie. */
interface Spread {
  readonly mean: number;
  /** Their standard deviation. */
  readonly deviation: number;
  readonly least: number;
}

/** Vectors are compared in single precision: what differs by less, for its size, is equal. */
const precision = 1e-7;

/** Sums that differ by less do so by rounding alone. */
const resolution = 1e-12;

/**
 * How many standard deviations a score is above the mean of its list. What has no score, or one below the list, counts
 * as the least of the list. 0 where all scores are equal.
 */
function standardScore(score: number | undefined, { mean, deviation, least }: Spread): number {
  if (deviation <= precision * Math.max(Math.abs(mean), Math.abs(least))) return 0;
  return (Math.max(score ?? least, least) - mean) / deviation;
}

/** The same in SQL, of a column with the scores of a list and NULL where there is none. */
function standardScoreSql(score: string): string {
  const [mean, deviation, least] = ["avg", "stddev_pop", "min"].map((name) => `${name}(${score}) OVER ()`);
  return `CASE WHEN ${deviation} > ${precision} * greatest(abs(${mean}), abs(${least}))
    THEN (coalesce(${score}, ${least}) - ${mean}) / ${deviation} ELSE 0 END`;
}

/**
 * One table's searches as one, by their standardised scores, weighted and added up. SQL of `nearest_score` and
 * `matching_score`, over the rows that either search found.
 */
function scoreSql(vectorWeight: number): SqlText {
  const part = (score: string, weight: number) =>
    sql`${weight}::float8 * (${verbatim(standardScoreSql(score))})`;
  return sql`round((${part("nearest_score", vectorWeight)} + ${part("matching_score", 1 - vectorWeight)})
    / ${resolution}::float8)`;
}

/**
 * The same of several tables, in the order of their candidates, from 0 to 1; 0.5 is what the searches found on average.
 * The lists of all tables become one, as long as one table's may be: distances can be compared from table to table, and
 * scores of words nearly so, though each table counts its own words.
 *
 * @param vectorWeight from 0 to 1
 */
function scoresOf(tables: readonly TableSearch[], vectorWeight: number): number[][] {
  const compared = comparable(tables);
  const depth = Math.max(0, ...tables.map((table) => table.depth));
  const nearest = spreadOf(compared.map(({ nearestScores }) => nearestScores), depth);
  const matching = spreadOf(compared.map(({ matchingScores }) => matchingScores), depth);
  const sumOf = (nearestScore: number | undefined, matchingScore: number | undefined) =>
    vectorWeight * standardScore(nearestScore, nearest) +
    (1 - vectorWeight) * standardScore(matchingScore, matching);
  const isAgreed = compared.every(({ candidates: [first] }) =>
    first === undefined || first.agreed !== undefined
  );
  return compared.map(({ candidates }) => {
    let least = Infinity;
    return candidates.map(({ nearestScore, matchingScore, agreed }) => {
      let sum = sumOf(nearestScore, matchingScore);
      if (isAgreed && agreed !== undefined) {
        const { weight } = agreement;
        sum = (1 - weight) * sum + weight * sumOf(agreed.nearestScore, agreed.matchingScore);
        least = Math.min(least, sum);
      }
      // below those that agree
      return share(Math.round(Math.min(sum, least) / resolution) * resolution);
    });
  });
}

/** Distances of different kinds cannot be compared, but the similarities of the candidates can. */
function comparable(tables: readonly TableSearch[]): readonly TableSearch[] {
  if (new Set(tables.map(({ distance }) => distance)).size < 2) return tables;
  return tables.map((table) => {
    const found = table.candidates.map((candidate) =>
      candidate.nearestScore === undefined ? undefined : candidate.similarity
    );
    const candidates = table.candidates.map(({ nearestScore: _, agreed: __, ...candidate }, place) => {
      const score = found[place];
      return score === undefined ? candidate : { ...candidate, nearestScore: score };
    });
    return { ...table, candidates, nearestScores: found.flatMap((score) => score ?? []) };
  });
}

/** From 0 to 1, in the order of the values. Far from 0 it still tells those apart that `resolution` does. */
function share(value: number): number {
  return (1 + value / (1 + Math.abs(value))) / 2;
}

function spreadOf(lists: readonly (readonly number[])[], depth: number): Spread {
  const length = Math.max(depth, ...lists.map((list) => list.length));
  const best = lists.flat().sort((one, other) => other - one).slice(0, length);
  const mean = meanOf(best);
  const deviation = Math.sqrt(meanOf(best.map((score) => (score - mean) ** 2)));
  return { mean, deviation, least: best.at(-1) ?? 0 };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** The same searches, whose candidates have their places in each search over all tables. */
export function withStandings(tables: readonly TableSearch[]): TableSearch[] {
  const compared = comparable(tables);
  const nearestScores = compared.flatMap((table) => table.nearestScores);
  // what has none of the words has 0
  const matchingScores = compared.flatMap((table) => table.matchingScores).filter((score) => score !== 0);
  return tables.map((table, at) => ({
    ...table,
    candidates: table.candidates.map((candidate, place) => {
      const { nearestScore, matchingScore } = compared[at]?.candidates[place] ?? {};
      const nearest = standingIn(nearestScores, nearestScore);
      const matching = standingIn(matchingScores, matchingScore || undefined);
      return { ...candidate, ...defined({ nearest, matching }) };
    }),
  }));
}

function standingIn(scores: readonly number[], score: number | undefined): Standing | undefined {
  if (score === undefined) return undefined;
  return { rank: 1 + scores.filter((other) => other > score).length, score };
}
