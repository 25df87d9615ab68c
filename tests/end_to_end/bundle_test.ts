import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";
import { createTestDatabase, requireTestDatabaseUrl, testWithPostgres } from "../support/database.ts";
import { assertHas } from "../support/assert_has.ts";
import { commandLine } from "../support/server_process.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

const manifestFile = new URL("../../packaging/mcp/manifest.json", import.meta.url);
const manifest = z.object({
  server: z.object({
    mcp_config: z.object({ args: z.array(z.string()), env: z.record(z.string(), z.string()) }),
  }),
  tools: z.array(z.object({ name: z.string() })),
  user_config: z.record(z.string(), z.object({ default: z.union([z.string(), z.number()]).optional() })),
}).parse(JSON.parse(await Deno.readTextFile(manifestFile)));

testWithPostgres("the bundle for Claude Desktop offers the tools that its manifest lists", async () => {
  await using database = await createTestDatabase();
  await using folder = await temporaryFolder();
  const { hostname, port, username } = new URL(requireTestDatabaseUrl());
  const filledIn = new Map(
    Object.entries({ host: hostname, port, user: username, database: database.name, sslmode: "disable" }),
  );
  // as Claude Desktop does it: what a person left alone has its default
  const env = Object.fromEntries(
    Object.entries(manifest.server.mcp_config.env).map(([name, value]) => [
      name,
      value.replace(
        /\$\{user_config\.(\w+)\}/,
        (_, setting: string) => filledIn.get(setting) ?? String(manifest.user_config[setting]?.default),
      ),
    ]),
  );
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({
      ...commandLine(manifest.server.mcp_config.args),
      env,
      // no configuration is near
      cwd: folder.path,
      stderr: "pipe",
    }),
  );
  const { tools } = await client.listTools();
  assert.deepEqual(manifest.tools.map(({ name }) => name), tools.map(({ name }) => name));
  const { structuredContent } = await client.callTool({
    name: "query_database",
    arguments: { query: "SELECT current_database()::text" },
  });
  assertHas(structuredContent, { rows: [[database.name]] });
  await client.close();
});
