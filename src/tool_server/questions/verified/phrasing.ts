import { wordSet } from "../rules/request_tokens.ts";
import { type ArgumentKind, type ValueContext, valuesAt } from "./argument_values.ts";
import { phrasingWords, type RequestWords, requestWords } from "./request_words.ts";

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
  "today yesterday tomorrow day week month quarter year hour since until before after between during ago january " +
    "february march april may june july august september october november december",
);

/** @param argumentOf gives the kind of an argument; every name in the text has one */
export function compilePhrasing(text: string, argumentOf: (name: string) => ArgumentKind): Phrasing {
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
    const argument = argumentOf(name);
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

/** A request in the forms in which it is compared. */
export interface ReadRequest {
  readonly forms: readonly { readonly request: RequestWords; readonly text: string }[];
}

/** Undefined for what is no request that could have been written down. */
export function readRequest(text: string): ReadRequest | undefined {
  const comma = text.indexOf(", ");
  // "In Germany, how many customers are there?" asks the same the other way round
  const turned = comma < 0
    ? []
    : [`${text.slice(comma + 2).replace(/[?!.\s]+$/, "")} ${text.slice(0, comma)}`];
  const forms = [text, ...turned].flatMap((form) => {
    const request = requestWords(form);
    return request === undefined ? [] : [{ request, text: form }];
  });
  return forms.length === 0 ? undefined : { forms };
}

/** The values of a phrasing's arguments by their names, for every way in which it is the request; mostly one or none. */
export function matchPhrasing(
  phrasing: Phrasing,
  { forms }: ReadRequest,
  listed: ReadonlySet<string>,
): ReadonlyMap<string, string>[] {
  return forms.flatMap(({ request, text }) => {
    if (request.isPast !== phrasing.isPast && !phrasing.hasTime) return [];
    const context = { text, words: request.words, capitalsTell: hasSmallWords(text), listed };
    return matchesFrom(phrasing, context, 0, 0);
  });
}

/** Whether a word begins with a small letter, beside those that titles write so. */
function hasSmallWords(text: string): boolean {
  return [...text.matchAll(/(?<![\p{L}\p{N}'’])\p{Ll}\p{L}{3,}/gu)].some(([word]) =>
    !/^(?:from|with|that)$/.test(word)
  );
}

function matchesFrom(
  phrasing: Phrasing,
  context: ValueContext,
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
    return isSame ? matchesFrom(phrasing, context, part + 1, word + 1) : [];
  }
  const owns = (end: number) => /^['’]/.test(context.text.slice(context.words[end - 1]?.token.end));
  return valuesAt(next.argument, context, word).filter(({ end }) => owns(end) === next.isOwner).flatMap((
    { value, end },
  ) =>
    matchesFrom(phrasing, context, part + 1, end).flatMap((rest) => {
      const other = rest.get(next.name);
      return other !== undefined && other !== value ? [] : [new Map([[next.name, value], ...rest])];
    })
  );
}
