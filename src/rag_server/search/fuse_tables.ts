import { fuseRankings } from "./rank_fusion.ts";

/** A document that answers a question. */
export interface RetrievedDocument {
  /** As it was configured. */
  readonly table: string;
  /** Absent where the table has no id. */
  readonly id?: string;
  /** Cut off where it is longer than the search's bound. */
  readonly content: string;
  /** Of the fusion; comparable within one answer only. */
  readonly score: number;
  /** Cosine, from -1 to 1; absent where the document has no vector. */
  readonly similarity?: number;
}

/** A document with its places in its own table's arms, from 1. */
export interface Candidate extends Omit<RetrievedDocument, "score"> {
  /** Of the whole text without the blanks around it: what says the same has the same. */
  readonly digest: string;
  readonly nearestRank?: number;
  readonly matchingRank?: number;
}

/**
 * The documents of several tables as one list, the best first, each text once. Similarities can be compared from table
 * to table, so a document's place in the vector arm counts what is nearer in the others too; scores of words cannot, as
 * each table counts its own, and so the place there stays.
 *
 * @param tables each as its own search returned it
 * @param vectorWeight from 0 to 1
 */
export function fuseTables(
  tables: readonly (readonly Candidate[])[],
  vectorWeight: number,
): RetrievedDocument[] {
  const keyed = new Map<string, Candidate>();
  const nearest = new Map<string, number>();
  const matching = new Map<string, number>();
  tables.forEach((candidates, at) => {
    const others = tables.filter((_, other) => other !== at);
    for (const candidate of candidates) {
      const key = `${candidate.id ?? candidate.digest}\0${String(at).padStart(4, "0")}`;
      if (!keyed.has(key)) keyed.set(key, candidate);
      if (candidate.nearestRank !== undefined) {
        keepBest(nearest, key, candidate.nearestRank + nearerCount(others, candidate.similarity ?? -1));
      }
      if (candidate.matchingRank !== undefined) keepBest(matching, key, candidate.matchingRank);
    }
  });
  const fused = fuseRankings([{ weight: vectorWeight, ranks: nearest }, {
    weight: 1 - vectorWeight,
    ranks: matching,
  }]);
  const ranked = fused.flatMap(({ key, score }) => {
    const candidate = keyed.get(key);
    return candidate === undefined ? [] : [{ ...candidate, score }];
  });
  // the same text twice would take the room of another in a prompt
  return [...Map.groupBy(ranked, ({ digest }) => digest).values()].flatMap(documentOf);
}

/** A text that several rows without an id have takes the best place of any of them. */
function keepBest(ranks: Map<string, number>, key: string, rank: number): void {
  ranks.set(key, Math.min(rank, ranks.get(key) ?? rank));
}

function nearerCount(tables: readonly (readonly Candidate[])[], similarity: number): number {
  const isNearer = (other: Candidate) =>
    other.nearestRank !== undefined && (other.similarity ?? -1) > similarity;
  return tables.reduce((count, candidates) => count + candidates.filter(isNearer).length, 0);
}

/** Of a text's copies, the best first: at the best one's place, the best that a client can name. */
function documentOf(copies: readonly (Candidate & { readonly score: number })[]): RetrievedDocument[] {
  const [best] = copies;
  if (best === undefined) return [];
  const { table, id, content, similarity } = copies.find((copy) => copy.id !== undefined) ?? best;
  return [{
    table,
    ...(id !== undefined && { id }),
    content,
    score: best.score,
    ...(similarity !== undefined && { similarity }),
  }];
}
