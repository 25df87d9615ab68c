import assert from "node:assert/strict";
import { administer } from "../../../support/accounts.ts";
import { databaseEntry, startConfiguredServer } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { messagesOf, postMcp } from "../../../support/mcp_request.ts";

const one = `databases: [${databaseEntry("main", "postgres")}]\n`;
const two = `databases: [${databaseEntry("main", "postgres")}, ${databaseEntry("more", "template1")}]\n`;
const ofLists = { resourcesListChanged: true, toolsListChanged: true };

async function listen(url: string, token: string, id: number, notifications: object = ofLists) {
  const headers = { authorization: `Bearer ${token}` };
  const response = await postMcp(`${url}/mcp/v1`, "modern", "subscriptions/listen", { notifications }, {
    id,
    headers,
  });
  assert.equal(response.status, 200);
  const messages = messagesOf(response);
  const next = async () => (await messages.next()).value;
  assert.equal((await next()).method, "notifications/subscriptions/acknowledged");
  return next;
}

testWithPostgres(
  "who listens over HTTP is told of another database until their token is removed",
  async () => {
    await using running = await startConfiguredServer(one);
    const { server, folder } = running;
    const removed = await folder.addToken();
    const other = running.token;
    const ofOther = await listen(server.url, other, 1);
    // the server has the token once it lets it in
    let ofRemoved: Awaited<ReturnType<typeof listen>> | undefined;
    while (ofRemoved === undefined) {
      ofRemoved = await listen(server.url, removed.token, 1).catch(() => undefined);
    }
    await folder.write(two);
    assert.equal((await ofOther()).method, "notifications/resources/list_changed");
    assert.equal((await ofRemoved()).method, "notifications/resources/list_changed");
    await administer(folder, "-remove-token", removed.id);
    assert.equal((await ofRemoved()).id, 1);
    assert.equal(await ofRemoved(), undefined);
    const stopped = server.stop();
    assert.deepEqual((await ofOther()).result.resultType, "complete");
    assert.equal(await ofOther(), undefined);
    assert.equal(await stopped, 0);
  },
);

testWithPostgres(
  "who listens is told of tables that change, once anybody's request finds it out",
  async () => {
    await using database = await createTestDatabase();
    await database.query("CREATE TABLE a (id int); CREATE TABLE b (id int)");
    const entry = (name: string, more: string) => databaseEntry(name, database.name, more);
    await using running = await startConfiguredServer(
      `databases: [${entry("main", "")}, ${entry("hers", "available_to_users: [alice]")}]\n`,
    );
    const { server: { url }, token, client } = running;
    const uris = ["pg://hers/public/a", "pg://main/public/a", "pg://main/public/b", "pg://main/schema"];
    const next = await listen(url, token, 1, { resourceSubscriptions: uris });
    const read = async () => {
      const { result } = await client.request("resources/read", { uri: "pg://main/schema" });
      return JSON.parse(result.contents[0].text).tables.length;
    };
    assert.equal(await read(), 2);
    await database.query("ALTER TABLE a ADD name text; CREATE TABLE c (id int)");
    const told = Promise.all([next(), next()]);
    while (await read() !== 3) await new Promise((resolve) => setTimeout(resolve, 100));
    assert.deepEqual((await told).map(({ method, params }) => [method, params.uri]), [
      ["notifications/resources/updated", "pg://main/public/a"],
      ["notifications/resources/updated", "pg://main/schema"],
    ]);
    assert.equal(await running.server.stop(), 0);
  },
);
