import assert from "node:assert/strict";
import { administer } from "../../support/accounts.ts";
import { databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { testWithPostgres } from "../../support/database.ts";
import { messagesOf, postMcp } from "../../support/mcp_request.ts";

const one = `databases: [${databaseEntry("main", "postgres")}]\n`;
const two = `databases: [${databaseEntry("main", "postgres")}, ${databaseEntry("more", "template1")}]\n`;
const notifications = { resourcesListChanged: true, toolsListChanged: true };

async function listen(url: string, token: string, id: number) {
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
