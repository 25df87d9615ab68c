import assert from "node:assert/strict";
import { configJsonSchema } from "../../../src/config/mod.ts";
import { valueAt } from "../../../src/config/value_tree.ts";

Deno.test("configJsonSchema() describes the file as it is written", () => {
  const schema: unknown = JSON.parse(JSON.stringify(configJsonSchema()));
  assert.equal(valueAt(schema, ["additionalProperties"]), false);
  assert.equal(valueAt(schema, ["required"]), undefined);
  const database = ["properties", "databases", "items"];
  assert.deepEqual(valueAt(schema, [...database, "required"]), ["name"]);
  assert.deepEqual(valueAt(schema, [...database, "properties", "sslmode", "enum"]), [
    "disable",
    "allow",
    "prefer",
    "require",
    "verify-ca",
    "verify-full",
  ]);
  assert.deepEqual(valueAt(schema, [...database, "properties", "statement_timeout"]), {
    description: "Longest run of one statement",
    default: "30s",
    type: "string",
  });
  assert.deepEqual(valueAt(schema, ["properties", "server", "properties", "allowed_hosts"]), {
    description:
      "Host names under which the server may be called, besides its own; a proxy's where it passes Host on",
    default: [],
    type: "array",
    items: { type: "string" },
  });
});
