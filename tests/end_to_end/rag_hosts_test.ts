import assert from "node:assert/strict";
import { openRawConnection } from "../support/raw_connection.ts";
import { startRagServer } from "../support/rag_server.ts";

async function statusFor(url: string, host: string): Promise<number> {
  using connection = await openRawConnection(url);
  await connection.send(`GET /v1/pipelines HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return Number(/^HTTP\/1\.1 (\d+)/.exec(await connection.readToEnd())?.[1]);
}

Deno.test("a server on a loopback address answers its own names and those of server.allowed_hosts alone", async () => {
  const server = { listen_address: "127.0.0.1", port: 0, allowed_hosts: ["rag.example.com"] };
  await using running = await startRagServer({ server, pipelines: [] });
  const { url } = running.process;
  const { host } = new URL(url);
  const hosts = [host, "localhost", "rag.example.com", "evil.example", `evil.example:${new URL(url).port}`];
  const statuses = await Promise.all(hosts.map((name) => statusFor(url, name)));
  assert.deepEqual(statuses, [200, 200, 200, 403, 403]);
});
