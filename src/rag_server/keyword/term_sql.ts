import { quoteLiteral } from "../../postgres/sql_text.ts";
import { collapseSql, foldSql, foldVectorSql, readableSql, spacedLetter, spacedSql } from "./fold_sql.ts";
import { pairsSql, writtenSql } from "./written_sql.ts";

/**
 * A term is the hash of a lexeme under its text search configuration: a bigint whose low 16 bits are free. In a
 * document's array they hold the lexeme's count, so that one sorted array answers "how often" by binary search.
 */
const countBits = 65_535;
const termMask = -65_536;

/** Characters of a text that are read. What is found in so many fits into a tsvector: pairs of letters have a bound of their own. */
export const maxTextLength = 100_000;

const impactScale = 32_767;
const docBits = 48;

/** Signs by which PostgreSQL's parser joins words to one token: a host, a file, an address, a signed number, a version. */
const joints = "-/.+~";
/** No punctuation of ASCII, nor of typography. */
const wordCharacter = "[^[:space:]!-/:-@[-`{-~\\u2000-\\u206F]";
/** A letter of an alphabet: neither a digit, nor from where the scripts of East Asia begin. */
const letter = "[^[:space:]!-@[-`{-~\\u2000-\\u206F\\u2E80-\\U0010FFFF]";
/**
 * A regular expression for what may hold words that the parser does not give one by one: a run without blanks that has
 * a word after a joint, or a protocol. A tag is matched too, and left out, since the parser takes no word from it.
 */
const compound =
  `<[[:alpha:]/!][^<>]*>|[^[:space:]<>]*(?:[${joints}][^[:space:]<>]*${wordCharacter}|://)[^[:space:]<>]*`;
/** The digits at an end of a number with dots: as a group of their own where they tell something alone. */
const digits = "(?:[0-9]{1,3}|([0-9]{4,}))";
/**
 * A regular expression for the words inside of a compound. Rare ones that tell nothing are left out, since they would
 * weigh much:
 * - A number with dots is one word, without its sign or the "v" of a version. Its digits are not, but for four or more at
 *   one of its ends, as the year in 17.5.2024.
 * - Letters with dots or slashes between them are one word: "e.g", "U.S", "I/O".
 * - Any other single letter is none, but for one beside a hyphen, which PostgreSQL makes a word of in "x-ray" too, and
 *   that of "C++" and "C#". A digit is a word, and so is an ideograph.
 */
