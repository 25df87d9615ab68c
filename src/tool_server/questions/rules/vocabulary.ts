import { phraseTable } from "./phrases.ts";

const words = (list: string): ReadonlySet<string> => new Set(list.split(" "));

/** Words that may stand anywhere without changing what is asked. */
export const fillers = words(
  "the a an of in for from is are was were be been do does did have has had there that which who whose where having with and any some ever we" +
    " only just already yet our data database table row rows record records entry entries please , . ? ! : &",
);

/** What may stand between a comparison's or a filter's parts. */
export const articles = words("the a an our");
export const joints = words("and & ,");

/** Nouns without a plural, which say nothing of how many rows are meant. */
export const uncountable = words(
  "staff equipment inventory stock news personnel crew feedback information traffic",
);

/** Ways to ask for rows; they say nothing that the rest of the request does not. */
export const requestVerbs = phraseTable<true>([
  [
    "show,show me,show us,list,display,give,give me,give us,get,get me,find,find me,fetch,see,view,print,return,select," +
    "retrieve,look up,tell me,tell me about,what,what is,what's,what are,what was,what were,which,who,who are,let me see," +
    "how much is,how much are,how much was,i want,i want to see,i need,i'd like to see,i would like to see,can you show me,could you show me,can you show," +
    "can i see,can you list,can you give me,can you tell me,do you know,do we have,hello,hi,thanks,thank you,please",
    true,
  ],
]);

/** What may stand anywhere. */
export const politeWords = phraseTable<true>([["please,thanks,thank you,which,who,what", true]]);

export const countPhrases = phraseTable<true>([
  ["how many,count,count of,number of,total number of,total count of,how many total,the number of", true],
]);
export const distinctWords = words("distinct different unique");
export const everything = words("all every everything");

export type Aggregate = "avg" | "sum" | "min" | "max" | "median";
export const aggregates = phraseTable<Aggregate>([
  ["average,avg,mean,average of,mean of", "avg"],
  ["total,sum,sum of,total of,combined", "sum"],
  ["minimum,min,minimum of", "min"],
  ["maximum,max,maximum of", "max"],
  ["median,median of", "median"],
]);

export type Direction = "ASC" | "DESC";
/** What a request may mean by a word that no column is called by; see `concept_columns.ts`. */
export type Concept = "price" | "size" | "rating" | "revenue" | "weight" | "length" | "height" | "name";

export interface Superlative {
  readonly direction: Direction;
  /** `date` is when a row came to be, `age` the same unless birthdays are known; none: a column is named beside it. */
  readonly by?: Concept | "date" | "age";
}
export const superlatives = phraseTable<Superlative>([
  ["most expensive,priciest,most costly,costliest,dearest,highest priced", {
    direction: "DESC",
    by: "price",
  }],
  ["cheapest,least expensive,most affordable,lowest priced", { direction: "ASC", by: "price" }],
  ["newest,latest,most recent,recent,last,most recently", { direction: "DESC", by: "date" }],
  ["earliest,first,least recent", { direction: "ASC", by: "date" }],
  ["oldest", { direction: "ASC", by: "age" }],
  ["best rated,highest rated,top rated,best reviewed", { direction: "DESC", by: "rating" }],
  ["worst rated,lowest rated,least rated,worst reviewed", { direction: "ASC", by: "rating" }],
  ["largest,biggest", { direction: "DESC", by: "size" }],
  ["smallest", { direction: "ASC", by: "size" }],
  ["heaviest", { direction: "DESC", by: "weight" }],
  ["lightest", { direction: "ASC", by: "weight" }],
  ["longest", { direction: "DESC", by: "length" }],
  ["shortest", { direction: "ASC", by: "length" }],
  ["tallest", { direction: "DESC", by: "height" }],
  ["highest,greatest,most,maximum,max,top,best", { direction: "DESC" }],
  ["lowest,least,fewest,minimum,min,bottom,worst", { direction: "ASC" }],
]);

/** Superlatives that may wait for a later "by <column>". */
export const rankWords = words("top bottom highest lowest largest biggest smallest best worst");

export const orderPhrases = phraseTable<"sort" | "sort or group">([
  [
    "sorted by,ordered by,order by,sort by,in order of,ranked by,arranged by,in the order of,sort them by",
    "sort",
  ],
  ["by", "sort or group"],
]);
export const directions = phraseTable<Direction>([
  [
    "descending,desc,highest first,newest first,latest first,largest first,biggest first,most recent first," +
    "in descending order,descending order,from high to low,high to low,from highest to lowest,most expensive first," +
    "best first,highest,largest,from most to least",
    "DESC",
  ],
  [
    "ascending,asc,lowest first,oldest first,earliest first,smallest first,in ascending order,ascending order," +
    "from low to high,low to high,from lowest to highest,alphabetically,in alphabetical order,cheapest first," +
    "worst first,lowest,smallest,from least to most",
    "ASC",
  ],
]);

