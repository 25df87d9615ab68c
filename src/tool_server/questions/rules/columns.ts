import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import {
  firstOf,
  listAt,
  phraseAt,
  type PhraseTable,
  phraseTable,
  type Token,
  wordSet,
} from "./request_tokens.ts";
import type { Concept } from "./phrases.ts";

export type ColumnKind = "number" | "date" | "flag" | "text" | "exact" | "enum" | "list" | "other";

const kinds: readonly (readonly [RegExp, ColumnKind])[] = [
  [/^(text|character|varchar|citext|char)\b.*\[\]$/, "list"],
  [/\[\]$/, "other"],
  [/^(smallint|integer|bigint|numeric|decimal|real|double precision|money)\b/, "number"],
  [/^(date|timestamp)\b/, "date"],
  [/^boolean\b/, "flag"],
  [/^(text|character|varchar|citext)\b/, "text"],
  [/^uuid\b/, "exact"],
];

/** What a request can do with a column's values. */
export function columnKind({ labels, type }: CatalogColumn): ColumnKind {
  if (labels.length > 0 && !type.endsWith("[]")) return "enum";
  return kinds.find(([pattern]) => pattern.test(type))?.[1] ?? "other";
}

/** Values that only a machine reads and that would drown the rest of a row. */
export function isBulky({ type }: CatalogColumn): boolean {
  return /^(vector|halfvec|sparsevec|bytea|tsvector)\b/.test(type);
}

/** Whether PostgreSQL can sort and group by the column in a way that means something. */
export function isOrderable(column: CatalogColumn): boolean {
  return !isBulky(column) &&
    !/^(json|jsonb|xml|point|line|lseg|box|path|polygon|circle|tsquery)\b/.test(column.type);
}

export const isView = ({ kind }: CatalogTable): boolean => kind === "VIEW" || kind === "MATERIALIZED VIEW";

/** Whether a column's name holds one of the words. */
export function hasWord({ name }: CatalogColumn, words: ReadonlySet<string>): boolean {
  return identifierWords(name).some((word) => words.has(word));
}

const stems = (words: readonly string[]): string => words.map(wordStem).join(" ");

/** What a table is called, singular or plural, with or without its schema before it. */
export function tableNames(tables: readonly CatalogTable[]): PhraseTable<readonly CatalogTable[]> {
  const named = tables.flatMap((table) => {
    const name = stems(identifierWords(table.name));
    return [name, `${stems(identifierWords(table.schema))} . ${name}`].map((key) => ({ key, table }));
  });
  return new Map(
    [...Map.groupBy(named, ({ key }) => key)].map(([key, group]) => [key, group.map(({ table }) => table)]),
  );
}

/** Columns that the same words name. */
export interface NamedColumns {
  readonly columns: readonly CatalogColumn[];
  /** Whether the words are the column's own name, not a part of it or of its comment. */
  readonly isExact: boolean;
}
type NamesOf = (column: CatalogColumn) => readonly string[];

/** What columns are called, by stems; a name of an earlier tier hides those of the later ones. */
function indexNames(columns: readonly CatalogColumn[], tiers: readonly NamesOf[]): PhraseTable<NamedColumns> {
  const index = new Map<string, NamedColumns>();
  for (const [tier, namesOf] of tiers.entries()) {
    const named = columns.flatMap((column) => namesOf(column).map((name) => ({ name, column })));
    for (const [name, group] of Map.groupBy(named, ({ name }) => name)) {
      const found = [...new Set(group.map(({ column }) => column))];
      if (!index.has(name)) index.set(name, { columns: found, isExact: tier === 0 });
    }
  }
  return index;
}

/**
 * A table's columns by their names first, then by parts of their names, then by what their comments begin with. What is
 * ranked, grouped or compared may also be named by a concept; what is grouped or compared, by what it refers to.
 */
export function columnIndexes(table: CatalogTable) {
  const { columns } = table;
  const orderable = columns.filter(isOrderable);
  const tiers: readonly NamesOf[] = [
    ({ name }) => [stems(identifierWords(name))],
    (column) => [shortName(column, table)],
    lastWords,
    (column) => [commentHead(column)],
  ];
  const concepts = (use: "order" | "compare"): NamesOf => (column) =>
    [...conceptWords].flatMap(([word, concept]) =>
      conceptColumn(table, concept, use) === column ? [word] : []
    );
  return {
    columnNames: indexNames(columns, tiers),
    rankedNames: indexNames(orderable, [...tiers, concepts("order")]),
    groupedNames: indexNames(orderable, [...tiers, concepts("order"), referenceName]),
    comparedNames: indexNames(columns, [...tiers, concepts("compare"), referenceName]),
  };
}

/** Without the "id" of a column that refers to another table: "customer" for `customer_id`. */
function referenceName({ name, reference }: CatalogColumn): string[] {
  const words = identifierWords(name);
  if (words.length > 1 && words.at(-1) === "id") return [stems(words.slice(0, -1))];
  return reference === "" ? [] : [stems(words)];
}

/** Without the table's own name before it and without "is" or "has" before a flag. */
function shortName(column: CatalogColumn, table: CatalogTable): string {
  const words = identifierWords(column.name);
  if (columnKind(column) === "flag" && ["is", "has"].includes(words[0] ?? "")) return stems(words.slice(1));
  const tableName = `${stems(identifierWords(table.name))} `;
  return stems(words).startsWith(tableName) ? stems(words).slice(tableName.length) : "";
}

const lastOnly = wordSet("id at on by no");

/** The name's last words: "price" for `unit_price`. */
function lastWords({ name }: CatalogColumn): string[] {
  const words = identifierWords(name);
  return words.slice(1).map((_, at) => stems(words.slice(at + 1))).filter((name) => !lastOnly.has(name));
}

