import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { columnKind } from "./column_kind.ts";
import { conceptColumn } from "./concept_columns.ts";
import { beginsWhatLasts } from "./date_columns.ts";
import type { Draft, Grouping, Measure, Scan } from "./draft.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";

const isView = ({ kind }: CatalogTable): boolean => kind === "VIEW" || kind === "MATERIALIZED VIEW";
const wordsOf = ({ name }: CatalogColumn): readonly string[] => identifierWords(name);
const has = (words: readonly string[], some: readonly string[]): boolean =>
  words.some((word) => some.includes(word));

const averages = ["average", "avg", "mean", "median"];
const shares = [
  "percent",
  "percentage",
  "pct",
  "rate",
  "ratio",
  "share",
  "rating",
  "score",
  "stars",
  "age",
  "year",
];
const counts = ["count", "num", "number", "cnt"];
const quantities = ["quantity", "qty", "units", "pieces"];

/** What adds up: "average revenue per category" may be of each category's sum. */
const flows = ["revenue", "sales", "turnover", "income", "sold", ...quantities];

const isAverage = (column: CatalogColumn): boolean => averages.includes(wordsOf(column)[0] ?? "");

/** Why a column's values cannot be summed up like this. */
function measureDoubt({ aggregate, column }: Measure, table: CatalogTable): string | undefined {
  const { name } = column;
  const words = wordsOf(column);
  const isBound = aggregate === "min" || aggregate === "max";
  if (isBound) return undefined;
  if (column.isPrimaryKey || column.reference !== "" || ["id", "no"].includes(words.at(-1) ?? "")) {
    return `${name} holds no amounts`;
  }
  if (isAverage(column)) return `${name} holds averages, which have no ${aggregate} that means something`;
  if (aggregate !== "sum") return undefined;
  if (has(words, shares)) return `${name} holds no amounts that add up`;
  if (isView(table) && has([words[0] ?? "", words.at(-1) ?? ""], counts)) {
    return `${table.name} may leave out rows that ${name} does not count`;
  }
  const isUnitPrice = column === conceptColumn(table.columns, "price", "compare") &&
    has(words, ["price", "cost"]);
  const isSold = table.columns.some((other) => has(wordsOf(other), quantities));
  return isUnitPrice && isSold ? `${name} is for one, and ${table.name} has quantities` : undefined;
}

/** Where there is one row for each value that is grouped by, an average of them is another's. */
function groupDoubt({ groups, measures }: Draft, table: CatalogTable): string | undefined {
  const only = groups.length === 1 ? groups[0] : undefined;
  if (only === undefined || measures.every(({ aggregate }) => aggregate === "sum")) return undefined;
  if (isOneEach(only, table)) return `${table.name} may have one row for each ${only.column.name}`;
  const flow = measures.find(({ aggregate, column }) => aggregate === "avg" && has(wordsOf(column), flows));
  return flow && `an average of ${flow.column.name} per ${only.column.name} may be one of sums`;
}

function isOneEach({ column, unit }: Grouping, table: CatalogTable): boolean {
  const isKey = column.isPrimaryKey && table.columns.filter(({ isPrimaryKey }) => isPrimaryKey).length === 1;
  const noun = wordStem(wordsOf(column)[0] ?? "");
  const isOwn = noun !== "" && wordsOf(column).at(-1) === "id" &&
    identifierWords(table.name).map(wordStem).includes(noun);
  const isTime = isView(table) && columnKind(column) === "date" && unit === undefined;
  return isKey || column.isUnique || isOwn || isTime;
}

const worthConcepts = ["rating", "revenue"] as const;
const worthWords = new Set(["best", "worst"]);

/** "best" says which end of a rating or a revenue is meant, and of a price it does not. */
function worthDoubt({ tokens, takenBy, table, draft }: Scan): string | undefined {
  const said = tokens.find(({ key }, at) =>
    worthWords.has(key) && ["superlative", "order"].includes(takenBy[at] ?? "")
  );
  const columns = [...draft.measures, ...draft.ordering === undefined ? [] : [draft.ordering]].map((
    { column },
  ) => column);
  const worth = worthConcepts.map((concept) => conceptColumn(table.columns, concept, "order"));
  const other = columns.find((column) => !worth.includes(column));
  return said && other && `"${said.key}" does not say whether a high or a low ${other.name} is meant`;
}

function dateDoubt(
  { saysCreation, assumedDates, ordering, measures }: Draft,
  table: CatalogTable,
): string | undefined {
  if (saysCreation) return undefined;
  const doubtful = assumedDates.find(({ column, use }) =>
    beginsWhatLasts(column) && ordering?.column !== column && (use === "period" || measures.length > 0)
  );
  return doubtful &&
    `"${doubtful.words}" does not say what happened then; ${table.name} has ${doubtful.column.name}`;
}

/** "average order value" may ask for one number or for a view's column of that name. */
function projectionDoubt({ source, draft: { projection } }: Scan): string | undefined {
  const only = projection.length === 1 ? projection[0] : undefined;
  if (only === undefined || !isAverage(only) || source.toLowerCase().includes(only.name.toLowerCase())) {
    return undefined;
  }
  return `${only.name} holds more than one average: say "${only.name}" to list them`;
}

/** Why a request whose words are all understood may mean something else than the draft says. */
export function doubtsOf(scan: Scan): string[] {
  const { draft, table } = scan;
  return [
    draft.counts && draft.isOneRow
      ? "one row is not counted, and what is in it may be in another table"
      : undefined,
    ...draft.measures.map((measure) => measureDoubt(measure, table)),
    groupDoubt(draft, table),
    worthDoubt(scan),
    dateDoubt(draft, table),
    projectionDoubt(scan),
  ].filter((doubt) => doubt !== undefined);
}
