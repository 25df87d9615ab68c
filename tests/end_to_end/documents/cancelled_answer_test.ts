import assert from "node:assert/strict";
import { configText } from "../../support/rag_server.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { createDocumentFolder } from "./document_servers.ts";

testWithPgvectorServer("an answer ends with its caller, and with the time of a query", async (t) => {
  await using fixture = await createDocumentFolder();
  const { folder, anthropic } = fixture;
  const { token } = await folder.addToken();
  const start = () => startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const params = { name: "ask_pipeline", arguments: { pipeline: "handbook", question: "leave?" } };

  await t.step("a call that is cancelled lets the provider go", async () => {
    await using server = await start();
    const { post } = createToolClient({ url: server.url, token });
    anthropic.fail("stall before the headers");
    const call = post(JSON.stringify({ jsonrpc: "2.0", id: "ask", method: "tools/call", params }));
    await waitUntil("the provider is asked", () => anthropic.requests.length === 1);
    await (await post(
      '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "ask"}}',
    )).body?.cancel();
    const reply = await (await call).json();
    assert.match(reply.result.content[0].text, /was cancelled because its caller cancelled it/);
    await waitUntil("the provider's connection is closed", () => anthropic.openConnections() === 0);
  });

  await t.step("one that takes longer than server.request_timeout ends by itself", async () => {
    await folder.write(configText({
      ...fixture.config,
      server: { listen_address: "127.0.0.1", port: 0, request_timeout: "1s" },
    }));
    await using server = await start();
    const { call } = createToolClient({ url: server.url, token });
    const { text, isError } = await call("ask_pipeline", params.arguments);
    assert.equal(isError, true);
    assert.equal(text, 'Cannot use pipeline "handbook": the request took too long');
  });
});
