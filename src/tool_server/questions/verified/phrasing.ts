import { monthNames, phrasingWords, type RequestWords, requestWords, wordSet } from "./request_words.ts";
import { type ArgumentKind, type ValueContext, valuesAt } from "./argument_values.ts";

/** One way to ask a question, prepared for comparing. */
export interface Phrasing {
  readonly parts: readonly PhrasingPart[];
  readonly isPast: boolean;
  /** Whether "the dearest product" is not "the dearest products": the number of a noun says how many rows there are. */
  readonly numberCounts: boolean;
  /** Whether a word of it says when, so that past and present say no more. */
  readonly hasTime: boolean;
}

type PhrasingPart =
  | {
    readonly kind: "word";
    readonly key: string;
    readonly isPlural: boolean;
    /** The word itself is needed: "orders from Berlin" are no "orders of Berlin", whoever that may be. */
    readonly stem?: string;
  }
  | {
    readonly kind: "argument";
    readonly name: string;
    readonly argument: ArgumentKind;
    /** An apostrophe follows it, as in "{customer}'s orders". */
    readonly isOwner: boolean;
  };

/** An argument in a question's words, as in `{country}`. */
export const placeholder = /\{([A-Za-z_][A-Za-z0-9_]*)\}(?:['’]s)?/g;

const superlative =
  /^(?:most|least|best|worst|top|bottom|first|#last|#highest|#lowest|#latest|#oldest|longest|shortest|cheapest|dearest|newest)$/;
const timeWords = wordSet(
  "today yesterday tomorrow day week month quarter year hour since until before after between during ago " +
    monthNames.join(" "),
);

/**
 * The same question with what it says of its noun before it: "how many orders are open" is "how many open orders", and
 * "how many customers do we have in {country}" is "how many {country} customers" where the argument lists its values, so
 * that its words are those that an administrator gave. Undefined where it has no such form.
 */
export function attributiveText(text: string, listsValues = (_name: string) => false): string | undefined {
  const { counted = "", noun = "", said = "", place } = counting.exec(text.trim())?.groups ?? {};
  if (noun === "" || noun.split(" ").some((word) => noNoun.has(word.toLowerCase()))) return undefined;
  if (place !== undefined) return listsValues(place) ? `${counted} {${place}} ${noun}` : undefined;
  return noAttribute.has(said.toLowerCase()) ? undefined : `${counted} ${said} ${noun}`;
}

const counting =
  /^(?<counted>.*\b(?:how many|number of)(?: of)?(?: our| the)?) (?<noun>\p{L}+(?: \p{L}+)?)(?: are (?<said>\p{L}+|\{\w+\})|(?: do we have| are there)? in \{(?<place>\w+)\})[?.!\s]*$/iu;
/** What makes of a noun's words a part of a sentence. */
const noNoun = wordSet(
  "a an all and any are at both do for from have if in is it not never no of on only or our than that the there these " +
    "they this those to we were which who with without you",
);
/** What says nothing, or something else, before a noun: "the present members" are not those who are present. */
const noAttribute = wordSet(
  "there here we you they what concerned in involved late left off on out over present proper responsible up",
);

/** @param its the question's arguments; a name that is none of theirs is a text */
export function compilePhrasing(
  text: string,
  its: readonly (ArgumentKind & { readonly name: string })[],
): Phrasing {
  const parts: PhrasingPart[] = [];
  let isPast = false;
  let start = 0;
  const takeWords = (end: number, next?: ArgumentKind) => {
    const found = phrasingWords(text.slice(start, end), start === 0);
    isPast ||= found.isPast;
    // `values` are of type text
    const isText = next?.type === "text" && next.values === undefined;
    const isExact = (stem: string) =>
      isText || next?.type === "integer" || next?.type === "number" ||
      (next?.type === "text" && stem === "for");
    found.words.forEach(({ key, isPlural, stem }, place) => {
      const isLast = place === found.words.length - 1;
      parts.push({
        kind: "word",
        key,
        isPlural,
        ...(isLast && key === "#of" && isExact(stem) ? { stem } : {}),
      });
    });
  };
  for (const { 0: written, 1: name = "", index } of text.matchAll(placeholder)) {
    const argument = its.find((each) => each.name === name) ?? { type: "text" };
    takeWords(index, argument);
    parts.push({ kind: "argument", name, argument, isOwner: !written.endsWith("}") });
    start = index + written.length;
  }
  takeWords(text.length);
  return {
    parts,
    isPast,
    numberCounts: parts.some((part) => part.kind === "word" && superlative.test(part.key)),
    hasTime: parts.some((part) =>
      part.kind === "word" ? timeWords.has(part.key) : /^(?:date|month|year)$/.test(part.argument.type)
    ),
  };
}

/** A request in one of the forms in which it is compared. */
export interface RequestForm {
  readonly request: RequestWords;
  readonly text: string;
}

/**
 * The forms of a request; none of what is no request that could have been written down.
 * @param otherForm a text that asks the same
 */
export function readRequest(text: string, otherForm?: string): RequestForm[] {
  const comma = text.indexOf(", ");
  // "In Germany, how many customers are there?" asks the same the other way round
  const turned = comma < 0
    ? []
    : [`${text.slice(comma + 2).replace(/[?!.\s]+$/, "")} ${text.slice(0, comma)}`];
  return [text, ...turned, ...(otherForm === undefined ? [] : [otherForm])].flatMap((form) => {
    const request = requestWords(form);
    return request === undefined ? [] : [{ request, text: form }];
  });
}

/** What a request is compared in beside its words. */
export interface Vocabulary {
  readonly listed: ValueContext["listed"];
  /** Names that mean the same in this database, each as the keys of its words. */
  readonly names: readonly (readonly (readonly string[])[])[];
}

/** The values of a phrasing's arguments by their names, for every way in which it is the request; mostly one or none. */
export function matchPhrasing(
  phrasing: Phrasing,
  forms: readonly RequestForm[],
  vocabulary: Vocabulary,
): ReadonlyMap<string, string>[] {
  return forms.flatMap(({ request, text }) => {
    if (request.isPast !== phrasing.isPast && !phrasing.hasTime) return [];
    const context = { ...valueContext(text, request.words, vocabulary.listed), ...vocabulary };
    return matchesFrom(phrasing, context, 0, 0);
  });
}

export function valueContext(
  text: string,
  words: ValueContext["words"],
  listed: ValueContext["listed"],
): ValueContext {
  return { text, words, capitalsTell: hasSmallWords(text), listed };
}

/** Whether a word begins with a small letter, beside those that titles write so. */
function hasSmallWords(text: string): boolean {
  return [...text.matchAll(/(?<![\p{L}\p{N}'’])\p{Ll}\p{L}{3,}/gu)].some(([word]) =>
    !/^(?:from|with|that)$/.test(word)
  );
}

function matchesFrom(
  phrasing: Phrasing,
  context: ValueContext & Vocabulary,
  part: number,
  word: number,
): ReadonlyMap<string, string>[] {
  const { parts, numberCounts } = phrasing;
  const next = parts[part];
  if (next === undefined) return word === context.words.length ? [new Map()] : [];
  if (next.kind === "word") {
    const said = context.words[word];
    const isSame = (next.stem === undefined ? said?.key === next.key : said?.stem === next.stem) &&
      (!numberCounts || said?.isPlural === next.isPlural);
    return isSame
      ? matchesFrom(phrasing, context, part + 1, word + 1)
      : otherNames(phrasing, context, part, word).flatMap(([ownLength, saidLength]) =>
        matchesFrom(phrasing, context, part + ownLength, word + saidLength)
      );
  }
  const owns = (end: number) => /^['’]/.test(context.text.slice(context.words[end - 1]?.token.end));
  const values = valuesAt(next.argument, context, word).filter(({ end }) => owns(end) === next.isOwner);
  return values.flatMap(({ value, end }) =>
    matchesFrom(phrasing, context, part + 1, end)
      .filter((rest) => (rest.get(next.name) ?? value) === value)
      .map((rest) => new Map([[next.name, value], ...rest]))
  );
}

/** How many words of a phrasing are a name, and how many of the request another name for the same; one entry for each. */
function otherNames(
  { parts, numberCounts }: Phrasing,
  { words, names }: ValueContext & Vocabulary,
  part: number,
  word: number,
): [ownLength: number, saidLength: number][] {
  const keyOf = (own: PhrasingPart | undefined) => own?.kind === "word" ? own.key : undefined;
  const owns = (name: readonly string[]) => name.every((key, at) => keyOf(parts[part + at]) === key);
  const says = (name: readonly string[]) => name.every((key, at) => words[word + at]?.key === key);
  return names.flatMap((group) =>
    group.filter(owns).flatMap((own) =>
      group.filter((said) => said !== own && says(said)).flatMap((said): [number, number][] => {
        const last = parts[part + own.length - 1];
        const isPlural = last?.kind === "word" && last.isPlural;
        const isSame = !numberCounts || isPlural === words[word + said.length - 1]?.isPlural;
        return isSame ? [[own.length, said.length]] : [];
      })
    )
  );
}
