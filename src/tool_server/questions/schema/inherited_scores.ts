import { partner } from "./join_graph.ts";
import { emptyFactor } from "./overview.ts";
import type { Question } from "./read_question.ts";
import type { SchemaIndex } from "./schema_index.ts";

/** What a table's neighbours inherit of its score. */
const inherited = 0.3;
/** What of that they pass on to what they refer to. */
const passedOn = 0.5;
/** What an archive inherits of its original where the request looks back. */
const inheritedByArchive = 0.5;
/** The least claim of a core table, as a share of the best one's: a table that joins others may have none. */
const leastClaim = 0.25;

const pastWords = new Set("ever history historical past former previous earlier before".split(" "));

/** Whether a request is about a named year or an earlier time, so that archives may hold the answer. */
export function looksBack(question: Question): boolean {
  return [...question.stems].some((stem) => pastWords.has(stem) || /^(?:19|20)\d\d$/.test(stem));
}

/**
 * What tables get for being next to those of `claims`: their neighbours by joins, what these refer to in turn, and
 * their archives where the request looks back.
 */
export function inheritedScores(
  index: SchemaIndex,
  claims: ReadonlyMap<number, number>,
  looksBack: boolean,
): Map<number, number> {
  const found = new Map<number, number>();
  const least = leastClaim * Math.max(...claims.values());
  const give = (table: number, score: number) => {
    if (score > (found.get(table) ?? 0)) found.set(table, score);
  };
  const toNeighbour = (table: number, score: number) => {
    const isEmpty = index.catalog.tables[table]?.estimatedRows === 0;
    give(table, score * (index.copyMarks[table]?.factor ?? 1) * (isEmpty ? emptyFactor : 1));
  };

  for (const [table, own] of claims) {
    const claim = Math.max(own, least);
    const joins = index.joins.joinsOf(table);
    for (const join of joins) {
      const next = partner(join, table);
      // what a table refers to explains it; what refers to it is one of possibly many
      const share = join.from === table
        ? 1
        : ownWords(index, next, table) / (1 + Math.log2(joins.length) / 4);
      toNeighbour(next, inherited * claim * share);
      for (const further of index.joins.joinsOf(next)) {
        if (further.from === next) toNeighbour(further.to, passedOn * inherited * claim * share);
      }
    }
    if (!looksBack) continue;
    for (const archive of index.archives.get(table) ?? []) give(archive, inheritedByArchive * claim);
  }
  return found;
}

/** How rare the words are that a table's name has beyond another's, from 0 to 1: every table may have its `_tag`. */
function ownWords(index: SchemaIndex, table: number, other: number): number {
  const shared = index.tables[other]?.name ?? [];
  let count = 0;
  let rarity = 0;
  for (const stem of index.tables[table]?.name ?? []) {
    const postings = index.postings.terms.get(stem)?.name;
    if (postings === undefined || shared.includes(stem)) continue;
    count++;
    rarity += index.postings.rarity(postings);
  }
  return count === 0 ? 1 : rarity / count;
}
