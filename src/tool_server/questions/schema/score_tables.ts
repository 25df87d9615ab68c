import type { Field, SchemaIndex } from "./schema_index.ts";
import type { QuestionReading } from "./read_question.ts";
import type { ValuePlace } from "./value_index.ts";
import { push } from "./name_words.ts";
import type { Candidate } from "./catalog_vocabulary.ts";

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
/** The rarity of a value that every table has. */
const leastValueRarity = 0.1;
/** What a second kind of evidence for the same term adds. */
const secondEvidence = 0.15;

/** What a request hits, before it is weighed: for each table and term the best hit in its name and elsewhere. */
interface Hits {
  readonly width: number;
  readonly inName: Float32Array;
  readonly elsewhere: Float32Array;
  /** The words of its name that the request has, by table. */
  readonly nameWords: Map<number, Set<string>>;
  readonly tables: Set<number>;
  readonly words: Map<string, number>;
}

/** Scores tables by the request's words in their names, columns, comments and values, weighted by rarity. */
export function scoreTables(index: SchemaIndex, question: QuestionReading): TableScores {
  const width = question.terms.length;
  const hits: Hits = {
    width,
    inName: new Float32Array(index.tables.length * width),
    elsewhere: new Float32Array(index.tables.length * width),
    nameWords: new Map(),
    tables: new Set(),
    words: new Map(),
  };
  question.terms.forEach((term, at) => {
    const candidates = index.vocabulary.candidates(term.word);
    for (const candidate of candidates) takeCandidate(index, hits, candidate, at, term.weight);
    // comments are no part of the vocabulary: there the word itself counts alone
    if (candidates.some((candidate) => candidate.term === term.stem)) return;
    takeCandidate(index, hits, { term: term.stem, quality: 1 }, at, term.weight);
  });
  for (const run of question.runs) {
    for (const candidate of index.vocabulary.initials(run.stems)) {
      takeCandidate(index, hits, candidate, run.term, 1);
    }
  }
  const values = takeValues(index, question, hits);
  const { combined, totals } = weigh(index, question, hits);
  return {
    totals,
    termCount: width,
    of: (table, term) => combined[table * width + term] ?? 0,
    words: hits.words,
    values,
  };
}

function raise(hits: Hits, scores: Float32Array, table: number, term: number, score: number): void {
  const at = table * hits.width + term;
  if (score > (scores[at] ?? 0)) scores[at] = score;
  hits.tables.add(table);
}

/** Takes the tables that have a word of the catalog which a term may mean. */
function takeCandidate(
  index: SchemaIndex,
  hits: Hits,
  candidate: Candidate,
  term: number,
  weight: number,
): void {
  const { postings } = index;
  const entry = postings.terms.get(candidate.term);
  if (entry === undefined) return;
  const base = candidate.quality * weight;
  if (entry.name !== undefined) {
    const score = base * fieldWeight.name * postings.rarity(entry.name);
    for (const table of entry.name.tables) {
      raise(hits, hits.inName, table, term, score);
      const had = hits.nameWords.get(table) ?? new Set();
      hits.nameWords.set(table, had.add(candidate.term));
    }
  }
  for (const field of descriptive) {
    const list = entry[field];
    if (list === undefined) continue;
    const score = base * fieldWeight[field] * postings.rarity(list);
    list.tables.forEach((table, at) =>
      raise(hits, hits.elsewhere, table, term, score * (list.shares[at] ?? 1))
    );
  }
  const known = base * (entry.column === undefined ? 1 : 0.3 + 0.7 * postings.rarity(entry.column));
  hits.words.set(candidate.term, Math.max(hits.words.get(candidate.term) ?? 0, known));
}

/** One score for each table and term, and each table's sum. */
function weigh(index: SchemaIndex, question: QuestionReading, hits: Hits) {
  const nameShare = nameCoverage(index, hits.nameWords);
  const combined = new Float32Array(hits.inName.length);
  const totals = new Map<number, number>();
  for (const table of hits.tables) {
    const share = partOfName + (1 - partOfName) * (nameShare.get(table) ?? 0);
    const factor = copyFactor(index, question, table);
    let total = 0;
    for (let at = table * hits.width; at < (table + 1) * hits.width; at++) {
      const byName = (hits.inName[at] ?? 0) * share;
      const byOther = hits.elsewhere[at] ?? 0;
      const score = factor * (Math.max(byName, byOther) + secondEvidence * Math.min(byName, byOther));
      combined[at] = score;
      total += score;
    }
    totals.set(table, total);
  }
  return { combined, totals };
}

/** A copy counts for less, unless the request has the word that makes it one. */
function copyFactor(index: SchemaIndex, question: QuestionReading, table: number): number {
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

/** Takes the tables that hold a value which the request names; a longer value covers more terms. */
function takeValues(index: SchemaIndex, question: QuestionReading, hits: Hits): Map<number, ValuePlace[]> {
  const found = new Map<number, ValuePlace[]>();
  const scale = Math.log(index.tables.length + 1);
  for (const { key, terms } of question.phrases) {
    const places = index.values.places(key);
    const rarity = Math.max(leastValueRarity, Math.log((index.tables.length + 1) / places.length) / scale);
    for (const place of places) {
      push(found, place.table, place);
      for (const term of terms) {
        const weight = question.terms[term]?.weight ?? 0;
        raise(hits, hits.elsewhere, place.table, term, fieldWeight.value * place.share * weight * rarity);
      }
    }
  }
  return found;
}
