import assert from "node:assert/strict";
import { AppError } from "../../../src/core/app_error.ts";
import { callTool } from "../../../src/tool_server/mcp/answer_call.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";
import { plainCall, plainTool } from "../../support/mcp_endpoint.ts";
import { recordCalls } from "../../support/recorded_calls.ts";

/** Calls a tool of that name where the tool `work` throws `thrown`. */
function call(name: string, thrown: AppError) {
  const incidents: string[] = [];
  const { calls, counted, lines } = recordCalls({
    onIncident: ({ tool, kind }) => void incidents.push(`${tool} ${kind}`),
  });
  const registry = createRegistry({ tools: [plainTool("work", () => Promise.reject(thrown))] });
  const caller = plainCall();
  const { signal } = caller;
  const answer = callTool(
    { calls, registry },
    { id: 1, method: "tools/call", params: { name }, signal },
    caller,
  );
  return { answer, counted, incidents, lines };
}

for (const code of ["overloaded", "quota_exceeded"] as const) {
  Deno.test(`a call that is ${code} is no result, and an operator hears of it`, async () => {
    const thrown = new AppError(code, "no room", { data: { retryAfterSeconds: 1 } });
    const { answer, counted, incidents, lines } = call("work", thrown);
    await assert.rejects(answer, thrown);
    assert.deepEqual([counted, incidents], [[`work ${code}`], [`work ${code}`]]);
    assert.deepEqual(lines.map((line) => [line.tool, line.outcome, line.reason]), [[
      "work",
      "refused",
      code,
    ]]);
  });
}

Deno.test("a tool that is not there is counted without the name that its caller made up, and is no incident", async () => {
  const { answer, counted, incidents, lines } = call("made_up", new AppError("overloaded", ""));
  await assert.rejects(answer, { code: "invalid" });
  assert.deepEqual([counted, incidents], [[" invalid"], []]);
  assert.deepEqual(lines.map((line) => [line.outcome, line.reason]), [["refused", "invalid"]]);
});

Deno.test("what a tool throws besides is a result that tells of an error", async () => {
  const { answer, counted, incidents } = call("work", new AppError("invalid", "not so"));
  assert.deepEqual(await answer, { content: [{ type: "text", text: "not so" }], isError: true });
  assert.deepEqual([counted, incidents], [["work error"], []]);
});
