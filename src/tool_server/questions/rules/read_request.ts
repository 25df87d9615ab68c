import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import { identifierWords, isPlural, wordStem } from "../../../text/word_stem.ts";
import { conceptColumn, conceptWords } from "./columns.ts";
import { doubtsOf } from "./doubts.ts";
import { columnAt, createScan, mentionAt, type Recogniser, type Scan } from "./draft.ts";
import { recogniseFilter, recogniseKey } from "./filter.ts";
import { recogniseEvent, recognisePeriod } from "./period.ts";
import { recogniseLimit, recogniseOrder, recogniseProjection, recogniseSuperlative } from "./ranking.ts";
import {
  recogniseAggregate,
  recogniseCount,
  recogniseDistinct,
  recogniseGroup,
  recogniseTimeAdjective,
} from "./summary.ts";
import { firstOf, phraseAt, type Token, wordAt, wordSet } from "./request_tokens.ts";
import { everything, fillers, politeWords, requestVerbs, uncountable } from "./phrases.ts";

/** What a request says when it is about one table. */
export type Reading = ReturnType<typeof readRequest>;

/**
 * Reads a request against one table from left to right. What nothing takes is left as `unknown`; `ambiguity` says why one
 * of these was not taken although it names columns.
 */
export function readRequest(source: string, said: readonly Token[], table: CatalogTable) {
  const tokens = readCostAsPrice(said, table);
  const scan = createScan(source, tokens, table);
  const unknown: Token[] = [];
  let ambiguity: string | undefined;
  for (let at = 0; at < tokens.length;) {
    const taken = take(scan, at);
    if (taken === undefined) {
      unknown.push(...tokens.slice(at, at + 1));
      ambiguity ??= ambiguityAt(scan, at);
    }
    const next = taken?.end ?? at + 1;
    while (scan.takenBy.length < next) scan.takenBy.push(taken?.name ?? "");
    at = next;
  }
  sumRevenue(scan);
  scan.draft.refusals.push(...doubtsOf(scan));
  return { table, draft: scan.draft, unknown, ambiguity };
}

function take(scan: Scan, at: number): { name: string; end: number } | undefined {
  const word = wordAt(scan.tokens, at);
  // a question that begins with "where" asks for a place
  const isFiller = fillers.has(word) && !(at === 0 && word === "where");
  return firstOf(recognisers, ([name, recognise]) => {
    const end = recognise(scan, at);
    return end === undefined ? undefined : { name, end };
  }) ?? (isFiller ? { name: "", end: at + 1 } : undefined);
}

const recogniseTable: Recogniser = (scan, at) => {
  const mention = mentionAt(scan, at);
  if (mention === undefined) return undefined;
  // "product names" asks for the names of many
  const column = columnAt(scan, mention.end);
  const isCompound = column !== undefined && isPlural(wordAt(scan.tokens, column.end - 1));
  const isMany = mention.isPlural || isCompound || uncountable.has(wordAt(scan.tokens, mention.end - 1));
  scan.draft.namesTable = true;
  scan.draft.isSingular ||= !isMany;
  return mention.end;
};

/** What asks stands first: "how many return orders" is about returns. */
const recogniseVerb: Recogniser = ({ tokens, takenBy }, at) => {
  const isFirst = takenBy.every((name) => name === "" || name === "verb");
  return phraseAt(tokens, at, isFirst ? requestVerbs : politeWords)?.end;
};

const recogniseEverything: Recogniser = ({ tokens }, at) =>
  everything.has(wordAt(tokens, at)) ? at + 1 : undefined;

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

/** "revenue in 2025" asks for its sum, where no table is named of which it could be each row's. */
function sumRevenue({ draft, table }: Scan): void {
  const [column, other] = draft.projection;
  const isAlone = other === undefined && !draft.namesTable && draft.measures.length === 0 && !draft.counts &&
    draft.ordering === undefined && draft.limit === undefined;
  const isSpread = draft.periods.size > 0 || draft.groups.length > 0;
  if (column === undefined || !isAlone || !isSpread || !conceptWords.has(column.name)) return;
  if (column !== conceptColumn(table, "revenue", "order")) return;
  draft.measures.push({ aggregate: "sum", column, isExact: true });
  draft.projection = [];
}

function ambiguityAt({ tokens, columnNames }: Scan, at: number): string | undefined {
  const named = phraseAt(tokens, at, columnNames, "stem")?.meaning.columns ?? [];
  return named.length > 1
    ? `"${tokens[at]?.key}" could be ${named.map(({ name }) => name).join(" or ")}`
    : undefined;
}

/** "the cost", "average cost", "cost of": a noun. */
const beforeNoun = wordSet(
  "the a an our their its of by with whose where and or show list per average avg mean total sum median minimum min " +
    "maximum max highest lowest most least is with without no sorted ordered in ,",
);
const afterNoun = wordSet("of is =");
const costs = wordSet("cost costs costing");

/**
 * What a thing costs is its price, also beside a column `cost` for what the seller pays: in "what does product 5 cost",
 * "cost" is read as the price's name.
 */
function readCostAsPrice(tokens: readonly Token[], table: CatalogTable): readonly Token[] {
  const price = identifierWords(conceptColumn(table, "price")?.name ?? "");
  if (!price.includes("price")) return tokens;
  return tokens.flatMap((token, at) => {
    const isVerb = at > 0 && costs.has(wordAt(tokens, at)) && !beforeNoun.has(wordAt(tokens, at - 1)) &&
      !afterNoun.has(wordAt(tokens, at + 1));
    return isVerb ? price.map((key): Token => ({ ...token, key, stem: wordStem(key) })) : [token];
  });
}
