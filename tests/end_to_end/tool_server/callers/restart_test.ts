import assert from "node:assert/strict";
import { z } from "zod";
import { logIn, serve, writeUsers } from "../../../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import type { ServerProcess } from "../../../support/server_process.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

async function setUp() {
  const database = await createTestDatabase();
  const other = await createTestDatabase();
  const folder = await createConfigFolder(`
data_dir: data
http: { auth: { rate_limit_max_attempts: 3 } }
databases: [${databaseEntry("app", database.name)}, ${databaseEntry("staging", other.name)}]
`);
  await writeUsers(folder, ["alice"]);
  return {
    folder,
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await other[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}

async function status({ url }: ServerProcess, token: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const response = await createToolClient({ url, token }).post(body);
  await response.body?.cancel();
  return response.status;
}

async function current({ url }: ServerProcess, token: string): Promise<string | undefined> {
  const { data } = await createToolClient({ url, token }).call("list_databases", {});
  const databases = z.array(z.object({ name: z.string(), current: z.boolean() })).parse(data["databases"]);
  return databases.find((each) => each.current)?.name;
}

testWithPostgres("a killed server knows its sessions again, and who chose which database", async () => {
  await using made = await setUp();
  const { folder } = made;
  const { token } = await folder.addToken();
  let session: string;
  let ended: string;
  {
    await using server = await serve(folder);
    session = (await logIn(server, "alice")).session.session_token;
    ended = (await logIn(server, "alice")).session.session_token;
    for (const who of [session, token]) {
      await createToolClient({ url: server.url, token: who }).call("select_database", {
        name: "staging",
      });
    }
    await createToolClient({ url: server.url, token: ended }).call("logout", {});
    await server.kill("SIGKILL");
  }
  await using server = await serve(folder);
  assert.equal(await current(server, session), "staging");
  assert.equal(await current(server, token), "staging");
  assert.equal(await status(server, ended), 401);
});

testWithPostgres("a session is not known again once its account is gone", async () => {
  await using made = await setUp();
  const { folder } = made;
  let session: string;
  {
    await using server = await serve(folder);
    session = (await logIn(server, "alice")).session.session_token;
    assert.equal(await status(server, session), 200);
    await server.kill("SIGKILL");
  }
  await writeUsers(folder, ["bob"]);
  await using server = await serve(folder);
  assert.equal(await status(server, session), 401);
});

testWithPostgres("failed logins count on after a kill", async () => {
  await using made = await setUp();
  const { folder } = made;
  {
    await using server = await serve(folder);
    for (let at = 0; at < 3; at++) await logIn(server, "nobody", "wrong");
    await server.kill("SIGKILL");
  }
  await using server = await serve(folder);
  const { status, retryAfter } = await logIn(server, "alice");
  assert.equal(status, 429);
  assert.ok(Number(retryAfter) > 0);
});

testWithPostgres("two servers with one data_dir share sessions, and a logout ends one at both", async () => {
  await using made = await setUp();
  const { folder } = made;
  await using one = await serve(folder);
  await using two = await serve(folder);
  const session = (await logIn(one, "alice")).session.session_token;
  await waitUntil("the other server knows the session", async () => await status(two, session) === 200);
  await createToolClient({ url: two.url, token: session }).call("logout", {});
  await waitUntil("the session has ended at both", async () => await status(one, session) === 401);
  assert.equal(await status(two, session), 401);
});
