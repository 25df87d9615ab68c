import assert from "node:assert/strict";
import { whyRefused } from "../../../src/postgres/guard/refused_functions.ts";
import { createFunctionGuard, isHarmless, type LookUp } from "../../../src/postgres/guard/function_guard.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import {
  createTestDatabase,
  requireTestDatabaseUrl,
  runSql,
  testWithPostgres,
} from "../../support/database.ts";
import { pg } from "../../../src/postgres/connection.ts";

/** Built-in VOLATILE functions that nobody has called harmless or refused by name: internals that no read has a use for. */
const internals = new RegExp(
  "^(RI_FKey_\\w+|\\w+handler|amvalidate|currtid2|dsnowball_\\w+|pg_isolation_test_session_is_blocked|pg_stat_force_next_flush|" +
    "plpgsql_\\w+|suppress_redundant_updates_trigger|tsvector_update_trigger\\w*|unique_key_recheck)$",
);

testWithPostgres("every VOLATILE function of this server is known", async () => {
  const rows = await runSql(
    requireTestDatabaseUrl(),
    "SELECT DISTINCT proname FROM pg_proc WHERE provolatile = 'v' AND oid < 16384 ORDER BY 1",
  );
  const unknown = rows.map(([name]) => String(name)).filter((name) =>
    whyRefused(undefined, name) === undefined && !isHarmless(name, undefined) && !internals.test(name)
  );
  assert.deepEqual(unknown, []);
  assert.ok(rows.length > 100);
});

testWithPostgres("no function is both refused and harmless", async () => {
  const rows = await runSql(requireTestDatabaseUrl(), "SELECT DISTINCT proname FROM pg_proc");
  const both = rows.map(([name]) => String(name)).filter((name) =>
    whyRefused(undefined, name) !== undefined && isHarmless(name, undefined)
  );
  assert.deepEqual(both, []);
});

testWithPostgres(
  "check() refuses a built-in VOLATILE function that is on no list, also in a view",
  async () => {
    await using fixture = await createFixture(
      "CREATE VIEW v AS SELECT 1 AS x WHERE currtid2('pg_class', '(0,1)') IS NULL",
    );
    assert.match(
      await fixture.check("SELECT currtid2('pg_class', '(0,1)')") ?? "",
      /^pg_catalog\.currtid2\(\) is not allowed: PostgreSQL marks it VOLATILE/,
    );
    assert.match(await fixture.check("TABLE v") ?? "", /currtid2/);
  },
);

testWithPostgres(
  "check() lets functions through that the configuration names, with or without schema",
  async () => {
    const sql =
      "CREATE SCHEMA s; CREATE FUNCTION s.touch() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'";
    for (
      const [allowed, isAllowed] of [[["touch"], true], [["s.touch"], true], [["other.touch"], false], [
        [],
        false,
      ]] as const
    ) {
      await using fixture = await createFixture(sql, [...allowed]);
      assert.equal(await fixture.check("SELECT s.touch()") === undefined, isAllowed, allowed.join());
    }
  },
);

testWithPostgres(
  "check() refuses a user's VOLATILE function that has the name of a harmless built-in one",
  async () => {
    await using fixture = await createFixture(`
    CREATE SCHEMA app;
    CREATE FUNCTION app.random(text) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
    CREATE FUNCTION app.gen_salt(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'`);
    assert.equal(await fixture.check("SELECT random()"), undefined);
    assert.match(
      await fixture.check("SELECT app.random('x')") ?? "",
      /^app\.random\(\) is not allowed: it is VOLATILE/,
    );
    assert.match(await fixture.check("SELECT app.gen_salt('x')") ?? "", /VOLATILE/);
  },
);

testWithPostgres("check() refuses long names where the server may cut them elsewhere", async () => {
  await using utf8 = await createFixture("");
  await using latin = await createFixture("", [], undefined, createLatinDatabase);
  const long = "é".repeat(40);
  for (const fixture of [utf8, latin]) {
    await fixture.query(`CREATE FUNCTION ${long}() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'`);
    assert.match(await fixture.check(`SELECT ${long}()`) ?? "it may run", /is not allowed/);
    assert.equal(await fixture.check("SELECT 1 AS é, lower('É') WHERE 1 < 2"), undefined);
  }
  await latin.query("CREATE FUNCTION é() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END'");
  assert.match(await latin.check("SELECT é()") ?? "", /VOLATILE/);
});

