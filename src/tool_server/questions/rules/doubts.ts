import type { CatalogColumn, CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { beginsWhatLasts, columnKind, conceptColumn, hasWord, isView } from "./columns.ts";
import { type Draft, type Grouping, isAggregated, type Measure, type Scan } from "./draft.ts";
import { wordSet } from "./request_tokens.ts";

/** Why a request whose words are all understood has no answer, or may mean something else than the draft says. */
export function doubtsOf(scan: Scan): string[] {
  const { draft, table } = scan;
  return [
    ...contradictions(draft),
    draft.counts && draft.isOneRow &&
    "the request counts one row; what it means to count may be in another table",
    ...draft.measures.map((measure) => measureDoubt(measure, table)),
    groupDoubt(draft, table),
    worthDoubt(scan),
    dateDoubt(draft, table),
    projectionDoubt(scan),
  ].filter((doubt) => typeof doubt === "string");
}

/** What is understood word by word but does not go together. */
function contradictions(draft: Draft): (string | false)[] {
  const { ordering, rank, limit, projection, distinct, measures, counts } = draft;
  const names = projection.map(({ name }) => name).join(", ");
  const by = ordering?.column;
  const isSummary = isAggregated(draft);
  const isImplicit = isSummary && !counts && measures.length === 0;
  const hasOthers = names !== "" || measures.length > 0;
  return [
    isSummary && names !== "" &&
    `a summary has no single ${names}: ask for its total, average, lowest or highest`,
    isSummary && by !== undefined && `a summary has no ${by.name} to sort by`,
    isSummary && limit !== undefined &&
    `${limit} may be the rows of a summary or the rows of each group, which is not simple`,
    isImplicit && rank !== undefined && "the first rows of each group are not simple",
    !isSummary && rank !== undefined && !by && "the request does not say which column to rank by",
    distinct !== undefined && hasOthers && "distinct values can only be listed alone or counted",
    distinct !== undefined && isImplicit && "distinct values per group can only be counted",
    distinct !== undefined && by !== undefined && by !== distinct &&
    `distinct values of ${distinct.name} have no ${by.name} to sort by`,
  ];
}

const averages = wordSet("average avg mean median");
const shares = wordSet("percent percentage pct rate ratio share rating score stars age year");
const counts = wordSet("count num number cnt");
const prices = wordSet("price cost");
const quantities = wordSet("quantity qty units pieces");
/** What adds up: "average revenue per category" may be of each category's sum. */
const flows = new Set([...quantities, "revenue", "sales", "turnover", "income", "sold"]);

const isAverage = ({ name }: CatalogColumn): boolean => averages.has(identifierWords(name)[0] ?? "");

/** Why a column's values cannot be summed up like this. */
function measureDoubt({ aggregate, column }: Measure, table: CatalogTable): string | undefined {
  const { name } = column;
  const first = identifierWords(name)[0] ?? "";
  const last = identifierWords(name).at(-1) ?? "";
  if (aggregate === "min" || aggregate === "max") return undefined;
  if (column.isPrimaryKey || column.reference !== "" || last === "id" || last === "no") {
    return `${name} holds no amounts`;
  }
  if (isAverage(column)) return `${name} holds averages, and their ${aggregate} means nothing`;
  if (aggregate !== "sum") return undefined;
  if (hasWord(column, shares)) return `${name} holds values that do not add up`;
  if (isView(table) && (counts.has(first) || counts.has(last))) {
    return `${table.name} may leave out rows that ${name} does not count`;
  }
  const isUnitPrice = column === conceptColumn(table, "price") && hasWord(column, prices);
  const isSold = table.columns.some((other) => hasWord(other, quantities));
  return isUnitPrice && isSold ? `${name} is for one piece, and ${table.name} has quantities` : undefined;
}

/** Where there is one row for each value that is grouped by, an average of them is another's. */
function groupDoubt({ groups, measures }: Draft, table: CatalogTable): string | undefined {
  const [only, other] = groups;
  if (only === undefined || other || measures.every(({ aggregate }) => aggregate === "sum")) return undefined;
  if (isOneEach(only, table)) return `${table.name} may have one row for each ${only.column.name}`;
  const flow = measures.find(({ aggregate, column }) => aggregate === "avg" && hasWord(column, flows));
  return flow && `an average of ${flow.column.name} per ${only.column.name} may mean an average of sums`;
}

function isOneEach({ column, unit }: Grouping, table: CatalogTable): boolean {
  const words = identifierWords(column.name);
  const isKey = column.isPrimaryKey && table.columns.filter(({ isPrimaryKey }) => isPrimaryKey).length === 1;
  const isOwn = words.at(-1) === "id" &&
    identifierWords(table.name).map(wordStem).includes(wordStem(words[0] ?? ""));
  const isTime = isView(table) && columnKind(column) === "date" && unit === undefined;
  return isKey || column.isUnique || isOwn || isTime;
}

/** "best" says which end of a rating or a revenue is meant, and of a price it does not. */
function worthDoubt({ tokens, takenBy, table, draft }: Scan): string | undefined {
  const said = tokens.find(({ key }, at) =>
    (key === "best" || key === "worst") && ["superlative", "order"].includes(takenBy[at] ?? "")
  );
  const worth = (["rating", "revenue"] as const).map((concept) => conceptColumn(table, concept, "order"));
  const other = [...draft.measures, ...draft.ordering ? [draft.ordering] : []]
    .find(({ column }) => !worth.includes(column));
  return said && other &&
    `"${said.key}" may mean a high or a low ${other.column.name}`;
}

/** "customers in 2025" need not be those who registered then. */
function dateDoubt(
  { saysCreation, assumedDates, ordering, measures }: Draft,
  table: CatalogTable,
): string | undefined {
  const doubtful = assumedDates.find(({ column, use }) =>
    beginsWhatLasts(column) && ordering?.column !== column && (use === "period" || measures.length > 0)
  );
  return doubtful && !saysCreation
    ? `"${doubtful.words}" does not say what happened then; ${table.name} has ${doubtful.column.name}`
    : undefined;
}

/** "average order value" may ask for one number or for a view's column of that name. */
function projectionDoubt({ source, draft: { projection: [only, other] } }: Scan): string | undefined {
  const isSaid = only === undefined || source.toLowerCase().includes(only.name.toLowerCase());
  if (isSaid || other !== undefined || !isAverage(only)) return undefined;
  return `${only.name} holds more than one average: say "${only.name}" to list them`;
}
