import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { reportCall } from "../../../src/tool_server/mcp/answer_call.ts";

Deno.test("a task has the line of its call, and what asks for it has one only where it is refused", async () => {
  const { signal } = new AbortController();
  const context = { principal: { kind: "local" as const }, signal, logger: silentLogger };
  const lineOf = (end: { result: object } | { thrown: unknown }) =>
    reportCall({
      method: "tasks/get",
      params: { taskId: "1" },
      end: { ...end, context, elapsedMs: 1 },
      isKnown: () => false,
      fingerprint: undefined,
    }).line();
  assert.equal(await lineOf({ result: {} }), undefined);
  const refused = await lineOf({ thrown: new AppError("forbidden", "not yours") });
  assert.deepEqual([refused?.reason, refused?.outcome], ["forbidden", "refused"]);
});
