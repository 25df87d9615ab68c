import { quoteLiteral, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { impactSql, inverseFrequencySql } from "./bm25.ts";
import { indexObjects, indexTable, listLength } from "./index_objects.ts";
import type { KeywordQuestion, OwnIndex } from "./keyword_index.ts";
import { countInSql, docOf, impactOf, lexemesSql } from "./term_sql.ts";

/** The words of a question that are looked up, the first ones, and of these the ones that rank, the rarest. */
const askedWords = 128;
const rankingWords = 32;
/**
 * Entries that are read: the whole lists of the rarest words, which tell most, up to a number of entries in all, and the
 * best of every other list.
 */
const deepEntries = 50_000;
const shallowEntries = 2_048;

/** Documents that are scored, of those that the lists speak best of. */
const candidates = 2_000;
/** Documents that are looked at in search of so many that pass a filter. */
const examined = 16_000;
/** A filter that lets no more rows through has each of them scored. */
const exactRows = 5_000;

/**
 * Ranks by BM25 with Postern's own index. Each word's list names the documents that it tells most of; the best of them
 * are then scored from their own words, so a document found by one word gets its due for all. What is read is bounded,
 * whatever the size of the corpus. Rows are joined to the source, under its row-level security.
 */
export function ownIndexSql(index: OwnIndex, { question, limit, filter }: KeywordQuestion): SqlText {
  const documents = verbatim(indexObjects(index.id).documents);
  const condition = filter ?? (index.hasRowSecurity ? verbatim("true") : undefined);
  return sql`WITH statistics AS MATERIALIZED (
    SELECT greatest(documents, 1)::float8 AS documents, average_length FROM ${
    verbatim(indexTable)
  } WHERE id = ${verbatim(`${index.id}`)}
  ), ${wordsSql(index, question)}, ${foundSql(index)}, ${
    condition === undefined ? bestSql(documents) : passingSql(index, documents, condition)
  }, scored AS (
    SELECT c.key, sum(w.weight * ${verbatim(impactSql("n.count", "c.length", "s.average_length"))}) AS score
    FROM candidates c CROSS JOIN statistics s CROSS JOIN words w
    CROSS JOIN LATERAL (SELECT ${verbatim(countInSql("c.terms", "w.term"))}::float8 AS count OFFSET 0) n
    WHERE n.count > 0 GROUP BY c.key
  )
  SELECT r.key::text AS id, r.score FROM (SELECT key, score FROM scored ORDER BY score DESC, key OFFSET 0) r
  ${condition === undefined ? sourceRowSql(index, verbatim("r.key"), verbatim("true")) : verbatim("")}
  ORDER BY r.score DESC, r.key LIMIT ${verbatim(`${limit}`)}`;
}

/** The question's words as rows of `term`, `weight`, and `expected`: what one that is not on its list may still have. */
function wordsSql({ id, config }: OwnIndex, question: string): SqlText {
  const { lists, recent } = indexObjects(id);
  const configs = config === undefined
    ? `(SELECT unnest(configs) AS name FROM ${indexTable} WHERE id = ${id})`
    : `(SELECT ${quoteLiteral(config)}::text AS name)`;
  return sql`asked AS MATERIALIZED (
    SELECT l.term, l.count
    FROM (SELECT ${question}::text AS text) q CROSS JOIN ${verbatim(configs)} c
    CROSS JOIN LATERAL (${verbatim(lexemesSql("q.text", "c.name"))}) l
    ORDER BY l.place LIMIT ${verbatim(`${askedWords}`)}
  ), words AS MATERIALIZED (
    SELECT a.term, a.count * ${verbatim(inverseFrequencySql("s.documents", "f.df"))} AS weight,
      coalesce(l.floor, 0) * least(f.df / s.documents, 1) AS expected,
      CASE WHEN sum(least(f.df, ${verbatim(`${listLength}`)})) OVER (ORDER BY f.df, a.term) <= ${
    verbatim(`${deepEntries}`)
  } THEN ${verbatim(`${listLength}`)} ELSE ${verbatim(`${shallowEntries}`)} END AS depth
    FROM asked a CROSS JOIN statistics s
    LEFT JOIN LATERAL (SELECT l.df, l.floor FROM ${
    verbatim(lists)
  } l WHERE l.term = a.term OFFSET 0) l ON true
    CROSS JOIN LATERAL (SELECT coalesce(l.df, 0) + count(*) AS df FROM
      (SELECT FROM ${verbatim(recent)} r WHERE r.term = a.term LIMIT ${verbatim(`${listLength}`)}) r) f
    WHERE f.df > 0 ORDER BY f.df, a.term LIMIT ${verbatim(`${rankingWords}`)}
  )`;
}

/** The documents that the words' lists name, with what the lists say of them. */
function foundSql({ id }: OwnIndex): SqlText {
  const { lists, recent } = indexObjects(id);
  const [doc, impact] = [docOf("e.entry"), impactOf("e.entry")];
  return verbatim(`found AS MATERIALIZED (
    SELECT ${doc} AS doc, sum(w.weight * (${impact} - w.expected)) AS estimate
    FROM words w CROSS JOIN LATERAL (
      SELECT unnest(l.entries[1:w.depth]) AS entry FROM ${lists} l WHERE l.term = w.term
      UNION ALL
      (SELECT r.entry FROM ${recent} r WHERE r.term = w.term ORDER BY r.entry DESC LIMIT w.depth)
    ) e GROUP BY 1
  )`);
}

/** The candidates where every row of the source may be found. */
function bestSql(documents: SqlText): SqlText {
  return sql`candidates AS MATERIALIZED (
    SELECT d.key, d.length, d.terms
    FROM (SELECT doc FROM found ORDER BY estimate DESC, doc LIMIT ${verbatim(`${candidates}`)}) f
    ${documentSql(documents, verbatim("d.doc = f.doc"))}
  )`;
}

/** The candidates where a condition holds: the rows that it lets through, where they are few; else the best of them. */
function passingSql(index: OwnIndex, documents: SqlText, condition: SqlText): SqlText {
  const source = sql`${verbatim(index.table)} AS source`;
  return sql`probe AS MATERIALIZED (
    SELECT source.${verbatim(index.idColumn)} AS key FROM ${source} WHERE (${condition}) LIMIT ${
    verbatim(`${exactRows + 1}`)
  }
  ), passing AS MATERIALIZED (
    SELECT count(*) <= ${verbatim(`${exactRows}`)} AS are_few FROM probe
  ), candidates AS MATERIALIZED (
    SELECT d.key, d.length, d.terms FROM probe p ${documentSql(documents, verbatim("d.key = p.key"))}
    WHERE (SELECT are_few FROM passing)
    UNION ALL
    SELECT b.key, b.length, b.terms FROM (
      SELECT d.key, d.length, d.terms
      FROM (SELECT doc FROM found ORDER BY estimate DESC, doc LIMIT ${verbatim(`${examined}`)}) f
      ${documentSql(documents, verbatim("d.doc = f.doc"))}
      ${sourceRowSql(index, verbatim("d.key"), condition)}
      LIMIT ${verbatim(`${candidates}`)}
    ) b WHERE NOT (SELECT are_few FROM passing)
  )`;
}

// OFFSET 0 and LIMIT keep the planner, which knows no sizes here, to one look-up by index for each row

function documentSql(documents: SqlText, which: SqlText): SqlText {
  return sql`CROSS JOIN LATERAL (SELECT d.key, d.length, d.terms FROM ${documents} d WHERE ${which} OFFSET 0) d`;
}

function sourceRowSql({ table, idColumn }: OwnIndex, key: SqlText, condition: SqlText): SqlText {
  return sql`CROSS JOIN LATERAL (SELECT FROM ${verbatim(table)} AS source
    WHERE source.${verbatim(idColumn)} = ${key} AND (${condition}) LIMIT 1) source_row`;
}
