import { inheritedScores, looksBack } from "./inherited_scores.ts";
import type { Question } from "./read_question.ts";
import { recentTables } from "./recent_tables.ts";
import type { SchemaIndex } from "./schema_index.ts";
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
  question: Question,
  recentStatements: readonly string[],
): Ranking {
  const scores = scoreTables(index, question);
  const own = ownScores(index, question, scores, recentTables(index, recentStatements));
  if (own.size === 0) {
    const tables = index.overview.map((table): RankedTable => ({ table, role: "possible" }));
    return { tables, scores, isOverview: true };
  }
  const base = new Map(
    byClaim(index, own).slice(0, mostRanked).map(({ table }) => [table, own.get(table) ?? 0]),
  );
  const chosen = chooseCore(index, scores, base);
  const core = withBridges(index, chosen.tables);
  const order = byClaim(index, possibleScores(index, question, scores, { base, core, chosen }));
  // what fits beside these may still be what the request's unknown words mean
  const rest = new Set([...core, ...order.map(({ table }) => table), ...index.overview].slice(0, mostRanked));
  return {
    tables: [...rest].map((table): RankedTable => ({ table, role: core.has(table) ? "core" : "possible" })),
    scores,
    isOverview: false,
  };
}

/** What is to be said for the tables beside the core ones. */
function possibleScores(
  index: SchemaIndex,
  question: Question,
  scores: TableScores,
  found: { base: ReadonlyMap<number, number>; core: ReadonlySet<number>; chosen: Choice },
): Map<number, number> {
  const { base, core, chosen } = found;
  const possible = new Map<number, number>();
  for (const [table, score] of base) {
    const open = score - (scores.totals.get(table) ?? 0) + chosen.remaining(table, coveredForOthers);
    possible.set(table, open + moduleShare * moduleHit(index, scores, table) * (index.weights[table] ?? 0));
  }
  const claims = new Map([...core].map((table) => [table, Math.min(base.get(table) ?? 0, exactName / 10)]));
  for (const [table, score] of inheritedScores(index, claims, looksBack(question))) {
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

interface Claim {
  readonly table: number;
  readonly claim: number;
}

/** Tables by their scores, best first; of about equal ones the table that the catalog makes more likely. */
function byClaim(index: SchemaIndex, scores: ReadonlyMap<number, number>): Claim[] {
  return [...scores]
    .map(([table, score]) => ({ table, claim: score + 0.02 * (index.weights[table] ?? 0) }))
    .sort((a, b) => b.claim - a.claim || a.table - b.table);
}

/** Each table's score on its own; only those above 0. */
function ownScores(
  index: SchemaIndex,
  question: Question,
  scores: TableScores,
  recent: ReadonlyMap<number, number>,
): Map<number, number> {
  const found = new Map<number, number>();
  let best = 0;
  for (const [table, total] of scores.totals) {
    if (total > 0) found.set(table, total);
    best = Math.max(best, total);
  }
  for (const [table, weight] of recent) {
    found.set(table, (found.get(table) ?? 0) + weight * recentShare * Math.max(best, 1));
  }
  for (const name of question.identifiers) {
    // of an identifier with its column behind it, the part before the last dot is the table
    const named = index.byName.get(name) ?? index.byName.get(name.replace(/\.[^.]*$/, "")) ?? [];
    for (const table of named) found.set(table, (found.get(table) ?? 0) + exactName);
  }
  return found;
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
  const candidates = byClaim(index, base).slice(0, mostCandidates);
  const weights = Array.from({ length: scores.termCount }, () => 1);
  const chosen: number[] = [];
  let least = 0;

  const remaining = (table: number, least = 0): number => {
    let sum = 0;
    for (const [term, weight] of weights.entries()) sum += Math.max(least, weight) * scores.of(table, term);
    return sum;
  };
  const gain = ({ table, claim }: Claim): number => {
    const sum = claim - (scores.totals.get(table) ?? 0) + remaining(table);
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
