import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { createEmbeddedServer } from "../../../src/postgres/embedded/embedded_server.ts";
import { buildKeywordIndex } from "../../../src/rag_server/keyword/build_keyword_index.ts";
import { dropKeywordIndex } from "../../../src/rag_server/keyword/drop_keyword_index.ts";
import { keywordSearch } from "../../../src/rag_server/keyword/keyword_search.ts";
import { renderSql, verbatim } from "../../../src/postgres/sql_text.ts";
import { databaseOptions } from "../../support/database_options.ts";

Deno.test("the embedded database has a keyword index too", async () => {
  await using server = await createEmbeddedServer({
    dataDir: "memory",
    statementTimeoutMs: 60_000,
    logger: silentLogger,
  });
  const options = databaseOptions("postgres://postgres@embedded/postgres", {
    openStream: () => server.openStream(),
  });
  const signal = new AbortController().signal;
  const connection = await connect(options, { signal, logger: silentLogger });
  await connection.client.query("CREATE TABLE docs (id int PRIMARY KEY, body text)");
  await connection.client.query("INSERT INTO docs VALUES (1, 'green whales'), (2, 'a whale'), (3, 'grass')");
  const index = { connection, signal, table: "docs", textColumn: "body", idColumn: "id" };
  assert.deepEqual(await buildKeywordIndex(index), { id: 1, documents: 3 });
  await connection.client.query("INSERT INTO docs VALUES (4, 'a green whale')");
  const search = renderSql(keywordSearch({
    kind: "postern",
    id: 1,
    table: "public.docs",
    idColumn: '"id"',
    textColumn: '"body"',
    config: "pg_catalog.english",
    hasLeakproofKey: true,
    grams: false,
    documents: 3,
    staleness: 0,
  }, { question: "whale", limit: 10, filter: verbatim("id > 1") }));
  const ids = async () =>
    (await connection.client.query<{ id: string }>(search.sql, [...search.parameters])).rows.map(({ id }) =>
      id
    );
  assert.deepEqual((await ids()).sort(), ["2", "4"]);
  await buildKeywordIndex(index);
  assert.deepEqual((await ids()).sort(), ["2", "4"]);
  assert.equal(await dropKeywordIndex(index), true);
  await connection.close();
});
