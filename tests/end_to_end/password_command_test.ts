import assert from "node:assert/strict";
import { join } from "node:path";
import { parse } from "yaml";
import { createConfigFolder } from "../support/configured_server.ts";
import { startPasswordServer } from "../support/password_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";

interface Example {
  readonly databases: readonly { readonly password_command?: string[]; readonly password_from?: string }[];
}

/** The examples of the page. */
async function examples(): Promise<Record<string, unknown>[]> {
  const page = await Deno.readTextFile(new URL("../../docs/deployment.md", import.meta.url));
  return [...page.matchAll(/```yaml\n(databases:[^]*?)```/g)].map(([, text = ""]) => parse(text) as Example)
    .flatMap(({ databases }) => databases.map((each) => ({ ...each })));
}

/** Programs of the clouds as far as their output goes: they ask an endpoint, as the real ones do. */
const programs = {
  az: 'case "$*" in *"{password: accessToken, expires_at: expires_on}"*) curl -sf "$ENDPOINT/entra";; esac',
  gcloud: '[ "$*" = "sql generate-login-token" ] && curl -sf "$ENDPOINT/google"',
};

for (const [program, token] of [["az", "entra-token"], ["gcloud", "google-token"]] as const) {
  Deno.test(`the page's example with ${program} logs in with what it prints`, async () => {
    const example = (await examples()).find((
      { password_command: [name] = [] }: { password_command?: string[] },
    ) => name === program);
    assert.ok(example);
    await using endpoint = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      ({ url }) =>
        url.endsWith("/google")
          ? new Response("google-token\n")
          : Response.json({ password: "entra-token", expires_at: Math.round(Date.now() / 1_000) + 3_600 }),
    );
    await using server = await startPasswordServer();
    const { sslrootcert: _file, ...database } = example;
    await using folder = await createConfigFolder(JSON.stringify({
      databases: [{ ...database, host: "127.0.0.1", port: server.port, sslmode: "disable" }],
    }));
    const path = join(folder.path, program);
    await Deno.writeTextFile(path, `#!/bin/sh\nenv > ${path}.env\n${programs[program]}\n`, { mode: 0o755 });
    const env = {
      PATH: `${folder.path}:${Deno.env.get("PATH")}`,
      ENDPOINT: `http://127.0.0.1:${endpoint.addr.port}`,
      POSTERN_LOG_LEVEL: "debug",
      OPENAI_API_KEY: "sk-hidden",
      PGPASSWORD: "hidden",
    };
    const flags = ["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile];
    await using running = await startServer(flags, { env });
    await waitUntil("the server was given the token", () => server.given.includes(token));
    const variables = await Deno.readTextFile(`${path}.env`);
    assert.match(variables, /^ENDPOINT=/m);
    assert.doesNotMatch(variables, /hidden|POSTERN_|^PG/m);
    assert.ok(!running.stderr().includes(token), running.stderr());
    assert.match(running.stderr(), /what the runtime lets this process do allowed="[^"]*\brun\b/);
  });
}

Deno.test("tokens for RDS need TLS, whatever the database is for", async () => {
  const example = (await examples()).find(({ password_from }) => password_from === "aws_rds_iam");
  await using folder = await createConfigFolder(
    JSON.stringify({ databases: [{ ...example, sslmode: "prefer" }] }),
  );
  const flags = ["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile];
  const { code, stderr } = await runProgram(flags);
  assert.equal(code, 1);
  assert.match(stderr, /databases\[0\]\.sslmode: expected require, verify-ca or verify-full/);
});