testWithPostgres("check() does not let the configuration allow what a listed function does", async () => {
  await using fixture = await createFixture("CREATE VIEW v AS SELECT pg_ls_dir('.')", ["pg_ls_dir"]);
  assert.match(await fixture.check("TABLE v") ?? "", /it reads or writes the server's files/);
});

testWithPostgres(
  "check() refuses whatever a built-in cast, class or type that was made VOLATILE may run",
  async (t) => {
    const careless = "LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'";
    for (
      const [name, sql, refused, allowed] of [
        [
          "a cast that no statement writes",
          `CREATE FUNCTION careless(date) RETURNS circle ${careless};
         CREATE CAST (date AS circle) WITH FUNCTION careless(date) AS ASSIGNMENT`,
          ["SELECT a FROM t"],
          [],
        ],
        [
          "a family of PostgreSQL's own",
          `CREATE FUNCTION careless(int, date) RETURNS int ${careless};
         ALTER OPERATOR FAMILY integer_ops USING btree ADD FUNCTION 1 (int, date) careless(int, date)`,
          ["SELECT a FROM t"],
          [],
        ],
        [
          "a class that takes PostgreSQL's operators",
          `CREATE FUNCTION careless(int, int) RETURNS int ${careless};
         CREATE OPERATOR CLASS other FOR TYPE int USING btree AS OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 careless(int, int);
         CREATE VIEW sorted AS SELECT a FROM t ORDER BY a; CREATE VIEW compared AS SELECT (a, 1) < (1, 1) AS x FROM t;
         CREATE VIEW equal AS SELECT a = 1 AS x FROM t`,
          [
            "SELECT a FROM t ORDER BY a",
            "TABLE sorted",
            "TABLE compared",
            "SELECT 1 FROM t JOIN t AS s ON t.a = s.a",
            "SELECT a < 1 FROM t",
          ],
          ["SELECT a FROM t", "SELECT a = 1 FROM t", "TABLE equal"],
        ],
        [
          "what a type's values are written by",
          `CREATE TYPE careless;
         CREATE FUNCTION careless_in(cstring) RETURNS careless LANGUAGE internal IMMUTABLE STRICT AS 'textin';
         CREATE FUNCTION careless_out(careless) RETURNS cstring LANGUAGE internal STRICT AS 'textout';
         CREATE TYPE careless (INPUT = careless_in, OUTPUT = careless_out, LIKE = text);
         CREATE TABLE odd (x careless, n int)`,
          ["SELECT x FROM odd", "SELECT 'x'::careless", "TABLE odd"],
          ["SELECT a FROM t"],
        ],
      ] as const
    ) {
      await t.step(name, async () => {
        await using fixture = await createFixture(`CREATE TABLE t (a int); ${sql}`);
        for (const statement of refused) {
          assert.match(
            await fixture.check(statement) ?? "it may run",
            /careless\w*\(\), and it is VOLATILE/,
            statement,
          );
        }
        for (const statement of allowed) assert.equal(await fixture.check(statement), undefined, statement);
      });
    }
  },
);

testWithPostgres("check() resolves names by the search path", async () => {
  await using fixture = await createFixture(`
    CREATE SCHEMA hidden;
    CREATE FUNCTION hidden.touch() RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
    CREATE FUNCTION public.touch() RETURNS int LANGUAGE sql STABLE AS 'SELECT 1';
    CREATE VIEW hidden.v AS SELECT hidden.touch() AS x; CREATE VIEW public.v AS SELECT 1 AS x`);
  assert.equal(await fixture.check("SELECT touch()"), undefined);
  assert.equal(await fixture.check("SELECT * FROM v"), undefined);
  assert.match(await fixture.check("SELECT hidden.touch()") ?? "", /VOLATILE/);
  assert.match(
    await fixture.check("SELECT * FROM hidden.v") ?? "",
    /"v" is not allowed: it calls hidden\.touch\(\), and it is VOLATILE/,
  );
});

testWithPostgres("check() does not refuse what only stands near a VOLATILE function", async () => {
  await using fixture = await createFixture(`
    CREATE FUNCTION careless(text) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
    CREATE DOMAIN email AS text CHECK (careless(VALUE));
    CREATE TABLE contacts (address email, n int DEFAULT random()::int);
    CREATE MATERIALIZED VIEW stored AS SELECT careless('x') AS x;
    CREATE TABLE plain (a int); CREATE POLICY p ON plain USING (careless('x'))`);
  for (
    const sql of [
      "SELECT * FROM contacts",
      "SELECT * FROM stored",
      "SELECT * FROM plain",
      "SELECT address || 'x' FROM contacts",
    ]
  ) {
    assert.equal(await fixture.check(sql), undefined, sql);
  }
  for (
    const sql of [
      "SELECT 'x'::email",
      "SELECT NULL::contacts",
      "SELECT json_populate_record(c, '{}') FROM contacts c",
    ]
  ) {
    assert.match(await fixture.check(sql) ?? "", /careless/, sql);
  }
});

testWithPostgres(
  "check() finds what a view or a table casts to or searches in syntax of its own",
  async () => {
    await using fixture = await createFixture(`
    CREATE FUNCTION careless(int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
    CREATE DOMAIN small AS int CHECK (careless(VALUE)); CREATE TYPE small_row AS (a small);`);
    const version = await fixture.serverVersion();
    for (
      const [since, definition, reason] of [
        [14, `VIEW v AS SELECT * FROM json_to_recordset('[]') AS x (b text, a small)`, /careless/],
        [14, `VIEW v AS SELECT jsonb_populate_record(NULL::small_row, '{}')`, /careless/],
        [
          14,
          `VIEW v AS SELECT x.a FROM xmltable('/a' PASSING ('<a/>'::xml) COLUMNS a int PATH '.') x`,
          /XPath/,
        ],
        [17, `VIEW v AS SELECT JSON_VALUE('1', '$' RETURNING small)`, /careless/],
        [17, `VIEW v AS SELECT a FROM JSON_TABLE('[]', '$[*]' COLUMNS (a small PATH '$'))`, /careless/],
        [17, `VIEW v AS SELECT a FROM JSON_TABLE('[]', '$[*]' COLUMNS (a int PATH '$'))`, /^$/],
        [18, `TABLE v (x xml, a xml[] GENERATED ALWAYS AS (xpath('/a', x)) VIRTUAL)`, /XPath/],
      ] as const
    ) {
      if (version < since) continue;
      await fixture.query(`CREATE ${definition}`);
      assert.match(await fixture.check("TABLE v", definition) ?? "", reason, definition);
      await fixture.query(`DROP ${definition.slice(0, definition.indexOf(" v ") + 2)}`);
    }
  },
);

testWithPostgres("check() asks the database once for the same names, and again after a while", async () => {
  let time = 0;
  await using fixture = await createFixture("CREATE TABLE t (a int)", [], () => time);
  await fixture.check("SELECT a FROM t WHERE a = 1");
  await fixture.check("SELECT a FROM t WHERE a = 2");
  // the first asks whether there is anything to follow that no statement names
  assert.equal(fixture.lookUps(), 2);
  await fixture.check("SELECT a FROM t WHERE a = 2", "another role");
  assert.equal(fixture.lookUps(), 3);
  time = 5_001;
  await fixture.check("SELECT a FROM t WHERE a = 3");
  assert.equal(fixture.lookUps(), 5);
  await fixture.check("SELECT 1");
  assert.equal(fixture.lookUps(), 5);
});

const marker = (signature: string, returns: string) =>
  `CREATE FUNCTION ${signature} RETURNS ${returns} LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`;

/** What leads to a VOLATILE function, and what does not although it stands beside it. */
const ways: readonly {
  readonly name: string;
  readonly since?: number;
  readonly sql: readonly string[];
  readonly refused: readonly string[];
  readonly honest: readonly string[];
}[] = [{
  name: "an operator whose name has a schema, so that no built-in one is taken for it",
  sql: [
    "CREATE SCHEMA shed",
    "CREATE TYPE mood AS ENUM ('a')",
    marker("shed.same(mood, int)", "boolean"),
    "CREATE OPERATOR shed.= (LEFTARG = mood, RIGHTARG = int, FUNCTION = shed.same)",
    "CREATE FUNCTION shed.calm(mood, mood) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'",
    "CREATE OPERATOR shed.<> (LEFTARG = mood, RIGHTARG = mood, FUNCTION = shed.calm)",
  ],
  refused: [
    "SELECT NULL OPERATOR(shed.=) 1",
    "SELECT 'a' OPERATOR(shed.=) ALL (ARRAY[1])",
    "SELECT 'a' OPERATOR(shed.<>) 'a'",
  ],
  honest: ["SELECT 1 = 1", "SELECT 'a' OPERATOR(pg_catalog.=) 'b'", "SELECT 'a' <> 'b'"],
}, {
  name: "a cast to an array of a built-in type",
  sql: [
    marker("of_flag(boolean)", "regtype[]"),
    "CREATE CAST (boolean AS regtype[]) WITH FUNCTION of_flag(boolean)",
  ],
  refused: ["SELECT true::regtype[]", "SELECT true::pg_catalog.regtype[]"],
  honest: ["SELECT 'text'::regtype", "SELECT ARRAY[true]"],
}, {
  name: "an order of arrays of a built-in type",
  sql: [
    marker("order_types(regtype[], regtype[])", "int"),
    "CREATE FUNCTION types_same(regtype[], regtype[]) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'",
    "CREATE OPERATOR === (LEFTARG = regtype[], RIGHTARG = regtype[], FUNCTION = types_same)",
    "CREATE OPERATOR CLASS types DEFAULT FOR TYPE regtype[] USING btree AS OPERATOR 3 ===, FUNCTION 1 order_types(regtype[], regtype[])",
  ],
  refused: [
    "SELECT DISTINCT ARRAY[oid::regtype] FROM pg_type",
    "SELECT array_agg(1 ORDER BY ARRAY['text'::regtype])",
  ],
  honest: ["SELECT oid::regtype FROM pg_type WHERE typname = 'text'"],
}, {
  name: "a row that a text becomes, beside a row",
  sql: [
    "CREATE TYPE pair AS (a int, b int)",
    marker("of_text(text)", "pair"),
    "CREATE CAST (text AS pair) WITH FUNCTION of_text(text) AS IMPLICIT",
    "CREATE FUNCTION over(pair, pair) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true'",
    "CREATE OPERATOR > (LEFTARG = pair, RIGHTARG = pair, FUNCTION = over)",
  ],
  refused: ["SELECT ROW(1, 2) > ANY (ARRAY[NULL])", "SELECT ROW(1, 2) > 'x'::text"],
  honest: ["SELECT 1 + 1"],
}, {
  name: "a row that a field of a literal makes",
  sql: [
    "CREATE TYPE pair AS (a int, b int)",
    marker("under(pair, pair)", "boolean"),
    "CREATE OPERATOR < (LEFTARG = pair, RIGHTARG = pair, FUNCTION = under)",
    "CREATE FUNCTION made(numrange) RETURNS pair LANGUAGE plpgsql STABLE AS 'BEGIN RETURN NULL; END'",
  ],
  refused: ["SELECT NULL < ANY (ARRAY[('empty').made])"],
  honest: ["SELECT ROW(1, 2) < ROW(1, 3)", "SELECT made FROM (SELECT 1 AS made) AS x"],
}, {
  name: "a view that names a type in a text",
  since: 16,
  sql: [
    marker("fits(int)", "boolean"),
    "CREATE DOMAIN amount AS int CHECK (fits(VALUE))",
    "CREATE VIEW checked AS SELECT pg_input_is_valid('1', 'amount') AS x",
    "CREATE VIEW plain AS SELECT 1 AS x",
  ],
  refused: ["TABLE checked"],
  honest: ["TABLE plain"],
}];

for (const { name, since = 0, sql, refused, honest } of ways) {
  testWithPostgres(`check() refuses ${name}`, async () => {
    const [[version] = []] = await runSql(requireTestDatabaseUrl(), "SHOW server_version_num");
    if (Number(version) < since * 10_000) return;
    await using fixture = await createFixture(sql.join(";\n"));
    for (const each of refused) assert.match(await fixture.check(each) ?? "", /it is VOLATILE/, each);
    for (const each of honest) assert.equal(await fixture.check(each), undefined, each);
  });
}

async function createLatinDatabase() {
  const beside = await createTestDatabase();
  const name = `${beside.name}_latin`;
  await beside.query(
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`,
  );
  const url = new URL(beside.url);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    name,
    query: (sql: string) => runSql(url.href, sql),
    async [Symbol.asyncDispose]() {
      await beside.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await beside[Symbol.asyncDispose]();
    },
  };
}

async function createFixture(
  sql: string,
  allowedFunctions: string[] = [],
  now?: () => number,
  createDatabase = createTestDatabase,
) {
  const database = await createDatabase();
  await database.query(sql).catch(async (error) => {
    await database[Symbol.asyncDispose]();
    throw error;
  });
  // as the statements of a read have it
  const client = new pg.Client({ connectionString: database.url, options: "-c jit=off" });
  await client.connect();
  // as in every transaction of a caller's
  await client.query("SET jit = off");
  const statementGuard = await createStatementGuard();
  const guard = createFunctionGuard({ allowedFunctions, ...(now !== undefined && { now }) });
  let lookUps = 0;
  const lookUp: LookUp = async (text, values) => {
    lookUps++;
    const { rows } = await client.query<(string | null)[]>({ text, values: [...values], rowMode: "array" });
    return rows;
  };
  return {
    lookUps: () => lookUps,
    query: database.query,
    serverVersion: async () =>
      Math.floor(Number((await database.query("SHOW server_version_num"))[0]?.[0]) / 10_000),
    check(statement: string, cacheKey = "local"): Promise<string | undefined> {
      const result = statementGuard.check(statement);
      assert.ok(result.ok, statement);
      return guard.check(result.names, cacheKey, lookUp);
    },
    async [Symbol.asyncDispose]() {
      await client.end();
      await database[Symbol.asyncDispose]();
    },
  };
}
