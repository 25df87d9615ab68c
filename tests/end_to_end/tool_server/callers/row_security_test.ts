import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { assertHas } from "../../../support/assert_has.ts";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, runSql, testDatabaseUrl, testWithPostgres } from "../../../support/database.ts";
import { startServer } from "../../../support/server_process.ts";
import { connectTaskClient } from "../../../support/task_client.ts";
import { startTokenIssuer, testAudience } from "../../../support/token_issuer.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

const tables = (reader: string, roles: readonly string[]) => `
CREATE TABLE notes (tenant text, text text);
INSERT INTO notes VALUES ('a', 'of a'), ('b', 'of b');
ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
CREATE POLICY by_setting ON notes TO ${reader}
  USING (tenant = current_setting('app.tenant', true)
    AND tenant = current_setting('request.jwt.claims', true)::json ->> 'tenant');
${
  roles.map((role, index) => `
CREATE ROLE ${role} NOLOGIN; GRANT ${role} TO ${reader}; GRANT SELECT ON notes TO ${role};
CREATE POLICY of_${role} ON notes TO ${role} USING (tenant = '${"ab"[index]}');`).join("")
}
GRANT SELECT ON notes TO ${reader};`;

testWithPostgres(
  "claims of a token decide which rows a caller reads, and a claim that is missing gives none",
  async () => {
    await using database = await createTestDatabase();
    const suffix = randomBytes(4).toString("hex");
    const [reader, roleA, roleB] = [`reader_${suffix}`, `tenant_a_${suffix}`, `tenant_b_${suffix}`] as const;
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => {
      await database.query("DROP TABLE notes");
      await runSql(testDatabaseUrl ?? "", `DROP ROLE ${reader}, ${roleA}, ${roleB}`);
    });
    await database.query(`CREATE ROLE ${reader} LOGIN NOINHERIT; ${tables(reader, [roleA, roleB])}`);
    await using issuer = await startTokenIssuer();
    const entry = (name: string, settings: string) =>
      databaseEntry(name, database.name, settings).replace(/user: \w+/, `user: ${reader}`);
    await using folder = await createConfigFolder(`
http: { auth: { identity_provider: { issuer: "${issuer.issuer}", audience: "${testAudience}" } } }
databases:
  - ${entry("settings", 'session_settings: { app.tenant: "{claim:tenant}", request.jwt.claims: "{claims}" }')}
  - ${entry("roles", `role_from_claim: role, allowed_roles: [${roleA}, ${roleB}]`)}
`);
    const { token: apiToken } = await folder.addToken();
    await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);

    const read = async (name: string, token: string) => {
      const client = createToolClient({ url: server.url, token });
      const reply = await client.call("query_database", { query: "SELECT text FROM notes", database: name });
      return reply.isError ? reply.text : reply.data.rows;
    };
    const token = (claims: Record<string, unknown>) => issuer.token({ claims });
    // at the same time, over and over: what one caller sets must not be there for another
    for (let round = 0; round < 5; round++) {
      const [a, b] = await Promise.all([
        read("settings", await token({ tenant: "a" })),
        read("settings", await token({ tenant: "b" })),
      ]);
      assert.deepEqual([a, b], [[["of a"]], [["of b"]]]);
    }
    assert.deepEqual(await read("roles", await token({ role: roleA })), [["of a"]]);
    assert.deepEqual(await read("roles", await token({ role: roleB })), [["of b"]]);

    const needsClaim = /the caller has no claim "tenant", by which the database decides/;
    for (const without of [await token({}), await token({ tenant: null }), apiToken]) {
      assert.match(String(await read("settings", without)), needsClaim);
    }
    assert.match(
      String(await read("roles", await token({ role: reader }))),
      /name a role that is not allowed/,
    );
    assert.match(String(await read("roles", apiToken)), /has no claim "role"/);
    // the tools that read catalogs and counts go the same way
    const client = createToolClient({ url: server.url, token: apiToken });
    for (const tool of ["count_rows", "get_schema_info", "execute_explain"]) {
      const args = { count_rows: { table: "notes" }, execute_explain: { query: "SELECT 1" } }[tool] ?? {};
      const reply = await client.call(tool, { ...args, database: "settings" });
      assert.match(reply.text, needsClaim, tool);
      assert.ok(reply.isError);
    }
    const { error } = await client.request("resources/read", { uri: "pg://settings/schema" });
    assert.deepEqual([error.code, needsClaim.test(error.message)], [-32009, true], JSON.stringify(error));
  },
);

