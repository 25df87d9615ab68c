import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { password, serve, writeUsers } from "../../../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createLimitedRole } from "../../../support/limited_role.ts";
import { createTestDatabase, type TestDatabase, testWithPostgres } from "../../../support/database.ts";
import { runProgram, type ServerProcess } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

type ToolClient = ReturnType<typeof createToolClient>;

async function logIn({ url }: ServerProcess, username: string): Promise<ToolClient> {
  const reply = await createToolClient({ url }).call("authenticate_user", { username, password });
  return createToolClient({ url, token: JSON.parse(reply.text).session_token });
}

async function rowsOf(client: ToolClient, query: string, database?: string): Promise<string[][]> {
  const reply = await client.call("query_database", { query, ...(database && { database }) });
  assert.equal(reply.isError, false, reply.text);
  return (reply.data["rows"] as unknown[][]).map((row) => row.map(String));
}

// what outlives a transaction that is rolled back, left behind by a function that the configuration lets callers use
const traces = `
CREATE FUNCTION leave_trace(trace text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('PREPARE %I AS SELECT 1', trace || '_' || (SELECT count(*) FROM pg_prepared_statements));
  PERFORM set_config('app.trace', trace, false);
  RETURN trace;
END $$`;

const look =
  `SELECT a.pid || '@' || a.backend_start, pg_my_temp_schema()::text, current_setting('app.username'),
  coalesce(current_setting('app.trace', true), ''),
  (SELECT coalesce(string_agg(name, ','), '') FROM pg_prepared_statements WHERE name <> ''),
  (SELECT string_agg(name || '=' || setting, ',' ORDER BY name) FROM pg_settings WHERE source = 'session')
FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()`;

testWithPostgres(
  "tokens and sessions under load share no connection and nothing that is left on one",
  async () => {
    await using database = await createTestDatabase();
    await database.query(traces);
    await using folder = await createConfigFolder(`max_connections: 8
databases:
  - ${
      databaseEntry(
        "main",
        database.name,
        'pool_max_conns: 3, allowed_functions: [leave_trace], session_settings: { app.username: "{username}" }',
      )
    }
`);
    const tokens = [await folder.addToken(), await folder.addToken(), await folder.addToken()];
    await writeUsers(folder, ["alice", "bob"]);
    await using server = await serve(folder);
    const callers = [
      ...tokens.map(({ id, token }) => ({ name: id, client: createToolClient({ url: server.url, token }) })),
      { name: "alice", client: await logIn(server, "alice") },
      { name: "alice", client: await logIn(server, "alice") },
      { name: "bob", client: await logIn(server, "bob") },
    ];

    const ownerOf = new Map<string, number>();
    const settings = new Set<string>();
    let ownTraces = 0;
    const work = async (index: number) => {
      const caller = callers[index];
      assert.ok(caller);
      const trace = `caller ${index}`;
      for (let round = 0; round < 12; round++) {
        await rowsOf(caller.client, `SELECT leave_trace('${trace}')`);
        const [seen] = await rowsOf(caller.client, look);
        assert.ok(seen);
        const [connection = "", temporarySchema, username, setting, prepared = "", changed = ""] = seen;
        assert.equal(ownerOf.get(connection) ?? index, index, "a connection went from one caller to another");
        ownerOf.set(connection, index);
        assert.deepEqual([temporarySchema, username, setting], ["0", caller.name, ""]);
        const names = prepared === "" ? [] : prepared.split(",");
        for (const name of names) assert.ok(name.startsWith(trace), `${trace} sees ${name}`);
        ownTraces += names.length;
        settings.add(changed);
      }
    };
    await Promise.all(callers.flatMap((_, index) => [work(index), work(index)]));
    assert.equal(new Set(ownerOf.values()).size, callers.length);
    assert.ok(ownTraces > 0, "nothing was left on any connection, so nothing was shown");
    assert.equal(settings.size, 1, [...settings].join("\n"));
    await waitUntil("the total bound holds", async () => await countConnections(database) <= 8);
  },
);

