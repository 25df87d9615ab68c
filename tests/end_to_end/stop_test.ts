import assert from "node:assert/strict";
import { createCertificateAuthority } from "../support/network/certificates.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { openRawConnection, type RawConnection } from "../support/network/raw_connection.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { testWithPrograms } from "../support/programs.ts";

/** What the log says of a stop that had to wait to its end. */
const cutOff = /cut off/;

interface Running {
  readonly server: ServerProcess;
  readonly alive: string;
  connect(): Promise<RawConnection>;
}

async function withServer(
  kind: "http" | "https" | "rag",
  test: (running: Running) => Promise<void>,
  databases: readonly string[] = [],
): Promise<void> {
  await using folder = await createConfigFolder(
    `databases: [${databases.join()}]\nserver: { listen_address: 127.0.0.1, port: 0 }\n`,
  );
  const flags = kind === "rag" ? ["-rag"] : ["-http", "-addr", "127.0.0.1:0", "-no-auth"];
  let ca: string | undefined;
  if (kind === "https") {
    const authority = await createCertificateAuthority(folder.path, "authority");
    const { certFile, keyFile } = await authority.issue({
      commonName: "localhost",
      subjectAltNames: ["DNS:localhost", "IP:127.0.0.1"],
    });
    flags.push("-tls", "-cert", certFile, "-key", keyFile);
    ca = await Deno.readTextFile(authority.certFile);
  }
  await using server = await startServer([...flags, "-config", folder.configFile]);
  const port = Number(new URL(server.url).port);
  await test({
    server,
    alive: kind === "rag" ? "/v1/live" : "/health",
    connect: async () =>
      await openRawConnection(
        ca === undefined ? server.url : await Deno.connectTls({
          hostname: "localhost",
          port,
          caCerts: [ca],
          alpnProtocols: ["http/1.1"],
        }),
      ),
  });
}

/** A request that waits for the database. */
const ask = () => {
  const params = { name: "query_database", arguments: { query: "SELECT 1" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return "POST /mcp/v1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
};
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

for (const kind of ["http", "https", "rag"] as const) {
  testWithPrograms(
    kind === "https" ? ["openssl"] : [],
    `${kind}: a stop waits for no connection without a request`,
    () =>
      withServer(kind, async ({ server, alive, connect }) => {
        using silent = await connect();
        // of HTTPS, one that has not begun with TLS either
        using bare = await openRawConnection(server.url);
        using begun = await connect();
        await begun.send("GET /v1/l");
        using idle = await connect();
        await idle.send(get(alive));
        await idle.readUntil('"ok"');

        assert.equal(await server.stop(), 0);
        assert.doesNotMatch(server.stderr(), cutOff);
        for (const connection of [silent, bare, begun, idle]) await connection.readToEnd();
      }),
  );
}

Deno.test("a stop has a request under way answered, whatever else is open", async () => {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const entry = `{ name: slow, host: 127.0.0.1, port: ${database.addr.port}, database: d, user: u }`;
  await withServer("http", async ({ server, connect }) => {
    // the start looks at the database too
    (await database.accept()).close();
    using silent = await connect();
    using begun = await connect();
    await begun.send("GET /health HTTP/1.1\r\n");
    using asking = await connect();
    await asking.send(ask());
    const asked = await database.accept();

    const stopped = server.stop();
    await waitUntil("no connection is taken any more", async () => !await isTaken(server.url));
    asked.close();
    assert.match(
      await asking.readToEnd(),
      /^HTTP\/1\.1 200 [^]*\r\n\r\n\{"jsonrpc":"2.0",[^]*Cannot reach database[^]*\}$/,
    );
    assert.equal(await stopped, 0);
    assert.doesNotMatch(server.stderr(), cutOff);
    for (const connection of [silent, begun]) assert.equal(await connection.readToEnd(), "");
  }, [entry]);
});

Deno.test("two servers in one process stop at the same time", async () => {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using folder = await createConfigFolder(
    `databases: [{ name: slow, host: 127.0.0.1, port: ${database.addr.port}, database: d, user: u }]\n` +
      "server: { listen_address: 127.0.0.1, port: 0 }\n",
  );
  await using server = await startServer(
    ["-rag", "-http", "-addr", "127.0.0.1:0", "-no-auth", "-config", folder.configFile],
  );
  (await database.accept()).close();
  const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
  await waitUntil("both listen", () => urls().length === 2);
  const [rag = "", tools = ""] = urls();
  using asking = await openRawConnection(tools);
  await asking.send(ask());
  const asked = await database.accept();
  let isAnswered = false;
  const answer = asking.readToEnd().finally(() => isAnswered = true);

  const stopped = server.stop();
  await waitUntil("neither takes connections any more", async () => {
    const taken = await Promise.all([rag, tools].map(isTaken));
    return !taken.includes(true);
  });
  assert.equal(isAnswered, false);
  asked.close();
  assert.match(await answer, /^HTTP\/1\.1 200 [^]*Cannot reach database[^]*\}$/);
  assert.equal(await stopped, 0);
});

async function isTaken(url: string): Promise<boolean> {
  try {
    using _connection = await openRawConnection(url);
    return true;
  } catch {
    return false;
  }
}
