import { defined } from "../../core/defined.ts";
import type { Standing, TableSearch } from "./candidate.ts";
import { comparable } from "./fusion.ts";

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
