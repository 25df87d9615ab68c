import assert from "node:assert/strict";
import { z } from "zod";
import { logIn, password, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { type RoundRobin, startRoundRobin } from "../../support/network/round_robin.ts";
import { createFormBrowser, createOauthClient } from "../../support/oauth_server.ts";
import { startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";

const isLinux = Deno.build.os === "linux";
function linuxTest(name: string, fn: (t: Deno.TestContext) => Promise<void>): void {
  if (isLinux) testWithPostgres(name, fn);
  else Deno.test({ name: `${name} (needs Linux)`, ignore: true, fn });
}

/** One server of three processes; each request comes on a connection of its own, so to any of them. */
async function setUp({ auth = "", config = "data_dir: data" } = {}) {
  await using made = new AsyncDisposableStack();
  const app = made.use(await createTestDatabase());
  const staging = made.use(await createTestDatabase());
  const balancer = made.use(await startRoundRobin());
  const folder = made.use(
    await createConfigFolder(`
processes: 3
http: { auth: { ${auth.replaceAll("ISSUER", balancer.url)} } }
databases: [${databaseEntry("app", app.name)}, ${databaseEntry("staging", staging.name)}]
${config}
`),
  );
  await writeUsers(folder, ["alice", "bob"]);
  const { token } = await folder.addToken();
  const start = async () => {
    const server = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    await waitUntil("all serve", () => server.stderr().includes("3 processes serve"));
    balancer.to([server.url]);
    return server;
  };
  const stack = made.move();
  return { folder, balancer, token, start, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function ping({ url }: RoundRobin, token: string): Promise<number> {
  const response = await createToolClient({ url, token }).post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  await response.body?.cancel();
  return response.status;
}

async function current({ url }: RoundRobin, token: string): Promise<string | undefined> {
  const { data } = await createToolClient({ url, token }).call("list_databases", {});
  const databases = z.array(z.object({ name: z.string(), current: z.boolean() })).parse(data["databases"]);
  return databases.find((each) => each.current)?.name;
}

const times = async <T>(count: number, work: () => Promise<T>) => {
  const results: T[] = [];
  for (let each = 0; each < count; each++) results.push(await work());
  return results;
};
const all = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

for (const [where, config] of [["in a file", "data_dir: data"], ["in the parent's memory", ""]] as const) {
  linuxTest(
    `processes with their state ${where} have the same sessions, choices, counts and grants`,
    async (t) => {
      await using made = await setUp({
        config,
        auth: `rate_limit_max_attempts: 4${config === "" ? "" : ', oauth: { issuer: "ISSUER" }'}`,
      });
      const { balancer, token, start } = made;
      await using _server = await start();

      await t.step("a session is good at all, at once, and ends at all", async () => {
        const { session: { session_token: session } } = await logIn({ url: balancer.url }, "alice");
        assert.deepEqual(await times(12, () => ping(balancer, session)), all(12, 200));
        await createToolClient({ url: balancer.url, token: session }).call("logout", {});
        await waitUntil(
          "it has ended at all",
          async () => (await times(12, () => ping(balancer, session))).every((status) => status === 401),
        );
      });

      await t.step("a choice counts at all", async () => {
        await createToolClient({ url: balancer.url, token }).call("select_database", { name: "staging" });
        await waitUntil(
          "all know",
          async () => (await times(12, () => current(balancer, token))).every((name) => name === "staging"),
        );
      });

      if (config !== "") {
        await t.step("each step of OAuth may be another process's", async () => {
          const client = await createOauthClient(balancer.url);
          const browser = createFormBrowser(balancer.url);
          const form = await browser.open(client.authorizeUrl());
          const consent = await browser.submit(form, { username: "bob", password, action: "login" });
          const done = await browser.submit(consent, { action: "allow" });
          const { body } = await client.exchange(new URL(done.url).searchParams.get("code") ?? "");
          const access = String(body["access_token"]);
          assert.deepEqual(await times(12, () => ping(balancer, access)), all(12, 200));
          assert.equal((await client.refresh(String(body["refresh_token"]))).status, 200);
        });
      }

      await t.step("failed logins count together", async () => {
        const statuses = await times(
          6,
          async () => (await logIn({ url: balancer.url }, "nobody", "wrong")).status,
        );
        assert.deepEqual(statuses.map((status) => status === 429), [false, false, false, false, true, true]);
      });
    },
  );
}

linuxTest("sessions of several processes outlive a kill of all of them", async () => {
  await using made = await setUp();
  const { balancer, start } = made;
  let session: string;
  {
    await using server = await start();
    session = (await logIn({ url: balancer.url }, "alice")).session.session_token;
    await server.kill("SIGKILL");
  }
  await using _server = await start();
  assert.deepEqual(await times(9, () => ping(balancer, session)), all(9, 200));
});
