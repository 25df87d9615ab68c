import assert from "node:assert/strict";
import { withRoleHint } from "../../../src/cli/operations/index_operation.ts";
import { AppError } from "../../../src/core/app_error.ts";

Deno.test("an error of rights says whose they are and where to give another role", () => {
  const denied = new AppError("upstream", 'Cannot ingest into "d": permission denied for schema postern', {
    data: { sqlState: "42501" },
  });
  const hinted = withRoleHint(denied, "reader");
  assert.ok(hinted instanceof AppError);
  assert.deepEqual([hinted.code, hinted.message], [
    "upstream",
    'Cannot ingest into "d": permission denied for schema postern; ' +
    'role "reader" lacks the right; name a role that has it with -db-user',
  ]);
});

Deno.test("other errors stay as they are", () => {
  for (const error of [new AppError("upstream", "x", { data: { sqlState: "42P01" } }), new Error("y"), 1]) {
    assert.equal(withRoleHint(error, "reader"), error);
  }
});
