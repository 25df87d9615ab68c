import type { Field, Postings } from "./posting_lists.ts";
import type { Question } from "./read_question.ts";
import type { SchemaIndex } from "./schema_index.ts";
import type { ValuePlace } from "./value_index.ts";
import type { Candidate } from "./vocabulary.ts";

/** How well each table fits each term of a request. */
export interface TableScores {
  /** The sum over the terms, of each table that any term hits. */
  readonly totals: ReadonlyMap<number, number>;
  readonly termCount: number;
  /** A table's score for one term; 0 where the term does not hit it. */
  of(table: number, term: number): number;
  /** The catalog's words that the request may mean, and how much each says; for choosing columns. */
  readonly words: ReadonlyMap<string, number>;
  /** The known values that the request names, by table. */
  readonly values: ReadonlyMap<number, readonly ValuePlace[]>;
}

const fieldWeight: Readonly<Record<Field | "value", number>> = {
  name: 10,
  schema: 4,
  column: 4,
  comment: 3.5,
  columnComment: 2,
  value: 6,
};
const descriptive = ["schema", "column", "comment", "columnComment"] as const;
/** What a name's hit is worth where the request has only a part of the name. */
const partOfName = 0.35;
/** What a second kind of evidence for the same term adds. */
const secondEvidence = 0.15;

/** Scores tables by the request's words in their names, columns, comments and values, weighted by rarity. */
export function scoreTables(index: SchemaIndex, question: Question): TableScores {
  const { postings, tables } = index;
  const width = question.terms.length;
  const nameHits = new Float32Array(tables.length * width);
  const otherHits = new Float32Array(tables.length * width);
  const coverage = new Map<number, Set<string>>();
  const hit = new Set<number>();
  const words = new Map<string, number>();

  const raise = (scores: Float32Array, table: number, term: number, score: number) => {
    const at = table * width + term;
    if (score > (scores[at] ?? 0)) scores[at] = score;
    hit.add(table);
  };

  function takeName(list: Postings, term: number, stem: string, score: number): void {
    for (const table of list.tables) {
      raise(nameHits, table, term, score);
      const covered = coverage.get(table);
      if (covered === undefined) coverage.set(table, new Set([stem]));
      else covered.add(stem);
    }
  }

  function takeCandidate(candidate: Candidate, term: number, weight: number): void {
    const entry = postings.terms.get(candidate.term);
    if (entry === undefined) return;
    const base = candidate.quality * weight;
    if (entry.name !== undefined) {
      takeName(entry.name, term, candidate.term, base * fieldWeight.name * postings.rarity(entry.name));
    }
    for (const field of descriptive) {
      const list = entry[field];
      if (list === undefined) continue;
      const score = base * fieldWeight[field] * postings.rarity(list);
      list.tables.forEach((table, at) => raise(otherHits, table, term, score * (list.shares[at] ?? 1)));
    }
    const known = base * (entry.column === undefined ? 1 : 0.3 + 0.7 * postings.rarity(entry.column));
    words.set(candidate.term, Math.max(words.get(candidate.term) ?? 0, known));
  }

  question.terms.forEach((term, at) => {
    const inText = { term: term.stem, quality: 1 };
    const candidates = index.vocabulary.candidates(term.word);
    for (const candidate of candidates) takeCandidate(candidate, at, term.weight);
    if (!candidates.some((candidate) => candidate.term === term.stem)) takeCandidate(inText, at, term.weight);
  });
  for (const run of question.runs) {
    for (const candidate of index.vocabulary.initials(run.stems)) takeCandidate(candidate, run.term, 1);
  }
  const values = takeValues(index, question, (table, term, score) => raise(otherHits, table, term, score));
  const nameShare = nameCoverage(index, coverage);

  const combined = nameHits;
  const totals = new Map<number, number>();
  for (const table of hit) {
    const share = partOfName + (1 - partOfName) * (nameShare.get(table) ?? 0);
    const factor = copyFactor(index, question, table);
    let total = 0;
    for (let at = table * width; at < (table + 1) * width; at++) {
      const byName = (nameHits[at] ?? 0) * share;
      const byOther = otherHits[at] ?? 0;
      const score = factor * (Math.max(byName, byOther) + secondEvidence * Math.min(byName, byOther));
      combined[at] = score;
      total += score;
    }
    totals.set(table, total);
  }
  return {
    totals,
    termCount: width,
    of: (table, term) => combined[table * width + term] ?? 0,
    words,
    values,
  };
}

/** A copy counts for less, unless the request has the word that makes it one. */
function copyFactor(index: SchemaIndex, question: Question, table: number): number {
  const copy = index.copyMarks[table];
  return copy === undefined || copy.words.some((word) => question.stems.has(word)) ? 1 : copy.factor;
}

/** How much of its name the request has, from 0 to 1. A first word that many names begin with, a module's, says little. */
function nameCoverage(
  index: SchemaIndex,
  covered: ReadonlyMap<number, ReadonlySet<string>>,
): Map<number, number> {
  const { postings, tables } = index;
  const weight = (stem: string, place: number): number => {
    const list = postings.terms.get(stem)?.name;
    const rarity = list === undefined ? 1 : postings.rarity(list);
    return place === 0 ? 0.1 + rarity : 0.6 + 0.4 * rarity;
  };
  const shares = new Map<number, number>();
  for (const [table, stems] of covered) {
    let all = 0;
    let had = 0;
    tables[table]?.name.forEach((stem, place) => {
      all += weight(stem, place);
      if (stems.has(stem)) had += weight(stem, place);
    });
    shares.set(table, all === 0 ? 0 : had / all);
  }
  return shares;
}

/** Scores the tables that hold a value which the request names; a longer value covers more terms. */
function takeValues(
  index: SchemaIndex,
  question: Question,
  raise: (table: number, term: number, score: number) => void,
): Map<number, ValuePlace[]> {
  const found = new Map<number, ValuePlace[]>();
  for (const { key, terms } of question.phrases) {
    const places = index.values.places(key);
    const rarity = Math.log((index.tables.length + 1) / places.length) / Math.log(index.tables.length + 1);
    for (const place of places) {
      const known = found.get(place.table);
      if (known === undefined) found.set(place.table, [place]);
      else known.push(place);
      for (const term of terms) {
        const weight = question.terms[term]?.weight ?? 0;
        raise(place.table, term, fieldWeight.value * place.share * weight * Math.max(0.1, rarity));
      }
    }
  }
  return found;
}
