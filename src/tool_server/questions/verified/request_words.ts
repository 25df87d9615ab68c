import { foldText } from "../../../text/words.ts";
import { isPlural } from "../../../text/word_stem.ts";
import { phraseAt, type PhraseTable, phraseTable, type Token, tokenise, wordSet } from "../request_tokens.ts";

/** One word, number or sign of a request, in the form in which requests are compared. */
export interface RequestWord {
  /** Equal for words that mean the same in every request. */
  readonly key: string;
  /** The word itself, by its stem. */
  readonly stem: string;
  readonly isPlural: boolean;
  readonly token: Token;
}

export interface RequestWords {
  readonly words: readonly RequestWord[];
  /** Whether it is told in the past: "was", "were", "did". */
  readonly isPast: boolean;
}

/** A request with more characters is no question that somebody wrote down. */
const longestRequest = 500;

/** How a request may begin without meaning anything else. */
const beginnings: PhraseTable<""> = phraseTable([
  "",
  "please, kindly, hi, hello, hey, hi there, can you, could you, would you, can i see, could i see, may i see, can i get, " +
  "could i get, can we see, could we see, i want, i want to see, i want to know, i need, i need to see, i need to know, " +
  "i would like, i would like to see, i would like to know, i'd like, i'd like to see, i'd like to know, we need, " +
  "let me see, let us see, let me know, tell me, tell us, show, show me, show us, give, give me, give us, get, get me, " +
  "get us, fetch, fetch me, find, find me, find us, list, list me, list all, list all of, list all the, show all, " +
  "show all of, show me all, show me all of, give me all, give me all of, display, display all, what, which, " +
  "all, all of, a list of, the list of, a list of all, the list of all, i'm looking for, i am looking for, do you know",
]);

/** What stands in a request for good form or grammar, wherever. No word that can narrow a request is among them. */
const empty = wordSet("the a an our is are was were am do does did we there");
/** The same, and they may stand within a phrase: "do we currently have". */
const asides = wordSet("please kindly thanks currently");
const past = wordSet("was were did");

/** Phrases that mean the same in every request, each with what they are compared by. */
const same = phraseTable(
  [
    "",
    "thank you, thank you very much, right now, at the moment, at present, as of now, do we have, did we have, we have",
  ],
  ["", "are there, is there, were there, was there, there are, there is"],
  [
    "#count",
    "how many, how many of the, how many of our, number of, number of the, number of our, count of, the number of, the count of, total number of, the total number of, the total count of",
  ],
  ["#with", "with, having, have, has, who have, who has, that have, that has, which have, which has"],
  ["#per", "per, for each, for every, in each, in every, each, every, broken down by, grouped by, split by"],
  ["#per day", "daily"],
  ["#per week", "weekly"],
  ["#per month", "monthly"],
  ["#per quarter", "quarterly"],
  ["#per year", "yearly, annual, annually"],
  ["#average", "average, avg, mean, the average of, average of, mean of"],
  ["#total", "total, sum of, total of, the sum of, sum"],
  ["#highest", "highest, largest, biggest, greatest, maximum, max"],
  ["#lowest", "lowest, smallest, minimum, min"],
  ["#latest", "latest, newest, most recent"],
  ["#oldest", "oldest, earliest"],
  ["#last", "last, previous"],
  ["#this", "this, current"],
  ["#versus", "versus, vs, compared to, compared with, in comparison to, in comparison with"],
  ["#over", "more than, greater than, over, above, exceeding"],
  ["#under", "less than, fewer than, under, below"],
  ["#at_least", "at least, no less than, no fewer than"],
  ["#at_most", "at most, no more than, up to"],
  [
    "#without",
    "without, without any, with no, have no, has no, who have no, that have no, which have no, having no",
  ],
  ["#that", "that, which, who"],
  ["#customer", "client"],
  ["#supplier", "vendor"],
  ["#employee", "staff, staff member, personnel, worker, member of staff"],
  ["#invoice", "bill"],
  ["#revenue", "turnover"],
  ["#country", "nation"],
  ["#doctor", "physician"],
  ["#percentage", "percentage, percent"],
  ["#cancelled", "canceled"],
);

/** Grammar between a noun and what is said of it: "products that are sold out". */
const relative = /^(?:that|which|who)$/;
const being = wordSet("is are was were");

const determiners = wordSet("the a an our all me us these those every each");

/** Prepositions that mean the same where no number but a year follows: "due in 7 days" is not "due of 7 days". */
const loose = wordSet("of in");
/** What "for" says when before; before all else it may say for whom. */
const times = wordSet(
  "last previous this current next today yesterday tomorrow january february march april may june july august " +
    "september october november december jan feb mar apr jun jul aug sep sept oct nov dec",
);

