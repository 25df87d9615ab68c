import type { Candidate, TableSearch } from "../../src/rag_server/search/fusion.ts";

/** A candidate whose text is its id where it has none of its own. */
export function candidateOf(parts: Partial<Candidate>): Candidate {
  const content = parts.content ?? parts.id ?? "";
  return { table: "docs", content, digest: content.trim(), ...parts };
}

/** A table whose searches found no more than the candidates. */
export function tableSearch(
  candidates: readonly Candidate[],
  { distance = "cosine", depth = 100 }: Partial<TableSearch> = {},
): TableSearch {
  return {
    candidates,
    nearestScores: candidates.flatMap(({ nearestScore }) => nearestScore ?? []),
    matchingScores: candidates.flatMap(({ matchingScore }) => matchingScore ?? []),
    distance,
    depth,
  };
}