const inCents = ({ comment }: CatalogColumn): boolean => /\bcents?\b/i.test(comment);

/** What a comment begins with, up to its first mark or preposition, where that is a phrase of up to three words. */
function commentHead(column: CatalogColumn): string {
  const [head = ""] = column.comment.toLowerCase()
    .split(/[.,;:()]|\b(?:in|of|for|per|by|from|to|when|that|as|at|on|with)\b/);
  const words = identifierWords(head).filter((word) => !["the", "a", "an"].includes(word));
  return words.length > 3 || inCents(column) ? "" : stems(words);
}

/** Column names in order of preference; those in another unit, good for an order only; what comments begin with. */
type ConceptNames = readonly [names: string, orderOnly: string, comments: RegExp];

const concepts: Readonly<Record<Concept, ConceptNames>> = {
  price: [
    "price unit_price list_price sale_price cost amount total total_amount",
    "price_cents unit_price_cents cost_cents amount_cents total_cents",
    /^(price|cost)/i,
  ],
  revenue: [
    "revenue sales turnover income total total_amount order_total grand_total amount",
    "",
    /^(revenue|turnover)/i,
  ],
  size: ["size total total_amount order_total amount", "size_bytes bytes total_cents amount_cents", /^size/i],
  rating: ["rating average_rating stars score", "", /^(rating|stars)/i],
  weight: ["weight weight_kg weight_g", "", /^weight/i],
  length: ["length duration", "length_cm duration_ms", /^length/i],
  height: ["height", "height_cm", /^height/i],
  name: ["name title label full_name", "", /^(?!)/],
};

/** Words that a request may use for a concept in a column's place, by their stems. */
export const conceptWords = phraseTable<Concept>(
  ["price", "price,cost,expense"],
  ["revenue", "revenue,sale,turnover,income"],
  ["rating", "rating,star,score"],
);

/** The column that holds a concept; undefined where the table has none. */
export function conceptColumn(
  { columns }: CatalogTable,
  concept: Concept,
  use: "order" | "compare" = "compare",
): CatalogColumn | undefined {
  const [names, orderOnly, comments] = concepts[concept];
  const fitting = columns.filter((column) => columnKind(column) === (concept === "name" ? "text" : "number"));
  const named = firstOf(
    (use === "order" ? `${names} ${orderOnly}` : names).split(" "),
    (name) => fitting.find((column) => column.name.toLowerCase() === name),
  );
  const told = fitting.filter((column) => comments.test(column.comment) && !inCents(column));
  return named ?? (told.length === 1 ? told[0] : undefined);
}

const labelJoints = wordSet("and or , &");

/** The labels of an enumeration from a token on, joined by "and", "or" or commas; a quoted one is meant letter by letter. */
export function labelsAt(tokens: readonly Token[], start: number, { labels }: CatalogColumn) {
  const index = new Map(labels.map((label) => [stems(identifierWords(label)), label]));
  return listAt(tokens, start, labelJoints, (at) => {
    const quoted = tokens[at]?.kind === "quoted" ? tokens[at].key : undefined;
    if (quoted === undefined) return phraseAt(tokens, at, index, "stem");
    return labels.includes(quoted) ? { meaning: quoted, end: at + 1 } : undefined;
  });
}

const creationNames =
  ("placed_at ordered_at order_date created_at created_on created creation_date created_date date_created inserted_at " +
    "registered_at signed_up_at joined_at posted_at written_at published_at listed_at listed_on submitted_at " +
    "received_at recorded_at occurred_at sent_at date timestamp").split(" ");

/** Words of dates that tell something else than when a row came to be. */
const otherEvents = wordSet(
  "updated modified changed deleted removed archived expires expired expiry expiration birth born due deadline valid " +
    "until end ended last",
);

const datesOf = ({ columns }: CatalogTable) => columns.filter((column) => columnKind(column) === "date");

/** The column that tells when a row came to be: by its name, else the table's only date that may tell it. */
export function creationDate(table: CatalogTable): CatalogColumn | undefined {
  const dates = datesOf(table);
  const named = firstOf(
    creationNames,
    (name) => dates.find((column) => identifierWords(column.name).join("_") === name),
  );
  const [only] = dates.length === 1 ? dates : [];
  return named ?? (only !== undefined && !hasWord(only, otherEvents) ? only : undefined);
}

const birthWords = wordSet("birth born birthday age");

/** Whether the table knows birthdays: then "oldest" could mean an age. */
export function hasBirthdays({ columns }: CatalogTable): boolean {
  return columns.some((column) => hasWord(column, birthWords));
}

/** What a word can be that tells that something was done; "due" and "end" cannot. */
export const participle = /ed$|^(?:sent|paid|made|sold|built|left|done|held|given|taken|written|won|lost)$/;

/** Ways in which a thing comes to be that is still there later: a customer of 2025 may have registered before. */
const lastingBeginnings = wordSet(
  "registered signed joined listed hired enrolled employed founded opened started since subscribed established " +
    "launched published member",
);

/** Whether the date tells when something began that lasts, so that a period alone need not be about it. */
export function beginsWhatLasts(column: CatalogColumn): boolean {
  return hasWord(column, lastingBeginnings);
}

const dateWords = wordSet("at on date time timestamp day datetime");

/** The column of a participle: `shipped_at` or `shipped_date` for "shipped". */
export function participleDate(table: CatalogTable, word: string): CatalogColumn | undefined {
  const found = datesOf(table).filter(({ name }) =>
    identifierWords(name).includes(word) &&
    identifierWords(name).every((each) => each === word || dateWords.has(each))
  );
  return found.length === 1 ? found[0] : undefined;
}
