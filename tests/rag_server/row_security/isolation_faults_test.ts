import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { isolationFaults, roleOfCaller } from "../../../src/rag_server/row_security/isolation_faults.ts";
import { runSql, testDatabaseUrl, testWithPostgres } from "../../support/database.ts";
import { createKeywordFixture, type KeywordFixture } from "../keyword/fixture.ts";

const { signal } = new AbortController();

/** A table with row-level security and one without, which `reader` may read, and whose owner has no rights past policies. */
async function createTables(): Promise<KeywordFixture & { faultsOf(table: string): Promise<string[]> }> {
  const suffix = randomBytes(4).toString("hex");
  const [owner, reader] = [`owner_${suffix}`, `reader_${suffix}`];
  const dropRoles = `DROP ROLE IF EXISTS ${owner}, ${reader}`;
  await using stack = new AsyncDisposableStack();
  stack.defer(async () => void await runSql(testDatabaseUrl ?? "", dropRoles));
  const fixture = stack.use(
    await createKeywordFixture(
      `CREATE ROLE ${owner}; CREATE ROLE ${reader}; GRANT CREATE ON SCHEMA public TO ${owner};
    CREATE TABLE docs (id int, body text); ALTER TABLE docs OWNER TO ${owner};
    ALTER TABLE docs ENABLE ROW LEVEL SECURITY; ALTER TABLE docs FORCE ROW LEVEL SECURITY;
    CREATE FUNCTION tenant() RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RETURN current_user; END';
    CREATE POLICY own ON docs USING (body = tenant());
    CREATE TABLE open (id int, body text); ALTER TABLE open OWNER TO ${owner}`,
    ),
  );
  const owned = stack.move();
  return {
    ...fixture,
    query: (sql) => fixture.query(`SET ROLE ${owner}; ${sql}`),
    async faultsOf(table) {
      const roles = roleOfCaller(reader, { roleFromUser: true, sessionSettings: {} });
      const faults = await isolationFaults(fixture.database, [table], roles, signal);
      return faults.map(({ message }) => message);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const opaque = (name: string) =>
  `public.seen runs public.${name}, and PostgreSQL does not know what that reads`;
const leak = `CREATE FUNCTION leak(text) RETURNS text LANGUAGE sql STABLE AS 'SELECT max(body) FROM open'`;

/** What makes `seen`, by which rows of `open` can be read, and the fault. */
const leaks: Readonly<Record<string, readonly [sql: string, fault: string]>> = {
  "function with a text as its body": [
    `CREATE FUNCTION all_rows() RETURNS TABLE (id int, body text) LANGUAGE sql AS 'SELECT id, body FROM open';
    CREATE VIEW seen AS SELECT * FROM all_rows()`,
    `view ${opaque("all_rows()")}`,
  ],
  "claims to be immutable": [
    `${leak}; ALTER FUNCTION leak(text) IMMUTABLE; CREATE VIEW seen AS SELECT id, leak(body) AS body FROM docs`,
    `view ${opaque("leak(text)")}`,
  ],
  "function that calls one with its owner's rights": [
    `CREATE FUNCTION inner_rows() RETURNS text LANGUAGE sql SECURITY DEFINER BEGIN ATOMIC SELECT max(body) FROM open; END;
    CREATE FUNCTION rows_of() RETURNS text LANGUAGE sql RETURN inner_rows();
    CREATE VIEW seen AS SELECT 1 AS id, rows_of() AS body`,
    "view public.seen runs public.inner_rows(), which reads with the rights of its owner",
  ],
  "function with a parsed body": [
    `CREATE FUNCTION all_rows() RETURNS TABLE (id int, body text) LANGUAGE sql BEGIN ATOMIC SELECT id, body FROM open; END;
    CREATE VIEW seen AS SELECT * FROM all_rows()`,
    "row-level security is not enabled for public.open",
  ],
  "function with settings": [
    `CREATE FUNCTION other() RETURNS text LANGUAGE sql SET application_name = 'b' BEGIN ATOMIC SELECT max(body) FROM docs; END;
    CREATE VIEW seen AS SELECT 1 AS id, other() AS body`,
    "view public.seen runs public.other(), which has settings of its own, and a policy may ask them",
  ],
  "function by a default argument": [
    `${leak}; CREATE FUNCTION given(text DEFAULT leak('')) RETURNS text LANGUAGE sql RETURN $1;
    CREATE VIEW seen AS SELECT 1 AS id, given() AS body`,
    `view ${opaque("leak(text)")}`,
  ],
  "operator": [
    `${leak}; CREATE OPERATOR ### (RIGHTARG = text, FUNCTION = leak);
    CREATE VIEW seen WITH (security_invoker) AS SELECT id, ### body AS body FROM docs`,
    `view ${opaque("leak(text)")}`,
  ],
  "operator that is a built-in function": [
    `CREATE FUNCTION xml_of(text, boolean) RETURNS xml LANGUAGE sql RETURN query_to_xml($1, $2, $2, '');
    CREATE OPERATOR ### (LEFTARG = text, RIGHTARG = boolean, FUNCTION = xml_of);
    CREATE VIEW seen AS SELECT 1 AS id, ('TABLE open' ### true)::text AS body`,
    "view public.seen runs pg_catalog.query_to_xml(query text, nulls boolean, tableforest boolean, targetns text), " +
    "which may read what no policy filters, or change what a policy asks",
  ],
  "text that runs": [
    `CREATE VIEW seen AS SELECT 1 AS id, word AS body FROM ts_stat('SELECT to_tsvector(body) FROM open')`,
    "view public.seen runs pg_catalog.ts_stat(query text, OUT word text, OUT ndoc integer, OUT nentry integer), " +
    "which may read what no policy filters, or change what a policy asks",
  ],
  "setting that a policy asks": [
    `CREATE VIEW seen AS SELECT docs.* FROM docs, set_config('app.tenant', 'b', true)`,
    "view public.seen runs pg_catalog.set_config(text, text, boolean), which may read what no policy filters, " +
    "or change what a policy asks",
  ],
  "aggregate": [
    `CREATE FUNCTION step(text, text) RETURNS text LANGUAGE sql AS 'SELECT max(body) FROM open';
    CREATE AGGREGATE gather(text) (SFUNC = step, STYPE = text);
    CREATE VIEW seen AS SELECT 1 AS id, gather(body) AS body FROM docs`,
    `view ${opaque("step(text, text)")}`,
  ],
  "window": [
    `CREATE FUNCTION step(text, text) RETURNS text LANGUAGE sql AS 'SELECT max(body) FROM open';
    CREATE AGGREGATE gather(text) (SFUNC = step, STYPE = text);
    CREATE VIEW seen AS SELECT id, gather(body) OVER () AS body FROM docs`,
    `view ${opaque("step(text, text)")}`,
  ],
  "cast": [
    `CREATE TYPE kind AS ENUM ('a'); CREATE FUNCTION of_kind(kind) RETURNS text LANGUAGE sql
    AS 'SELECT max(body) FROM open'; CREATE CAST (kind AS text) WITH FUNCTION of_kind(kind);
    CREATE VIEW seen AS SELECT id, CAST('a'::kind AS text) AS body FROM docs`,
    `view ${opaque("of_kind(kind)")}`,
  ],
  "cast of a table's column": [
    `CREATE TYPE kind AS ENUM ('a'); CREATE FUNCTION of_kind(kind) RETURNS text LANGUAGE sql
    AS 'SELECT max(body) FROM open'; CREATE CAST (kind AS text) WITH FUNCTION of_kind(kind) AS IMPLICIT;
    CREATE TABLE seen (id kind[], body text); ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON seen USING (true)`,
    `table ${opaque("of_kind(kind)")}`,
  ],
  "operator of a table's column": [
    `CREATE TYPE pair AS (a int, b int); CREATE FUNCTION same(pair, pair) RETURNS bool LANGUAGE sql
    AS 'SELECT count(*) > 1 FROM open'; CREATE OPERATOR = (LEFTARG = pair, RIGHTARG = pair, FUNCTION = same);
    CREATE TABLE seen (id pair, body text); ALTER TABLE seen ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON seen USING (true)`,
    `table ${opaque("same(pair, pair)")}`,
  ],
  "check of a domain": [
    `CREATE FUNCTION known(text) RETURNS bool LANGUAGE sql AS 'SELECT EXISTS (SELECT FROM open WHERE body = $1)';
    CREATE DOMAIN word AS text CHECK (known(VALUE));
    CREATE VIEW seen AS SELECT id, (body::word)::text AS body FROM docs`,
    `view ${opaque("known(text)")}`,
  ],
  "function in LATERAL, below another view": [
    `CREATE FUNCTION near(int) RETURNS SETOF text LANGUAGE plpgsql AS 'BEGIN RETURN QUERY SELECT body FROM open; END';
    CREATE VIEW lower_view AS SELECT id, n.body FROM docs CROSS JOIN LATERAL near(id) n(body);
    CREATE VIEW seen AS SELECT * FROM lower_view`,
    "view public.lower_view runs public.near(integer), and PostgreSQL does not know what that reads",
  ],
};

for (const [name, [sql, fault]] of Object.entries(leaks)) {
  testWithPostgres(`rows may be read past policies: ${name}`, async () => {
    await using tables = await createTables();
    await tables.query(sql);
    const faults = await tables.faultsOf("seen");
    assert.ok(faults.includes(fault), faults.join("\n"));
  });
}

testWithPostgres(
  "rows may be read past policies: catalogs and operator classes that a superuser opens",
  async () => {
    await using tables = await createTables();
    await tables.query(`RESET ROLE;
    CREATE VIEW common AS SELECT 1 AS id, stavalues1::text AS body FROM pg_statistic;
    CREATE VIEW toasted AS SELECT 1 AS id, chunk_data AS body FROM pg_toast.pg_toast_${
      (await tables.query("SELECT 'open'::regclass::oid"))[0]?.[0]
    };
    CREATE TYPE pair AS (a int); CREATE FUNCTION compare(pair, pair) RETURNS int LANGUAGE sql IMMUTABLE
    AS 'SELECT count(*)::int FROM open';
    CREATE OPERATOR CLASS pairs DEFAULT FOR TYPE pair USING btree AS FUNCTION 1 compare(pair, pair);
    CREATE TABLE sorted (id pair, body text)`);
    const expected = {
      common:
        "view public.common reads pg_catalog.pg_statistic, which no policy filters, with the rights of its owner",
      toasted: /^pg_toast\.pg_toast_\d+ is a TOAST table, which no policy filters$/,
      sorted:
        "table public.sorted runs public.compare(pair, pair), and PostgreSQL does not know what that reads",
    };
    for (const [table, fault] of Object.entries(expected)) {
      const faults = await tables.faultsOf(table);
      assert.ok(
        faults.some((one) => typeof fault === "string" ? one === fault : fault.test(one)),
        faults.join("\n"),
      );
    }
  },
);

testWithPostgres("what PostgreSQL knows to read rows under policies alone is no fault", async () => {
  await using tables = await createTables();
  await tables.query(`RESET ROLE; CREATE EXTENSION citext; CREATE EXTENSION pg_trgm;
    SET ROLE ${
    (await tables.query("SELECT relowner::regrole FROM pg_class WHERE oid = 'docs'::regclass"))[0]?.[0]
  };
    CREATE FUNCTION plain(body text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog RETURN lower(body);
    CREATE FUNCTION own_rows() RETURNS TABLE (id int, body text) LANGUAGE sql
      BEGIN ATOMIC SELECT id, plain(body) FROM docs; END;
    CREATE AGGREGATE joined(text) (SFUNC = textcat, STYPE = text);
    CREATE TYPE kind AS ENUM ('a', 'b'); CREATE DOMAIN word AS citext CHECK (length(VALUE) > 1);
    CREATE TABLE typed (id kind, body word, at timestamptz, pair docs); ALTER TABLE typed ENABLE ROW LEVEL SECURITY;
    ALTER TABLE typed FORCE ROW LEVEL SECURITY; CREATE POLICY own ON typed USING (true);
    CREATE VIEW seen AS SELECT o.id, joined(o.body) OVER (ORDER BY o.id)::word AS body, similarity(o.body, t.body::text),
      rank() OVER (ORDER BY t.at, t.id), to_tsvector('english', o.body) AS words, pg_has_role(r.oid, 'USAGE')
    FROM own_rows() o JOIN typed t ON t.body % o.body CROSS JOIN LATERAL regexp_split_to_table(t.body::text, ',')
    JOIN pg_roles r ON r.rolname = current_setting('app.tenant', true) WHERE t.body LIKE 'x%'::citext`);
  assert.deepEqual(await tables.faultsOf("seen"), []);
  assert.deepEqual(await tables.faultsOf("typed"), []);
});

testWithPostgres("a view that a role with BYPASSRLS owns shows what no policy filters", async () => {
  await using tables = await createTables();
  const bypassing = `bypassing_${randomBytes(4).toString("hex")}`;
  await tables.query(`RESET ROLE; CREATE ROLE ${bypassing} BYPASSRLS; GRANT SELECT ON docs TO ${bypassing};
    CREATE VIEW seen AS SELECT * FROM docs; ALTER VIEW seen OWNER TO ${bypassing}`);
  try {
    const fault =
      `view public.seen reads public.docs as ${bypassing}, who has BYPASSRLS and whom no policy holds`;
    assert.deepEqual(await tables.faultsOf("seen"), [fault]);
    await tables.query(`RESET ROLE; ALTER VIEW seen SET (security_invoker = on)`);
    assert.deepEqual(await tables.faultsOf("seen"), []);
    await tables.query(
      `RESET ROLE; ALTER VIEW seen RESET (security_invoker); ALTER ROLE ${bypassing} NOBYPASSRLS`,
    );
    assert.deepEqual(await tables.faultsOf("seen"), []);
  } finally {
    await tables.query(`RESET ROLE; DROP OWNED BY ${bypassing}; DROP ROLE ${bypassing}`);
  }
});

testWithPostgres("no policy but a permissive one for SELECT shows a role its rows", async () => {
  await using tables = await createTables();
  const unheld = /^public\.docs has no policy for what role reader_\w+ reads$/;
  for (const kind of ["AS RESTRICTIVE FOR SELECT", "FOR INSERT", "FOR DELETE"]) {
    const condition = kind === "FOR INSERT" ? "WITH CHECK (true)" : "USING (true)";
    await tables.query(`DROP POLICY own ON docs; CREATE POLICY own ON docs ${kind} ${condition}`);
    const [fault = "", ...others] = await tables.faultsOf("docs");
    assert.match(fault, unheld);
    assert.deepEqual(others, []);
  }
  await tables.query("DROP POLICY own ON docs; CREATE POLICY own ON docs FOR SELECT USING (true)");
  assert.deepEqual(await tables.faultsOf("docs"), []);
});

testWithPostgres("a partition needs no policy of its own, and may lie on another server", async () => {
  await using tables = await createTables();
  const server = `elsewhere_${randomBytes(4).toString("hex")}`;
  await tables.query(`CREATE TABLE parts (id int, body text) PARTITION BY LIST (id);
    ALTER TABLE parts ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON parts USING (body = tenant());
    CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
    CREATE TABLE part_2 (id int, body text) PARTITION BY LIST (id);
    ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES IN (2);
    RESET ROLE; CREATE FOREIGN DATA WRAPPER ${server}; CREATE SERVER ${server} FOREIGN DATA WRAPPER ${server};
    CREATE FOREIGN TABLE part_3 PARTITION OF parts FOR VALUES IN (3) SERVER ${server}`);
  const unheld = ["part_1", "part_2"].map((part) => `row-level security is not enabled for public.${part}`);
  assert.deepEqual(await tables.faultsOf("parts"), unheld);
  await tables.query(
    "ALTER TABLE part_1 ENABLE ROW LEVEL SECURITY; ALTER TABLE part_2 ENABLE ROW LEVEL SECURITY",
  );
  assert.deepEqual(await tables.faultsOf("parts"), []);
  const [fault] = await tables.faultsOf("part_3");
  assert.equal(fault, "public.part_3 is a foreign table, which no policy filters");
  assert.match(
    (await tables.faultsOf("part_1")).join(),
    /^public\.part_1 has no policy for what role reader_/,
  );
});
