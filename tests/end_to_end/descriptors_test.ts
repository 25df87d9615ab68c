import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { commandLine } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";

Deno.test("a server that runs out of file descriptors answers again once there are some", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  const { command, args } = commandLine(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const quoted = [command, ...args].map((part) => `'${part}'`).join(" ");
  const child = new Deno.Command("bash", {
    args: ["-c", `ulimit -n 100; exec ${quoted}`],
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let stderr = "";
  const collecting = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) stderr += text;
  })();
  await waitUntil("the server listens", () => /listening on/.test(stderr));
  const url = /listening on (\S+)/.exec(stderr)?.[1] ?? "";
  const address = { hostname: "127.0.0.1", port: Number(new URL(url).port) };

  const idle: Deno.Conn[] = [];
  for (let n = 0; n < 150; n++) {
    const connection = await Deno.connect(address).catch(() => undefined);
    if (connection === undefined) break;
    idle.push(connection);
  }
  await assert.rejects(fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) }));
  for (const connection of idle) connection.close();
  await waitUntil("the server answers", async () => {
    const response = await fetch(`${url}/health`).catch(() => undefined);
    await response?.body?.cancel();
    return response?.status === 200;
  });
  child.kill("SIGTERM");
  assert.equal((await child.status).code, 0);
  await collecting;
});
