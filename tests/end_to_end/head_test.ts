import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { openRawConnection } from "../support/network/raw_connection.ts";
import { startServer } from "../support/server_process.ts";

/** A reply's first line and headers, but for the time, and its body. */
async function exchange(url: string, method: string, path: string): Promise<{ head: string; body: string }> {
  using connection = await openRawConnection(url);
  await connection.send(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  const [head = "", ...body] = (await connection.readToEnd()).split("\r\n\r\n");
  return { head: head.replaceAll(/\r\n(date|x-request-id): .*/gi, ""), body: body.join("\r\n\r\n") };
}

const servers = [
  { flags: ["-http", "-addr", "127.0.0.1:0", "-no-auth"], paths: ["/health", "/ready", "/nothing"] },
  { flags: ["-rag"], paths: ["/v1/live", "/v1/health", "/v1/stats", "/v1/openapi.json", "/v1/nothing"] },
];

for (const { flags, paths } of servers) {
  // RFC 9110, sections 8.6 and 9.3.2
  Deno.test(`${flags[0]}: HEAD is answered with the headers of GET, and no body`, async () => {
    await using folder = await createConfigFolder(
      "databases: []\nserver: { listen_address: 127.0.0.1, port: 0 }\n",
    );
    await using server = await startServer([...flags, "-config", folder.configFile]);
    for (const path of paths) {
      const got = await exchange(server.url, "GET", path);
      const { length } = new TextEncoder().encode(got.body);
      assert.match(got.head, new RegExp(`\r\ncontent-length: ${length}(\r|$)`, "i"));
      assert.deepEqual(await exchange(server.url, "HEAD", path), { head: got.head, body: "" });
    }
  });
}
