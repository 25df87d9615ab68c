import assert from "node:assert/strict";
import { configJsonSchema } from "../../../src/config/mod.ts";
import { valueAt } from "../../../src/core/yaml/value_tree.ts";

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
    description: "How long a statement may run",
    default: "30s",
    type: "string",
  });
  assert.deepEqual(valueAt(schema, ["properties", "server", "properties", "allowed_hosts"]), {
    description:
      "Names that a request's Host may have, besides the server's own; list a proxy's name if the proxy keeps Host",
    default: [],
    type: "array",
    items: { type: "string" },
  });
});
