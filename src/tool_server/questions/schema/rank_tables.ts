import { partner } from "./joins.ts";
import type { QuestionReading } from "./read_question.ts";
import { emptyFactor, type SchemaIndex } from "./schema_index.ts";
import { scoreTables, type TableScores } from "./score_tables.ts";

export interface RankedTable {
  /** The table's number in the catalog's list. */
  readonly table: number;
  /** `core` for tables that the request needs as far as can be seen, and those that join them; else a possibility. */
  readonly role: "core" | "possible";
}

export interface Ranking {
  /** Best first; not all tables of a large catalog. */
  readonly tables: readonly RankedTable[];
  readonly scores: TableScores;
  /** Whether nothing in the request points at any table, so that the ranking is the catalog's alone. */
  readonly isOverview: boolean;
}

const mostCore = 8;
const mostCandidates = 80;
/** What is left of a term's weight once a table that fits it well is chosen. */
const coveredTerm = 0.2;
/** The same for tables that may be meant in place of the chosen one. */
const coveredForOthers = 0.4;
/** The share of the best table's score that one more core table must add. */
const leastGain = 0.22;
const joinedGain = 1.25;
/** What a table of a module that the request names gets for each point of its weight in the catalog. */
const moduleShare = 0.25;
const recentShare = 0.7;
const exactName = 1000;
/** No budget holds more tables than this, not by their names alone. */
const mostRanked = 400;

/** Ranks a catalog's tables by how likely a request needs them, those that connect the best ones included. */
export function rankTables(
  index: SchemaIndex,
  question: QuestionReading,
  recentStatements: readonly string[],
  meant: readonly number[] = [],
): Ranking {
  const scores = scoreTables(index, question);
  const own = ownScores(index, question, scores, recentStatements, meant);
  if (own.size === 0) {
    const tables = index.overview.map((table): RankedTable => ({ table, role: "possible" }));
    return { tables, scores, isOverview: true };
  }
  const base = new Map(
    byScore(index, own).slice(0, mostRanked).map(({ table }) => [table, own.get(table) ?? 0]),
  );
  const chosen = chooseCore(index, scores, base);
  const core = withBridges(index, chosen.tables);
  const order = byScore(index, possibleScores(index, question, scores, { base, core, chosen }));
  // what fits beside these may still be what the request's unknown words mean
  const rest = new Set([...core, ...order.map(({ table }) => table), ...index.overview].slice(0, mostRanked));
  return {
    tables: [...rest].map((table): RankedTable => ({ table, role: core.has(table) ? "core" : "possible" })),
    scores,
    isOverview: false,
  };
}

/** What each table scores by itself; only those above 0. */
function ownScores(
  index: SchemaIndex,
  question: QuestionReading,
  scores: TableScores,
  recentStatements: readonly string[],
  meant: readonly number[],
): Map<number, number> {
  const found = new Map([...scores.totals].filter(([, total]) => total > 0));
  const give = (table: number, score: number) => found.set(table, (found.get(table) ?? 0) + score);
  const best = found.values().reduce((most, score) => Math.max(most, score), 1);
  for (const [table, weight] of recentTables(index, recentStatements)) {
    give(table, weight * recentShare * best);
  }
  for (const table of meant) give(table, best);
  for (const name of question.identifiers) {
    // of an identifier with its column behind it, the part before the last dot is the table
    const named = index.byName.get(name) ?? index.byName.get(name.replace(/\.[^.]*$/, "")) ?? [];
    for (const table of named) give(table, exactName);
  }
  return found;
}

const longestRead = 20_000;
const mostStatements = 5;
const name = String.raw`(?:"[^"\n]{1,128}"|[\p{L}_][\p{L}\p{N}_$]*)`;
const afterFrom = new RegExp(String.raw`\b(?:from|join)\s+(?:only\s+)?(${name}(?:\.${name})?)`, "giu");

/**
 * The tables that a caller's last statements read, each with how much that says about a request that follows: 1 for
 * the last statement, half as much for each one before it.
 */
function recentTables(index: SchemaIndex, statements: readonly string[]): Map<number, number> {
  const found = new Map<number, number>();
  let weight = 1;
  for (const statement of statements.slice(-mostStatements).reverse()) {
    for (const [, written = ""] of statement.slice(0, longestRead).matchAll(afterFrom)) {
      const tables = index.byName.get(written.replaceAll('"', "").toLowerCase()) ?? [];
      for (const table of tables) if (!found.has(table)) found.set(table, weight);
    }
    weight /= 2;
  }
  return found;
}

interface Scored {
  readonly table: number;
  readonly score: number;
}

/** Tables by their scores, best first; of about equal ones the table that the catalog makes more likely. */
function byScore(index: SchemaIndex, scores: ReadonlyMap<number, number>): Scored[] {
  return [...scores]
    .map(([table, score]) => ({ table, score: score + 0.02 * (index.weights[table] ?? 0) }))
    .sort((a, b) => b.score - a.score || a.table - b.table);
}

interface Choice {
  readonly tables: readonly number[];
  /** A table's score for what the chosen ones leave open; `least` is what remains at least of a covered term. */
  remaining(table: number, least: number): number;
}

/**
 * Picks table after table by what each adds: the terms that the chosen ones already cover count for less, and a table
 * that joins a chosen one counts for more. So one table a concept comes before five that all fit the same word.
 */
