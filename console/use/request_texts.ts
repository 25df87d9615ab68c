import type { Caller } from "../server.ts";

export interface Request {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/** For a POSIX shell. */
export function asCurl({ method, params }: Request, address: string, { kind }: Pick<Caller, "kind">): string {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }).replaceAll("'", "'\\''");
  return [
    `curl -s ${address}`,
    "-H 'Content-Type: application/json'",
    ...(kind === "local" ? [] : ['-H "Authorization: Bearer $POSTERN_TOKEN"']),
    `-d '${body}'`,
  ].join(" \\\n  ");
}

const clientMethods: Readonly<Record<string, string>> = {
  "tools/call": "callTool",
  "prompts/get": "getPrompt",
  "resources/read": "readResource",
};

/** A program with the official client. */
export function asClientCall(
  { method, params }: Request,
  address: string,
  { kind }: Pick<Caller, "kind">,
): string {
  const options = kind === "local"
    ? ""
    : ", {\n  requestInit: { headers: { Authorization: `Bearer ${process.env.POSTERN_TOKEN}` } },\n}";
  return `import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const client = new Client({ name: "my-application", version: "1.0.0" });
const transport = new StreamableHTTPClientTransport(new URL(${JSON.stringify(address)})${options});
await client.connect(transport);
console.log(await client.${clientMethods[method]}(${JSON.stringify(params, null, 2)}));
await client.close();
`;
}
