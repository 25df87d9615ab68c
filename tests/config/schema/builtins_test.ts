import assert from "node:assert/strict";
import { offers } from "../../../src/config/mod.ts";
import { builtins } from "../../../src/config/schema/builtins.ts";

const settings = (written: unknown) => builtins.parse(written);

Deno.test("pgEdge's names for prompts and resources switch ours", () => {
  const all = settings({
    prompts: { explore_database: false, "design-schema": false },
    resources: { "pg://system_info": false },
  });
  assert.equal(offers(all, "prompts", "explore-database"), false);
  assert.equal(offers(all, "prompts", "design-schema"), false);
  assert.equal(offers(all, "prompts", "diagnose-query-issue"), true);
  assert.equal(offers(all, "resources", "system_info"), false);
  const both = settings({ prompts: { explore_database: true, "explore-database": false } });
  assert.equal(offers(both, "prompts", "explore-database"), false);
});

Deno.test("builtins.default: false leaves what is named, in each of the three parts", () => {
  const none = settings({
    default: false,
    tools: { count_rows: true },
    prompts: { design_schema: true },
    resources: { databases: true },
  });
  assert.deepEqual(
    ["count_rows", "query_database", "logout"].map((name) => offers(none, "tools", name)),
    [true, false, true],
  );
  assert.deepEqual(
    ["design-schema", "explore-database"].map((name) => offers(none, "prompts", name)),
    [true, false],
  );
  assert.deepEqual(
    ["databases", "schema"].map((name) => offers(none, "resources", name)),
    [true, false],
  );
});

Deno.test("find_tools is there where lists leave tools out, or where it is named", () => {
  const isThere = (written: unknown) => offers(settings(written), "tools", "find_tools");
  assert.deepEqual(
    [{}, { list: "search" }, { tools: { find_tools: true } }, {
      list: "search",
      tools: { find_tools: false },
    }, { default: false, list: "search" }].map(isThere),
    [false, true, true, false, true],
  );
});
