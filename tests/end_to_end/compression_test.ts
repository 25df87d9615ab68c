import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { rawExchange } from "../support/network/raw_exchange.ts";
import { startServer } from "../support/server_process.ts";

const servers = [
  { flags: ["-http", "-addr", "127.0.0.1:0", "-no-auth"], paths: ["/health", "/ready", "/mcp/v1"] },
  { flags: ["-rag"], paths: ["/v1/health", "/v1/openapi.json"] },
];

for (const { flags, paths } of servers) {
  Deno.test(`${flags[0]}: no reply is compressed, on any version of Deno`, async () => {
    await using folder = await createConfigFolder(
      "databases: []\nserver: { listen_address: 127.0.0.1, port: 0 }\n",
    );
    await using server = await startServer([...flags, "-config", folder.configFile]);
    for (const path of paths) {
      const { headers, text } = await rawExchange(server.url, {
        path,
        headers: { "accept-encoding": "gzip, deflate, br", "content-type": "application/json" },
        ...(path === "/mcp/v1" && {
          method: "POST",
          body: '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}',
        }),
      });
      assert.equal(headers.get("content-encoding"), null);
      assert.equal(headers.get("content-length"), String(new TextEncoder().encode(text).length));
      JSON.parse(text);
    }
  });
}