async function countConnections(database: TestDatabase): Promise<number> {
  const [row] = await database.query(
    `SELECT count(*) FROM pg_stat_activity WHERE datname = '${database.name}' AND application_name = 'postern'`,
  );
  return Number(row?.[0]);
}

testWithPostgres("a token that is removed or expires closes its connections, and no other's", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder(`databases: [${databaseEntry("main", database.name)}]\n`);
  const removed = await folder.addToken();
  const kept = await folder.addToken();
  await using server = await serve(folder);
  const expiring = await folder.addToken({ expiry: "4s" });
  const connectionOf = async (token: string) => {
    const client = createToolClient({ url: server.url, token });
    await waitUntil("the token is let in", async () => {
      const response = await client.post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
      await response.body?.cancel();
      return response.status === 200;
    });
    return (await rowsOf(client, "SELECT pg_backend_pid()"))[0]?.[0] ?? "";
  };
  const isOpen = async (pid: string) =>
    (await database.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = '${database.name}' AND pid = ${pid}`,
    )).length === 1;
  const [ofExpiring, ofRemoved, ofKept] = [
    await connectionOf(expiring.token),
    await connectionOf(removed.token),
    await connectionOf(kept.token),
  ];
  assert.deepEqual([await isOpen(ofExpiring), await isOpen(ofRemoved), await isOpen(ofKept)], [
    true,
    true,
    true,
  ]);
  const { code } = await runProgram(["-config", folder.configFile, "-remove-token", removed.id]);
  assert.equal(code, 0);
  await waitUntil("the removed token's connection is closed", async () => !await isOpen(ofRemoved));
  await waitUntil("the expired token's connection is closed", async () => !await isOpen(ofExpiring));
  assert.equal(await isOpen(ofKept), true);
  await waitUntil("the expired token is out of the file", async () => {
    return !new RegExp(`^  ${expiring.id}:`, "m").test(await Deno.readTextFile(folder.tokenFile));
  });
});

testWithPostgres("row-level security shows each user their own rows, in every tool that reads", async (t) => {
  await using database = await createTestDatabase();
  const suffix = randomBytes(4).toString("hex");
  const role = (name: string) => `postern_${name}_${suffix}`;
  const [reader, alice, bob, stranger, roleless] = ["reader", "alice", "bob", "stranger", "roleless"].map(
    role,
  );
  assert.ok(reader && alice && bob && stranger && roleless);
  await using _roles = await createRoles(database, { reader, members: [alice, bob], others: [stranger] });
  await database.query(securedTables({ reader, alice, bob, stranger }));
  const entry = (name: string, settings: string) =>
    databaseEntry(name, database.name, settings).replace(/ user: \w+/, ` user: ${reader}`);
  await using folder = await createConfigFolder(`databases:
  - ${entry("by_role", "role_from_user: true")}
  - ${entry("by_setting", 'session_settings: { app.username: "{username}" }')}
`);
  await writeUsers(folder, [alice, bob, stranger, roleless]);
  const { token } = await folder.addToken();
  await using server = await serve(folder);
  const clients = { alice: await logIn(server, alice), bob: await logIn(server, bob) };

  for (const table of ["by_role", "by_setting"]) {
    await t.step(`${table}, many calls at once`, async () => {
      const checks = [
        () => checkOwnRows(clients.alice, table, "alice", 2),
        () => checkOwnRows(clients.bob, table, "bob", 3),
      ];
      await Promise.all(Array.from({ length: 6 }, () => checks.map((check) => check())).flat());
    });
  }

  await t.step("who has no role, or one that the login may not take, is told so by every tool", async () => {
    const refusals: [string, ToolClient, string][] = [
      ["no role", await logIn(server, roleless), `role "${roleless}" does not exist`],
      ["not a member", await logIn(server, stranger), `permission denied to set role "${stranger}"`],
      ["a token", createToolClient({ url: server.url, token }), 'role "token-'],
    ];
    for (const [what, client, message] of refusals) {
      const replies = [
        await client.call("query_database", { query: "SELECT 1", database: "by_role" }),
        await client.call("count_rows", { table: "by_role", database: "by_role" }),
        await client.call("execute_explain", { query: "SELECT 1", database: "by_role" }),
      ];
      for (const { isError, text } of replies) {
        assert.ok(isError && text.startsWith(`Cannot run the statement: ${message}`), `${what}: ${text}`);
      }
    }
  });

  await t.step("a caller cannot take another name", async () => {
    for (
      const query of [
        `SET ROLE ${bob}`,
        "RESET ROLE",
        `SELECT set_config('role', '${bob}', true)`,
        `SELECT set_config('app.username', '${bob}', true)`,
      ]
    ) {
      for (const name of ["by_role", "by_setting"]) {
        assert.ok((await clients.alice.call("query_database", { query, database: name })).isError, query);
      }
    }
    assert.deepEqual(await rowsOf(clients.alice, "SELECT current_user", "by_role"), [[alice]]);
  });
});

testWithPostgres("eight calls at once of three tokens share a role with three connections", async () => {
  await using database = await createTestDatabase();
  await using role = await createLimitedRole(database, 3);
  await using folder = await createConfigFolder(
    `databases: [${databaseEntry("main", database.name).replace(/user: [^,]+/, `user: ${role.name}`)}]`,
  );
  const tokens = [await folder.addToken(), await folder.addToken(), await folder.addToken()];
  await using server = await serve(folder);
  await Promise.all(Array.from({ length: 8 }, async (_, at) => {
    const client = createToolClient({ url: server.url, token: tokens[at % 3]?.token ?? "" });
    for (let n = 0; n < 10; n++) assert.deepEqual(await rowsOf(client, `SELECT ${n}`), [[String(n)]]);
  }));
  assert.equal((await fetch(`${server.url}/ready`)).status, 200);
  assert.ok(await role.count() <= 3);
});

/** Reads a table, in the database of the same name, by each tool that reads. */
async function checkOwnRows(client: ToolClient, table: string, name: string, count: number): Promise<void> {
  const query = `SELECT body FROM ${table} ORDER BY body`;
  const own = Array.from({ length: count }, (_, index) => [`${name} ${index + 1}`]);
  assert.deepEqual(await rowsOf(client, query, table), own);
  for (const where of [undefined, "true OR owner <> ''"]) {
    const counted = await client.call("count_rows", { table, database: table, ...(where && { where }) });
    assert.equal(counted.data["count"], count, counted.text);
  }
  const explained = await client.call("execute_explain", { query, format: "json", database: table });
  const plan = JSON.stringify(explained.data["plan"]);
  // figures would tell of the rows of others
  assert.match(plan, /^\[{"Plan":/);
  assert.doesNotMatch(plan, /Rows|Cost|Time/);
}

function securedTables(
  { reader, alice, bob, stranger }: Record<"reader" | "alice" | "bob" | "stranger", string>,
): string {
  return `
    CREATE TABLE by_role (owner text, body text);
    CREATE TABLE by_setting (owner text, body text);
    INSERT INTO by_role SELECT '${alice}', 'alice ' || n FROM generate_series(1, 2) n
      UNION ALL SELECT '${bob}', 'bob ' || n FROM generate_series(1, 3) n;
    INSERT INTO by_setting SELECT * FROM by_role;
    ALTER TABLE by_role ENABLE ROW LEVEL SECURITY;
    ALTER TABLE by_setting ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON by_role USING (owner = current_user);
    CREATE POLICY own ON by_setting USING (owner = current_setting('app.username'));
    GRANT SELECT ON by_role TO ${alice}, ${bob}, ${stranger};
    GRANT SELECT ON by_setting TO ${reader};
    ANALYZE`;
}

/** Roles are the whole server's, so they go when the test does. */
async function createRoles(
  database: TestDatabase,
  { reader, members, others }: { reader: string; members: string[]; others: string[] },
): Promise<AsyncDisposable> {
  const all = [reader, ...members, ...others].join(", ");
  await database.query(
    [...members, ...others].map((name) => `CREATE ROLE ${name}; `).join("") +
      `CREATE ROLE ${reader} LOGIN; GRANT ${members.join(", ")} TO ${reader}`,
  );
  return {
    [Symbol.asyncDispose]: async () => void await database.query(`DROP OWNED BY ${all}; DROP ROLE ${all}`),
  };
}
