import { type PhraseTable, phraseTable, wordSet } from "./request_tokens.ts";

export type Aggregate = "avg" | "sum" | "min" | "max" | "median";
export type Direction = "ASC" | "DESC";
export type TimeUnit = "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year";
export type Operator = "=" | "<" | "<=" | ">" | ">=";
/** What a request may mean by a word that no column is called by; see `columns.ts`. */
export type Concept = "price" | "size" | "rating" | "revenue" | "weight" | "length" | "height" | "name";

/** Every phrase of this file: it means something to the reading itself and is no value unless quoted. */
export const reservedPhrases = new Map<string, unknown>();

function phrases<T>(...rows: readonly (readonly [meaning: T, phrases: string])[]): PhraseTable<T> {
  const table = phraseTable(...rows);
  table.forEach((meaning, phrase) => reservedPhrases.set(phrase, meaning));
  return table;
}

/** Words that may stand anywhere without changing what is asked. */
export const fillers = wordSet(
  "the a an of in for from is are was were be been have do does did has had there that which who whose where having " +
    "with and any some ever we only just already yet our data database table row rows record records entry entries " +
    "please , . ? ! : &",
);

/** What may stand between a comparison's or a filter's parts. */
export const articles = wordSet("the a an our");
export const joints = wordSet("and & ,");
export const possessives = wordSet("their its");
export const distinctWords = wordSet("distinct different unique");
export const everything = wordSet("all every everything");
export const currencyWords = wordSet("dollar dollars euro euros usd eur");

/** Nouns without a plural, which say nothing of how many rows are meant. */
export const uncountable = wordSet(
  "staff equipment inventory stock news personnel crew feedback information traffic",
);

/** Ways to ask for rows; they say nothing that the rest of the request does not. */
export const requestVerbs = phrases([
  true,
  `show,show me,show us,list,display,give,give me,give us,get,get me,find,find me,fetch,see,view,print,return,select,
   retrieve,look up,tell me,tell me about,what,what is,what's,what are,what was,what were,which,who,who are,
   let me see,how much is,how much are,how much was,i want,i want to see,i need,i'd like to see,i would like to see,
   can you show me,could you show me,can you show,can i see,can you list,can you give me,can you tell me,do you know,
   do we have,hello,hi,thanks,thank you,please`,
]);
/** Those of them that may stand anywhere. */
export const politeWords = phrases([true, "please,thanks,thank you,which,who,what"]);

export const countPhrases = phrases([
  true,
  "how many,count,count of,number of,total number of,total count of,how many total,the number of",
]);
export const aggregates = phrases<Aggregate>(
  ["avg", "average,avg,mean,average of,mean of"],
  ["sum", "total,sum,sum of,total of,combined"],
  ["min", "minimum,min,minimum of"],
  ["max", "maximum,max,maximum of"],
  ["median", "median,median of"],
);

export interface Superlative {
  readonly direction: Direction;
  /** `date` is when a row came to be, `age` the same unless birthdays are known; none: a column is named beside it. */
  readonly by: Concept | "date" | "age" | undefined;
}
const rankings: readonly (readonly [by: Superlative["by"], most: string, least: string])[] = [
  [
    "price",
    "most expensive,priciest,most costly,costliest,dearest,highest priced",
    "cheapest,least expensive,most affordable,lowest priced",
  ],
  ["date", "newest,latest,most recent,recent,last,most recently", "earliest,first,least recent"],
  ["age", "", "oldest"],
  [
    "rating",
    "best rated,highest rated,top rated,best reviewed",
    "worst rated,lowest rated,least rated,worst reviewed",
  ],
  ["size", "largest,biggest", "smallest"],
  ["weight", "heaviest", "lightest"],
  ["length", "longest", "shortest"],
  ["height", "tallest", ""],
  [undefined, "highest,greatest,most,maximum,max,top,best", "lowest,least,fewest,minimum,min,bottom,worst"],
];
export const superlatives = phrases<Superlative>(
  ...rankings.map(([by, most]) => [{ by, direction: "DESC" }, most] as const),
  ...rankings.map(([by, , least]) => [{ by, direction: "ASC" }, least] as const),
);
/** Superlatives that may wait for a later "by <column>". */
export const rankWords = wordSet("top bottom highest lowest largest biggest smallest best worst");

