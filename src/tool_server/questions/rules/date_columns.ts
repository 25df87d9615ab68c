import type { CatalogColumn } from "../../../postgres/catalog/catalog.ts";
import { columnKind } from "./column_kind.ts";
import { identifierWords } from "../../../text/word_stem.ts";

const creationNames = [
  "placed_at",
  "ordered_at",
  "order_date",
  "created_at",
  "created_on",
  "created",
  "creation_date",
  "created_date",
  "date_created",
  "inserted_at",
  "registered_at",
  "signed_up_at",
  "joined_at",
  "posted_at",
  "written_at",
  "published_at",
  "listed_at",
  "listed_on",
  "submitted_at",
  "received_at",
  "recorded_at",
  "occurred_at",
  "sent_at",
  "date",
  "timestamp",
];

/** Dates that tell something else than when a row came to be. */
const laterEvents = new Set(
  "updated modified changed deleted removed archived expires expired expiry expiration birth born due deadline valid until end ended last"
    .split(" "),
);
const dateWords = new Set(["at", "on", "date", "time", "timestamp", "day", "datetime"]);

/** The column that tells when a row came to be: by its name, else the table's only date that may tell it. */
export function creationDate(columns: readonly CatalogColumn[]): CatalogColumn | undefined {
  const dates = columns.filter((column) => columnKind(column) === "date");
  for (const name of creationNames) {
    const found = dates.find((column) => identifierWords(column.name).join("_") === name);
    if (found !== undefined) return found;
  }
  const only = dates.length === 1 ? dates[0] : undefined;
  const tellsOther = only !== undefined && identifierWords(only.name).some((word) => laterEvents.has(word));
  return tellsOther ? undefined : only;
}

/** Whether the table knows birthdays: then "oldest" could mean an age. */
export function hasBirthdays(columns: readonly CatalogColumn[]): boolean {
  return columns.some(({ name }) =>
    identifierWords(name).some((word) => ["birth", "born", "birthday", "age"].includes(word))
  );
}

const irregularParticiples = new Set(
  "sent paid made sold built left done held given taken written won lost".split(" "),
);

/** Whether a word can tell that something was done; "due" and "end" cannot. */
export function isParticiple(word: string): boolean {
  return word.endsWith("ed") || irregularParticiples.has(word);
}

/** Ways in which a thing comes to be that is still there later: a customer of 2025 may have registered before. */
const lastingBeginnings = new Set(
  ("registered signed joined listed hired enrolled employed founded opened started since subscribed established " +
    "launched published member").split(" "),
);

/** Whether the date tells when something began that lasts, so that a period alone need not be about it. */
export function beginsWhatLasts(column: CatalogColumn): boolean {
  return identifierWords(column.name).some((word) => lastingBeginnings.has(word));
}

/** The column of a participle: `shipped_at` or `shipped_date` for "shipped". */
export function participleDate(
  columns: readonly CatalogColumn[],
  participle: string,
): CatalogColumn | undefined {
  const found = columns.filter((column) => {
    const words = identifierWords(column.name);
    return columnKind(column) === "date" && words.includes(participle) &&
      words.every((word) => word === participle || dateWords.has(word));
  });
  return found.length === 1 ? found[0] : undefined;
}