const part = `[vV]?(${digits}[.](?:[0-9]+[.])*${digits})(?!${wordCharacter})|(${
  [
    `${wordCharacter}{2,}`,
    "[0-9\\u2E80-\\U0010FFFF]",
    `${letter}(?:[./]${letter})+(?!${wordCharacter})`,
    `${letter}(?=[+#]|-${wordCharacter})`,
    `${wordCharacter}+(?:-${letter}(?!${wordCharacter}))+`,
  ].join("|")
})`;

/**
 * The words of a text: SQL for a `tsvector`. `config` is the name of a configuration with its schema, as SQL. All are
 * without accents. A word that the text has only inside of compounds is one of them, with its count there; all others are
 * as PostgreSQL counts them. Weight C marks what says again what another word says.
 *
 * @param written what is found of other ways of writing: of a question all, of texts that each question reads anew the pairs
 */
export function vectorSql(
  text: string,
  config: string,
  written: typeof writtenSql | typeof pairsSql,
): string {
  return `(SELECT words FROM ${analysisSql(text, config, written)})`;
}

/** What is read out of a text: SQL for a FROM clause with one row: `plain`, `words`, and of those that are left out `written`
 * (with others), `whole` (the others) and `stops`. */
function analysisSql(text: string, config: string, written: string): string {
  const vector = (of: string) => `to_tsvector(${config}::regconfig, ${of})`;
  const known = foldVectorSql("whole || coalesce(ts_delete(parts, tsvector_to_array(whole)), '')");
  const unaccented = `(SELECT string_agg(repeat(f.word || ' ', coalesce(cardinality(u.positions), 1)), '')
        FROM unnest(to_tsvector('pg_catalog.simple', spaced)) u
        CROSS JOIN LATERAL (SELECT ${foldSql("u.lexeme")} AS word OFFSET 0) f
        WHERE f.word <> u.lexeme AND ${vector("u.lexeme")} <> '')`;
  const again = foldVectorSql(vector(unaccented));
  // a word loses its accents after its ending, which the stemmers of Romance languages know by them; for who types none,
  // it is there as it would be without
  return `(SELECT ${readableSql(`left(${text}, ${maxTextLength})`)} AS body OFFSET 0) readable
    CROSS JOIN LATERAL (SELECT ${foldSql('lower(body COLLATE "default")')} AS plain,
      ${spacedSql("body")} AS spaced OFFSET 0) readings
    CROSS JOIN LATERAL (SELECT ${vector("spaced")} AS whole, ${vector(partsSql("spaced"))} AS parts,
      to_tsvector('pg_catalog.simple', spaced) AS written OFFSET 0) vectors
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT u.lexeme FROM unnest(ts_delete(written, tsvector_to_array(whole))) u
      WHERE ${vector("u.lexeme")} = '') AS stops,
      ${known} AS known OFFSET 0) first_forms
    CROSS JOIN LATERAL (SELECT CASE WHEN octet_length(spaced) > length(spaced) THEN ${again} END AS again OFFSET 0) second_forms
    CROSS JOIN LATERAL (SELECT known || coalesce(setweight(ts_delete(again, tsvector_to_array(known)), 'C'), '')
      || coalesce((${written}), '') AS words OFFSET 0) found`;
}

/** The words inside of a text's compounds: SQL for a text, NULL where there are none. */
function partsSql(text: string): string {
  // under "C", as a column's own collation may allow no regular expressions
  return `(SELECT string_agg(array_to_string(parts.found, ' '), ' ')
    FROM regexp_matches(${text} COLLATE "C", ${quoteLiteral(compound)}, 'g') compounds(found)
    CROSS JOIN LATERAL regexp_matches(compounds.found[1], ${quoteLiteral(part)}, 'g') parts(found)
    WHERE compounds.found[1] NOT LIKE '<%')`;
}

/** Letters of a word that it is found by where none of its forms is asked for, as one in a compound is. */
const gramLength = 5;
/** Letters of a word that are read for its parts, whose cost grows with the square of these. */
const gramsWithin = 64;

/**
 * The terms of a text: SQL for rows of `term`, `count`, `place` (the first position), `share` (what it counts in a question)
 * and `kind`. `config` as above.
 *
 * @param grams whether parts of words are among them
 */
export function lexemesSql(text: string, config: string, grams = false): string {
  const hash = (of: string, seed: string) =>
    `hashtextextended(${of} COLLATE "C", hashtextextended(${seed} COLLATE "C", 0)) & ${termMask}`;
  const count = "coalesce(cardinality(u.positions), 1)";
  const stop = hash(collapseSql(foldSql("u.lexeme")), config);
  const longWords = quoteLiteral(`${spacedLetter}{${gramLength},}`);
  const parts = `UNION ALL
    SELECT ${hash(`substr(w.word, i, ${gramLength})`, "'parts of words'")},
      count(*), min(w.place), sum(1.0 / (length(w.word) - ${gramLength - 1})), '${termKinds.gram}'
    FROM (SELECT ${collapseSql(`left(m.found[1], ${gramsWithin})`)} AS word, m.place
      FROM regexp_matches(a.plain COLLATE "C", ${longWords}, 'g') WITH ORDINALITY m(found, place)) w
    CROSS JOIN LATERAL generate_series(1, length(w.word) - ${gramLength - 1}) i GROUP BY 1`;
  return `SELECT t.term, least(t.count, ${countBits}) AS count, t.place, t.share, t.kind
    FROM (SELECT * FROM ${analysisSql(text, config, writtenSql)}) a CROSS JOIN LATERAL (
    SELECT ${hash("u.lexeme", config)} AS term, ${count} AS count, u.positions[1] AS place,
      CASE u.weights[1] WHEN 'C' THEN 0.5 ELSE 1 END AS share, '${termKinds.word}' AS kind
    FROM unnest(a.words) u
    UNION ALL
    SELECT ${stop}, sum(${count}), min(u.positions[1]), 1, '${termKinds.stop}'
    FROM unnest(ts_delete(a.written, tsvector_to_array(a.whole))) u WHERE u.lexeme = ANY (a.stops) GROUP BY 1
    ${grams ? parts : ""}) t`;
}

/**
 * What a term is: a word; one that the configuration leaves out, as it tells nothing beside others; letters of a word.
 */
export const termKinds = { word: "w", stop: "s", gram: "g" } as const;

/**
 * A text as a document's row keeps it: SQL for one row of `terms`, sorted, each once, as a stop word may be what another
 * word comes to, and `length` in words.
 */
export function documentSql(text: string, config: string, grams: boolean): string {
  const lexemes = lexemesSql(text, config, grams);
  return `SELECT coalesce(array_agg(l.term | l.count ORDER BY l.term | l.count), '{}') AS terms,
      coalesce(sum(l.count) FILTER (WHERE l.kind = '${termKinds.word}'), 0)::int AS length
    FROM (SELECT term, max(count)::int AS count, max(kind) AS kind FROM (${lexemes}) t GROUP BY 1) l`;
}

/** The term of an element of a document's array. */
export function termOf(element: string): string {
  return `(${element} & ${termMask})`;
}

/** The count in an element of a document's array. */
function countOf(element: string): string {
  return `(${element} & ${countBits})::int`;
}

/** How often a document has a term: SQL over its array and the term; 0 or NULL where it does not. */
export function countInSql(terms: string, term: string): string {
  const element = `${terms}[width_bucket(${term} | ${countBits}, ${terms})]`;
  return `CASE WHEN ${termOf(element)} = ${term} THEN ${countOf(element)} END`;
}

/**
 * An entry says in one bigint how much a term tells of a document: the impact, from 0 to 32767, above the document's
 * number, so that entries sort by impact.
 */
export function entrySql(element: string, length: string, doc: string, baseLength: number): string {
  const impact = impactSql(`${countOf(element)}::float8`, length, String(baseLength), usualBm25);
  return `((${impactScale} * ${impact})::bigint << ${docBits} | ${doc})`;
}

/** The document of an entry. */
export function docOf(entry: string): string {
  return `(${entry} & ${2 ** docBits - 1})`;
}

/** The impact of an entry, from 0 to 32767. */
export function impactOf(entry: string): string {
  return `(${entry} >> ${docBits})`;
}

/**
 * The constants of Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
 * 2009) and its parts as SQL. A word's weight in a document is its `impact`, from 0 to 1, times its inverse
 * document frequency.
 */

export interface Bm25 {
  /** How fast repeats of a word stop counting: 0 where a word counts once. */
  readonly k1: number;
  /** How much a long text is held against its words, from 0 to 1. */
  readonly b: number;
}

/** What is best over several judged collections: docs/rag.md tells which. */
export const usualBm25: Bm25 = { k1: 1.2, b: 0.4 };

/** A word's impact in a text: SQL over the count of the word, the text's length and the average length, in words. */
export function impactSql(count: string, length: string, averageLength: string, { k1, b }: Bm25): string {
  return `${count} / (${count} + ${k1} * (${1 - b} + ${b} * ${length} / ${averageLength}::float8))`;
}

/** The weight of a word: SQL over the number of documents and the number of those with the word. */
export function inverseFrequencySql(documents: string, frequency: string): string {
  // statistics may be older than a document that has the word
  return `ln(1 + (greatest(${documents} - ${frequency}, 0) + 0.5) / (${frequency} + 0.5))`;
}
