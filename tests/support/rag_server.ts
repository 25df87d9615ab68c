import { join } from "node:path";
import { type ConfigFolder, createConfigFolder } from "./configured_server.ts";
import { requireTestDatabaseUrl, type TestDatabase } from "./database.ts";
import { createRagClient, type RagClient } from "./rag_client.ts";
import { type ServerProcess, startServer } from "./server_process.ts";

/** A configuration as an object: JSON is YAML. */
export type RagConfig = Readonly<Record<string, unknown>>;

export interface RunningRagServer extends AsyncDisposable {
  readonly client: RagClient;
  readonly process: ServerProcess;
  readonly folder: ConfigFolder;
  /** Replaces the configuration file. */
  configure(config: RagConfig): Promise<void>;
}

/** The program with `-rag` on a free port; the configuration's `pipelines` and whatever else are the test's. */
export async function startRagServer(
  config: RagConfig | string,
  options: { files?: Readonly<Record<string, string>>; flags?: readonly string[] } = {},
): Promise<RunningRagServer> {
  const folder = await createConfigFolder(typeof config === "string" ? config : configText(config));
  for (const [name, text] of Object.entries(options.files ?? {})) {
    await Deno.writeTextFile(join(folder.path, name), text, { mode: 0o600 });
  }
  const process = await startServer(["-rag", "-config", folder.configFile, ...options.flags ?? []]);
  return {
    client: createRagClient({ url: process.url }),
    process,
    folder,
    configure: (next) => folder.write(configText(next)),
    async [Symbol.asyncDispose]() {
      await process[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** With a listener on a free port of this machine. */
export function configText(config: RagConfig): string {
  return JSON.stringify({ server: { listen_address: "127.0.0.1", port: 0 }, ...config }, null, 2);
}

/** A pipeline's `database` that is on the test server. */
export function pipelineDatabase({ name }: Pick<TestDatabase, "name">, changes: RagConfig = {}): RagConfig {
  const { hostname, port, username } = new URL(requireTestDatabaseUrl());
  return { host: hostname, port: Number(port), database: name, username, ssl_mode: "disable", ...changes };
}
