import assert from "node:assert/strict";
import { join } from "node:path";
import { writeUsers } from "../../support/accounts.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { command, runProgram } from "../../support/server_process.ts";
import {
  createIssuerKey,
  startTokenIssuer,
  testAudience,
  type TokenChanges,
} from "../../support/token_issuer.ts";
import { runChecks } from "../../../src/app/checks/check.ts";
import { tokenCheck, type TokenCheckSettings } from "../../../src/app/checks/token_check.ts";

const { signal } = new AbortController();

/** The play of a Keycloak server, version 26: what its tokens are when a client and a user have just been made. */
async function startKeycloak() {
  const realm = "/realms/staff";
  const server = await startTokenIssuer({
    path: realm,
    wellKnown: `${realm}/.well-known/openid-configuration`,
    key: await createIssuerKey("k", "RS256"),
  });
  const fresh = {
    header: { typ: "JWT" },
    claims: {
      aud: "account",
      typ: "Bearer",
      azp: "mcp",
      client_id: undefined,
      scope: "email profile",
      preferred_username: "alice",
      realm_access: { roles: ["offline_access"] },
    },
  };
  return { server, fresh, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

function settingsFor(issuer: string, changes: Partial<TokenCheckSettings> = {}): TokenCheckSettings {
  return {
    issuer,
    audience: testAudience,
    algorithms: ["RS256", "PS256", "ES256", "EdDSA"],
    types: ["at+jwt"],
    usernameClaim: "preferred_username",
    groupsClaim: "groups",
    ...changes,
  };
}

/** What the check says, and what it says to do, a line each. */
async function resultsOf(settings: TokenCheckSettings, token: string): Promise<string[]> {
  const results = await runChecks([tokenCheck(settings, token)], { limitMs: 10_000, signal });
  assert.ok(token === "" || !JSON.stringify(results).includes(token));
  return results.map((result) =>
    result.ok ? `ok: ${result.note}` : `${result.severity}: ${result.message}\n${result.remedy}`
  );
}

Deno.test("Keycloak's section of the page leads from the first token to one that lets in, and each result to its step", async () => {
  await using keycloak = await startKeycloak();
  const { server, fresh: { header, claims } } = keycloak;
  const typed = { typ: "at+jwt" };
  const aud = [testAudience, "account"];
  const lightweight = Object.fromEntries(Object.keys({ ...claims, sub: 0 }).map((name) => [name, undefined]));
  /** After which step, what Keycloak then issues, what is found, and the click that the page names for it. */
  const steps: [what: string, token: TokenChanges, found: RegExp, click: string][] = [
    [
      "nothing",
      { header, claims },
      /^error: Its type .* is "JWT"/,
      'Use "at+jwt" as access token header type',
    ],
    ["the type", { header: typed, claims }, /^error: Its aud is "account"/, "Included Custom Audience"],
    [
      "the audience",
      { header: typed, claims: { ...claims, aud } },
      /^warning: It has no groups in the claim groups/,
      "Group Membership",
    ],
    [
      "the groups, with Keycloak's default",
      { header: typed, claims: { ...claims, aud, groups: ["/analysts"] } },
      /^warning: Its groups are paths: \/analysts/,
      "Full group path",
    ],
    [
      "the scope basic taken away",
      { header: typed, claims: { ...claims, aud, sub: undefined } },
      /^error: Its sub is nothing/,
      "basic",
    ],
    [
      "lightweight tokens",
      { header: typed, claims: lightweight },
      /^error: It has neither aud nor sub/,
      "Always use lightweight access token",
    ],
  ];
  const page = await Deno.readTextFile(new URL("../../../docs/identity_provider.md", import.meta.url));
  const [, section = ""] = page.split("\n### Keycloak\n");
  const ofKeycloak = section.split("\n### ")[0]?.replaceAll(/\s+/g, " ") ?? "";
  for (const [what, changes, expected, click] of steps) {
    const found = await resultsOf(settingsFor(server.issuer), await server.token(changes));
    const told = found.find((each) => expected.test(each));
    assert.ok(told, `${what}: ${found.join("\n")}`);
    assert.ok(told.replaceAll(/\s+/g, " ").includes(click), `${what}: ${told}`);
    assert.ok(ofKeycloak.includes(click), click);
  }
  const groups = ["analysts"];
  const last = await server.token({ header: typed, claims: { ...claims, aud, groups } });
  assert.deepEqual(await resultsOf(settingsFor(server.issuer), last), [
    "ok: it lets in alice (sub 248289761001), groups: analysts, scopes: email, profile",
  ]);
});

Deno.test("the check of a token says which check of the server refuses it", async () => {
  await using keycloak = await startKeycloak();
  const { server } = keycloak;
  const claims = { preferred_username: "alice", groups: ["g"] };
  const settings = settingsFor(server.issuer);
  const seconds = Math.floor(Date.now() / 1_000);
  const thief = await createIssuerKey("k", "RS256");
  const es256 = await createIssuerKey("other", "ES256");
  for (
    const [changes, expected] of [
      [{ claims: { iss: `${server.issuer}/` } }, /^error: Its iss is ".*\/"; expected ".*staff"\n.*slash/],
      [{ key: thief }, /^error: None of the issuer's keys signed it \(kid "k"\)/],
      [{ key: es256 }, /^error: None of the issuer's keys signed it \(kid "other"\)/],
      [{ claims: { exp: 1_700_000_000 } }, /^error: It ended at 2023-11-14T22:13:20/],
      [{ claims: { nbf: seconds + 3_600 } }, /^error: It begins at 20/],
      [{ claims: { cnf: { jkt: "x" } } }, /^error: It is bound to a key/],
      [{ payload: '{"iss":1,"iss":2}' }, /^error: It is longer .* or damaged/],
      [{ claims: { ...claims, preferred_username: undefined } }, /^ok: .*\nwarning: It has no name/],
    ] as [TokenChanges, RegExp][]
  ) {
    const found = await resultsOf(
      settings,
      await server.token({ ...changes, claims: { ...claims, ...changes.claims } }),
    );
    assert.match(found.join("\n"), expected);
  }
  const onlyOne = settingsFor(server.issuer, { algorithms: ["EdDSA"] });
  assert.match(
    (await resultsOf(onlyOne, await server.token()))[0] ?? "",
    /^error: It is signed with "RS256"; expected EdDSA/,
  );
  const scoped = settingsFor(server.issuer, { requiredScopes: ["db:read"] });
  assert.match(
    (await resultsOf(scoped, await server.token({ claims }))).join("\n"),
    /error: It lacks the scopes db:read/,
  );
  assert.match(
    (await resultsOf(settings, "opaque"))[0] ?? "",
    /^error: It is no JWT, and introspection is not set/,
  );
  const idToken = await server.token({ header: { typ: "JWT" }, claims: { nonce: "n" } });
  const untyped = settingsFor(server.issuer, { types: ["at+jwt", "JWT"] });
  assert.match(
    (await resultsOf(untyped, idToken))[0] ?? "",
    /^error: .*\n-- Send the access token, not the ID token/,
  );
  await server[Symbol.asyncDispose]();
  assert.match(
    (await resultsOf(settings, await server.token()))[0] ?? "",
    /^error: The issuer could not be asked\n-- Run -doctor/,
  );
});

async function runWithInput(args: readonly string[], input: string) {
  const process = command(args, { stdin: "piped", stdout: "piped", stderr: "piped" }).spawn();
  await new Response(input).body?.pipeTo(process.stdin);
  const { code, stdout, stderr } = await process.output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("-doctor -check-token reads a token from a file or standard input, and shows none of it", async () => {
  await using keycloak = await startKeycloak();
  const { server } = keycloak;
  await using folder = await createConfigFolder(JSON.stringify({
    databases: ["open", "group:dba", "bob", "alice"].map((user) => ({
      name: `of ${user.replace("group:", "")}`,
      host: "127.0.0.1",
      available_to_users: user === "open" ? [] : [user],
    })),
    http: {
      enabled: true,
      auth: {
        identity_provider: {
          issuer: server.issuer,
          audience: testAudience,
          groups_claim: "groups",
          trust_names: true,
          scopes_by_tool: { query_database: ["db:read"] },
        },
      },
    },
  }));
  await writeUsers(folder, ["alice"]);
  const file = join(folder.path, "token");
  const flags = ["-config", folder.configFile, "-doctor", "-check-token"];
  const good = await server.token({ claims: { preferred_username: "alice", groups: ["dba"] } });
  await Deno.writeTextFile(file, `${good}\n`);
  const accepted = await runProgram([...flags, file]);
  assert.deepEqual([accepted.code, /lets in alice/.test(accepted.stdout)], [0, true], accepted.stderr);
  // by group and by account; without the scope of one tool
  const reached =
    "databases: of open, of dba, of alice; pipelines: none; tools: all but query_database; networks: all";
  assert.ok(accepted.stdout.includes(reached), accepted.stdout);
  const wrong = await server.token({ claims: { aud: "account" } });
  const refused = await runWithInput([...flags, "-", "-json"], wrong);
  assert.equal(refused.code, 1, refused.stderr);
  assert.match(refused.stdout, /"Its aud is \\"account\\"; expected /);
  for (const { stdout, stderr } of [accepted, refused]) {
    for (const part of [...good.split("."), ...wrong.split(".")]) {
      assert.ok(!(stdout + stderr).includes(part));
    }
  }
  const missing = await runProgram([...flags, join(folder.path, "none")]);
  assert.match(
    missing.stderr,
    /Cannot read .*none: give the file that holds the token, or - for standard input/,
  );
  const empty = await runWithInput([...flags, "-"], "\n");
  assert.match(empty.stderr, /Cannot check the token: standard input is empty; put the access token there/);
});