export const groupPhrases = phraseTable<"always" | "aggregated">([
  [
    "per,for each,for every,in each,in every,by each,each,grouped by,group by,broken down by,split by",
    "always",
  ],
  ["by", "aggregated"],
]);

export type TimeUnit = "minute" | "hour" | "day" | "week" | "month" | "quarter" | "year";
export const timeUnits = phraseTable<TimeUnit>([
  ["minute,minutes", "minute"],
  ["hour,hours", "hour"],
  ["day,days", "day"],
  ["week,weeks", "week"],
  ["month,months", "month"],
  ["quarter,quarters", "quarter"],
  ["year,years", "year"],
]);
export const timeAdjectives = phraseTable<TimeUnit>([
  ["hourly", "hour"],
  ["daily", "day"],
  ["weekly", "week"],
  ["monthly", "month"],
  ["quarterly", "quarter"],
  ["yearly,annual", "year"],
]);

export type Operator = "=" | "<" | "<=" | ">" | ">=";
export const comparisons = phraseTable<Operator>([
  [">,over,above,more than,greater than,higher than,exceeding,larger than,bigger than,better than", ">"],
  [">=,at least,no less than,not less than", ">="],
  ["<,under,below,less than,lower than,smaller than,fewer than", "<"],
  ["<=,at most,no more than,not more than,up to", "<="],
  ["=,equal to,equals,exactly", "="],
]);
export const comparisonEndings = phraseTable<Operator>([
  ["or more,or higher,or above,or over,or better,and up,and above", ">="],
  ["or less,or lower,or below,or under,or fewer", "<="],
]);
/** "cheaper than 20", "costing at least 20": a comparison that names its column by the way. */
export const conceptComparisons = phraseTable<{ by: Concept; operator: Operator }>([
  ["that cost less than,which cost less than,that cost under,which cost under", {
    by: "price",
    operator: "<",
  }],
  ["that cost more than,which cost more than,that cost over,which cost over", { by: "price", operator: ">" }],
  ["cheaper than,costing less than,costing under,priced under,priced below", { by: "price", operator: "<" }],
  ["more expensive than,costing more than,costing over,priced over,priced above", {
    by: "price",
    operator: ">",
  }],
  ["costing at least,priced at least", { by: "price", operator: ">=" }],
  ["costing at most,priced at most,costing up to", { by: "price", operator: "<=" }],
  ["costing,priced at,costing exactly", { by: "price", operator: "=" }],
  ["rated at least", { by: "rating", operator: ">=" }],
  ["rated at most", { by: "rating", operator: "<=" }],
  ["rated over,rated above,rated higher than,rated better than", { by: "rating", operator: ">" }],
  ["rated under,rated below,rated lower than,rated worse than", { by: "rating", operator: "<" }],
  ["rated", { by: "rating", operator: "=" }],
  ["heavier than", { by: "weight", operator: ">" }],
  ["lighter than", { by: "weight", operator: "<" }],
]);
export const currencyWords = words("dollar dollars euro euros usd eur");

/** What leads into a filter; after one of `filterLeads` a bare "<column> <value>" is a condition. */
export const filterLeads = words("with where whose having in of for and & , from by on");
export const filterLinks = words(
  "that which who are is were was be been has have had do does only already yet the a an our their its",
);
export const possessives = words("their its");
export const absencePhrases = phraseTable<true>([
  [
    "without,without a,without an,without any,with no,missing,missing a,missing an,lacking,lacking a,lacking an",
    true,
  ],
  ["that have no,which have no,that has no,have no,has no", true],
]);
export const textMatches = phraseTable<(literal: string) => string>([
  ["contain,contains,containing,include,including,includes,like,matching", (literal) => `%${literal}%`],
  ["starts with,starting with,start with,beginning with,begins with", (literal) => `${literal}%`],
  ["ends with,ending with,ending in", (literal) => `%${literal}`],
]);
export const equalityPhrases = phraseTable<"is" | "not">([
  ["is,are,was,were,=,equals,equal to,is equal to,being,:", "is"],
  ["is not,are not,is not equal to,not,isn't,aren't,was not,were not,!=,<>,other than", "not"],
]);
/** "named X", "tagged X": a value whose column the word before it implies. */
export const namingWords = words("named called titled");
export const taggingPhrases = phraseTable<true>([["tagged,tagged with,tagged as,labelled,labeled", true]]);

/**
 * Participles that say no more than that a row came to be, and the tables that each says it of; of any, where none
 * are named. "Customers who ordered" did something else than come to be.
 */
export const creationWords = phraseTable<ReadonlySet<string> | "any">([
  ["created,added,registered,signed up,joined,recorded,inserted", "any"],
  ["placed,made", words("order purchase booking reservation payment bid donation")],
  [
    "written,posted,submitted",
    words("review comment post message note rating feedback ticket request application"),
  ],
]);
