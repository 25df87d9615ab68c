import { join } from "node:path";
import { databaseEntry } from "../tests/support/configured_server.ts";
import type { TestDatabase } from "../tests/support/database.ts";
import { type RagConfig, vendorKey } from "../tests/support/rag_server.ts";
import { waitUntil } from "../tests/support/wait_until.ts";
import { tokenFileText } from "./credential_texts.ts";
import type { LoadRequest } from "./http_load.ts";
import { type MeasuredServer, poolSize } from "./tool_calls.ts";

/** Starts an executable of pgEdge's MCP server. It takes the same flags, tokens and entries of databases as Postern. */
export function startPeer(path: string, database: TestDatabase): Promise<MeasuredServer> {
  const entry = databaseEntry("main", database.name, `pool_max_conns: ${poolSize}`);
  return startProgram(path, "/mcp/v1", async (folder, port) => {
    const [config, tokens] = [join(folder, "config.yaml"), join(folder, "tokens.yaml")];
    await Deno.writeTextFile(config, `databases: [${entry}]\ndata_dir: ${folder}\n`);
    await Deno.writeTextFile(tokens, tokenFileText(1, "plain"), { mode: 0o600 });
    return ["-http", "-addr", `127.0.0.1:${port}`, "-config", config, "-token-file", tokens];
  });
}

/** Starts an executable of MCP Toolbox, with a tool that runs a statement as it is. */
export function startToolbox(path: string, database: TestDatabase): Promise<MeasuredServer> {
  const { hostname, port, username } = new URL(database.url);
  return startProgram(path, "/mcp", async (folder, ownPort) => {
    const tools = join(folder, "tools.yaml");
    await Deno.writeTextFile(
      tools,
      `sources:
  main: { kind: postgres, host: ${hostname}, port: ${port}, database: ${database.name}, user: ${username}, password: none,
          queryParams: { pool_max_conns: "${poolSize}" } }
tools:
  query_database: { kind: postgres-execute-sql, source: main, description: Runs a statement }
`,
    );
    return ["--tools-file", tools, "--address", "127.0.0.1", "--port", String(ownPort)];
  });
}

/** Starts an executable of pgEdge's RAG server. It takes the same pipelines as Postern's. */
export function startRagPeer(path: string, config: RagConfig): Promise<MeasuredServer> {
  return startProgram(path, "", async (folder, port) => {
    const [file, openai] = [join(folder, "config.yaml"), join(folder, "openai.key")];
    const server = { listen_address: "127.0.0.1", port };
    await Deno.writeTextFile(openai, vendorKey, { mode: 0o600 });
    // JSON is YAML
    await Deno.writeTextFile(file, JSON.stringify({ server, api_keys: { openai }, ...config }));
    return ["-config", file];
  });
}

/** A call of ours as that tool takes it. */
export function asToolboxCall(request: LoadRequest): LoadRequest {
  const { params, ...message } = JSON.parse(request.body);
  const sql = params.arguments?.query;
  return sql === undefined
    ? request
    : { ...request, body: JSON.stringify({ ...message, params: { ...params, arguments: { sql } } }) };
}

async function startProgram(
  path: string,
  endpoint: string,
  argsFor: (folder: string, port: number) => Promise<string[]>,
): Promise<MeasuredServer> {
  const folder = await Deno.makeTempDir({ prefix: "postern_peer_" });
  const port = freePort();
  const child = new Deno.Command(path, {
    args: await argsFor(folder, port),
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const root = `http://127.0.0.1:${port}`;
  const reached = () => fetch(root).then((reply) => reply.text(), () => undefined);
  await waitUntil("the peer listens", async () => await reached() !== undefined);
  return {
    url: `${root}${endpoint}`,
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** They cannot tell which port they got, so they are given one. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}