function chooseCore(index: SchemaIndex, scores: TableScores, base: ReadonlyMap<number, number>): Choice {
  const candidates = byScore(index, base).slice(0, mostCandidates);
  const weights = Array.from({ length: scores.termCount }, () => 1);
  const chosen: number[] = [];
  let least = 0;

  const remaining = (table: number, least = 0): number => {
    let sum = 0;
    for (const [term, weight] of weights.entries()) sum += Math.max(least, weight) * scores.of(table, term);
    return sum;
  };
  const gain = ({ table, score }: Scored): number => {
    const sum = score - (scores.totals.get(table) ?? 0) + remaining(table);
    const isJoined = chosen.some((other) => index.joins.areJoined(other, table));
    return sum * (isJoined ? joinedGain : 1);
  };

  while (chosen.length < mostCore) {
    let best: { table: number; gain: number } | undefined;
    for (const candidate of candidates) {
      if (chosen.includes(candidate.table)) continue;
      const added = gain(candidate);
      if (best === undefined || added > best.gain) best = { table: candidate.table, gain: added };
    }
    if (best === undefined || best.gain < least) break;
    const { table } = best;
    if (chosen.length === 0) least = leastGain * Math.min(best.gain, exactName / 10);
    chosen.push(table);
    for (const [term, weight] of weights.entries()) {
      const top = Math.max(...candidates.map((candidate) => scores.of(candidate.table, term)));
      if (scores.of(table, term) > 0.6 * top) weights[term] = weight * coveredTerm;
    }
  }
  return { tables: chosen, remaining };
}

/** The chosen tables in order, each with those that join it to the ones before. */
function withBridges(index: SchemaIndex, chosen: readonly number[]): Set<number> {
  const connected = new Set<number>();
  for (const table of chosen) {
    const between = connected.has(table) ? undefined : index.joins.between(connected, table);
    connected.add(table);
    between?.forEach((bridge) => connected.add(bridge));
  }
  return connected;
}

/** What the tables beside the core ones score. */
function possibleScores(
  index: SchemaIndex,
  question: QuestionReading,
  scores: TableScores,
  found: { base: ReadonlyMap<number, number>; core: ReadonlySet<number>; chosen: Choice },
): Map<number, number> {
  const { base, core, chosen } = found;
  const possible = new Map<number, number>();
  for (const [table, score] of base) {
    const open = score - (scores.totals.get(table) ?? 0) + chosen.remaining(table, coveredForOthers);
    possible.set(table, open + moduleShare * moduleHit(index, scores, table) * (index.weights[table] ?? 0));
  }
  const coreScores = new Map(
    [...core].map((table) => [table, Math.min(base.get(table) ?? 0, exactName / 10)]),
  );
  for (const [table, score] of inheritedScores(index, coreScores, looksBack(question))) {
    possible.set(table, (possible.get(table) ?? 0) + score);
  }
  return possible;
}

/** How surely the request names the table's module, its schema or its name's first word; from 0 to 1. */
function moduleHit(index: SchemaIndex, scores: TableScores, table: number): number {
  const words = index.tables[table];
  if (words === undefined) return 0;
  let surest = words.name.length > 1 ? scores.words.get(words.name[0] ?? "") ?? 0 : 0;
  for (const word of words.schema) surest = Math.max(surest, scores.words.get(word) ?? 0);
  return surest;
}

/** What a table's neighbours inherit of its score. */
const inherited = 0.3;
/** What of that they pass on to what they refer to. */
const passedOn = 0.5;
/** What an archive inherits of its original where the request looks back. */
const inheritedByArchive = 0.5;
/** The least that a core table counts for, as a share of the best one: a table that joins others may score nothing. */
const leastShare = 0.25;

const pastWords = new Set("ever history historical past former previous earlier before".split(" "));

/** Whether a request is about a named year or an earlier time, so that archives may hold the answer. */
function looksBack(question: QuestionReading): boolean {
  return [...question.stems].some((stem) => pastWords.has(stem) || /^(?:19|20)\d\d$/.test(stem));
}

/**
 * What tables get for being next to the core ones: their neighbours by joins, what these refer to themselves, and
 * their archives where the request looks back.
 */
function inheritedScores(
  index: SchemaIndex,
  coreScores: ReadonlyMap<number, number>,
  looksBack: boolean,
): Map<number, number> {
  const found = new Map<number, number>();
  const least = leastShare * Math.max(...coreScores.values());
  const give = (table: number, score: number) => {
    if (score > (found.get(table) ?? 0)) found.set(table, score);
  };
  const toNeighbour = (table: number, score: number) => {
    const isEmpty = index.catalog.tables[table]?.estimatedRows === 0;
    give(table, score * (index.copyMarks[table]?.factor ?? 1) * (isEmpty ? emptyFactor : 1));
  };

  for (const [table, own] of coreScores) {
    const score = Math.max(own, least);
    const joins = index.joins.joinsOf(table);
    for (const join of joins) {
      const next = partner(join, table);
      // what a table refers to explains it; what refers to it is one of possibly many
      const share = join.from === table
        ? 1
        : ownWords(index, next, table) / (1 + Math.log2(joins.length) / 4);
      toNeighbour(next, inherited * score * share);
      for (const further of index.joins.joinsOf(next)) {
        if (further.from === next) toNeighbour(further.to, passedOn * inherited * score * share);
      }
    }
    if (!looksBack) continue;
    for (const archive of index.archives.get(table) ?? []) give(archive, inheritedByArchive * score);
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
