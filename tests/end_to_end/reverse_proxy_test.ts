import assert from "node:assert/strict";
import { logIn, writeUsers } from "../support/accounts.ts";
import { createVendor } from "../llm/wire/vendors/vendor.ts";
import { createCertificateAuthority } from "../support/network/certificates.ts";
import { startReplicas } from "../support/replicas.ts";
import { createConfigFolder, databaseEntry } from "../support/configured_server.ts";
import { testWithPgvectorServer, testWithPostgres } from "../support/database.ts";
import { createHandbookDatabase, topicVector } from "../support/handbook_documents.ts";
import { startNginx } from "../support/network/nginx.ts";
import { configText, handbookPipeline, startRagServer } from "../support/rag_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { testWithPrograms } from "../support/programs.ts";

const page = await Deno.readTextFile(new URL("../../docs/reverse_proxies.md", import.meta.url));

/** The blocks of the page in a language. */
function blocksOf(language: string): string[] {
  return [...page.matchAll(/^```(\S+)\n([^]*?)^```$/gm)].flatMap(([, name, text]) =>
    name === language && text !== undefined ? [text] : []
  );
}

/** Each of what stands in a text must be there. */
function replaceAllOf(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    assert.ok(result.includes(from), `there is no ${from} in it`);
    return result.replaceAll(from, to);
  }, text);
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

