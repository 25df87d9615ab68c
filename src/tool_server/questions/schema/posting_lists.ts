/** Where a word may stand; how much a hit there says about the table is the ranking's matter. */
export type Field = "name" | "schema" | "column" | "comment" | "columnComment";

/** The tables that have a word in one field, in ascending order, and for each how much of the name the word is. */
export interface Postings {
  readonly tables: number[];
  readonly shares: number[];
}

export type TermPostings = Partial<Record<Field, Postings>>;

export interface PostingLists {
  readonly terms: ReadonlyMap<string, TermPostings>;
  /** Tables are added in ascending order. A table that is added twice keeps the larger share. */
  add(term: string, field: Field, table: number, share: number): void;
  /** 1 for a word that one table has, 0 for a word that all have. */
  rarity(postings: Postings): number;
}

/** An inverted index from the words of a catalog to its tables. */
export function createPostingLists(tableCount: number): PostingLists {
  const terms = new Map<string, TermPostings>();
  const scale = Math.log(tableCount + 1);

  return {
    terms,
    add(term, field, table, share) {
      const entry = terms.get(term) ?? {};
      terms.set(term, entry);
      const { tables, shares } = entry[field] ??= { tables: [], shares: [] };
      const last = tables.length - 1;
      if (tables[last] !== table) {
        tables.push(table);
        shares.push(share);
      } else if (share > (shares[last] ?? 0)) shares[last] = share;
    },
    rarity: ({ tables }) => Math.log((tableCount + 1) / tables.length) / scale,
  };
}
