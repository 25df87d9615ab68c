import { foldText } from "../../../text/words.ts";
import { identifierWords, isPlural, wordStem } from "../../../text/word_stem.ts";

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

export const monthNames =
  "january february march april may june july august september october november december".split(" ");
/** With their abbreviations, apart by spaces. */
export const monthWords = `${monthNames.join(" ")} jan feb mar apr jun jul aug sep sept oct nov dec`;

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
const times = wordSet(`last previous this current next today yesterday tomorrow ${monthWords}`);

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

/** A piece of a request. `start` and `end` are its place in the text, in UTF-16 units. */
export interface Token {
  readonly kind: "word" | "number" | "money" | "ordinal" | "date" | "quoted" | "symbol";
  /** What it is compared by: a word in lower case, a number's digits, a quoted text's value. */
  readonly key: string;
  /** A word's stem; the key for the rest. */
  readonly stem: string;
  readonly start: number;
  readonly end: number;
}

/** Phrases in lower case, words apart by one space, and what each stands for. */
type PhraseTable<T> = ReadonlyMap<string, T>;

/** What a phrase stands for, and the token after it. */
interface Phrase<T> {
  readonly meaning: T;
  readonly end: number;
}

const tokenPattern = new RegExp(
  [
    // what carries no meaning of its own: space, a compound's hyphen, a number sign, a possessive's mark
    /\s+|(?<=[\p{L}\p{N}])-(?=[\p{L}\p{N}])|#(?=\d)|(?<=[sS])['’](?![\p{L}\p{N}])/u,
    /(?<date>\d{4}-\d{2}(?:-\d{2})?(?![\w-]))/,
    /(?<email>[\w.+-]+@[\w-]+(?:\.[\w-]+)+)/,
    /(?<number>(?<![\w)])-?[$€£]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?![\p{L}\p{N}_]))/u,
    /(?<ordinal>\d+(?:st|nd|rd|th)\b)/,
    /(?<word>[\p{L}\p{N}_]+(?:['’][\p{L}]+)?)/u,
    /(?<quoted>"(?:[^"]|"")*"|“[^”]*”|‘[^’]*’|'(?:[^']|''|'(?=\p{L}))*')/u,
    /(?<symbol>[<>!]=|<>|.)/,
  ].map((part) => part.source).join("|"),
  "gsu",
);

/** Splits a request into its words, numbers, dates, quoted texts and symbols; number words become numbers. */
export function tokenise(text: string): Token[] {
  const tokens = [...text.matchAll(tokenPattern)].flatMap(({ 0: source, index: start, groups = {} }) => {
    const one = (kind: Token["kind"], key = source): Token[] => [
      { kind, key, stem: key, start, end: start + source.length },
    ];
    if (groups.word !== undefined) return wordTokens(source, start);
    if (groups.date !== undefined) return one("date");
    if (groups.email !== undefined) return one("quoted");
    if (groups.ordinal !== undefined) return one("ordinal");
    if (groups.symbol !== undefined) return one("symbol");
    const mark = source.slice(-1);
    if (groups.quoted !== undefined) return one("quoted", source.slice(1, -1).replaceAll(mark + mark, mark));
    if (groups.number === undefined) return [];
    return one(/[$€£]/.test(source) ? "money" : "number", source.replace(/[$€£,]/g, ""));
  });
  return combineNumberWords(tokens);
}

/** An identifier such as `order_lines` is as many words as it holds; a possessive's "s" goes. */
function wordTokens(source: string, start: number): Token[] {
  const word = source.replace(/['’][sS]$/, "");
  const parts = /['’]/.test(word) ? [word.toLowerCase().replace("’", "'")] : identifierWords(word);
  const lower = word.toLowerCase();
  let end = 0;
  return parts.map((key) => {
    const from = Math.max(lower.indexOf(key, end), end);
    end = from + key.length;
    return { kind: "word", key, stem: wordStem(key), start: start + from, end: start + end };
  });
}

const ones = [
  "",
  ...("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
    "sixteen seventeen eighteen nineteen").split(" "),
];
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
const numberWords: PhraseTable<number> = new Map([
  ...ones.map((one, at) => [one, at] as const),
  ["dozen", 12] as const,
  ...tens.flatMap((ten, at) =>
    ones.slice(0, 10).map((one, unit) => [`${ten} ${one}`, at * 10 + 20 + unit] as const)
  ),
].flatMap(([words, value]) => [
  [words.trim(), value],
  [`${words.trim()} hundred`.trim(), (value || 1) * 100],
  [`${words.trim()} thousand`.trim(), (value || 1) * 1000],
]));

/** Puts one number in place of number words that belong together: "twenty five", "two hundred", "a dozen". */
function combineNumberWords(tokens: readonly Token[]): Token[] {
  let next = 0;
  return tokens.flatMap((token, at): Token[] => {
    if (at < next) return [];
    const found = phraseAt(tokens, at, numberWords);
    next = found?.end ?? at + 1;
    const key = String(found?.meaning);
    return found
      ? [{ kind: "number", key, stem: key, start: token.start, end: tokens[next - 1]?.end ?? token.end }]
      : [token];
  });
}

/** Words that are apart by spaces, as a set. */
export function wordSet(list: string): ReadonlySet<string> {
  return new Set(list.split(" "));
}

/** A table from meanings and their phrases, which commas separate. */
function phraseTable<T>(...rows: readonly (readonly [meaning: T, phrases: string])[]): PhraseTable<T> {
  return new Map(
    rows.flatMap(([meaning, list]) => list.split(",").map((phrase) => [phrase.trim(), meaning])),
  );
}

const longestPhrase = 6;

/** The longest phrase of the table that starts at a token; its words are compared as they are, or by their stems. */
function phraseAt<T>(
  tokens: readonly Token[],
  at: number,
  table: PhraseTable<T>,
  by: "key" | "stem" = "key",
): Phrase<T> | undefined {
  for (let end = Math.min(at + longestPhrase, tokens.length); end > at; end--) {
    const words = tokens.slice(at, end);
    if (words.some(({ kind }) => kind === "quoted")) continue;
    const meaning = table.get(words.map((token) => token[by]).join(" "));
    if (meaning !== undefined) return { meaning, end };
  }
  return undefined;
}
