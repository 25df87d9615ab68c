import assert from "node:assert/strict";
import {
  createClientDocuments,
  createRedirectRule,
  isDocumentAddress,
} from "../../../src/identity/authorization_server/client_metadata.ts";
import { fetchPublicDocument, type PublicDocumentOptions } from "../../../src/http/public_document.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";
import { testWithPrograms } from "../../support/programs.ts";

const isAllowed = createRedirectRule({
  allowed: ["http://127.0.0.1/callback", "https://app.example/callback"],
  issuer: "https://mcp.example",
  origins: ["https://web.example"],
});

Deno.test("createRedirectRule() takes exact addresses, and any port of loopback", () => {
  for (
    const uri of [
      "http://127.0.0.1/callback",
      "http://127.0.0.1:4711/callback",
      "https://app.example/callback",
      "https://mcp.example/oauth/callback",
      "https://web.example/oauth/callback",
    ]
  ) assert.equal(isAllowed(uri), true, uri);
  for (
    const uri of [
      "http://127.0.0.1:4711/callback?x=1",
      "http://127.0.0.1:4711/callback/",
      "http://localhost:4711/callback",
      "http://127.0.0.1:4711@evil.example/callback",
      "https://app.example:444/callback",
      "https://app.example/callback#x",
      "HTTPS://app.example/callback",
      "https://app.example.evil.example/callback",
      "",
    ]
  ) assert.equal(isAllowed(uri), false, uri);
});

Deno.test("isDocumentAddress() takes one way to write an https address with a path", () => {
  assert.equal(isDocumentAddress("https://app.example/client.json"), true);
  for (
    const id of [
      "http://app.example/client.json",
      "https://app.example",
      "https://app.example/a/../client.json",
      "https://app.example/%2e%2e/client.json",
      "https://user@app.example/client.json",
      "https://app.example/client.json?x",
      "https://app.example/client.json#x",
      "https://APP.example/client.json",
      "https://app.example:443/client.json",
      "client",
    ]
  ) assert.equal(isDocumentAddress(id), false, id);
});

/** Of whoever asks. */
const address = "192.0.2.1";

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  body?: string;
}

/** An https server on loopback, under a name that only this test resolves. */
async function startDocumentServer(answer: (path: string) => Reply) {
  const folder = await temporaryFolder();
  const authority = await createCertificateAuthority(folder.path, "authority");
  const files = await authority.issue({ commonName: "app.example", subjectAltNames: ["DNS:app.example"] });
  const paths = [files.certFile, files.keyFile, authority.certFile];
  const [cert, key, ca] = await Promise.all(paths.map((path) => Deno.readTextFile(path)));
  const asked: string[] = [];
  const server = Deno.serve({
    hostname: "127.0.0.1",
    port: 0,
    cert: cert ?? "",
    key: key ?? "",
    onListen: () => {},
  }, (request) => {
    const { pathname } = new URL(request.url);
    asked.push(pathname);
    const { status = 200, headers = {}, body = "" } = answer(pathname);
    return new Response(body, { status, headers });
  });
  const options: PublicDocumentOptions = {
    isAllowed: () => true,
    resolve: () => Promise.resolve(["127.0.0.1"]),
    caCerts: [ca ?? ""],
  };
  return {
    base: `https://app.example:${server.addr.port}`,
    asked,
    options,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await folder[Symbol.asyncDispose]();
    },
  };
}

