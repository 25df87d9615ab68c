import assert from "node:assert/strict";
import { assertHas } from "../../support/assert_has.ts";
import { administer, logIn, password, serve } from "../../support/accounts.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { runProgram } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";

Deno.test("the audit trail keeps who did what, and shows when it was touched", async () => {
  await using folder = await createConfigFolder("audit: { file: audit.jsonl }\ndatabases: []\n");
  const file = `${folder.path}/audit.jsonl`;
  await administer(folder, "-add-user", "-username", "alice", "-password", password);
  {
    await using server = await serve(folder);
    await logIn(server, "alice", "wrong password");
    const { session } = await logIn(server, "alice");
    const { call, post } = createToolClient({ url: server.url, token: session.session_token });
    await call("list_databases", {});
    await (await post("{}", { headers: { authorization: "Bearer no" } })).body?.cancel();
    assert.equal(await server.stop(), 0);
  }
  const lines = (await Deno.readTextFile(file)).trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => [line.event, line.outcome]), [
    ["administrator", "ok"],
    ["login", "failed"],
    ["login", "ok"],
    ["tool_call", "ok"],
    ["refusal", "unauthorized"],
  ]);
  assertHas(lines[3], { user: "alice", address: "127.0.0.1", tool: "list_databases" });
  assert.match(await administer(folder, "-verify-audit", file), /is whole: 5 lines/);
  const text = await Deno.readTextFile(file);
  await Deno.writeTextFile(file, text.replace("wrong_password", "unknown_user"));
  const { code, stderr } = await runProgram(["-verify-audit", file]);
  assert.equal(code, 1);
  assert.match(stderr, /line [23]\b/);
});
