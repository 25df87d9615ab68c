import { join } from "node:path";
import type { TokenLimits } from "../../src/core/principal.ts";
import { parseLimits } from "../../src/identity/tokens/limited_tokens.ts";
import { addToken, parseExpiry } from "../../src/identity/tokens/token_file.ts";
import { requireTestDatabaseUrl, testDatabaseUrl } from "./database.ts";
import { type ServerProcess, startServer } from "./server_process.ts";
import { createToolClient } from "./tool_client.ts";

/** A folder with a configuration of a test's own. */
export interface ConfigFolder extends AsyncDisposable {
  readonly path: string;
  readonly configFile: string;
  readonly tokenFile: string;
  write(config: string): Promise<void>;
  /** Makes a token as the administrator's command does, without the time that a program takes to start. */
  addToken(
    settings?: { note?: string; database?: string; limits?: TokenLimits; expiry?: string },
  ): Promise<{ id: string; token: string }>;
}

/** An empty text gives a configuration of defaults alone: a start refuses an empty file. */
export async function createConfigFolder(config: string): Promise<ConfigFolder> {
  const path = await Deno.makeTempDir({ prefix: "postern_test_" });
  const configFile = join(path, "config.yaml");
  const tokenFile = join(path, "tokens.yaml");
  await Deno.writeTextFile(configFile, config || "databases: []\n");
  return {
    path,
    configFile,
    tokenFile,
    write: (text) => Deno.writeTextFile(configFile, text),
    async addToken({ expiry, limits = {}, ...rest } = {}) {
      const texts = Object.entries(limits).map(([name, list]) => [name, list.join(",")]);
      const { record, token } = await addToken({
        ...rest,
        ...parseLimits(Object.fromEntries(texts)),
        path: tokenFile,
        expiry: parseExpiry(expiry),
        now: Date.now(),
      });
      return { id: record.id, token };
    },
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** An entry of `databases` for the test server's database of that name, with more settings in YAML's flow style. */
export function databaseEntry(name: string, database: string, settings = ""): string {
  const { hostname, port, username } = new URL(
    testDatabaseUrl === undefined ? "postgres://postgres@127.0.0.1:1/" : requireTestDatabaseUrl(),
  );
  return `{ name: ${name}, host: ${hostname}, port: ${port}, database: ${database}, user: ${username}, ` +
    `sslmode: disable, ${settings} }`;
}

/** A server over HTTP with one token, and a client that has it. */
export async function startConfiguredServer(
  config: string,
  flags: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<
  AsyncDisposable & { server: ServerProcess; folder: ConfigFolder; token: string; client: ToolClient }
> {
  const folder = await createConfigFolder(config);
  const { token } = await folder.addToken({ note: "test" });
  const server = await startServer(
    ["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile, ...flags],
    { env },
  );
  return {
    server,
    folder,
    token,
    client: createToolClient({ url: server.url, token }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export type ToolClient = ReturnType<typeof createToolClient>;
