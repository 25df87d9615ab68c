import assert from "node:assert/strict";
import { databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { scrape } from "../../support/scrape.ts";
import { waitUntil } from "../../support/wait_until.ts";

const call = (id: number, query: string) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "query_database", arguments: { query } },
});
const columns = (count: number, at: number) => `SELECT ${at}, ${Array(count).fill("x::int").join()}`;

testWithPostgres("while long statements are checked, everybody else is answered", async (t) => {
  await using database = await createTestDatabase();
  await using running = await startConfiguredServer(
    `{ databases: [${databaseEntry("main", database.name)}], audit: { file: audit.jsonl }, ` +
      "metrics: { address: 127.0.0.1:0 } }",
  );
  const { server, client, folder } = running;
  const other = await folder.addToken();
  const checks = async () => (await scrape(server)).value("postern_stage_seconds_count", { stage: "guard" });
  let sent = 0;
  // what was checked once is remembered, so each is a new one; a batch has at most 500,000 characters
  const longStatements = (count: number) => Array.from({ length: count }, () => columns(3_400, sent++));

  for (const accept of ["application/json", "application/json, text/event-stream"]) {
    await t.step(`Accept: ${accept}`, async () => {
      const before = await checks();
      const batch = longStatements(20).map((query, at) => call(at, query));
      const answer = client.post(JSON.stringify(batch), { headers: { accept } }).then((reply) =>
        reply.text()
      );
      await waitUntil("the first is checked", async () => await checks() > before);
      for (const path of ["/health", "/ready"]) await (await fetch(`${server.url}${path}`)).body?.cancel();
      const checked = await checks() - before;
      assert.ok(checked < batch.length, `${checked} were checked before the others were answered`);
      assert.equal((await answer).match(/the statement has too many columns/g)?.length, batch.length);
    });
  }

  await t.step("and another caller's long statement does not wait for all of them", async () => {
    const before = await checks();
    const statements = longStatements(60);
    let left = statements.length;
    const many = statements.map((query) => client.call("query_database", { query }).finally(() => left--));
    await waitUntil("the first is checked", async () => await checks() > before);
    const response = await fetch(`${server.url}/mcp/v1`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${other.token}` },
      body: JSON.stringify(call(1, `SELECT ${Array(400).fill("1::int").join()}`)),
    });
    assert.match(await response.text(), /"row_count":1/);
    assert.ok(left > 0, "all of the first caller's were answered before");
    await Promise.all(many);
  });
});
