import type { Principal } from "../../../core/principal.ts";
import { wordStem } from "../../../text/word_stem.ts";
import { words as wordsOf } from "../../../text/words.ts";
import { type AccessObject, grantedTo } from "../../../identity/access_rules.ts";
import { synonyms } from "../schema/synonyms.ts";
import { sharesDatabase } from "../../definitions/check_sql.ts";
import type { SemanticModel } from "../models/read_models.ts";
import type { QuestionArgument } from "./argument_values.ts";
import { askableText } from "./askable_text.ts";
import {
  attributiveText,
  compilePhrasing,
  matchPhrasing,
  type Phrasing,
  readRequest,
  type RequestForm,
  type Vocabulary,
} from "./phrasing.ts";
import { monthNames, phrasingWords } from "./request_words.ts";
import { wordWeight } from "../schema/name_words.ts";

/** A question that an administrator wrote down, with the statement that answers it. */
export interface VerifiedQuestion extends AccessObject {
  readonly kind: "question";
  /** The question's own words, with its arguments as in `{country}`. */
  readonly name: string;
  readonly description: string;
  /** Optional: without it, the caller's current one. */
  readonly database: string | undefined;
  /** All ways to ask it, the question's own words first. */
  readonly texts: readonly string[];
  readonly phrasings: readonly Phrasing[];
  /** With `$1` and on in the order of `arguments`. */
  readonly sql: string;
  readonly arguments: readonly QuestionArgument[];
}

interface VerifiedMatch {
  readonly question: VerifiedQuestion;
  /** One for each argument, in their order. */
  readonly values: readonly string[];
}

export type VerifiedQuestions = ReturnType<typeof createVerifiedQuestions>;

/**
 * Finds the question that a request asks, and those that are near. What a caller may not ask is not there for them.
 * @param models give names that mean the same
 */
export function createVerifiedQuestions(
  questions: readonly VerifiedQuestion[],
  models: readonly SemanticModel[] = [],
) {
  const byDatabase = new Map<string, readonly Prepared[]>();

  function preparedFor(database: string): readonly Prepared[] {
    const isOf = (each: { readonly database: string | undefined }) => sharesDatabase(each.database, database);
    const its = byDatabase.get(database) ?? prepare(questions.filter(isOf), models.filter(isOf));
    byDatabase.set(database, its);
    return its;
  }

  /**
   * The one question that a request asks, as far as its words tell for sure: each of them is in the question, and each of
   * the question's is in them, in the same order. What no question says in those words may be one by the models' names, or
   * with what is said of a noun before it. Undefined where several questions, or several values, are possible.
   */
  function match(text: string, database: string, principal: Principal): VerifiedMatch | undefined {
    const prepared = preparedFor(database);
    const request = prepared.length === 0 ? [] : readRequest(text);
    if (request.length === 0) return undefined;
    const allowed = grantedTo(principal, prepared);
    const found = surest(allowed, request, ({ question }) => question.phrasings, false);
    const [only, ...others] = found.length > 0 ? found : surest(
      allowed,
      readRequest(text, attributiveText(text)),
      ({ question, attributive }) => [...question.phrasings, ...attributive],
      true,
    );
    return others.length > 0 ? undefined : only;
  }

  /** The questions that share the most with a request, nearest first. */
  function ranked(text: string, database: string, principal: Principal) {
    const asked = termsOf(text);
    return grantedTo(principal, preparedFor(database))
      .map((entry) => {
        const score = likeness(asked, entry);
        const both = counts(text) === counts(entry.question.name) ? ofCounting : 0;
        return { entry, isNear: score >= leastLikeness, score: score + both };
      })
      .toSorted((a, b) => b.score - a.score);
  }

  return {
    match,

    /** Those of the nearest that share more than next to nothing with a request. */
    nearest(text: string, database: string, principal: Principal, most: number): VerifiedQuestion[] {
      const near = ranked(text, database, principal).filter(({ isNear }) => isNear);
      return near.slice(0, most).map(({ entry }) => entry.question);
    },

    /**
     * What is near a request and can be asked as it stands, with the request's values where it has some, else with others.
     * @param now in milliseconds
     */
    askable(text: string, database: string, principal: Principal, most: number, now: number): string[] {
      const texts = ranked(text, database, principal).slice(0, mostFilled).map(({ entry, score }) => {
        const { question, vocabulary: { listed } } = entry;
        const filled = question.texts.flatMap((each) =>
          askableText(each, { question, request: text, listed, now }) ?? []
        );
        const said = Math.max(...filled.map((each) => each.said));
        return { question, texts: filled.map((each) => each.text), score: score + said * ofValue };
      }).toSorted((a, b) => b.score - a.score);
      const found: string[] = [];
      for (const { question, texts: its } of texts) {
        const asks = its.find((each) => match(each, database, principal)?.question === question);
        if (asks !== undefined) found.push(asks);
        if (found.length === most) break;
      }
      return found;
    },
  };
}