testWithPrograms(
  ["nginx", "openssl"],
  "both servers behind nginx, with the file of the documentation",
  async (t) => {
    await using database = await createHandbookDatabase();
    await using folder = await createConfigFolder(
      `databases: [${databaseEntry("main", database.name)}]\n` +
        `audit: { file: audit.jsonl }\n` +
        `http: { allowed_hosts: [tools.example.com], client_ip: ` +
        `{ header: X-Forwarded-For, trusted_proxies: [127.0.0.1/32] } }\n`,
    );
    const { token } = await folder.addToken();
    await using tools = await startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);

    const gate = Promise.withResolvers<void>();
    await using openai = createVendor("openai", { embed: topicVector });
    await using anthropic = createVendor("anthropic", {
      answer: () => ["One, ", "two."],
      // the fifth piece of the stream is the second text
      beforePiece: (index) => index === 4 ? gate.promise : Promise.resolve(),
    });
    await using rag = await startRagServer(configText({
      server: { listen_address: "127.0.0.1", port: 0, allowed_hosts: ["rag.example.com"] },
      pipelines: [handbookPipeline("handbook", { database, openai, anthropic })],
    }));

    const authority = await createCertificateAuthority(folder.path, "authority");
    const { certFile, keyFile } = await authority.issue({
      commonName: "example.com",
      subjectAltNames: ["IP:127.0.0.1", "DNS:tools.example.com", "DNS:rag.example.com"],
    });
    const port = freePort();
    const [servers = ""] = blocksOf("nginx");
    await using proxy = await startNginx(
      folder.path,
      replaceAllOf(servers, {
        "127.0.0.1:8080": new URL(tools.url).host,
        "127.0.0.1:8081": new URL(rag.process.url).host,
        "443 ssl": `127.0.0.1:${port} ssl`,
        "/etc/ssl/certs/tools.example.com.pem": certFile,
        "/etc/ssl/private/tools.example.com.key": keyFile,
        "/etc/ssl/certs/rag.example.com.pem": certFile,
        "/etc/ssl/private/rag.example.com.key": keyFile,
      }),
    );
    using client = Deno.createHttpClient({
      caCerts: [await Deno.readTextFile(authority.certFile)],
      allowHost: true,
      localAddress: "127.0.0.9",
    });
    const send = (host: string, path: string, init: RequestInit = {}) =>
      fetch(`https://127.0.0.1:${port}${path}`, { ...init, headers: { ...init.headers, host }, client });
    const call = (headers: Record<string, string>, padding = 0) =>
      send("tools.example.com", "/mcp/v1", {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}`, ...headers },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: { name: "query_database", arguments: { query: "SELECT 42 AS answer" } },
        }) + " ".repeat(padding),
      });

    await t.step("a call is answered, also to a web page of the same origin", async () => {
      for (
        const headers of [{}, { origin: "https://tools.example.com" }, {
          accept: "application/json, text/event-stream",
        }]
      ) {
        const response = await call(headers);
        assert.equal(response.status, 200);
        assert.match(await response.text(), /\b42\b/);
      }
    });

    await t.step(
      "the audit trail has the client's address, whatever the client says that it is",
      async () => {
        const audited = async () =>
          (await Deno.readTextFile(`${folder.path}/audit.jsonl`)).trim().split("\n").map((line) =>
            JSON.parse(line)
          );
        const { length } = await audited();
        await (await call({ "x-forwarded-for": "203.0.113.7" })).body?.cancel();
        await waitUntil("the call is in the audit trail", async () => (await audited()).length > length);
        const addresses = (await audited()).filter(({ event }) => event === "tool_call").map(({ address }) =>
          address
        );
        assert.deepEqual(new Set(addresses), new Set(["127.0.0.9"]));
      },
    );

    await t.step("what is allowed of bodies is what the servers allow", async () => {
      const long = await call({}, 4_000_000);
      assert.equal(long.status, 200);
      await long.body?.cancel();
      const tooLong = await call({}, 4 * 1_048_576);
      assert.equal(tooLong.status, 413);
      await tooLong.body?.cancel();
    });

    await t.step("probes and the RAG server are there", async () => {
      for (
        const [host, path] of [["tools.example.com", "/ready"], ["rag.example.com", "/v1/pipelines"]] as const
      ) {
        const response = await send(host, path);
        assert.equal(response.status, 200, path);
        await response.body?.cancel();
      }
    });

    await t.step("a stream is not kept back", async () => {
      const response = await send("rag.example.com", "/v1/pipelines/handbook", {
        method: "POST",
        body: JSON.stringify({ query: "How many days of annual leave are there?", stream: true }),
      });
      assert.equal(response.status, 200);
      assert.ok(response.body);
      let text = "";
      for await (const part of response.body.pipeThrough(new TextDecoderStream())) {
        text += part;
        // the rest comes only once the first words are here
        if (text.includes("One, ")) gate.resolve();
      }
      assert.match(text, /One, [^]*two\.[^]*"done"/);
    });
    gate.resolve();
    assert.doesNotMatch(
      await proxy.errors(),
      /\[(?:warn|error|crit|alert|emerg)\](?!.*client intended to send)/,
    );
  },
  testWithPgvectorServer,
);

testWithPrograms(
  ["nginx"],
  "a session is good at all replicas that share their state, to which nginx leads with the page's upstream",
  async () => {
    await using folder = await createConfigFolder("{}");
    await writeUsers(folder, ["alice"]);
    const start = () => startServer(["-http", "-addr", "127.0.0.1:0", "-config", folder.configFile]);
    await using one = await start();
    await using other = await start();
    await using replicas = await startReplicas();
    const page = blocksOf("nginx").find((block) => block.includes("127.0.0.1:8082")) ?? "";
    const upstreamOf = (servers: readonly { url: string }[]) =>
      replaceAllOf(page, {
        "127.0.0.1:8080": new URL(servers[0]?.url ?? "").host,
        "127.0.0.1:8082": new URL(servers[1]?.url ?? "").host,
      });
    const statusesOf = async (text: string) => {
      const port = freePort();
      await using _proxy = await startNginx(
        await Deno.makeTempDir({ dir: folder.path }),
        `${text}\nserver { listen 127.0.0.1:${port}; location / { proxy_set_header Host $host; proxy_pass http://postern_tools; } }`,
      );
      const url = `http://127.0.0.1:${port}`;
      const token = (await logIn({ url }, "alice")).session.session_token;
      const statuses = new Set<number>();
      for (let call = 0; call < 6; call++) {
        const response = await fetch(`${url}/mcp/v1`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
          body: JSON.stringify({ jsonrpc: "2.0", id: call, method: "tools/list", params: {} }),
        });
        await response.body?.cancel();
        statuses.add(response.status);
      }
      return [...statuses].toSorted();
    };
    assert.deepEqual(await statusesOf(upstreamOf(replicas.servers)), [200]);
    assert.deepEqual(await statusesOf(upstreamOf([one, other])), [200, 401]);
  },
  testWithPostgres,
);

Deno.test("the server starts with each configuration of the page on reverse proxies", async () => {
  const configurations = blocksOf("yaml").filter((block) => block.includes("enabled: true"));
  assert.equal(configurations.length, 2);
  for (const text of configurations) {
    await using folder = await createConfigFolder(text);
    const { code, stderr } = await runProgram(["-config", folder.configFile, "-list-tokens"]);
    assert.deepEqual([code, stderr], [0, ""]);
  }
});
