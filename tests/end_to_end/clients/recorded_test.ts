import assert from "node:assert/strict";
import { z } from "zod";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";

/** What clients that cannot run here sent, each through its whole round: what it lists, reads and calls. */
const recorded = z.array(z.object({
  client: z.string(),
  method: z.enum(["POST", "GET"]),
  headers: z.record(z.string(), z.string()),
  body: z.looseObject({ method: z.string(), id: z.union([z.string(), z.number()]).optional() }).optional(),
  status: z.number(),
})).parse(
  (await Deno.readTextFile(new URL("recorded_requests.jsonl", import.meta.url)))
    .trim().split("\n").map((line) => JSON.parse(line)),
);

testWithPostgres(
  "requests of other languages' clients are answered as they were when each client took it",
  async () => {
    await using database = await createTestDatabase();
    await using configured = await startConfiguredServer(
      `databases: [${databaseEntry("main", database.name)}]`,
    );
    const { server, token } = configured;
    for (const { client, method, headers, body, status } of recorded) {
      const response = await fetch(`${server.url}/mcp/v1`, {
        method,
        headers: { ...headers, authorization: `Bearer ${token}` },
        ...(body && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const what = `${client}: ${JSON.stringify(body)}: ${text}`;
      assert.equal(response.status, status, what);
      if (status !== 200 || body === undefined) {
        assert.equal(text, "", what);
        continue;
      }
      assert.equal(response.headers.get("content-type"), "application/json", what);
      const { id, result } = JSON.parse(text);
      assert.equal(id, body.id, what);
      assert.ok(result, what);
      if (body.method === "tools/call") {
        assert.equal(result.isError === true, JSON.stringify(body).includes("DROP"), what);
      }
    }
  },
);
