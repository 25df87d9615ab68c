import assert from "node:assert/strict";
import { isIterative } from "../../src/doctor/database_checks.ts";

Deno.test("isIterative() holds for pgvector from 0.8 on", () => {
  const versions = ["0.5.1", "0.7.4", "0.8.0", "0.10.0", "1.0", "1.2.3"];
  assert.deepEqual(versions.map(isIterative), [false, false, true, true, true, true]);
});
