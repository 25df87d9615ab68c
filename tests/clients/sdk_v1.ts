/**
 * A program on the first major version of the official SDK. It uses all that a server offers, and prints what that was:
 * over HTTP the server at POSTERN_URL with POSTERN_TOKEN, else over stdio the one that its arguments start. TOOL_ARGUMENTS
 * has the arguments of each tool, as JSON.
 */
import { useEverything } from "./use_everything.ts";

// named apart, so that the type check and the project's own lock file do not follow it
const sdk = "@modelcontextprotocol/sdk/client";
const { Client } = await import(`${sdk}/index.js`);
const { StdioClientTransport } = await import(`${sdk}/stdio.js`);
const { StreamableHTTPClientTransport } = await import(
  `${sdk}/streamableHttp.js`
);

const url = Deno.env.get("POSTERN_URL");
const [command = "", ...args] = Deno.args;
const transport = url === undefined
  ? new StdioClientTransport({ command, args, stderr: "ignore" })
  : new StreamableHTTPClientTransport(new URL(url), {
    requestInit: {
      headers: { authorization: `Bearer ${Deno.env.get("POSTERN_TOKEN")}` },
    },
  });
const client = new Client({ name: "sdk_v1", version: "1" });
await client.connect(transport);
const used = await useEverything(
  client,
  JSON.parse(Deno.env.get("TOOL_ARGUMENTS") ?? "{}"),
);
await client.close();
await Deno.stdout.write(new TextEncoder().encode(JSON.stringify(used)));
