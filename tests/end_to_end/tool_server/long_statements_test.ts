import assert from "node:assert/strict";
import { databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";

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
    `databases: [${databaseEntry("main", database.name)}]\naudit: { file: audit.jsonl }\n`,
  );
  const { server, client, folder } = running;
  const other = await folder.addToken();

  for (const accept of ["application/json", "application/json, text/event-stream"]) {
    await t.step(`Accept: ${accept}`, async () => {
      const batch = Array.from({ length: 5 }, (_, at) => call(at, columns(13_900, at)));
      let isAnswered = false;
      const answer = client.post(JSON.stringify(batch), { headers: { accept } }).then(async (response) => {
        const text = await response.text();
        isAnswered = true;
        return text;
      });
      // not before the body is there
      await new Promise((resolve) => setTimeout(resolve, 100));
      for (const path of ["/health", "/ready"]) {
        await (await fetch(`${server.url}${path}`)).body?.cancel();
        assert.equal(isAnswered, false, path);
      }
      const text = await answer;
      assert.equal(text.match(/the statement has too many columns/g)?.length, 5);
    });
  }

  await t.step("and another caller's long statement does not wait for all of them", async () => {
    let left = 20;
    const many = Array.from(
      { length: left },
      (_, at) =>
        client.call("query_database", { query: columns(9_000 + at, at) })
          .finally(() => left--),
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
    const response = await fetch(`${server.url}/mcp/v1`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${other.token}` },
      body: JSON.stringify(call(1, `SELECT ${Array(400).fill("1::int").join()}`)),
    });
    assert.match(await response.text(), /"row_count":1/);
    assert.ok(left > 5, `${left} left`);
    await Promise.all(many);
  });
});
