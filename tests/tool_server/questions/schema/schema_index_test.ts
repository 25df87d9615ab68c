import assert from "node:assert/strict";
import { createSchemaIndex } from "../../../../src/tool_server/questions/schema/schema_index.ts";
import { buildCatalog, unrelatedTables } from "../build_catalog.ts";

Deno.test("building an index lets other work run in between", async () => {
  let turns = 0;
  let isBuilding = true;
  const takeTurns = () => {
    turns++;
    if (isBuilding) setTimeout(takeTurns, 0);
  };
  setTimeout(takeTurns, 0);
  await createSchemaIndex({ catalog: buildCatalog(unrelatedTables(1000)), samples: new Map() });
  isBuilding = false;
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(turns >= 10, `${turns} turns`);
});
