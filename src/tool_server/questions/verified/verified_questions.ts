import type { Principal } from "../../../core/principal.ts";
import { wordStem } from "../../../text/word_stem.ts";
import { words as wordsOf } from "../../../text/words.ts";
import { type AccessObject, grantedTo } from "../../../identity/access_rules.ts";
import { wordWeight } from "../schema/question_words.ts";
import { synonyms } from "../schema/synonyms.ts";
import type { ArgumentKind } from "./argument_values.ts";
import { matchPhrasing, type Phrasing, readRequest } from "./phrasing.ts";

/** A question that an administrator wrote down, with the statement that answers it. */
export interface VerifiedQuestion extends AccessObject {
  readonly kind: "question";
  /** The question's own words, with its arguments as in `{country}`. */
  readonly name: string;
  readonly description: string;
  readonly database: string;
  /** All ways to ask it, the question's own words first. */
  readonly texts: readonly string[];
  readonly phrasings: readonly Phrasing[];
  /** With `$1` and on in the order of `arguments`. */
  readonly sql: string;
  readonly arguments: readonly QuestionArgument[];
}

export interface QuestionArgument extends ArgumentKind {
  readonly name: string;
  readonly description: string;
  /** Of phrasings that leave it out. */
  readonly default?: string | undefined;
}

export interface VerifiedMatch {
  readonly question: VerifiedQuestion;
  /** One for each argument, in their order. */
  readonly values: readonly string[];
}

export type VerifiedQuestions = ReturnType<typeof createVerifiedQuestions>;

/** Finds the question that a request asks, and those that are near. What a caller may not ask is not there for them. */
export function createVerifiedQuestions(questions: readonly VerifiedQuestion[]) {
  const byDatabase = new Map(
    [...Map.groupBy(questions, ({ database }) => database)].map((
      [database, its],
    ) => [database, prepare(its)]),
  );

  return {
    /**
     * The one question that a request asks, as far as its words tell for sure: each of them is in the question, and each of
     * the question's is in them, in the same order. Undefined where several questions, or several values, are possible.
     */
    match(text: string, database: string, principal: Principal): VerifiedMatch | undefined {
      const prepared = byDatabase.get(database);
      const request = prepared && readRequest(text);
      if (prepared === undefined || request === undefined) return undefined;
      let surest = 0;
      const found = new Map<string, VerifiedMatch>();
      for (const { question, listed } of grantedTo(principal, prepared)) {
        for (const phrasing of question.phrasings) {
          const sureness = phrasing.parts.filter(({ kind }) => kind === "word").length;
          if (sureness < surest) continue;
          for (const named of matchPhrasing(phrasing, request, listed)) {
            const values = question.arguments.map(({ name, default: usual }) =>
              named.get(name) ?? usual ?? ""
            );
            if (sureness > surest) found.clear();
            surest = sureness;
            found.set(JSON.stringify([question.name, values]), { question, values });
          }
        }
      }
      const [only, ...others] = found.values();
      return others.length > 0 ? undefined : only;
    },

    /** The questions that share the most with a request, nearest first; none that share next to nothing. */
    nearest(text: string, database: string, principal: Principal, most: number): VerifiedQuestion[] {
      const prepared = byDatabase.get(database);
      if (prepared === undefined) return [];
      const asked = termsOf(text);
      return grantedTo(principal, prepared)
        .map((entry) => ({ question: entry.question, score: likeness(asked, entry.terms, entry.rarity) }))
        .filter(({ score }) => score >= leastLikeness)
        .toSorted((a, b) => b.score - a.score)
        .slice(0, most)
        .map(({ question }) => question);
    },
  };
}

interface Prepared extends AccessObject {
  readonly question: VerifiedQuestion;
  readonly terms: ReadonlyMap<string, number>;
  /** How much a term says, from the questions that have it. */
  readonly rarity: (term: string) => number;
  /** The words of all values that arguments of the database list. */
  readonly listed: ReadonlySet<string>;
}

function prepare(questions: readonly VerifiedQuestion[]): Prepared[] {
  const terms = questions.map(({ texts, description }) => termsOf([...texts, description].join(" ")));
  const counts = new Map<string, number>();
  for (const each of terms) for (const term of each.keys()) counts.set(term, (counts.get(term) ?? 0) + 1);
  const rarity = (term: string) => Math.log(1 + questions.length / (counts.get(term) ?? 0.5));
  const values = questions.flatMap(({ arguments: its }) => its.flatMap(({ values = [] }) => values));
  const listed = new Set(values.flatMap(({ words }) => words.map((each) => each.join(" "))));
  return questions.map((question, at) => ({
    ...question,
    question,
    terms: terms[at] ?? new Map(),
    rarity,
    listed,
  }));
}

const leastLikeness = 0.15;
const ofSynonym = 0.6;
/** A request in words is far shorter; more are not looked at. */
const mostTerms = 200;

/** A text's stems, each with how much it says whatever the other texts. */
function termsOf(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const word of wordsOf(text)) {
    const weight = wordWeight(word);
    if (weight > 0) found.set(wordStem(word), weight);
    if (found.size === mostTerms) break;
  }
  return found;
}

/** The share of what a request says that a question says too, from 0 to 1. */
function likeness(
  asked: ReadonlyMap<string, number>,
  terms: ReadonlyMap<string, number>,
  rarity: (term: string) => number,
): number {
  let shared = 0;
  let all = 0;
  for (const [term, weight] of asked) {
    all += weight * rarity(term);
    if (terms.has(term)) shared += weight * rarity(term);
    else {
      const other = [...synonyms.get(term) ?? []].find((synonym) => terms.has(wordStem(synonym)));
      if (other !== undefined) shared += ofSynonym * weight * rarity(wordStem(other));
    }
  }
  return all === 0 ? 0 : Math.min(1, shared / all);
}
