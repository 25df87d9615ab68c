import { join } from "node:path";
import { type ConfigFolder, createConfigFolder } from "./configured_server.ts";
import { requireTestDatabaseUrl, type TestDatabase } from "./database.ts";
import type { Vendor } from "../llm/wire/vendors/vendor.ts";
import { pagesTable } from "./handbook_documents.ts";
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

/** In the file that `configText` names for all kinds of providers. */
export const vendorKey = "sk-ant-api03-Tq7ZbX4mLp9WvK2cRd8YhN3-sF6gJ1eU5oAi0";
export const keyFile = "vendor.key";

/** The program with `-rag` on a free port; the configuration's `pipelines` and whatever else are the test's. */
export async function startRagServer(
  config: RagConfig | string,
  options: { files?: Readonly<Record<string, string>>; flags?: readonly string[] } = {},
): Promise<RunningRagServer> {
  const folder = await createConfigFolder(typeof config === "string" ? config : configText(config));
  for (const [name, text] of Object.entries({ [keyFile]: vendorKey, ...options.files })) {
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

/** With a listener on a free port of this machine, and keys. */
export function configText(config: RagConfig): string {
  const defaults = {
    server: { listen_address: "127.0.0.1", port: 0 },
    api_keys: { openai: keyFile, anthropic: keyFile },
  };
  return JSON.stringify({ ...defaults, ...config }, null, 2);
}

export interface PipelineParts {
  readonly database: Pick<TestDatabase, "name">;
  readonly openai: Vendor;
  readonly anthropic: Vendor;
}

/** A pipeline over the handbook's pages that embeds with `openai` and answers with `anthropic`. */
export function handbookPipeline(name: string, parts: PipelineParts, changes: RagConfig = {}): RagConfig {
  return {
    name,
    database: pipelineDatabase(parts.database),
    tables: [pagesTable],
    embedding_llm: { provider: "openai", model: "e", base_url: parts.openai.url },
    rag_llm: { provider: "anthropic", model: "m", base_url: parts.anthropic.url },
    allow_include_sources: true,
    ...changes,
  };
}

/** A pipeline's `database` that is on the test server. */
export function pipelineDatabase({ name }: Pick<TestDatabase, "name">, changes: RagConfig = {}): RagConfig {
  const { hostname, port, username } = new URL(requireTestDatabaseUrl());
  return { host: hostname, port: Number(port), database: name, username, ssl_mode: "disable", ...changes };
}
