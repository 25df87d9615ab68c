import assert from "node:assert/strict";
import { createSchemaIndex } from "../../../../src/tool_server/questions/schema/schema_index.ts";
import { buildCatalog, unrelatedTables } from "../build_catalog.ts";

Deno.test("building an index lets other work run in between", async () => {
  let ticks = 0;
  let isBuilding = true;
  const count = () => {
    ticks++;
    if (isBuilding) setTimeout(count, 0);
  };
  setTimeout(count, 0);
  await createSchemaIndex({ catalog: buildCatalog(unrelatedTables(1000)), samples: new Map() });
  isBuilding = false;
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(ticks >= 10, `${ticks} turns of the event loop`);
});
