import type { CatalogTable } from "../../../postgres/catalog/catalog.ts";
import type { Token } from "./tokens.ts";
import { identifierWords, isPlural, wordStem } from "../../../text/word_stem.ts";

/** How a request names a table at one place. */
export interface TableMention {
  readonly length: number;
  readonly isPlural: boolean;
}

/** Finds a table's name, singular or plural, with or without its schema before it. */
export function tableMentionAt(
  tokens: readonly Token[],
  at: number,
  table: CatalogTable,
): TableMention | undefined {
  const name = identifierWords(table.name).map(wordStem);
  const schema = identifierWords(table.schema).map(wordStem);
  for (const stems of [[...schema, ".", ...name], name]) {
    const part = tokens.slice(at, at + stems.length);
    const last = part.at(-1);
    if (last === undefined || part.length < stems.length) continue;
    if (part.some((token, index) => token.kind === "quoted" || token.stem !== stems[index])) continue;
    return { length: stems.length, isPlural: isPlural(last.key) };
  }
  return undefined;
}

/** The tables that a request names: where one name holds another, as "order lines" holds "order", the longer. */
export function mentionedTables(tokens: readonly Token[], tables: readonly CatalogTable[]): CatalogTable[] {
  const mentioned = new Set<CatalogTable>();
  for (let at = 0; at < tokens.length;) {
    const lengths = tables.map((table) => tableMentionAt(tokens, at, table)?.length ?? 0);
    const longest = Math.max(0, ...lengths);
    if (longest > 0) {
      tables.filter((_, index) => lengths[index] === longest).forEach((table) => mentioned.add(table));
    }
    at += Math.max(1, longest);
  }
  return tables.filter((table) => mentioned.has(table));
}

/** Whether a request names a table, be it within a longer name. */
export function isMentioned(tokens: readonly Token[], table: CatalogTable): boolean {
  return tokens.some((_, at) => tableMentionAt(tokens, at, table) !== undefined);
}

/** The table's name as a reader knows it: with its schema unless that is `public`. */
export function displayName(table: CatalogTable): string {
  return table.schema === "public" ? table.name : `${table.schema}.${table.name}`;
}