testWithPrograms(
  ["openssl"],
  "a client's document is fetched once, read and kept; what is not one is refused",
  async (t) => {
    const replies: Record<string, Reply> = {};
    await using server = await startDocumentServer((path) => replies[path] ?? { status: 404 });
    const documentsWith = (options: PublicDocumentOptions) =>
      createClientDocuments({
        isAllowed,
        fetch: (url, maxBytes, signal) => fetchPublicDocument(url, maxBytes, signal, options),
      });
    using documents = documentsWith(server.options);
    const put = (path: string, fields: Record<string, unknown>, headers = {}) => {
      const id = server.base + path;
      replies[path] = { headers, body: JSON.stringify({ client_id: id, ...fields }) };
      return id;
    };

    await t.step("what it says is kept as far as it is used", async () => {
      const id = put("/client.json", {
        client_name: "App",
        redirect_uris: ["https://app.example/callback", "https://elsewhere.example/callback"],
        logo_uri: "https://tracker.example/pixel",
        scope: "everything",
      });
      const expected = {
        client_id: id,
        client_name: "App",
        redirect_uris: ["https://app.example/callback"],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        application_type: "native",
        token_endpoint_auth_method: "none",
      };
      assert.deepEqual(await Promise.all([documents.find(id, address), documents.find(id, address)]), [
        expected,
        expected,
      ]);
      assert.deepEqual(await documents.find(id, address), expected);
      assert.deepEqual(server.asked, ["/client.json"]);
    });

    await t.step("refused", async () => {
      const uris = { redirect_uris: ["https://app.example/callback"] };
      const refused: readonly (readonly [string, RegExp])[] = [
        [
          put("/other.json", { ...uris, client_id: "https://other.example/x" }),
          /client_id: expected the document's own/,
        ],
        [put("/secret.json", { ...uris, client_secret: "x" }), /client_secret: expected none/],
        [put("/method.json", { ...uris, token_endpoint_auth_method: "client_secret_post" }), /expected none/],
        [put("/uris.json", { redirect_uris: ["https://evil.example/"] }), /redirect_uris: .* is not allowed/],
        [put("/large.json", { ...uris, padding: "x".repeat(6_000) }), /larger than 5120 bytes/],
        [`${server.base}/missing.json`, /did not answer with status 200/],
      ];
      replies["/text.json"] = { body: "not JSON" };
      replies["/moved.json"] = { status: 302, headers: { location: `${server.base}/client.json` } };
      for (
        const [id, reason] of [...refused, [`${server.base}/text.json`, /no JSON/], [
          `${server.base}/moved.json`,
          /status 200/,
        ]] as const
      ) {
        await assert.rejects(documents.find(id, address), reason, id);
      }
      assert.equal(server.asked.filter((path) => path === "/client.json").length, 1);
    });

    await t.step("an address that is not public is never connected to", async () => {
      const before = server.asked.length;
      const { isAllowed: _any, ...guarded } = server.options;
      using careful = documentsWith(guarded);
      await assert.rejects(careful.find(`${server.base}/client.json`, address), /not on the public internet/);
      using mixed = documentsWith({ ...guarded, resolve: () => Promise.resolve(["1.1.1.1", "10.0.0.1"]) });
      await assert.rejects(mixed.find(`${server.base}/client.json`, address), /not on the public internet/);
      using literal = createClientDocuments({ isAllowed });
      for (const host of ["127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:10.0.0.1]"]) {
        await assert.rejects(
          literal.find(`https://${host}/client.json`, address),
          /not on the public internet/,
        );
      }
      assert.equal(server.asked.length, before);
    });

    await t.step("a certificate of somebody else is refused", async () => {
      const { caCerts: _own, ...strict } = server.options;
      using documents = documentsWith(strict);
      await assert.rejects(documents.find(`${server.base}/client.json`, address), /Cannot read/);
    });
  },
);

Deno.test("one address has a few documents fetched at once, and so many an hour; others go on", async () => {
  const waiting: (() => void)[] = [];
  let elapsed = 0;
  using documents = createClientDocuments({
    isAllowed,
    elapsedMs: () => elapsed,
    fetch: ({ href }) =>
      new Promise((resolve) =>
        waiting.push(() =>
          resolve({
            text: JSON.stringify({ client_id: href, redirect_uris: ["https://app.example/callback"] }),
            maxAgeSeconds: undefined,
          })
        )
      ),
  });
  let count = 0;
  const ask = (of: string) => documents.find(`https://app.example/${++count}`, of);
  const tooMany = { code: "overloaded" };
  async function fetchAll(found: readonly Promise<unknown>[]): Promise<void> {
    for (const answer of waiting.splice(0)) answer();
    await Promise.all(found);
  }

  const own = [1, 2, 3, 4].map(() => ask(address));
  await assert.rejects(ask(address), tooMany);
  const others = [2, 3, 4, 5, 6, 7, 8].flatMap((last) => [1, 2, 3, 4].map(() => ask(`192.0.2.${last}`)));
  await assert.rejects(ask("192.0.2.9"), tooMany);
  assert.equal(waiting.length, 32);
  await fetchAll([...own, ...others]);

  for (let fetched = 4; fetched < 300; fetched += 4) await fetchAll([1, 2, 3, 4].map(() => ask(address)));
  await assert.rejects(ask(address), tooMany);
  await fetchAll([ask("192.0.2.9")]);
  // what is there is no fetch
  await documents.find(`https://app.example/${count}`, address);
  elapsed += 3_600_000;
  await fetchAll([ask(address)]);
});
