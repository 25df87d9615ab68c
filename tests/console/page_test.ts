import assert from "node:assert/strict";
import pageFiles from "../../src/console/page_files.json" with { type: "json" };
import { startConfiguredServer } from "../support/configured_server.ts";
import { rawExchange } from "../support/network/raw_exchange.ts";
import { startServer } from "../support/server_process.ts";
import { createConsoleClient } from "./console_client.ts";

const policy = (nonce: string) =>
  `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; ` +
  "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

Deno.test("the page comes with a policy of its own, and its files for a year", async (t) => {
  await using running = await startConfiguredServer("");
  const { url } = running.server;
  const { send } = createConsoleClient(url);

  await t.step(
    "the root and the folder without its slash lead there, relative to a proxy's prefix",
    async () => {
      for (const path of ["/", "/console", "/?x=1"]) {
        const { status, headers } = await rawExchange(url, { path });
        assert.deepEqual([status, headers.get("location")?.trim()], [302, "console/"], path);
      }
      assert.equal((await rawExchange(url, { path: "/", method: "POST" })).status, 404);
    },
  );

  await t.step("each reply has a nonce of its own", async () => {
    const nonces = new Set<string>();
    for (let n = 0; n < 2; n++) {
      const { status, headers, text } = await send("");
      assert.equal(status, 200);
      const [, nonce = ""] = /'nonce-([^']{22,})'/.exec(headers.get("content-security-policy") ?? "") ?? [];
      nonces.add(nonce);
      assert.equal(headers.get("content-security-policy"), policy(nonce));
      assert.equal(text, pageFiles["page.html"].replaceAll("NONCE", nonce));
      assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
      assert.equal(headers.get("cache-control"), "no-store");
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("referrer-policy"), "no-referrer");
      assert.equal(headers.get("cross-origin-opener-policy"), "same-origin");
    }
    assert.equal(nonces.size, 2);
  });

  await t.step("files come as gzip where that is accepted", async () => {
    const { "page.html": _page, ...assets } = pageFiles;
    for (const [name, text] of Object.entries(assets)) {
      for (const [accepted, coding] of [["br, gzip", "gzip"], ["gzip;q=0, br", null], ["", null]] as const) {
        const reply = await rawExchange(url, {
          path: `/console/assets/${name}`,
          method: "HEAD",
          headers: accepted === "" ? {} : { "accept-encoding": accepted },
        });
        assert.equal(reply.status, 200);
        assert.equal(reply.headers.get("content-encoding")?.trim() ?? null, coding, accepted);
        assert.match(reply.headers.get("cache-control") ?? "", /public, max-age=31536000, immutable/);
        assert.equal(reply.headers.get("vary")?.trim(), "accept-encoding");
      }
      assert.equal((await send(`assets/${name}`)).text, text);
      assert.equal((await send(`assets/${name}`, { headers: { "accept-encoding": "identity" } })).text, text);
    }
    for (const name of ["page.html", "none.js", "../page_files.json", "", "constructor"]) {
      assert.equal((await send(`assets/${name}`)).status, 404, name);
    }
  });

  await t.step("what is not there and what is not for a path is refused with a sentence", async () => {
    const gone = await send("nothing");
    assert.deepEqual([gone.status, gone.json().error], [404, "There is nothing at this path."]);
    assert.equal((await send("constructor")).status, 404);
    const wrong = await send("calls", { method: "DELETE" });
    assert.deepEqual([wrong.status, wrong.headers.get("allow")], [405, "GET"]);
    assert.equal((await send("session", { method: "PUT" })).headers.get("allow"), "GET, POST, DELETE");
    // nobody logs in with OAuth here, and there are no pipelines
    for (const path of ["login", "callback", "v1/pipelines"]) {
      assert.equal((await send(path)).status, 404, path);
    }
  });

  await t.step("a foreign Host or Origin gets nothing", async () => {
    const host = await rawExchange(url, { path: "/console/session", headers: { host: "attacker.example" } });
    assert.equal(host.status, 403);
    assert.match(JSON.parse(host.text).error, /Host/);
    const origin = await send("session", { headers: { origin: "https://attacker.example" } });
    assert.equal(origin.status, 403);
    assert.match(origin.json().error, /Origin/);
  });
});

Deno.test("there is a console on a loopback address alone, unless the setting says otherwise", async () => {
  const pathsOf = async (url: string) =>
    await Promise.all(
      ["/", "/console", "/console/", "/console/session", "/console/mcp"].map(async (path) =>
        (await rawExchange(url, { path })).status
      ),
    );
  const off = [404, 404, 404, 404, 404];
  const flags = ["-http", "-no-auth", "-allow-insecure"];
  await using everywhere = await startServer([...flags, "-addr", "0.0.0.0:0"]);
  assert.deepEqual(await pathsOf(everywhere.url), off);
  await using switchedOff = await startServer([...flags, "-addr", "127.0.0.1:0"], {
    env: { POSTERN_CONSOLE_ENABLED: "false" },
  });
  assert.deepEqual(await pathsOf(switchedOff.url), off);
  await using switchedOn = await startServer([...flags, "-addr", "0.0.0.0:0"], {
    env: { POSTERN_CONSOLE_ENABLED: "true" },
  });
  assert.deepEqual(await pathsOf(switchedOn.url), [302, 302, 200, 200, 405]);
});
