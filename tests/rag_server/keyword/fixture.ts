import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import type { Connection } from "../../../src/postgres/connection.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase, type Database } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import {
  buildKeywordIndex,
  type BuildKeywordIndexOptions,
  type BuiltKeywordIndex,
} from "../../../src/rag_server/keyword/build_keyword_index.ts";
import {
  findKeywordIndex,
  type FindKeywordIndexOptions,
} from "../../../src/rag_server/keyword/find_keyword_index.ts";
import { type KeywordSearch, keywordSearch } from "../../../src/rag_server/keyword/keyword_search.ts";
import type { KeywordIndex } from "../../../src/rag_server/keyword/find_keyword_index.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { renderSql } from "../../../src/postgres/sql_text.ts";
import { documentSql } from "../../../src/rag_server/keyword/term_sql.ts";
import { createTestDatabase } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";

export interface Hit {
  readonly id: string;
  readonly score: number;
}

export interface KeywordFixture extends AsyncDisposable {
  readonly url: string;
  readonly connection: Connection;
  readonly database: Database;
  /** Runs SQL as superuser; the rows of the last statement. */
  query(sql: string): Promise<unknown[][]>;
  build(changes?: Partial<BuildKeywordIndexOptions>): Promise<BuiltKeywordIndex>;
  find(changes?: Partial<FindKeywordIndexOptions>): Promise<KeywordIndex>;
  /** What `find` finds for a role that may log in. */
  findAs(role: string): Promise<KeywordIndex>;
  ask(index: KeywordIndex, question: string, changes?: Partial<KeywordSearch>): Promise<Hit[]>;
  /** The ids that a question finds through what `find` finds. */
  idsOf(question: string): Promise<string[]>;
}

/** A database of its own, with a connection to build by and one to ask by. */
export async function createKeywordFixture(setUp: string): Promise<KeywordFixture> {
  const test = await createTestDatabase();
  await test.query(setUp);
  const options = databaseOptions(test.url);
  const signal = new AbortController().signal;
  const connection = await connect(options, { signal, logger: silentLogger });
  const pools = createConnectionPools({ maxConnections: 5, logger: silentLogger });
  const guard = await createStatementGuard();
  const open = (options: DatabaseOptions) => createDatabase({ options, pools, guard, logger: silentLogger });
  const database = open(options);
  const principal = { kind: "local" } as const;
  const columns = { table: "docs", textColumn: "body", idColumn: "id" };

  const find: KeywordFixture["find"] = (changes) =>
    findKeywordIndex(database, { ...columns, signal, ...changes });

  const ask: KeywordFixture["ask"] = async (index, question, changes) => {
    const rendered = renderSql(keywordSearch(index, { question, limit: 10, ...changes }));
    const read = await database.read({ principal, signal, trusted: true, ...rendered });
    assert.ok(read.ok, read.ok ? "" : read.error.message);
    return read.rows.map(([id, score]) => ({ id: id ?? "", score: Number(score) }));
  };

  return {
    url: test.url,
    connection,
    database,
    query: test.query,
    build: (changes) => buildKeywordIndex({ connection, signal, ...columns, ...changes }),
    find,
    findAs(role) {
      const url = new URL(test.url);
      url.username = role;
      return findKeywordIndex(open(databaseOptions(url.href, { name: role })), { ...columns, signal });
    },
    ask,
    idsOf: async (question) => (await ask(await find(), question)).map(({ id }) => id),
    async [Symbol.asyncDispose]() {
      await connection.close();
      await pools.close();
      await test[Symbol.asyncDispose]();
    },
  };
}

/** Holds an index against its source: each row's words, and each of its words to be found in a list. */
export async function assertInStep(fixture: KeywordFixture, id = 1): Promise<void> {
  const difference = await fixture.query(`
    WITH expected AS (
      SELECT s.id::text AS key, a.terms, a.length FROM docs s
      CROSS JOIN LATERAL (${documentSql("s.body", "'pg_catalog.english'", false)}) a
    ), actual AS (
      SELECT key::text, terms, length FROM postern.keyword_${id}_documents
    )
    (SELECT 'missing', * FROM expected EXCEPT SELECT 'missing', * FROM actual)
    UNION ALL (SELECT 'extra', * FROM actual EXCEPT SELECT 'extra', * FROM expected)`);
  assert.deepEqual(difference, []);
  const unlisted = await fixture.query(`
    SELECT d.key, e & -65536 FROM postern.keyword_${id}_documents d CROSS JOIN LATERAL unnest(d.terms) e
    EXCEPT SELECT d.key, l.term FROM postern.keyword_${id}_documents d JOIN (
      SELECT term, unnest(entries) & ((1::bigint << 48) - 1) AS doc FROM postern.keyword_${id}_lists
      UNION SELECT term, entry & ((1::bigint << 48) - 1) FROM postern.keyword_${id}_recent) l USING (doc)`);
  assert.deepEqual(unlisted, []);
}
