import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import type { IngestOptions } from "../../../../src/rag_server/ingest/ingest.ts";
import { openWebSource, type WebSettings } from "../../../../src/rag_server/ingest/sources/web_source.ts";
import { testWithPgvector } from "../../../support/database.ts";
import { countsOf, createIngestFixture } from "../ingest_fixture.ts";

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

/** A web server whose replies a test sets by path; a list of them is used up to its last. */
function startWebServer() {
  const replies: Record<string, Reply | Reply[]> = {};
  const asked: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    const path = pathname + search;
    const given = replies[path] ?? { status: 404 };
    const reply = !Array.isArray(given) ? given : given.length > 1 ? given.shift() : given[0];
    const { status = 200, headers = {}, body = "" } = reply ?? {};
    const tag = headers["etag"];
    const isKnown = tag !== undefined && request.headers.get("if-none-match") === tag;
    asked.push(isKnown ? `${path} 304` : path);
    return isKnown ? new Response(null, { status: 304, headers }) : new Response(body, { status, headers });
  });
  const base = `http://127.0.0.1:${server.addr.port}`;
  return {
    base,
    replies,
    asked,
    page: (text: string, headers: Record<string, string> = {}): Reply => ({
      headers: { "content-type": "text/html; charset=utf-8", ...headers },
      body: `<title>Page</title><main><p>${text}</p></main>`,
    }),
    sitemap: (...paths: string[]): Reply => ({
      body: `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${
        paths.map((path) => `<url><loc>${path.startsWith("/") ? base + path : path}</loc></url>`).join("")
      }</urlset>`,
    }),
    settings: (changes: WebSettings = {}): Partial<IngestOptions> => {
      const remote = openWebSource({
        sitemap: `${base}/sitemap.xml`,
        delay: 0,
        private_hosts: ["127.0.0.1"],
        ...changes,
      });
      return { paths: [], configured: [{ name: "site", path: `${base}/sitemap.xml`, remote }] };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

Deno.test("pages are read as the encoding that the server names", async () => {
  await using site = startWebServer();
  const { base, replies } = site;
  const bytes = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const { signal } = new AbortController();
  const source = openWebSource({ pages: [`${base}/page`], delay: 0, private_hosts: ["127.0.0.1"] });
  for (
    const [charset, body, text] of [
      ["windows-1251", "\xd3\xf1\xf2\xe0\xe2", "Устав"],
      ["iso-8859-2", "Za\xbf\xf3\xb3\xe6", "Zażółć"],
      ["iso-2022-jp", "\u001b$B$3$l\u001b(B", "これ"],
      // many servers say so of all that they have
      ["iso-8859-1", "Za\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87", "Zażółć"],
      ["nonsense", "caf\xe9", "café"],
    ] as const
  ) {
    replies["/page"] = { headers: { "content-type": `text/html; charset="${charset}"` }, body: bytes(body) };
    const [page] = await source.list(signal);
    const read = await page?.read(undefined, 1_000, signal);
    assert.ok(typeof read === "object" && "bytes" in read, charset);
    assert.equal(new TextDecoder().decode(read.bytes), text, charset);
  }
});

testWithPgvector("a site's pages are ingested, and read again only where they have changed", async () => {
  await using fixture = await createIngestFixture();
  await using site = startWebServer();
  const { base, replies, page, sitemap } = site;
  replies["/robots.txt"] = { body: "User-agent: *\nDisallow: /private/\n" };
  replies["/sitemap.xml"] = {
    body: `<sitemapindex><sitemap><loc>${base}/one.xml.gz</loc></sitemap></sitemapindex>`,
  };
  const pages = [
    "/",
    "/a?x=1&amp;y=2",
    "/b",
    "/notes",
    "/logo",
    "/old",
    "/private/x",
    "https://other.example/",
  ];
  replies["/one.xml.gz"] = { body: gzipSync(String(sitemap(...pages).body)) };
  replies["/"] = page("The start of everything.", { etag: '"1"' });
  replies["/a?x=1&y=2"] = page("Thirty days of leave.");
  replies["/old"] = { status: 301, headers: { location: "/b2" } };
  replies["/b"] = replies["/b2"] = page("Parking is free.", { etag: '"b"' });
  replies["/notes"] = { headers: { "content-type": "text/plain" }, body: "Plain notes." };
  replies["/logo"] = { headers: { "content-type": "image/png" }, body: "PNG" };
  const source = site.settings();
  const first = await fixture.ingest(source);
  assert.deepEqual(countsOf(first), { added: 5, changed: 0, unchanged: 0, removed: 0, chunksWritten: 5 });
  assert.deepEqual(first.skipped, [
    { path: `${base}/private/x`, reason: "robots.txt asks not to read it" },
    { path: "https://other.example/", reason: "it is on another host" },
    { path: `${base}/logo`, reason: "its format is not read" },
  ]);
  // a source that is a web address is shown as the document's own
  assert.deepEqual(await fixture.column("SELECT DISTINCT source FROM docs ORDER BY 1"), [
    `${base}/`,
    `${base}/a?x=1&y=2`,
    `${base}/b`,
    `${base}/notes`,
    `${base}/old`,
  ]);
  assert.ok(!site.asked.includes("/private/x"));

  site.asked.length = 0;
  replies["/b"] = { status: 404 };
  replies["/a?x=1&y=2"] = page("Forty days of leave.");
  assert.deepEqual(countsOf(await fixture.ingest(source)), {
    added: 0,
    changed: 1,
    unchanged: 3,
    removed: 1,
    chunksWritten: 1,
  });
  assert.ok(site.asked.includes("/ 304") && site.asked.includes("/b2 304"));
});

testWithPgvector("a listing that fails removes no rows, and is told of", async (t) => {
  await using fixture = await createIngestFixture();
  await using site = startWebServer();
  const { base, replies, page, sitemap } = site;
  replies["/a"] = page("One page.");
  replies["/b"] = page("Another page.");
  replies["/sitemap.xml"] = sitemap("/a", "/b");
  assert.equal((await fixture.ingest(site.settings())).added, 2);
  const whole = String(sitemap("/a", "/b").body);
  const bomb = gzipSync(new Uint8Array(51 * 1024 * 1024));
  const cases: Record<string, [Reply, RegExp, WebSettings?]> = {
    "half of it": [{ body: whole.slice(0, whole.length / 2) }, /sitemap.xml is not whole/],
    "nothing in it": [sitemap(), /it has no files/],
    "an error": [{ status: 500, headers: { "retry-after": "0" } }, /sitemap.xml answers 500/],
    "a bomb": [{ body: bomb }, /unpacks to more than 50 MiB/],
    "one of several is missing": [{
      body: `<sitemapindex><sitemap><loc>${base}/gone.xml</loc></sitemap></sitemapindex>`,
    }, /gone.xml answers 404/],
    "one of several is elsewhere": [{
      body: `<sitemapindex><sitemap><loc>http://169.254.169.254/s.xml</loc></sitemap></sitemapindex>`,
    }, /it leads to http:\/\/169\.254\.169\.254/],
    "too many": [sitemap("/a", "/b", "/c"), /lists more than 2 pages; raise max_pages/, { max_pages: 2 }],
    "a private address": [sitemap("/a"), /has a private address; name it in private_hosts/, {
      private_hosts: ["localhost"],
    }],
  };
  for (const [name, [reply, reason, settings]] of Object.entries(cases)) {
    await t.step(name, async () => {
      replies["/sitemap.xml"] = reply;
      const { removed, refusals } = await fixture.ingest(site.settings(settings));
      assert.equal(removed, 0);
      assert.match(refusals.join(), /^Cannot ingest source "site" \(http:/);
      assert.match(refusals.join(), reason);
    });
  }
  await t.step("robots.txt does not answer", async () => {
    replies["/sitemap.xml"] = sitemap("/a");
    replies["/robots.txt"] = { status: 503, headers: { "retry-after": "0" } };
    assert.match((await fixture.ingest(site.settings())).refusals.join(), /robots.txt answers 503/);
  });
  assert.equal(await fixture.value("SELECT count(*) FROM docs"), "2");
});

testWithPgvector("a page that cannot be read keeps its rows; a busy server is asked again", async () => {
  await using fixture = await createIngestFixture();
  await using site = startWebServer();
  const { replies, page, sitemap } = site;
  const paths = ["/busy", "/down", "/metadata", "/elsewhere", "/loop", "/large"];
  for (const path of paths) replies[path] = page(`The page ${path}.`);
  replies["/sitemap.xml"] = sitemap(...paths);
  assert.equal((await fixture.ingest(site.settings())).added, 6);
  const again = { "retry-after": "0" };
  replies["/busy"] = [
    { status: 429, headers: again },
    { status: 503, headers: again },
    page("It was busy."),
  ];
  replies["/down"] = { status: 503, headers: again };
  replies["/metadata"] = { status: 302, headers: { location: "http://169.254.169.254/latest/meta-data" } };
  replies["/elsewhere"] = { status: 302, headers: { location: "ftp://127.0.0.1/x" } };
  replies["/loop"] = { status: 302, headers: { location: "/loop" } };
  replies["/large"] = page("x".repeat(200_000));
  site.asked.length = 0;
  const { changed, removed, failed, skipped } = await fixture.ingest({
    ...site.settings(),
    maxFileBytes: 100_000,
  });
  assert.deepEqual([changed, removed], [1, 1]);
  assert.deepEqual(failed.map(({ path, reason }) => [new URL(path).pathname, reason]), [
    ["/down", "the server answers 503"],
    ["/elsewhere", "it leads to ftp://127.0.0.1/x, which is not of the sitemap's or the pages' hosts"],
    ["/loop", "it leads from one address to the next"],
    [
      "/metadata",
      "it leads to http://169.254.169.254/latest/meta-data, which is not of the sitemap's or the pages' hosts",
    ],
  ]);
  assert.match(skipped[0]?.reason ?? "", /more than/);
  assert.equal(site.asked.filter((path) => path === "/busy").length, 3);
});
