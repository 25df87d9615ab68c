import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { conceptColumn, conceptWords } from "./concept_columns.ts";
import { readCostAsPrice } from "./cost_as_verb.ts";
import { doubtsOf } from "./doubts.ts";
import { createDraft, type Draft, isAggregated, type Recogniser, type Scan } from "./draft.ts";
import { phraseAt } from "./phrases.ts";
import { recogniseFilter, recogniseKey } from "./recognise_filter.ts";
import { recogniseGroup, recogniseTimeAdjective } from "./recognise_group.ts";
import { recogniseAggregate, recogniseCount, recogniseDistinct } from "./recognise_measure.ts";
import { recogniseEvent, recognisePeriod } from "./recognise_period.ts";
import { recogniseProjection } from "./recognise_projection.ts";
import { recogniseLimit, recogniseOrder, recogniseSuperlative } from "./recognise_ranking.ts";
import { createTableColumns } from "./table_columns.ts";
import { tableMentionAt } from "./table_mentions.ts";
import type { Token } from "./tokens.ts";
import { isPlural } from "../../../text/word_stem.ts";
import { everything, fillers, politeWords, requestVerbs, uncountable } from "./vocabulary.ts";

/** What a request says when it is about one table. */
export interface Reading {
  readonly table: CatalogTable;
  readonly draft: Draft;
  /** Tokens that nothing took. */
  readonly unknown: readonly Token[];
  /** Why one of them was not taken although it names columns. */
  readonly ambiguity: string | undefined;
}

const recogniseTable: Recogniser = ({ tokens, table, columns, draft }, at) => {
  const mention = tableMentionAt(tokens, at, table);
  if (mention === undefined) return 0;
  // "product names" asks for the names of many.
  const after = at + mention.length;
  const column = columns.at(tokens, after);
  const isCompound = column !== undefined && isPlural(tokens[after + column.length - 1]?.key ?? "");
  draft.mentions.push({
    isPlural: mention.isPlural || isCompound || uncountable.has(tokens[at + mention.length - 1]?.key ?? ""),
  });
  return mention.length;
};

/** What asks stands first: "how many return orders" is about returns. */
const recogniseVerb: Recogniser = ({ tokens, takenBy }, at) => {
  const isFirst = takenBy.every((name) => name === "" || name === "verb");
  return phraseAt(tokens, at, isFirst ? requestVerbs : politeWords)?.length ?? 0;
};

const recogniseEverything: Recogniser = ({ tokens }, at) => everything.has(tokens[at]?.key ?? "") ? 1 : 0;

/** In order of precedence: where two apply at the same token, the first takes it. */
const recognisers: readonly (readonly [name: string, recognise: Recogniser])[] = [
  ["period", recognisePeriod],
  ["count", recogniseCount],
  ["distinct", recogniseDistinct],
  ["aggregate", recogniseAggregate],
  ["table", recogniseKey],
  ["table", recogniseTable],
  ["superlative", recogniseSuperlative],
  ["group", recogniseGroup],
  ["order", recogniseOrder],
  ["event", recogniseEvent],
  ["filter", recogniseFilter],
  ["group", recogniseTimeAdjective],
  ["limit", recogniseLimit],
  ["projection", recogniseProjection],
  ["everything", recogniseEverything],
  ["verb", recogniseVerb],
];

function take(scan: Scan, at: number): { name: string; length: number } {
  for (const [name, recognise] of recognisers) {
    const length = recognise(scan, at);
    if (length > 0) return { name, length };
  }
  const token = scan.tokens[at];
  // a question that begins with it asks for a place
  const isPlace = at === 0 && token?.key === "where";
  const isFiller = token !== undefined && token.kind !== "quoted" && fillers.has(token.key) && !isPlace;
  return { name: "", length: isFiller ? 1 : 0 };
}

/** Reads a request against one table from left to right; what nothing takes is left as unknown. */
export function readRequest(source: string, said: readonly Token[], table: CatalogTable): Reading {
  const tokens = readCostAsPrice(said, table);
  const scan: Scan = {
    source,
    tokens,
    table,
    columns: createTableColumns(table),
    takenBy: [],
    draft: createDraft(),
  };
  const unknown: Token[] = [];
  let ambiguity: string | undefined;
  for (let at = 0; at < tokens.length;) {
    const { name, length } = take(scan, at);
    const token = tokens[at];
    if (length === 0 && token !== undefined) {
      unknown.push(token);
      ambiguity ??= ambiguityAt(scan, at);
    }
    const taken = Math.max(length, 1);
    for (let index = 0; index < taken; index++) scan.takenBy.push(name);
    at += taken;
  }
  sumRevenue(scan);
  noteContradictions(scan.draft);
  scan.draft.problems.push(...doubtsOf(scan));
  return { table, draft: scan.draft, unknown, ambiguity };
}

/** "revenue in 2025" asks for its sum, where no table is named of which it could be each row's. */
function sumRevenue({ draft, table }: Scan): void {
  const [column, ...others] = draft.projection;
  const isAlone = others.length === 0 && draft.mentions.length === 0 && draft.measures.length === 0 &&
    draft.ordering === undefined && draft.limit === undefined && !draft.counts;
  const isSpread = draft.periods.size > 0 || draft.groups.length > 0;
  if (column === undefined || !isAlone || !isSpread) return;
  if (column !== conceptColumn(table.columns, "revenue", "order") || !conceptWords.has(column.name)) return;
  draft.measures.push({ aggregate: "sum", column, isExact: true });
  draft.projection = [];
}

function ambiguityAt({ tokens, columns }: Scan, at: number): string | undefined {
  const match = columns.at(tokens, at);
  const isAmbiguous = match !== undefined && "names" in match;
  return isAmbiguous ? `"${tokens[at]?.key}" could be ${match.names.join(" or ")}` : undefined;
}

/** What is understood word by word but does not go together. */
function noteContradictions(draft: Draft): void {
  const { problems, ordering, rank, limit, projection, distinct, measures, counts } = draft;
  const names = projection.map(({ name }) => name).join(", ");
  const isSummary = isAggregated(draft);
  const isImplicit = isSummary && !counts && measures.length === 0;
  const contradictions: readonly (readonly [holds: boolean, problem: string])[] = [
    [
      isSummary && names !== "",
      `a summary holds no single ${names}: say its total, average, lowest or highest`,
    ],
    [isSummary && ordering !== undefined, `a summary has no ${ordering?.column.name} to be ordered by`],
    [
      isSummary && limit !== undefined,
      `a summary of ${limit} rows, or of ${limit} in each group, is not simple`,
    ],
    [isImplicit && rank !== undefined, "the first rows of each group are not simple"],
    [!isSummary && rank !== undefined && ordering === undefined, "it is not said by which column to rank"],
    [
      distinct !== undefined && (names !== "" || measures.length > 0),
      "distinct values go with a count or alone",
    ],
    [distinct !== undefined && isImplicit, "distinct values per group can only be counted"],
    [
      distinct !== undefined && ordering !== undefined && ordering.column !== distinct,
      `distinct values of ${distinct?.name} have no ${ordering?.column.name}`,
    ],
  ];
  problems.push(...contradictions.filter(([holds]) => holds).map(([, problem]) => problem));
}
