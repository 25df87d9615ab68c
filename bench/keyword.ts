/**
 * The keyword search on corpora of several sizes, and its quality on the Cranfield collection.
 *
 *   CRANFIELD=folder TEST_DATABASE_URL=postgres://… deno run -A bench/keyword.ts [rows…]
 *
 * Without sizes: 10,000 and 100,000 rows.
 */
import { silentLogger } from "../src/core/logger.ts";
import { connect } from "../src/postgres/connect/connect.ts";
import { pg } from "../src/postgres/connection.ts";
import { buildKeywordIndex } from "../src/rag_server/keyword/build_keyword_index.ts";
import { keywordSearch } from "../src/rag_server/keyword/keyword_search.ts";
import type { OwnIndex } from "../src/rag_server/keyword/find_keyword_index.ts";
import { lexemesSql } from "../src/rag_server/keyword/term_sql.ts";
import { renderSql, type SqlText, verbatim } from "../src/postgres/sql_text.ts";
import { createTestDatabase, type TestDatabase } from "../tests/support/database.ts";
import { databaseOptions } from "../tests/support/database_options.ts";
import { corpusTable, type Cranfield, fillCorpus, readCranfield } from "./corpus.ts";
import { print } from "./measure.ts";
import { ndcg } from "./ndcg.ts";

const folder = Deno.env.get("CRANFIELD");
if (folder === undefined) throw new Error("CRANFIELD is not set");
const cranfield = await readCranfield(folder);
const sizes = Deno.args.length === 0 ? [10_000, 100_000] : Deno.args.map(Number);
const signal = new AbortController().signal;

const index: OwnIndex = {
  kind: "postern",
  id: 1,
  table: "public.documents",
  idColumn: '"id"',
  textColumn: '"body"',
  config: "pg_catalog.english",
  hasLeakproofKey: true,
  grams: false,
  documents: 0,
  staleness: 0,
};

type Ask = (question: string, filter?: SqlText) => Promise<string[]>;

async function build(database: TestDatabase): Promise<number> {
  const connection = await connect(databaseOptions(database.url), { signal, logger: silentLogger });
  const startedAt = performance.now();
  await buildKeywordIndex({ connection, signal, table: "documents", textColumn: "body", idColumn: "id" });
  await connection.close();
  return (performance.now() - startedAt) / 1_000;
}

async function withAsk<T>(
  database: TestDatabase,
  use: (ask: Ask, client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    return await use(async (question, filter) => {
      const search = keywordSearch(index, { question, limit: 40, ...(filter !== undefined && { filter }) });
      const { sql, parameters } = renderSql(search);
      const { rows } = await client.query<{ id: string }>(sql, [...parameters]);
      return rows.map(({ id }) => id);
    }, client);
  } finally {
    await client.end();
  }
}

interface Times {
  readonly p50: number;
  readonly p99: number;
}

