import assert from "node:assert/strict";
import { password, serve, writeUsers } from "../../support/accounts.ts";
import { createConfigFolder } from "../../support/configured_server.ts";
import { createOauthClient } from "../../support/oauth_server.ts";
import { runProgram } from "../../support/server_process.ts";

const config = `databases: []
data_dir: ./data
http:
  auth:
    methods: { api_tokens: true, password_login: false, oauth: true }
    oauth:
      issuer: https://mcp.example.com/postern
      access_token_lifetime: 1h
      allowed_redirect_uris: [http://127.0.0.1/callback]
      login_page:
        title: Example Corp
        message: "One.\\n\\nTwo & three."
        footer: (c) Example
        logo_file: logo.png
        primary_colour: "#123456"
        template_file: login.html
`;

Deno.test("behind a proxy, every address and cookie is the issuer's; the operator's name and logo are shown", async () => {
  await using folder = await createConfigFolder(config);
  await writeUsers(folder, ["alice"]);
  await Deno.writeFile(`${folder.path}/logo.png`, new Uint8Array([0x89, 0x50, 0x4e, 0x47]));
  await using server = await serve(folder);
  assert.match(
    server.stderr(),
    /OAuth authorization server enabled, issuer https:\/\/mcp\.example\.com\/postern/,
  );
  for (const setting of ["template_file", "footer"]) {
    assert.match(server.stderr(), new RegExp(`login_page\\.${setting} .* is not used`));
  }

  const issuer = "https://mcp.example.com/postern";
  for (
    const path of [
      "/.well-known/oauth-authorization-server/postern",
      "/.well-known/oauth-authorization-server",
    ]
  ) {
    const metadata = await (await fetch(server.url + path)).json();
    assert.deepEqual([metadata.issuer, metadata.token_endpoint], [issuer, `${issuer}/oauth/token`]);
  }
  const resource = await (await fetch(`${server.url}/.well-known/oauth-protected-resource`)).json();
  assert.deepEqual([resource.resource, resource.authorization_servers], [`${issuer}/mcp/v1`, [issuer]]);

  // a proxy may leave the path as it is, or take it off
  for (const base of [`${server.url}/postern`, server.url]) {
    const client = await createOauthClient(base);
    const begun = await fetch(client.authorizeUrl(), { redirect: "manual" });
    await begun.body?.cancel();
    const location = begun.headers.get("location") ?? "";
    assert.match(location, /^(https:\/\/mcp\.example\.com)?\/postern\/oauth\/interaction\/[\w-]+$/);
    const cookies = begun.headers.getSetCookie();
    assert.ok(cookies.length > 0);
    for (const cookie of cookies) assert.match(cookie, /path=\/postern\/oauth[^;]*;.*secure/i);
    const page = server.url + new URL(location, issuer).pathname;
    const cookie = cookies.map((line) => line.split(";")[0]).join("; ");
    const html = await (await fetch(page, { headers: { cookie } })).text();
    assert.match(
      html,
      /<h1>Example Corp<\/h1>[\s\S]*<p>One\.<\/p>\s*<p>Two &amp; three\.<\/p>/,
    );
    assert.match(html, /<img src="\/postern\/oauth\/static\/logo" alt="">/);
    assert.match(html, /background:#123456/);
    const sent = await fetch(page, {
      method: "POST",
      redirect: "manual",
      headers: { cookie, origin: "https://mcp.example.com" },
      body: new URLSearchParams({ username: "alice", password, action: "login" }),
    });
    await sent.body?.cancel();
    assert.equal(sent.status, 303);
    assert.match(
      sent.headers.get("location") ?? "",
      /^https:\/\/mcp\.example\.com\/postern\/oauth\/authorize\//,
    );
  }
  const logo = await fetch(`${server.url}/postern/oauth/static/logo`);
  await logo.body?.cancel();
  assert.deepEqual([logo.status, logo.headers.get("content-type")], [200, "image/png"]);

  const refused = await fetch(`${server.url}/mcp/v1`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "authenticate_user", arguments: { username: "alice", password } },
    }),
  });
  await refused.body?.cancel();
  assert.equal(refused.status, 401);
  assert.ok(
    (refused.headers.get("www-authenticate") ?? "").includes(
      "https://mcp.example.com/.well-known/oauth-protected-resource",
    ),
  );
});

Deno.test("a server does not start without data_dir, or with a file that it cannot use", async () => {
  await using folder = await createConfigFolder(config.replace("data_dir: ./data\n", ""));
  const start = () => runProgram(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
  const missing = await start();
  assert.deepEqual([missing.code, missing.stdout], [1, ""]);
  assert.match(missing.stderr, /data_dir: is required where http\.auth\.oauth\.issuer is given/);
  await folder.write(config);
  const logo = await start();
  assert.equal(logo.code, 1);
  assert.match(
    logo.stderr,
    /http\.auth\.oauth\.login_page\.logo_file: Cannot read .*logo\.png: it does not exist/,
  );
  await Deno.writeFile(`${folder.path}/logo.png`, new Uint8Array([1]));
  await Deno.mkdir(`${folder.path}/data`, { recursive: true });
  await Deno.writeTextFile(`${folder.path}/data/state.sqlite`, "no database".repeat(500), { mode: 0o600 });
  const state = await start();
  assert.equal(state.code, 1);
  assert.match(state.stderr, /Cannot open .*state\.sqlite: it is damaged or not a state file/);
});