testWithPostgres("a task of one tenant's is not there for the same person in another", async () => {
  await using database = await createTestDatabase();
  await using issuer = await startTokenIssuer();
  const settings = 'session_settings: { app.tenant: "{claim:tenant}" }';
  await using folder = await createConfigFolder(`
http: { auth: { identity_provider: { issuer: "${issuer.issuer}", audience: "${testAudience}", groups_claim: groups } } }
databases:
  - ${databaseEntry("main", database.name, settings)}
`);
  await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  await waitUntil("the keys were read", () => server.stderr().includes("Read the keys of the issuer"));
  const as = async (claims: Record<string, unknown>) =>
    await connectTaskClient(
      new StreamableHTTPClientTransport(new URL(`${server.url}/mcp/v1`), {
        requestInit: { headers: { authorization: `Bearer ${await issuer.token({ claims })}` } },
      }),
    );
  await using inA = await as({ tenant: "a", groups: ["staff"] });
  const query = "SELECT current_setting('app.tenant') AS tenant FROM pg_sleep(12)";
  const { taskId } = await inA.begin("query_database", { query });
  const others = [
    { tenant: "b", groups: ["staff"] },
    { tenant: "a", groups: [] },
    { tenant: "a", groups: ["staff"], sub: "another" },
    { groups: ["staff"] },
  ];
  for (const claims of others) {
    await using other = await as(claims);
    await assert.rejects(other.get(taskId), /Cannot find the task/, JSON.stringify(claims));
    await assert.rejects(other.cancel(taskId), /Cannot find the task/, JSON.stringify(claims));
  }
  // the next token of the same rights
  await using renewed = await as({ tenant: "a", groups: ["staff"] });
  assertHas(await renewed.ended(taskId), { result: { structuredContent: { rows: [["a"]] } } });
});

