import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";

const config = "databases: []\nserver: { address: 127.0.0.1:0 }\n";

for (const servers of [["-http"], ["-rag"], ["-http", "-rag"], ["-demo", "-http"]]) {
  Deno.test(`systemd is told once that ${servers.join(" ")} answers`, async () => {
    await using folder = await createConfigFolder(config);
    const path = `${folder.path}/systemd.sock`;
    const socket = Deno.listenDatagram({ transport: "unixpacket", path });
    const told: string[] = [];
    const listening = (async () => {
      for await (const [message] of socket) told.push(new TextDecoder().decode(message));
    })();
    try {
      await using server = await startServer(
        [...servers, "-addr", "127.0.0.1:0", "-config", folder.configFile],
        { env: { NOTIFY_SOCKET: path } },
      );
      await waitUntil("systemd is told", () => told.length > 0);
      const listeners = servers.filter((flag) => flag !== "-demo");
      assert.equal(server.stderr().match(/listening on/g)?.length, listeners.length);
      assert.equal(await server.stop(), 0);
    } finally {
      socket.close();
      await listening;
    }
    assert.deepEqual(told, ["READY=1"]);
  });
}

Deno.test("a service manager that is gone leaves the server serving", async () => {
  await using folder = await createConfigFolder(config);
  await using server = await startServer(
    ["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile],
    { env: { NOTIFY_SOCKET: `${folder.path}/gone.sock` } },
  );
  await waitUntil("the log says so", () => server.stderr().includes("Cannot tell the service manager"));
  const health = await fetch(`${server.url}/health`);
  assert.equal(health.status, 200);
  await health.body?.cancel();
  assert.equal(await server.stop(), 0);
});
