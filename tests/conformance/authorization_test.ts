import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { password } from "../support/accounts.ts";
import { createFormBrowser, createOauthClient, startOauthServer } from "../support/oauth_server.ts";
import { freePort } from "../support/token_issuer.ts";

Deno.test("the authorization server conforms: its metadata, and a code and a token after a login", async () => {
  await using served = await startOauthServer();
  const { issuer } = served;
  const port = freePort();
  const redirectUri = `http://127.0.0.1:${port}/callback`;
  const { clientId } = await createOauthClient(issuer, { redirect_uris: [redirectUri] });
  const suite = fileURLToPath(import.meta.resolve("./run_suite.ts"));
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--cached-only", "--no-check", suite, "authorization"],
      ...["--url", issuer, "--client-id", clientId, "--port", String(port), "--resource", `${issuer}/mcp/v1`],
    ],
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "null",
  }).spawn();
  let output = "";
  let isAsked = false;
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += text;
    // where it asks its user to open a page, they log in and consent
    const [, url] = /^(http\S+\/oauth\/authorize\?\S+)\n/m.exec(output) ?? [];
    if (isAsked || url === undefined) continue;
    isAsked = true;
    const browser = createFormBrowser(issuer);
    const consent = await browser.submit(await browser.open(url), {
      username: "alice",
      password,
      action: "login",
    });
    const back = await browser.submit(consent, { action: "allow" });
    await (await fetch(back.url)).body?.cancel();
  }
  assert.equal((await child.status).code, 0, output);
  assert.match(output, /^✓ authorization-server-metadata-endpoint: 2 passed, 0 failed$/m);
  assert.match(output, /^✓ authorization-code-grant: 1 passed, 0 failed$/m);
});