/** A request's words in order; undefined where it has none, or too many. */
export function requestWords(text: string): RequestWords | undefined {
  if (text.length > longestRequest) return undefined;
  return canonical(withoutBeginning(tokensOf(text)), text);
}

/** The words of a part of a question that was written down; what only begins a request is left out at its start alone. */
export function phrasingWords(text: string, isStart: boolean): RequestWords {
  const tokens = tokensOf(text);
  return canonical(isStart ? withoutBeginning(tokens) : tokens, text) ?? { words: [], isPast: false };
}

function tokensOf(text: string): Token[] {
  // words that are apart by an apostrophe alone in one keyboard are not in another
  return tokenise(text.replaceAll("’", "'")).filter(({ kind, key }) =>
    kind !== "symbol" || !/^[?!.,;:…¿¡？！。、，]$/.test(key)
  )
    .filter((token) => token.kind !== "word" || !asides.has(token.key))
    .flatMap((token) => token.kind === "money" ? splitMoney(text, token) : [token]);
}

/** `$500` is the sign, then the number. */
function splitMoney(text: string, token: Token): Token[] {
  const sign = text.slice(token.start, token.end).match(/[$€£]/)?.[0] ?? "";
  return [
    { kind: "symbol", key: sign, stem: sign, start: token.start, end: token.start },
    { ...token, kind: "number" },
  ];
}

function withoutBeginning(tokens: readonly Token[]): readonly Token[] {
  let at = 0;
  for (
    let found = phraseAt(tokens, at, beginnings);
    found !== undefined;
    found = phraseAt(tokens, at, beginnings)
  ) {
    // "list price" is a noun, "list prices" too
    const [verb, next] = tokens.slice(found.end - 1, found.end + 1);
    const isNoun = verb !== undefined && /^(?:list|display|show)$/.test(verb.key) && next?.kind === "word" &&
      (next.stem === "price" || (verb.key !== "show" && !isPlural(next.key) && !determiners.has(next.key)));
    if (isNoun) break;
    at = found.end;
  }
  // "count the orders"
  const first = tokens[at];
  return first?.key === "count" && first.kind === "word"
    ? [
      { ...first, key: "number" },
      { ...first, key: "of" },
      ...tokens.slice(tokens[at + 1]?.key === "of" ? at + 2 : at + 1),
    ]
    : tokens.slice(at);
}

function canonical(tokens: readonly Token[], text: string): RequestWords | undefined {
  const found: RequestWord[] = [];
  let isPast = false;
  // where all is in capitals, they tell nothing
  const hasSmallLetters = /\p{Ll}/u.test(text);
  const isName = ({ kind, start, end }: Token) =>
    kind === "word" && hasSmallLetters && /^\p{Lu}{2,}$/u.test(text.slice(start, end));
  for (let at = 0; at < tokens.length;) {
    const token = tokens[at];
    if (token === undefined) break;
    const push = (key: string) =>
      found.push({
        key,
        stem: foldText(token.stem),
        isPlural: token.kind === "word" && isPlural(token.key),
        token,
      });
    // "US" is no "us", and "IN" may be Indiana
    if (token.kind !== "word" || isName(token)) {
      push(`${isName(token) ? "name" : token.kind} ${foldText(token.key)}`);
      at++;
      continue;
    }
    const next = tokens[at + 1];
    if (found.length > 0 && relative.test(token.key) && next?.kind === "word" && being.has(next.key)) {
      isPast ||= past.has(next.key);
      at += 2;
      continue;
    }
    const phrase = phraseAt(tokens, at, same) ?? phraseAt(tokens, at, same, "stem");
    if (phrase !== undefined && !tokens.slice(at, phrase.end).some(isName)) {
      isPast ||= tokens.slice(at, phrase.end).some(({ key }) => past.has(key));
      for (const key of phrase.meaning.split(" ")) if (key !== "") push(key);
      at = phrase.end;
      continue;
    }
    at++;
    if (past.has(token.key)) isPast = true;
    if (empty.has(token.key)) continue;
    const isYear = next?.kind === "number" && /^[12]\d{3}$/.test(next.key);
    const isLoose = next === undefined || isYear || next.kind === "date"
      ? loose.has(token.key) || token.key === "for"
      : loose.has(token.key)
      ? next.kind !== "number"
      : token.key === "for" && times.has(next.key === "the" ? tokens[at + 1]?.key ?? "" : next.key);
    const stem = foldText(token.stem);
    push(isLoose ? "#of" : sameAs.get(stem) ?? stem);
  }
  return found.length === 0 ? undefined : { words: found, isPast };
}

/** The words that the left sides of {@linkcode same} are named after. */
const sameAs: ReadonlyMap<string, string> = new Map(
  [...new Set(same.values())].filter((key) => /^#[a-z]+$/.test(key)).map((key) => [key.slice(1), key]),
);