export const orderPhrases = phrases<"sort" | "sort or group">(
  [
    "sort",
    "sorted by,ordered by,order by,sort by,in order of,ranked by,arranged by,in the order of,sort them by",
  ],
  ["sort or group", "by"],
);
export const directions = phrases<Direction>(
  [
    "DESC",
    `descending,desc,highest first,newest first,latest first,largest first,biggest first,most recent first,
     in descending order,descending order,from high to low,high to low,from highest to lowest,most expensive first,
     best first,highest,largest,from most to least`,
  ],
  [
    "ASC",
    `ascending,asc,lowest first,oldest first,earliest first,smallest first,in ascending order,ascending order,
     from low to high,low to high,from lowest to highest,alphabetically,in alphabetical order,cheapest first,
     worst first,lowest,smallest,from least to most`,
  ],
);
export const groupPhrases = phrases<"always" | "aggregated">(
  [
    "always",
    "per,for each,for every,in each,in every,by each,each,grouped by,group by,broken down by,split by",
  ],
  ["aggregated", "by"],
);

const units = ["minute", "hour", "day", "week", "month", "quarter", "year"] as const;
export const timeUnits = phrases<TimeUnit>(...units.map((unit) => [unit, `${unit},${unit}s`] as const));
export const timeAdjectives = phrases<TimeUnit>(
  ...units.map((unit) => [unit, `${unit}ly`] as const),
  ["day", "daily"],
  ["year", "annual"],
);

export const comparisons = phrases<Operator>(
  [">", ">,over,above,more than,greater than,higher than,exceeding,larger than,bigger than,better than"],
  [">=", ">=,at least,no less than,not less than"],
  ["<", "<,under,below,less than,lower than,smaller than,fewer than,worse than"],
  ["<=", "<=,at most,no more than,not more than,up to"],
  ["=", "=,equal to,equals,exactly"],
);
export const comparisonSuffixes = phrases<Operator>(
  [">=", "or more,or higher,or above,or over,or better,and up,and above"],
  ["<=", "or less,or lower,or below,or under,or fewer"],
);
/** "cheaper than 20", "costing at least 20": a comparison that names its column by the way. */
export const conceptComparisons = phrases<{ readonly by: Concept; readonly operator?: Operator }>(
  [{ by: "price" }, "costing,priced"],
  [{ by: "price", operator: "=" }, "priced at"],
  [{ by: "price", operator: ">=" }, "priced at least"],
  [{ by: "price", operator: "<=" }, "priced at most"],
  [{ by: "price", operator: "<" }, "cheaper than"],
  [{ by: "price", operator: ">" }, "more expensive than"],
  [{ by: "rating" }, "rated"],
  [{ by: "weight", operator: ">" }, "heavier than"],
  [{ by: "weight", operator: "<" }, "lighter than"],
);

/** What leads into a filter; after one of `filterLeads` a bare "<column> <value>" is a condition. */
export const filterLeads = wordSet("with where whose having in of for and & , from by on");
export const filterLinks = wordSet(
  "that which who are is was were be been has have had do does only already yet the a an our their its",
);
export const absencePhrases = phrases([
  true,
  "without,without any,with no,missing,lacking,that have no,which have no,that has no,have no,has no",
]);
export const textMatches = phrases<(literal: string) => string>(
  [(literal) => `%${literal}%`, "contain,contains,containing,include,including,includes,like,matching"],
  [(literal) => `${literal}%`, "starts with,starting with,start with,beginning with,begins with"],
  [(literal) => `%${literal}`, "ends with,ending with,ending in"],
);
export const equalityPhrases = phrases<"is" | "not">(
  ["is", "is,are,was,were,=,equals,equal to,is equal to,being,:"],
  ["not", "is not,are not,is not equal to,not,isn't,aren't,was not,were not,!=,<>,other than"],
);
/** "named X", "tagged X": a value whose column the word before it implies. */
export const namingWords = wordSet("named called titled");
export const taggingPhrases = phrases([true, "tagged,tagged with,tagged as,labelled,labeled"]);

/**
 * Participles that say no more than that a row came to be, and the tables that each says it of; of any, where none
 * are named. "Customers who ordered" did something else than come to be.
 */
export const creationWords = phrases<ReadonlySet<string> | "any">(
  ["any", "created,added,registered,signed up,joined,recorded,inserted"],
  [wordSet("order purchase booking reservation payment bid donation"), "placed,made"],
  [
    wordSet("review comment post message note rating feedback ticket request application"),
    "written,posted,submitted",
  ],
);

/** Other words that cannot pass for a value unless quoted. */
export const reservedWords = new Set([
  ...fillers,
  ...distinctWords,
  ...everything,
  ...("or not no but not than never if between since until before after during order limit null none empty blank set " +
    "given present known available same").split(" "),
]);
