import assert from "node:assert/strict";
import { join } from "node:path";
import type { ConfigFolder } from "./configured_server.ts";
import { runProgram, type ServerProcess, startServer } from "./server_process.ts";
import { createToolClient } from "./tool_client.ts";

export const password = "correct horse battery";

/** Of `password`, as -add-user makes it. A hash of its cost takes a third of a second. */
const passwordHash = "$2b$12$nxe66ZRhFmL0CDYltY8n/eBCJwiKylP4ii1366GVvSKjuaDtHIWO2";

/** Writes the user file of a folder, with accounts that have `password`. */
export async function writeUsers(folder: ConfigFolder, usernames: readonly string[]): Promise<void> {
  const entries = usernames.map((name) =>
    `  ${JSON.stringify(name)}:\n    password_hash: ${passwordHash}\n    enabled: true\n`
  );
  await Deno.writeTextFile(join(folder.path, "users.yaml"), `users:\n${entries.join("")}`, { mode: 0o600 });
}

/** Runs an administrator's operation, which must succeed, and returns what it printed. */
export async function administer(folder: ConfigFolder, ...flags: string[]): Promise<string> {
  const { code, stdout, stderr } = await runProgram(["-config", folder.configFile, ...flags]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Starts the server on a folder's configuration. */
export function serve(folder: ConfigFolder): Promise<ServerProcess> {
  return startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
}

/** Sends a login as the document shows it, without a token. */
export async function logIn(
  server: Pick<ServerProcess, "url">,
  username: unknown,
  given: unknown = password,
  headers = {},
) {
  const { post } = createToolClient({ url: server.url });
  const response = await post(
    JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "authenticate_user", arguments: { username, password: given } },
    }),
    { headers },
  );
  const body = await response.json();
  const session = body.result === undefined ? undefined : JSON.parse(body.result.content[0].text);
  return { status: response.status, retryAfter: response.headers.get("retry-after"), body, session };
}
