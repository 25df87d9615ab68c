/** The schema that holds whatever Postern keeps in a user's database. */
export const ownSchema = "postern";

/** The table with one row for each keyword index of a database. */
export const indexTable = `${ownSchema}.keyword_indexes`;

/** What the layout of an index's tables, and the words that are in them, are called by. */
export const indexFormat = 2;

/** The first format of the same layout, without the words inside of compounds: read as it is, and renewed by a build. */
export const oldestFormat = 1;

/** The documents that are kept for a word that many have: those of highest impact. */
export const listLength = 16_384;

/** The names of what belongs to an index, as SQL. They hold its number, so any table and column name will do. */
export interface IndexObjects {
  /** A row for each row of the source: `doc`, `key` (the source's id), `length`, `terms`. */
  readonly documents: string;
  /**
   * A row for each word, made by a refresh: `term`, `df` (how many documents had it), `entries` (those of highest
   * impact, highest first) and `floor` (the least impact that got in; 0 where all did).
   */
  readonly lists: string;
  /** A row for each word of a document that came after the refresh, from its list's floor on: `term`, `entry`. */
  readonly recent: string;
  readonly triggerFunction: string;
  /** Whether the reader sees the row of a key; only where the source has row-level security. */
  readonly visibleFunction: string;
  /** A prefix; not qualified, as triggers belong to their table. */
  readonly trigger: string;
}

export function indexObjects(id: number): IndexObjects {
  return {
    documents: `${ownSchema}.keyword_${id}_documents`,
    lists: `${ownSchema}.keyword_${id}_lists`,
    recent: `${ownSchema}.keyword_${id}_recent`,
    triggerFunction: `${ownSchema}.keyword_${id}_maintain`,
    visibleFunction: `${ownSchema}.keyword_${id}_visible`,
    trigger: `postern_keyword_${id}`,
  };
}

/** What an index knows of its source; names are quoted as SQL needs them. */
export interface IndexSource {
  /** Qualified. */
  readonly table: string;
  readonly textColumn: string;
  readonly idColumn: string;
  /** Qualified. */
  readonly config: string;
  /** The column that names each row's configuration; a row whose name is none's takes `config`. */
  readonly configColumn: string | undefined;
}
