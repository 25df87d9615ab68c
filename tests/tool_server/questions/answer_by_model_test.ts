import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { type CompletionProvider, noUsage } from "../../../src/llm/provider.ts";
import type { Principal } from "../../../src/core/principal.ts";
import type { DatabaseOptions } from "../../../src/postgres/database_options.ts";
import { createCatalogCache } from "../../../src/postgres/catalog/catalog_cache.ts";
import { createConnectionPools } from "../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import type { Answer } from "../../../src/tool_server/questions/answer.ts";
import {
  type AnswerByModelOptions,
  createAnswerByModel,
} from "../../../src/tool_server/questions/answer_by_model.ts";
import { createHistory, historyOwner } from "../../../src/tool_server/questions/history.ts";
import { createSchemaIndex } from "../../../src/tool_server/questions/schema/schema_index.ts";
import { assertError } from "../../llm/exchange_fixture.ts";
import {
  end,
  type Script,
  type ScriptedProvider,
  scriptedProvider,
  text,
} from "../../llm/scripted_provider.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../support/database.ts";
import { memoryState } from "../../support/state.ts";
import { databaseOptions } from "../../support/database_options.ts";

const schema = `
  CREATE TABLE customers (id int PRIMARY KEY, city text NOT NULL);
  INSERT INTO customers VALUES (1, 'Lisbon'), (2, 'Oslo');
  CREATE FUNCTION raise_city() RETURNS int LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN RAISE EXCEPTION 'the city is %', (SELECT city FROM customers LIMIT 1) USING HINT = 'Lisbon'; END $$;
  CREATE FUNCTION cast_city() RETURNS int LANGUAGE plpgsql IMMUTABLE AS
    $$ BEGIN RETURN (SELECT city FROM customers LIMIT 1)::int; END $$;`;

const block = (sql: string): Script => [text(`\`\`\`sql\n${sql}\n\`\`\``), end()];
const cut = (reply: string): Script => [text(reply), { type: "end", usage: noUsage, isCut: true }];
const forever = () => Promise.withResolvers<void>().promise;

const cities = "SELECT city FROM customers ORDER BY id";

type Ask = (question: string, principal?: Principal) => Promise<Answer>;

