import { AppError } from "../../core/app_error.ts";
import { quoteLiteral, sql, type SqlText, verbatim, verbatimSql } from "../../postgres/sql_text.ts";
import type {
  KeywordIndex,
  OwnIndex,
  PgSearchIndex,
  PlainText,
  TextSearchIndex,
  VchordIndex,
} from "./find_keyword_index.ts";
import { indexObjects, indexTable, listLength } from "./index_record.ts";
import { anyWordSql } from "./question_operators.ts";
import {
  type Bm25,
  countInSql,
  docOf,
  impactOf,
  impactSql,
  inverseFrequencySql,
  lexemesSql,
  termKinds,
  usualBm25,
  vectorSql,
} from "./term_sql.ts";
import { pairsSql, writtenSql } from "./written_sql.ts";

export interface KeywordSearch {
  readonly question: string;
  /** From 1 to 400. */
  readonly limit: number;
  /** A condition on the table, which it names as `source`, or not at all. */
  readonly filter?: SqlText | undefined;
  /** Optional; the default is {@linkcode usualBm25}. */
  readonly bm25?: Bm25 | undefined;
}

/** One statement for the rows that answer a question by its words: `id text`, `score float8`, higher is better. */
export type SearchByWords = (search: KeywordSearch) => SqlText;

/** The longest answer of a keyword search, in rows. */
export const longestAnswer = 400;

/**
 * The statement that ranks a table's rows by a question's words: any of them, never all. It gives rows of `id` (text)
 * and `score` (float8, above 0), best first, ties in order of id, and none for a question without a word that ranks. It
 * runs alone or as a part of another statement.
 *
 * @throws {AppError} `invalid` for a limit that is not from 1 to 400
 */
export function keywordSearch(index: KeywordIndex, search: KeywordSearch): SqlText {
  const { limit } = search;
  if (!Number.isInteger(limit) || limit < 1 || limit > longestAnswer) {
    throw new AppError("invalid", `Cannot rank by keywords: the limit is not from 1 to ${longestAnswer}`);
  }
  // PostgreSQL has no place for NUL in a text
  const question = search.question.slice(0, longestQuestion).replaceAll("\0", " ");
  const { filter, bm25 = usualBm25 } = search;
  const asked: AskedWords = { question: sql`${question}`, limit, filter, bm25 };
  const askedOfParser = { ...asked, question: sql`${askedText(question)}` };
  switch (index.kind) {
    case "postern":
      return ownIndexSql(index, askedOfParser);
    case "pg_textsearch":
      return textSearchSql(index, askedOfParser);
    case "pg_search":
      return pgSearchSql(index, asked);
    case "vchord_bm25":
      return vchordSql(index, asked);
    case "tsvector":
      return plainTextSql(index, askedOfParser);
  }
}

/** A condition on `source`, the table, for the rows that have none of some words, in any form in which they would find them. */
export function lackOfWords(index: KeywordIndex, words: readonly string[]): SqlText {
  const { idColumn, textColumn } = index;
  const none = (conditions: readonly SqlText[]) =>
    conditions.reduce((joined, one) => verbatimSql`${joined} AND ${one}`);
  if (index.kind === "postern" && index.hasLeakproofKey) {
    const { documents } = indexObjects(index.id);
    return none(words.map((word) => {
      // worked out once, not for each row
      const all = (what: string) =>
        verbatimSql`(SELECT array_agg(${what} ORDER BY c.name, t.term)
        FROM (SELECT ${sql`${word}`}::text AS text) q CROSS JOIN ${configsSql(index)} c
        CROSS JOIN LATERAL (${
          lexemesSql("q.text", "c.name", false)
        }) t WHERE t.share = 1 AND t.kind = '${termKinds.word}')`;
      return verbatimSql`NOT EXISTS (SELECT FROM ${documents} d
      CROSS JOIN LATERAL unnest(${all("t.term")}, ${all("c.name")}) t(term, config)
      WHERE d.key = source.${idColumn}
      GROUP BY t.config HAVING bool_and(coalesce(${countInSql("d.terms", "t.term")}, 0) > 0))`;
    }));
  }
  const config = quoteLiteral(
    "config" in index && index.config !== undefined ? index.config : "pg_catalog.simple",
  );
  if (index.kind !== "tsvector" || index.vector === undefined) {
    return verbatimSql`NOT ${anyWordSql(words, `source.${textColumn}::text`, config)}`;
  }
  const { vector } = index;
  return none(
    words.map((word) =>
      verbatimSql`NOT (${vector} @@ plainto_tsquery(${config}::regconfig, ${sql`${word}`}))`
    ),
  );
}