/** The matches with the most words of the question's own. */
function surest(
  entries: readonly Prepared[],
  request: readonly RequestForm[],
  phrasingsOf: (entry: Prepared) => readonly Phrasing[],
  byOtherNames: boolean,
): VerifiedMatch[] {
  let most = 0;
  const found = new Map<string, VerifiedMatch>();
  for (const entry of entries) {
    const { question, vocabulary } = entry;
    const names = byOtherNames ? vocabulary : { ...vocabulary, names: [] };
    for (const phrasing of phrasingsOf(entry)) {
      const sureness = phrasing.parts.filter(({ kind }) => kind === "word").length;
      if (sureness < most) continue;
      for (const named of matchPhrasing(phrasing, request, names)) {
        const values = question.arguments.map(({ name, default: usual }) => named.get(name) ?? usual ?? "");
        if (sureness > most) found.clear();
        most = sureness;
        found.set(JSON.stringify([question.name, values]), { question, values });
      }
    }
  }
  return [...found.values()];
}

interface Prepared extends AccessObject {
  readonly question: VerifiedQuestion;
  /** Those of its texts that have another order. */
  readonly attributive: readonly Phrasing[];
  readonly terms: ReadonlyMap<string, number>;
  /** How much a term says, from the questions that have it. */
  readonly rarity: (term: string) => number;
  /** `listed`: the words of all values that arguments of the database list. */
  readonly vocabulary: Vocabulary;
}

function prepare(questions: readonly VerifiedQuestion[], models: readonly SemanticModel[]): Prepared[] {
  const { names, textOf } = sameNames(models);
  const terms = questions.map(({ texts, description }) => {
    const text = [...texts, description].join(" ");
    return termsOf(`${text} ${textOf(text)}`);
  });
  const counts = new Map<string, number>();
  for (const each of terms) for (const term of each.keys()) counts.set(term, (counts.get(term) ?? 0) + 1);
  const rarity = (term: string) => Math.log(1 + questions.length / (counts.get(term) ?? 0.5));
  const values = questions.flatMap(({ arguments: its }) => its.flatMap(({ values = [] }) => values));
  const listed = new Set(values.flatMap(({ words }) => words.map((each) => each.join(" "))));
  return questions.map((question, at) => ({
    ...question,
    question,
    attributive: attributivePhrasings(question),
    terms: terms[at] ?? new Map(),
    rarity,
    vocabulary: { listed, names },
  }));
}

function attributivePhrasings({ texts, arguments: its }: VerifiedQuestion): Phrasing[] {
  const listing = new Set(its.filter(({ values }) => values !== undefined).map(({ name }) => name));
  return texts.flatMap((text) => {
    const other = attributiveText(text, (name) => listing.has(name));
    return other === undefined ? [] : [compilePhrasing(other, its)];
  });
}

/** The names of each thing in the models that has several; a name that two things have means neither. */
function sameNames(models: readonly SemanticModel[]) {
  const things = models.flatMap((model) => [model, ...model.measures, ...model.dimensions])
    .map(({ name, synonyms }) => {
      const texts = [name, ...synonyms];
      const keys = new Map(texts.map((text) => {
        const key = phrasingWords(text, false).words.map(({ key }) => key);
        return [key.join(" "), key];
      }));
      keys.delete("");
      return { texts, keys };
    });
  const counts = new Map<string, number>();
  for (const { keys } of things) for (const key of keys.keys()) counts.set(key, (counts.get(key) ?? 0) + 1);
  return {
    names: things.map(({ keys }) => [...keys].filter(([key]) => counts.get(key) === 1).map(([, key]) => key))
      .filter((group) => group.length > 1),
    /** The other names of what a text names. */
    textOf(text: string): string {
      const stems = new Set(wordsOf(text).map(wordStem));
      return things.filter(({ texts }) =>
        texts.some((name) => wordsOf(name).map(wordStem).every((stem) => stems.has(stem)))
      )
        .flatMap(({ texts }) => texts).join(" ");
    },
  };
}

/** Of how many questions it is tried whether they can be asked. */
const mostFilled = 20;
/** What it adds that a request and a question both count something, or neither does. */
const ofCounting = 0.1;
const counts = (text: string) => /\b(?:how many|number of|count of)\b/i.test(text);
/** What a value of the request adds to how near a question is that takes it. */
const ofValue = 0.2;
const leastLikeness = 0.15;
const ofSynonym = 0.6;
/** A request in words is far shorter; more are not looked at. */
const mostTerms = 200;

/** A text's stems, each with how much it says whatever the other texts. */
function termsOf(text: string): Map<string, number> {
  const found = new Map<string, number>();
  for (const word of wordsOf(text)) {
    // which month is a value, as a number is
    const weight = monthNames.includes(word) ? 0 : wordWeight(word);
    if (weight > 0) found.set(wordStem(word), weight);
    if (found.size === mostTerms) break;
  }
  return found;
}

/** The share of what a request says that a question says too, from 0 to 1. */
function likeness(asked: ReadonlyMap<string, number>, { terms, rarity }: Prepared): number {
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