async function createAsker(database: TestDatabase, settings: Partial<DatabaseOptions> = {}) {
  const guard = await createStatementGuard();
  await using opening = new AsyncDisposableStack();
  const pools = opening.use(createConnectionPools({ maxConnections: 4, logger: silentLogger }));
  const schemas = opening.use(
    createCatalogCache({ prepare: createSchemaIndex, now: Date.now, logger: silentLogger }),
  );
  const options = databaseOptions(database.url, {
    allowedFunctions: ["raise_city", "cast_city"],
    ...settings,
  });
  const shop = createDatabase({ options, pools, guard, logger: silentLogger });
  const opened = opening.move();
  return {
    history: () => createHistory(opened.use(memoryState()), silentLogger),
    /** Asks with a history of its own. */
    with(completion: CompletionProvider, more: Partial<AnswerByModelOptions> = {}): Ask {
      const history = createHistory(opened.use(memoryState()), silentLogger);
      const answer = createAnswerByModel({
        completion,
        schemas,
        guard,
        history,
        schemaTokens: 1_000,
        now: Date.now,
        ...more,
      });
      return (question, principal = { kind: "local" }) =>
        answer({
          text: question,
          database: shop,
          principal,
          maxRows: 10,
          offset: 0,
          signal: new AbortController().signal,
          logger: silentLogger,
        });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function rowsOf(answer: Answer): unknown {
  assert.ok(answer.kind === "rows", JSON.stringify(answer));
  return answer.result.rows;
}

/** The last message of the nth request, from 0. */
function said(provider: ScriptedProvider, nth: number): string {
  return provider.requests[nth]?.messages.at(-1)?.content ?? "";
}

testWithPostgres("a model's answers", async (t) => {
  await using database = await createTestDatabase();
  await database.query(schema);
  await using asker = await createAsker(database);

  await t.step("half a statement never runs: the model is asked for a shorter one", async () => {
    const model = scriptedProvider("m", cut("```sql\nSELECT city FROM customers"), block(cities));
    assert.deepEqual(rowsOf(await asker.with(model)("Which cities?")), [["Lisbon"], ["Oslo"]]);
    assert.match(
      said(model, 1),
      /ERROR: the answer was cut off at the length limit; write a shorter one\n/,
    );
  });

  await t.step("what a cut answer holds in a whole block runs", async () => {
    const model = scriptedProvider("m", cut(`\`\`\`sql\n${cities}\n\`\`\`\nThis lists`));
    assert.deepEqual(rowsOf(await asker.with(model)("Which cities?")), [["Lisbon"], ["Oslo"]]);
    assert.equal(model.calls(), 1);
  });

  await t.step("where all is cut, the caller learns what bounds it", async () => {
    const model = scriptedProvider("m", cut("QUESTION: Which cities"));
    assert.deepEqual(await asker.with(model)("Which cities?"), {
      kind: "refused",
      reason:
        "Cannot answer the request: the provider's answer was cut off at the length that llm.max_tokens allows",
    });
    assert.equal(model.calls(), 4);
  });

  await t.step("where thinking used the answer up, the caller learns what bounds it", async () => {
    const model = scriptedProvider("m", cut(""));
    assert.deepEqual(await asker.with(model)("Which cities?"), {
      kind: "refused",
      reason:
        "Cannot answer the request: the provider used the length that llm.max_tokens allows before it wrote an answer; a model that thinks first needs more",
    });
    assert.match(
      said(model, 1),
      /ERROR: the length limit was reached before the answer; think less/,
    );
  });

  await t.step("an answer without a word", async () => {
    const model = scriptedProvider("m", [end()]);
    assert.deepEqual(await asker.with(model)("Which cities?"), {
      kind: "refused",
      reason: "Cannot answer the request: the provider's answer was empty",
    });
    assert.match(said(model, 1), /ERROR: the reply is empty; write a statement or a question back\n/);
  });

  await t.step("no statement at all", async () => {
    const model = scriptedProvider("m", [text("I cannot."), end()]);
    assert.deepEqual(await asker.with(model)("Which cities?"), {
      kind: "refused",
      reason: "Cannot answer the request: the provider wrote no statement",
    });
    assert.match(
      said(model, 1),
      /neither a statement in a ```sql block nor a line that starts with QUESTION:/,
    );
  });

  await t.step("a wrong name goes back with PostgreSQL's words and its hint", async () => {
    const model = scriptedProvider("m", block("SELECT cty FROM customers"), block(cities));
    rowsOf(await asker.with(model)("Which cities?"));
    assert.match(said(model, 1), /ERROR: column "cty" does not exist\nSQLSTATE: 42703\nLINE: 1 of /);
    assert.match(said(model, 1), /HINT: .*customers\.city/);
  });

  const failing: readonly (readonly [string, string, string])[] = [
    ["a row that is no number", "SELECT city::int FROM customers", "22P02"],
    ["a constant that the planner folds", "SELECT cast_city()", "22P02"],
    ["an error that a function raises", "SELECT raise_city() FROM customers", "P0001"],
    ["a subquery of several rows", "SELECT (SELECT city FROM customers)", "21000"],
    [
      "a setting that is named by rows",
      "SELECT current_setting(string_agg(city, ', ')) FROM customers",
      "42704",
    ],
    ["a table that a row names", "SELECT city::regclass FROM customers", "42P01"],
    ["a role that a row names", "SELECT city::regrole FROM customers", "42704"],
    ["a configuration that a row names", "SELECT city::regconfig FROM customers", "42704"],
    ["a right that a row names", "SELECT has_table_privilege(city, 'select') FROM customers", "42P01"],
  ];
  for (const [name, sql, sqlState] of failing) {
    await t.step(`no value goes back to the model, but all to the caller: ${name}`, async () => {
      const model = scriptedProvider("m", block(sql));
      const answer = await asker.with(model)("Which cities?");
      assert.ok(answer.kind === "failed", JSON.stringify(answer));
      assert.equal(answer.error.sqlState, sqlState);
      assert.match(answer.error.message, /lisbon|more than one row/i);
      assert.match(said(model, 1), new RegExp(`SQLSTATE: ${sqlState}\n`));
      assert.doesNotMatch(JSON.stringify(model.requests), /lisbon|HINT/i);
    });
  }

  for (const sql of ["EXPLAIN SELECT 1", "SHOW search_path"]) {
    await t.step(`${sql} is no answer`, async () => {
      const model = scriptedProvider("m", block(sql), block("TABLE customers"));
      assert.deepEqual(rowsOf(await asker.with(model)("Which customers?")), [["1", "Lisbon"], ["2", "Oslo"]]);
      assert.match(
        said(model, 1),
        /ERROR: only SELECT, VALUES, TABLE and WITH of those can answer a request\n/,
      );
    });
  }

  await t.step("a write is refused in words about itself", async () => {
    const model = scriptedProvider("m", block("DELETE FROM customers"), block(cities));
    rowsOf(await asker.with(model)("Remove them"));
    assert.match(said(model, 1), /ERROR: DELETE is not a read/);
  });

  await t.step("a repair does not outlast the question's time", async () => {
    const model = scriptedProvider("m", block("SELECT cty FROM customers"), [forever()]);
    await assertError(asker.with(model, { answerTimeoutMs: 50 })("Which cities?"), "timeout");
    assert.equal(model.calls(), 2);
  });

  await t.step("a question back, and a history that a later request builds on", async () => {
    const model = scriptedProvider(
      "m",
      [text("QUESTION: Which ones?"), end()],
      block(cities),
      block("SELECT 1"),
    );
    const ask = asker.with(model);
    assert.deepEqual(await ask("Which cities?"), { kind: "question", text: "Which ones?" });
    await ask("All of them");
    await ask("How many?");
    const earlier = model.requests.at(-1)?.messages.slice(0, -1).map(({ content }) => content) ?? [];
    assert.match(earlier[0] ?? "", /Which cities\?/);
    assert.equal(earlier[1], "QUESTION: Which ones?");
    assert.match(earlier[2] ?? "", /All of them/);
    assert.equal(earlier[3], `\`\`\`sql\n${cities}\n\`\`\``);
  });

  await t.step(
    "who asks with another tenant's token builds on nothing that was asked with this one's",
    async () => {
      await using asker = await createAsker(database, {
        sessionSettings: { "app.tenant": "{claim:tenant}" },
      });
      const model = scriptedProvider("m", ...Array<Script>(4).fill(block(cities)));
      const history = asker.history();
      const ask = asker.with(model, { history });
      const ann = (tenant: string, exp = 1, issuer = "https://login.example"): Principal => ({
        kind: "issuer",
        issuer,
        subject: "ann",
        groups: [],
        claims: { tenant, exp },
      });
      const earlier = () => model.requests.at(-1)?.messages.slice(0, -1) ?? [];
      await ask("Which cities has Acme?", ann("a"));
      await ask("And Bolt?", ann("b"));
      assert.deepEqual(earlier(), []);
      await ask("And since May?", ann("a", 2));
      assert.match(JSON.stringify(earlier()), /Acme/);
      assert.doesNotMatch(JSON.stringify(earlier()), /Bolt/);
      await ask("Which?", ann("a", 1, "https://other.example"));
      assert.deepEqual(earlier(), []);
      // what is forgotten is forgotten for all tenants
      assert.equal(await history.forget(historyOwner(ann("b"))), 3);
    },
  );

  await t.step("what is asked while its caller forgets is not kept", async () => {
    const answering = Promise.withResolvers<void>();
    const model = scriptedProvider("m", [answering.promise, ...block(cities)], block("SELECT 1"));
    const history = asker.history();
    const ask = asker.with(model, { history });
    const answer = ask("Which cities?");
    while (model.calls() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await history.forget("local");
    answering.resolve();
    rowsOf(await answer);
    await ask("And now?");
    assert.doesNotMatch(JSON.stringify(model.requests.at(-1)), /Which cities/);
  });

  await t.step("what failed is not kept", async () => {
    const model = scriptedProvider("m", block("SELECT cty FROM customers"));
    const ask = asker.with(model);
    await ask("Which cities?");
    await ask("And now?");
    assert.equal(model.requests.at(4)?.messages.length, 1);
  });

  await t.step("replies that are deep or endless are no statement, and nothing breaks", async () => {
    for (const piece of ["(", "(SELECT ", "[", "{", "/*", "NOT ", "1+", "```\n"]) {
      const model = scriptedProvider(
        "m",
        [text(`SELECT ${piece.repeat(500_000)}`), end()],
        block("SELECT 1"),
      );
      assert.deepEqual(rowsOf(await asker.with(model)("Deep")), [["1"]], piece);
    }
  });
});
