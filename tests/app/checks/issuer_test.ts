import assert from "node:assert/strict";
import { join } from "node:path";
import { silentLogger } from "../../../src/core/logger.ts";
import { clientId, clientSecret, freePort, startTokenIssuer } from "../../support/token_issuer.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { doctor } from "../../../src/app/checks/all_checks.ts";
import type { DoctorIssuer } from "../../../src/app/checks/server_checks.ts";

async function examine(issuer: DoctorIssuer): Promise<string[]> {
  const [diagnosis] = await doctor({
    pipelines: [],
    databases: [],
    server: { completions: [], keyFiles: [], configuration: [], issuers: [issuer] },
    signal: new AbortController().signal,
    logger: silentLogger,
  });
  return (diagnosis?.results ?? []).map((result) =>
    result.ok ? `ok ${result.check}: ${result.note ?? ""}` : `${result.severity} ${result.message}`
  );
}

Deno.test("the doctor says for which algorithms an issuer has keys", async () => {
  await using server = await startTokenIssuer();
  const { issuer } = server;
  assert.deepEqual(await examine({ issuer, algorithms: ["RS256", "ES256"] }), [
    `ok issuer ${issuer}: keys for ES256`,
  ]);
  assert.deepEqual(await examine({ issuer, algorithms: ["RS256", "EdDSA"] }), [
    "error Cannot use the issuer's keys: none of the 1 is for RS256, EdDSA",
  ]);
});

Deno.test("the doctor says why an issuer cannot be used", async () => {
  const issuer = `http://127.0.0.1:${freePort()}`;
  const [down = ""] = await examine({ issuer, algorithms: ["ES256"] });
  assert.match(down, /^error Cannot find out about the issuer .*the connection failed/);
  await using server = await startTokenIssuer({ path: "/realm" });
  const [other = ""] = await examine({ issuer: `${server.issuer}/`, algorithms: ["ES256"] });
  assert.ok(other.includes(`is of another issuer: it calls itself "${server.issuer}"`), other);
});

Deno.test("the doctor asks about a token that nobody has", async () => {
  await using folder = await temporaryFolder();
  await using server = await startTokenIssuer();
  const clientSecretFile = join(folder.path, "secret");
  const settings: DoctorIssuer = {
    issuer: server.issuer,
    algorithms: ["ES256"],
    introspection: { clientId, clientSecretFile },
  };
  await Deno.writeTextFile(clientSecretFile, clientSecret, { mode: 0o600 });
  assert.deepEqual(await examine(settings), [
    `ok secret file ${clientSecretFile}: `,
    `ok issuer ${server.issuer}: keys for ES256`,
    `ok introspection by ${server.issuer}: `,
  ]);
  server.answers.set("/introspect", () => Response.json({ active: true }));
  assert.match((await examine(settings)).at(-1) ?? "", /calls a token active that nobody has/);
  server.answers.clear();
  await Deno.writeTextFile(clientSecretFile, "wrong");
  const wrong = (await examine(settings)).at(-1) ?? "";
  assert.match(wrong, /HTTP status 401: it refuses client_id or the client's secret/);
});