testWithPostgres(
  "no tool tells a caller whom row-level security holds how many rows others have",
  async () => {
    await using database = await createTestDatabase();
    const reader = `reader_${randomBytes(4).toString("hex")}`;
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => {
      await database.query("DROP TABLE pay, open");
      await runSql(testDatabaseUrl ?? "", `DROP ROLE ${reader}`);
    });
    await database.query(`
    CREATE ROLE ${reader} LOGIN;
    CREATE TABLE pay (tenant text, salary int);
    INSERT INTO pay SELECT CASE WHEN n < 40 THEN 'a' ELSE 'b' END, n FROM generate_series(1, 7777) n;
    CREATE TABLE open AS SELECT n AS id FROM generate_series(1, 5555) n;
    ALTER TABLE pay ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON pay USING (tenant = 'a');
    GRANT SELECT ON pay, open TO ${reader};
    ANALYZE`);
    const entry = databaseEntry("main", database.name).replace(/user: \w+/, `user: ${reader}`);
    await using folder = await createConfigFolder(`
custom_definitions_path: own.yaml
builtins: { tools: { analyze_health: true, top_queries: true, recommend_indexes: true } }
databases: [${entry}]
`);
    await Deno.writeTextFile(
      `${folder.path}/own.yaml`,
      "tools: [{ name: plan_of_pay, description: Plans, type: sql, database: main, sql: EXPLAIN ANALYZE SELECT 1 FROM pay }]\n",
    );
    const { token } = await folder.addToken();
    await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    const client = createToolClient({ url: server.url, token });
    const hidden = /cost=|rows=|\b77\d\d\b/;

    const calls = [
      ["query_database", { query: "EXPLAIN SELECT 1 FROM pay WHERE salary > 39" }, /planned, not run/],
      ["execute_explain", { query: "SELECT 1 FROM pay" }, /^EXPLAIN Results\n[^]*planned, not run/m],
      ["execute_explain", { query: "SELECT 1 FROM pay", format: "json" }, /planned, not run/],
      ["plan_of_pay", {}, /planned, not run/],
      ["count_rows", { table: "pay" }, /Count: 39$/],
      ["get_schema_info", { schema_name: "public", table_name: "pay" }, /salary/],
      ["get_schema_info", { compact: true }, /\tpay\t[^\n]*\t\\N\n/],
      [
        "analyze_health",
        { checks: ["vacuum", "bloat"] },
        /left_out\trow-level security holds you in public\.pay/,
      ],
      ["recommend_indexes", { statements: ["SELECT 1 FROM pay WHERE salary = 5"] }, /Indexes proposed: 0/],
      ["read_resource", { uri: "pg://main/public/pay" }, /"estimated_rows":-1/],
      ["read_resource", { uri: "pg://main/schema" }, /"estimated_rows":-1/],
    ] as const;
    for (const [name, args, told] of calls) {
      const { text, data, isError } = await client.call(name, args);
      assert.ok(!isError, text);
      assert.match(text, told, name);
      assert.doesNotMatch(text + JSON.stringify(data), hidden, name);
    }
    const open = await client.call("query_database", { query: "EXPLAIN ANALYZE SELECT 1 FROM open" });
    assert.match(open.text, /rows=5555[^]*actual time/);
    const schema = await client.call("get_schema_info", { schema_name: "public", table_name: "open" });
    assertHas(schema.data, { tables: [{ estimated_rows: 5555 }] });
  },
);

for (
  const [how, settings, refusal] of [
    [
      "a scope that the token lacks",
      "",
      /EXPLAIN needs the same right as execute_explain: for execute_explain the access token does not have the scope db:plan/,
    ],
    [
      "a switch that is off",
      "builtins: { tools: { execute_explain: false } }",
      /EXPLAIN needs the same right as execute_explain: the tool execute_explain is not offered/,
    ],
  ] as const
) {
  testWithPostgres(`${how} for execute_explain keeps EXPLAIN out of query_database too`, async () => {
    await using database = await createTestDatabase();
    await using issuer = await startTokenIssuer();
    await using folder = await createConfigFolder(`
custom_definitions_path: own.yaml
${settings}
http:
  auth:
    identity_provider:
      { issuer: "${issuer.issuer}", audience: "${testAudience}", scopes_by_tool: { execute_explain: [db:plan] } }
databases: [${databaseEntry("main", database.name)}]
`);
    await Deno.writeTextFile(
      `${folder.path}/own.yaml`,
      "tools: [{ name: plan_of_one, description: Plans, type: sql, database: main, sql: EXPLAIN SELECT 1 }]\n",
    );
    await using server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    const call = async (scope: string, name: string, args: unknown) =>
      await createToolClient({ url: server.url, token: await issuer.token({ claims: { scope } }) })
        .call(name, args);
    for (const query of ["EXPLAIN SELECT 1", " explain (costs off) select 1", "/**/EXPLAIN TABLE pg_class"]) {
      const refused = await call("db:read", "query_database", { query });
      assert.ok(refused.isError);
      assert.match(refused.text, refusal);
    }
    assertHas(await call("db:read", "query_database", { query: "SELECT 1" }), { isError: false });
    // an administrator wrote it
    assertHas(await call("db:read", "plan_of_one", {}), { isError: false });
    const allowed = await call("db:plan", "query_database", { query: "EXPLAIN SELECT 1" });
    assert.equal(allowed.isError, settings !== "", allowed.text);
  });
}