async function timesOf(ask: Ask, filter?: SqlText): Promise<Times> {
  const times: number[] = [];
  for (const { text } of cranfield.questions) {
    const startedAt = performance.now();
    await ask(text, filter);
    times.push(performance.now() - startedAt);
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(share * (times.length - 1))] ?? NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

async function measureSize(rows: number): Promise<Times> {
  await using database = await createTestDatabase();
  await database.query(corpusTable);
  await fillCorpus({ url: database.url, rows, cranfield });
  const seconds = await build(database);
  const label = `${rows} rows`;
  print(`${label}: build`, `${seconds.toFixed(1)} s, ${(rows / seconds).toFixed(0)} rows/s`);
  const [size] = await database.query(`SELECT pg_size_pretty(sum(pg_total_relation_size(c.oid))),
      pg_size_pretty(pg_total_relation_size('documents'))
    FROM pg_class c WHERE c.relnamespace = 'postern'::regnamespace AND c.relkind = 'r'`);
  print(`${label}: index, and the table`, `${size?.[0]}, ${size?.[1]}`);
  return await withAsk(database, async (ask) => {
    await timesOf(ask);
    const times = await timesOf(ask);
    print(`${label}: a question, p50 and p99`, `${times.p50.toFixed(1)} and ${times.p99.toFixed(1)} ms`);
    for (const category of ["c2", "c20", "c1000"]) {
      const filter = verbatim(`source.category = '${category}'`);
      const { p50, p99 } = await timesOf(ask, filter);
      print(`${label}: filtered to ${category}, p50 and p99`, `${p50.toFixed(1)} and ${p99.toFixed(1)} ms`);
    }
    return times;
  });
}

const lexemesOf = (text: string) => lexemesSql(text, "'pg_catalog.english'");

const occurrenceTable = `CREATE TABLE occurrences AS
  SELECT d.id, l.term, l.count::float8, sum(l.count) OVER (PARTITION BY d.id)::float8 AS length
  FROM documents d CROSS JOIN LATERAL (${lexemesOf("d.body")}) l`;

const fullScoring = `WITH words AS MATERIALIZED (SELECT term, count AS asked FROM (${
  lexemesOf("$1::text")
}) l),
  total AS MATERIALIZED (
    SELECT n, (SELECT sum(count) FROM occurrences) / n AS mean FROM (SELECT count(*)::float8 AS n FROM documents) d
  ), found AS MATERIALIZED (SELECT * FROM occurrences JOIN words USING (term)),
  frequencies AS MATERIALIZED (SELECT term, count(*) AS df FROM found GROUP BY 1)
  SELECT id FROM found JOIN frequencies USING (term) CROSS JOIN total GROUP BY id
  ORDER BY sum(asked * ln(1 + (n - df + 0.5) / (df + 0.5)) * count / (count + 1.2 * (0.6 + 0.4 * length / mean))) DESC, id
  LIMIT 10`;

const densityRanking = `SELECT id FROM vectors,
    (SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS q FROM unnest(to_tsvector('english', $1))) question
  WHERE vector @@ q ORDER BY ts_rank_cd(vector, q, 1) DESC, id LIMIT 10`;

async function measureQuality({ documents, questions, gains }: Cranfield): Promise<void> {
  await using database = await createTestDatabase();
  await database.query(corpusTable);
  await withAsk(database, async (ask, client) => {
    await client.query(
      "INSERT INTO documents SELECT id, '', body, '', 0 FROM unnest($1::bigint[], $2::text[]) d(id, body)",
      [documents.map(({ id }) => id), documents.map(({ text }) => text)],
    );
    await client.query(
      "CREATE TABLE vectors AS SELECT id, to_tsvector('english', body) AS vector FROM documents",
    );
    await client.query(occurrenceTable);
    await build(database);
    const rankings: Readonly<Record<string, (question: string) => Promise<string[]>>> = {
      "Postern's index": ask,
      "BM25 over all documents": async (text) => await idsOf(client, fullScoring, text),
      "ts_rank_cd, any word": async (text) => await idsOf(client, densityRanking, text),
    };
    for (const [name, rank] of Object.entries(rankings)) {
      let sum = 0;
      for (const { id, text } of questions) {
        sum += ndcg((await rank(text)).map(Number), gains.get(id) ?? new Map());
      }
      print(`Cranfield nDCG@10, ${name}`, (sum / questions.length).toFixed(4));
    }
  });
}

async function idsOf(client: pg.Client, sql: string, question: string): Promise<string[]> {
  return (await client.query<{ id: string }>(sql, [question])).rows.map(({ id }) => id);
}

await measureQuality(cranfield);
let smaller: Times | undefined;
for (const rows of sizes) {
  const times = await measureSize(rows);
  if (smaller !== undefined) {
    print(
      `${rows} rows, p50 / that of the size before (aim: at most 1.5)`,
      (times.p50 / smaller.p50).toFixed(2),
    );
  }
  smaller = times;
}