/** A search whose question is a parameter: all other texts below are our own SQL. */
interface AskedWords {
  readonly question: SqlText;
  readonly limit: number;
  readonly filter: SqlText | undefined;
  readonly bm25: Bm25;
}

/**
 * Endings that an apostrophe joins to a word, as in "Anna's", "I'd" and "we've". PostgreSQL's parser makes words
 * of them.
 */
const suffixes = /(?<=\p{L})['’](?:\p{L}|ll|re|ve)(?![\p{L}\p{N}])/giu;

/**
 * "e.g." and "i.e.", which no list of stop words has, and the like in alphabets other than the Latin one, of which
 * PostgreSQL's parser makes a word for each letter: "т.е.", "π.χ.". Not where they are a part of a longer one, as in
 * "S.H.I.E.L.D.".
 */
const abbreviations = new RegExp(
  [
    String.raw`(?<![\p{L}\p{N}])(?<!(?<!\p{L})\p{L}\.)`,
    String.raw`(?:[eE]\.[gG]|[iI]\.[eE]|(?![a-z])\p{Ll}(?:\.\p{Ll})+)`,
    String.raw`(?![\p{L}\p{N}])(?!\.\p{L}(?!\p{L}))`,
  ].join(""),
  "gu",
);

/**
 * A question without what PostgreSQL's parser takes for words though it tells nothing: being rare in documents, it would
 * weigh more than the words that do.
 */
export function askedText(question: string): string {
  return question.replace(suffixes, "").replace(abbreviations, "");
}

/** Characters of a question that are read by words. */
const longestQuestion = 2_000;
/** The words of a question that are looked up, the first ones, and of these the ones that rank, the rarest. */
const askedWords = 128;
const rankingWords = 64;
/** What the parts of a word weigh together beside the word itself. */
const gramWeight = 0.5;
/**
 * Entries that are read: the whole lists of the rarest words, which tell most, up to a number of entries in all, and the
 * best of every other list. Of 107,000 passages with 627 judged questions, 20,000 find as much as 50,000 (nDCG@10 0.3546,
 * 0.3545) and take four fifths of the time where it takes longest. A question of many common words needs more: of 60 of
 * them, 20,000 give three quarters of the first ten that all entries give.
 */
const deepEntries = { least: 20_000, perWord: 1_500, most: 50_000 };
const shallowEntries = 2_048;

/**
 * How many documents are scored: the best ones by the lists. Of 114,000, half as many give the same first ten and 999 in
 * 1,000 of the first fifty, in four fifths of the time, and of 11,000 in two thirds. The lists of larger corpora say less.
 */
const candidatesOf = ({ documents }: OwnIndex) => documents <= 200_000 ? 1_000 : 2_000;
/** Documents that are looked at in search of so many that pass a filter. */
const examined = 16_000;
/** Where a filter passes at most so many rows, each of them is scored. */
const exactRows = 5_000;

/**
 * Ranks by BM25 with Postern's own index. Each word's list names the documents that it tells most of; the best of them
 * are then scored from their own words, so a document found by one word gets its due for all. What is read is bounded,
 * whatever the size of the corpus. Rows are joined to the source, which may lack some by now.
 */
function ownIndexSql(index: OwnIndex, { question, limit, filter, bm25 }: AskedWords): SqlText {
  const candidatesSql = filter === undefined ? bestSql(index) : passingSql(index, filter);
  const visible = filter === undefined ? sourceRowSql(index, "r.key", verbatim("true")) : "";
  return verbatimSql`WITH statistics AS MATERIALIZED (
    SELECT greatest(documents, 1)::float8 AS documents, average_length FROM ${indexTable} WHERE id = ${index.id}
  ), ${wordsSql(index, question)}, ${foundSql(index)}, ${candidatesSql}, scored AS (
    SELECT c.key, sum(w.weight * ${
    impactSql("n.count", "c.length::float8", "s.average_length", bm25)
  }) AS score
    FROM candidates c CROSS JOIN statistics s CROSS JOIN words w
    CROSS JOIN LATERAL (SELECT ${countInSql("c.terms", "w.term")}::float8 AS count OFFSET 0) n
    WHERE n.count > 0 GROUP BY c.key
  )
  SELECT r.key::text AS id, r.score FROM (SELECT key, score FROM scored ORDER BY score DESC, key OFFSET 0) r
  ${visible}
  ORDER BY r.score DESC, r.key LIMIT ${limit}`;
}

/** The configurations of an index's rows, as SQL for rows of `name`. */
function configsSql({ id, config }: OwnIndex): string {
  return config === undefined
    ? `(SELECT unnest(configs) AS name FROM ${indexTable} WHERE id = ${id})`
    : `(SELECT ${quoteLiteral(config)}::text AS name)`;
}

/**
 * The question's words as rows of `term`, `weight`, and `expected`: what one that is not on its list may still have.
 */
function wordsSql(index: OwnIndex, question: SqlText): SqlText {
  const { lists, recent } = indexObjects(index.id);
  const bestOf = (kinds: string) =>
    `(SELECT * FROM known WHERE kind ${kinds} '${termKinds.gram}' ORDER BY df, term LIMIT ${rankingWords})`;
  return verbatimSql`asked AS MATERIALIZED (
    SELECT t.term, t.kind, max(t.count * t.share * CASE t.kind WHEN '${termKinds.gram}' THEN ${gramWeight} ELSE 1 END) AS count
    FROM (SELECT l.*, row_number() OVER (PARTITION BY l.kind ORDER BY l.place, l.term) AS number,
        bool_or(l.kind = '${termKinds.word}') OVER (PARTITION BY c.name) AS has_words
      FROM (SELECT ${question}::text AS text) q CROSS JOIN ${configsSql(index)} c
      CROSS JOIN LATERAL (${lexemesSql("q.text", "c.name", index.grams)}) l) t
    WHERE t.number <= ${askedWords} AND NOT (t.kind = '${termKinds.stop}' AND t.has_words) GROUP BY 1, 2
  ), known AS MATERIALIZED (
    SELECT a.term, a.kind, f.df, a.count * ${inverseFrequencySql("s.documents", "f.df")} AS weight,
      coalesce(l.floor, 0) * least(f.df / s.documents, 1) AS expected
    FROM asked a CROSS JOIN statistics s
    LEFT JOIN LATERAL (SELECT l.df, l.floor FROM ${lists} l WHERE l.term = a.term OFFSET 0) l ON true
    CROSS JOIN LATERAL (SELECT coalesce(l.df, 0) + count(*) AS df FROM
      (SELECT FROM ${recent} r WHERE r.term = a.term LIMIT ${listLength}) r) f
    WHERE f.df > 0
  ), words AS MATERIALIZED (
    SELECT k.term, k.weight, k.expected,
      CASE WHEN sum(least(k.df, ${listLength})) OVER (ORDER BY k.df, k.term)
          <= least(greatest(${deepEntries.least}, ${deepEntries.perWord} * count(*) OVER ()), ${deepEntries.most})
        THEN ${listLength} ELSE ${shallowEntries} END AS depth
    FROM (${bestOf("<>")} UNION ALL ${bestOf("=")}) k
  )`;
}

/**
 * The documents that the words' lists name, with what the lists say of them. They may be tens of thousands, so they are not
 * kept for a second look.
 */
function foundSql({ id }: OwnIndex): string {
  const { lists, recent } = indexObjects(id);
  return `found AS NOT MATERIALIZED (
    SELECT ${docOf("e.entry")} AS doc, sum(w.weight * (${impactOf("e.entry")} - w.expected)) AS estimate
    FROM words w CROSS JOIN LATERAL (
      SELECT unnest(l.entries[1:w.depth]) AS entry FROM ${lists} l WHERE l.term = w.term
      UNION ALL
      (SELECT r.entry FROM ${recent} r WHERE r.term = w.term ORDER BY r.entry DESC LIMIT w.depth)
    ) e GROUP BY 1
  )`;
}

/** The candidates where every row of the source may be found. */
function bestSql(index: OwnIndex): string {
  return `candidates AS MATERIALIZED (
    SELECT d.key, d.length, d.terms
    FROM (SELECT doc FROM found ORDER BY estimate DESC, doc LIMIT ${candidatesOf(index)}) f
    ${documentSql(index, "d.doc = f.doc")}
  )`;
}

/** The candidates where a condition holds: the rows that it lets through, where they are few; else the best of them. */
function passingSql(index: OwnIndex, condition: SqlText): SqlText {
  return verbatimSql`probe AS MATERIALIZED (
    SELECT source.${index.idColumn} AS key FROM ${index.table} AS source WHERE (${condition}) LIMIT ${
    exactRows + 1
  }
  ), passing AS MATERIALIZED (
    SELECT count(*) <= ${exactRows} AS are_few FROM probe
  ), candidates AS MATERIALIZED (
    ${probedSql(index)} (SELECT are_few FROM passing)
    UNION ALL
    SELECT b.key, b.length, b.terms FROM (
      SELECT d.key, d.length, d.terms
      FROM (SELECT doc FROM found ORDER BY estimate DESC, doc LIMIT ${examined}) f
      ${documentSql(index, "d.doc = f.doc")}
      ${sourceRowSql(index, "d.key", condition)}
      LIMIT ${candidatesOf(index)}
    ) b WHERE NOT (SELECT are_few FROM passing)
  )`;
}

/** The documents of `probe`, up to a condition. Where no index serves to look them up, all are read once. */
function probedSql(index: OwnIndex): string {
  const select = "SELECT d.key, d.length, d.terms FROM";
  return index.hasLeakproofKey
    ? `${select} probe p ${documentSql(index, "d.key = p.key")} WHERE`
    // IS TRUE keeps the planner from a loop over the documents for each of the keys
    : `${select} ${
      indexObjects(index.id).documents
    } d WHERE (d.key IN (SELECT p.key FROM probe p)) IS TRUE AND`;
}

// OFFSET 0 and LIMIT keep the planner, which knows no sizes here, to one look-up by index for each row

function documentSql({ id }: OwnIndex, which: string): string {
  const { documents } = indexObjects(id);
  // what is put together is read once, and not again for each word
  return `CROSS JOIN LATERAL (SELECT d.key, d.length, d.terms || '{}'::bigint[] AS terms FROM ${documents} d WHERE ${which} OFFSET 0) d`;
}

function sourceRowSql({ table, idColumn }: OwnIndex, key: string, condition: SqlText): SqlText {
  return verbatimSql`CROSS JOIN LATERAL (SELECT FROM ${table} AS source
    WHERE source.${idColumn} = ${key} AND (${condition}) LIMIT 1) source_row`;
}

/**
 * The most that a query may read of texts without an index or a `tsvector` column: it analyses each of them again. So much
 * English takes 1 to 2 seconds of a processor, 8 MiB 3 to 4, which is near the end of a search's time. `text` is for people.
 */
export const longestScan = { rows: 5_000, bytes: 4 * 1_048_576, text: "5,000 rows or 4 MiB" } as const;

/** Rows with any word that are read where no index ranks them. Where more have one, the best may not be among them. */
const matchesAtMost = 10_000;

/**
 * Ranks by BM25 what has any of the question's words, with no index by relevance. Its cost grows with the corpus: with a
 * GIN index with the number of matches, up to a bound, and without one with all texts, each of which is analysed anew.
 * Exact while the bound is not met; beyond it the matches stand for the corpus. Where callers have rows of their own, the
 * corpus is those: they alone count towards the bounds, and a place among the rows of others gives none an advantage.
 */
function plainTextSql(source: PlainText, { question, limit, filter, bm25 }: AskedWords): SqlText {
  const { table, idColumn, isOfCallers = false } = source;
  const config = quoteLiteral(source.config);
  const vector = source.vector ?? vectorSql(`source.${source.textColumn}::text`, config, pairsSql);
  // a text is analysed once; an index is found only without
  const once = source.vector === undefined ? " OFFSET 0" : "";
  const isRead = isOfCallers && source.vector === undefined ? isScannedSql(source, filter) : "true";
  const first = isOfCallers ? "ORDER BY v.key" : "";
  const corpus = isOfCallers
    ? `(SELECT count(*) FROM ${table})`
    : `(SELECT sum(reltuples) FROM pg_partition_tree(${quoteLiteral(table)}::regclass) t
          JOIN pg_class c ON c.oid = t.relid)`;
  return verbatimSql`WITH words AS MATERIALIZED (
    SELECT u.lexeme, coalesce(cardinality(u.positions), 1) AS count
    FROM (SELECT ${question}::text AS text) q CROSS JOIN LATERAL unnest(${
    vectorSql("q.text", config, writtenSql)
  }) u
    ORDER BY u.positions[1] LIMIT 64
  ), matches AS MATERIALIZED (
    SELECT v.key, v.vector FROM (SELECT source.${idColumn} AS key, ${vector} AS vector
    FROM ${table} AS source WHERE (${filter ?? "true"}) AND ${isRead}${once}) v
    WHERE v.vector @@ (SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery FROM words)
    ${first} LIMIT ${matchesAtMost}
  ), counts AS MATERIALIZED (
    SELECT m.key, u.lexeme, coalesce(cardinality(u.positions), 1)::float8 AS count,
      sum(coalesce(cardinality(u.positions), 1)) OVER (PARTITION BY m.key) AS length
    FROM matches m CROSS JOIN LATERAL unnest(m.vector) u
  ), statistics AS MATERIALIZED (
    SELECT greatest(m.documents, CASE WHEN m.documents < ${matchesAtMost} THEN
        ${corpus} END)::float8
        AS documents, l.average_length
    FROM (SELECT count(*) AS documents FROM matches) m
    CROSS JOIN (SELECT sum(count) / greatest(count(DISTINCT key), 1) AS average_length FROM counts) l
  ), frequencies AS MATERIALIZED (
    SELECT c.lexeme, count(*) AS df FROM counts c JOIN words USING (lexeme) GROUP BY 1
  )
  SELECT c.key::text AS id, sum(w.count * ${inverseFrequencySql("s.documents", "f.df")}
    * ${impactSql("c.count", "c.length", "s.average_length", bm25)})::float8 AS score
  FROM counts c JOIN words w USING (lexeme) JOIN frequencies f USING (lexeme) CROSS JOIN statistics s
  GROUP BY c.key ORDER BY score DESC, c.key LIMIT ${limit}`;
}

/** Whether the rows that the reader may see, and the filter lets through, are few enough to analyse their texts; as SQL. */
export function isScannedSql({ table, textColumn }: PlainText, filter: SqlText | undefined): SqlText {
  return verbatimSql`(SELECT count(*) <= ${longestScan.rows} AND coalesce(sum(t.bytes), 0) <= ${longestScan.bytes}
    FROM (SELECT octet_length(source.${textColumn}::text) AS bytes FROM ${table} AS source
      WHERE (${filter ?? "true"}) LIMIT ${longestScan.rows + 1}) t)`;
}

/**
 * Ranks with pg_textsearch (github.com/timescale/pg_textsearch): `<@>` gives the negative score, so that an ascending
 * index scan finds the best first; what has none of the words gets 0.
 */
function textSearchSql(index: TextSearchIndex, asked: AskedWords): SqlText {
  const { schema, textColumn } = index;
  const query = verbatimSql`${schema}.to_bm25query(${asked.question}, ${quoteLiteral(index.index)})`;
  return nearestSql(index, verbatimSql`source.${textColumn} OPERATOR(${schema}.<@>) ${query}`, asked);
}

/**
 * Ranks with vchord_bm25 (github.com/tensorchord/VectorChord-bm25): the question is tokenized as the indexed vectors
 * were, and `<&>` gives the negative score.
 */
function vchordSql(index: VchordIndex, asked: AskedWords): SqlText {
  const tokens = verbatimSql`tokenizer_catalog.tokenize(${asked.question}, ${quoteLiteral(index.tokenizer)})`;
  const query = verbatimSql`bm25_catalog.to_bm25query(${
    quoteLiteral(index.index)
  }::regclass, ${tokens}::bm25_catalog.bm25vector)`;
  return nearestSql(
    index,
    verbatimSql`source.${index.vectorColumn} OPERATOR(bm25_catalog.<&>) ${query}`,
    asked,
  );
}

function nearestSql(
  { table, idColumn }: TextSearchIndex | VchordIndex,
  distance: SqlText,
  { limit, filter }: AskedWords,
): SqlText {
  // the index serves an ORDER BY of the operator alone; ties are put in order among the rows that it gave
  return verbatimSql`SELECT r.key::text AS id, r.score FROM (
    SELECT source.${idColumn} AS key, -(${distance})::float8 AS score
    FROM ${table} AS source WHERE (${filter ?? "true"}) ORDER BY ${distance} LIMIT ${limit}
  ) r WHERE r.score > 0 ORDER BY r.score DESC, r.key`;
}

/**
 * Ranks with pg_search (docs.paradedb.com): `|||` matches any word of a text that it tokenizes as the column was. Older
 * versions have `paradedb.match` instead.
 */
function pgSearchSql(index: PgSearchIndex, { question, limit, filter }: AskedWords): SqlText {
  const { table, idColumn, textColumn, field } = index;
  const key = `source.${index.keyField}`;
  const [matches, score] = index.hasMatchOperator
    ? [verbatimSql`source.${textColumn} ||| ${question}::text`, `pdb.score(${key})`]
    : [
      verbatimSql`${key} @@@ paradedb.match(${quoteLiteral(field)}, ${question}::text)`,
      `paradedb.score(${key})`,
    ];
  return verbatimSql`SELECT r.key::text AS id, r.score FROM (
    SELECT source.${idColumn} AS key, ${score}::float8 AS score
    FROM ${table} AS source WHERE ${matches} AND (${filter ?? "true"})
    ORDER BY ${score} DESC LIMIT ${limit}
  ) r ORDER BY r.score DESC, r.key`;
}
