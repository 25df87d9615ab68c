import { join } from "node:path";
import { databaseEntry } from "../tests/support/configured_server.ts";
import type { TestDatabase } from "../tests/support/database.ts";
import { waitUntil } from "../tests/support/wait_until.ts";
import { tokenFileText } from "./credential_texts.ts";
import { type MeasuredServer, poolSize } from "./tool_calls.ts";

/** Starts an executable of pgEdge's MCP server. It takes the same flags, tokens and entries of databases as Postern. */
export async function startPeer(path: string, database: TestDatabase): Promise<MeasuredServer> {
  const folder = await Deno.makeTempDir({ prefix: "postern_peer_" });
  const [config, tokens] = [join(folder, "config.yaml"), join(folder, "tokens.yaml")];
  const entry = databaseEntry("main", database.name, `pool_max_conns: ${poolSize}`);
  await Deno.writeTextFile(config, `databases: [${entry}]\ndata_dir: ${folder}\n`);
  await Deno.writeTextFile(tokens, tokenFileText(1, "plain"), { mode: 0o600 });
  const address = `127.0.0.1:${freePort()}`;
  const child = new Deno.Command(path, {
    args: ["-http", "-addr", address, "-config", config, "-token-file", tokens],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const health = () => fetch(`http://${address}/health`).then((reply) => reply.text(), () => undefined);
  await waitUntil("the peer listens", async () => await health() !== undefined);
  return {
    url: `http://${address}/mcp/v1`,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** It cannot tell which port it got, so it is given one. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
