import assert from "node:assert/strict";
import { createDemoDatabase, demoDatabaseOptions } from "../../../../src/demo/demo_database.ts";
import { silentLogger } from "../../../../src/core/logger.ts";
import { writeStatement } from "../../../../src/tool_server/questions/rules/simple_request.ts";
import { readCatalog } from "../../../../src/postgres/catalog/catalog.ts";
import { createConnectionPools } from "../../../../src/postgres/pool/connection_pools.ts";
import { createDatabase } from "../../../../src/postgres/database.ts";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { answeredRequests, doubtfulRequests } from "./demo_requests.ts";

const { signal } = new AbortController();
const principal = { kind: "local" } as const;

async function openShop() {
  const statementTimeoutMs = 30_000;
  const server = await createDemoDatabase({ statementTimeoutMs, logger: silentLogger });
  const pools = createConnectionPools({ maxConnections: 1, logger: silentLogger });
  const options = {
    ...demoDatabaseOptions(server, statementTimeoutMs),
    maxRows: 100_000,
    maxBytes: 100 * 1024 * 1024,
  };
  const guard = await createStatementGuard();
  const database = createDatabase({ options, pools, guard, logger: silentLogger });
  return {
    catalog: await readCatalog(database, { principal, signal }),
    async page(sql: string, maxRows: number, offset: number) {
      const result = await database.read({ principal, sql, signal, maxRows, offset });
      assert.ok(result.ok, sql);
      return result;
    },
    async rows(sql: string) {
      const { rows, truncatedBy } = await this.page(sql, 100_000, 0);
      assert.equal(truncatedBy, undefined);
      return rows;
    },
    async [Symbol.asyncDispose]() {
      await pools[Symbol.asyncDispose]();
      await server.close();
    },
  };
}

Deno.test("writeStatement() over the demo's shop", async (t) => {
  await using shop = await openShop();

  for (const [request, sql] of answeredRequests) {
    await t.step(`answers like somebody who knows it: ${request}`, async () => {
      const answer = writeStatement(request, shop.catalog);
      assert.ok(answer.kind === "statement", JSON.stringify(answer));
      assert.deepEqual(await shop.rows(answer.sql), await shop.rows(sql), answer.sql);
    });
  }

  await t.step("leaves the rows nobody asked to leave out to the pages", async () => {
    const answer = writeStatement("orders that are not cancelled", shop.catalog);
    assert.ok(answer.kind === "statement");
    const first = await shop.page(answer.sql, 100, 0);
    const second = await shop.page(answer.sql, 100, 100);
    assert.deepEqual([first.rows.length, first.truncatedBy], [100, "rows"]);
    assert.deepEqual([...first.rows, ...second.rows], (await shop.rows(answer.sql)).slice(0, 200));
  });

  for (const [request, reason] of doubtfulRequests) {
    await t.step(`refuses: ${request}`, () => {
      const answer = writeStatement(request, shop.catalog);
      assert.ok(answer.kind === "refused", JSON.stringify(answer));
      assert.ok(answer.reason.startsWith(`Cannot answer the request: ${reason}`), answer.reason);
    });
  }
});
