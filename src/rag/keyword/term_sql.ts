import { impactSql } from "./bm25.ts";

/**
 * A term is the hash of a lexeme under its text search configuration: a bigint whose low 16 bits are free. In a
 * document's array they hold the lexeme's count, so that one sorted array answers "how often" by binary search.
 */
const countBits = 65_535;
const termMask = -65_536;

/** Characters of a text that are read. No text of this length is too long for a tsvector. */
const maxTextLength = 100_000;

const impactScale = 32_767;
const docBits = 48;

/**
 * The lexemes of a text: SQL for rows of `term`, `count` and `place` (the first position). `config` is the name of a
 * configuration with its schema, as SQL.
 */
export function lexemesSql(text: string, config: string): string {
  return `SELECT hashtextextended(u.lexeme COLLATE "C", hashtextextended(${config} COLLATE "C", 0)) & ${termMask} AS term,
      least(coalesce(cardinality(u.positions), 1), ${countBits}) AS count, u.positions[1] AS place
    FROM unnest(to_tsvector(${config}::regconfig, left(${text}, ${maxTextLength}))) u`;
}

/** What a document's row keeps of a text: SQL for one row of `terms`, sorted, and `length` in words. */
export function documentSql(text: string, config: string): string {
  return `SELECT coalesce(array_agg(l.term | l.count ORDER BY l.term, l.count), '{}') AS terms,
      coalesce(sum(l.count), 0)::int AS length
    FROM (${lexemesSql(text, config)}) l`;
}

/** The term of an element of a document's array. */
export function termOf(element: string): string {
  return `(${element} & ${termMask})`;
}

/** The count in an element of a document's array. */
export function countOf(element: string): string {
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
  const impact = impactSql(`${countOf(element)}::float8`, length, String(baseLength));
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
