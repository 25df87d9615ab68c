import assert from "node:assert/strict";
import { join } from "node:path";
import { loadConfig } from "../../../src/config/mod.ts";
import { issuerLoginChecks } from "../../../src/app/checks/server_checks.ts";
import { loginClient, startIdentityProvider } from "../../support/identity_provider.ts";
import { optionsFor } from "../../config/load_options.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { freePort } from "../../support/token_issuer.ts";

async function examine(login: string): Promise<string[]> {
  const { config } = await loadConfig(optionsFor(`data_dir: data
http: { enabled: true, auth: { oauth: { issuer: "https://mcp.example.com/", login: ${login} } } }
`));
  const checks = await issuerLoginChecks(config.http);
  const results = await Promise.all(checks.map((check) => check.run(new AbortController().signal)));
  return results.flat().map((result) =>
    "message" in result ? `${result.severity} ${result.message}` : `ok ${"note" in result ? result.note : ""}`
  );
}

Deno.test("the doctor reaches the issuer at which people log in, and looks at the credential", async () => {
  await using folder = await temporaryFolder();
  await using provider = await startIdentityProvider({
    redirectUri: "https://mcp.example.com/oauth/login/callback",
  });
  const secret = join(folder.path, "secret");
  const of = (issuer: string, file = "client_secret_file") =>
    `{ issuer: "${issuer}", client_id: postern, ${file}: "${secret}" }`;
  const [missing] = await examine(of(provider.issuer));
  assert.equal(missing, `error There is no file ${secret}`);
  await Deno.writeTextFile(secret, loginClient.secret, { mode: 0o600 });
  assert.deepEqual(await examine(of(provider.issuer)), [
    "ok it is to send browsers back to https://mcp.example.com/oauth/login/callback",
  ]);
  const [wrong = ""] = await examine(of(`${provider.issuer}/other`));
  assert.match(wrong, /^error Cannot log in at the issuer .*status code 404/);
  const [down = ""] = await examine(of(`http://127.0.0.1:${freePort()}`));
  assert.match(down, /^error Cannot log in at the issuer .*: the connection failed/);
  const [key = ""] = await examine(of(provider.issuer, "private_key_file"));
  assert.match(key, /expected an RSA, P-256 or Ed25519 key in PEM/);
  assert.ok(!key.includes(loginClient.secret));
});
