import assert from "node:assert/strict";
import { createCertificateAuthority } from "../support/network/certificates.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { openRawConnection, type RawConnection } from "../support/network/raw_connection.ts";
import { startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { testWithPrograms } from "../support/programs.ts";

const descriptors = 64;
/** More than the server may have open. */
const many = 70;

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
const post = (path: string) =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
const answer = /^HTTP\/1\.1 [^]*\}$/;

interface Target {
  /** A path that is answered at once. */
  readonly alive: string;
  readonly connect: () => Promise<RawConnection>;
}

/** What a client may do for ever. */
const hostile: Readonly<Record<string, (target: Target) => Promise<RawConnection>>> = {
  "is silent": ({ connect }) => connect(),
  async "does not end its headers"({ connect }) {
    const connection = await connect();
    await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ");
    return connection;
  },
  async "sends a header now and then"({ connect }) {
    const connection = await connect();
    await connection.send("GET /health HTTP/1.1\r\nHost: localhost\r\n");
    const timer = setInterval(() => connection.send("X-A: b\r\n").catch(() => clearInterval(timer)), 200);
    return { ...connection, [Symbol.dispose]: () => (clearInterval(timer), connection[Symbol.dispose]()) };
  },
  async "is idle after an answer"({ alive, connect }) {
    const connection = await connect();
    await connection.send(get(alive));
    return connection;
  },
  async "begins a second request"({ alive, connect }) {
    const connection = await connect();
    await connection.send(`${get(alive)}GET /health HTTP/1.1\r\n`);
    return connection;
  },
  async "does not end a body that nobody reads"({ connect }) {
    const connection = await connect();
    await connection.send(`${post("/nowhere")}Content-Length: 1000\r\n\r\n{`);
    return connection;
  },
};

testWithPrograms(["openssl"], "clients that hold connections leave room for others", async () => {
  // side by side, as most of it is waiting
  await Promise.all([leavesRoom("http"), leavesRoom("https")]);
});

async function leavesRoom(scheme: "http" | "https"): Promise<void> {
  using database = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  await using folder = await createConfigFolder("");
  const authority = await createCertificateAuthority(folder.path, "authority");
  const { certFile, keyFile } = await authority.issue({
    commonName: "localhost",
    subjectAltNames: ["DNS:localhost", "IP:127.0.0.1"],
  });
  const tls = scheme === "http"
    ? ""
    : `, tls: { enabled: true, cert_file: ${certFile}, key_file: ${keyFile} }`;
  await folder.write(
    `databases: [{ name: slow, host: 127.0.0.1, port: ${database.addr.port}, database: d, user: u }]\n` +
      `http: { enabled: true, address: "127.0.0.1:0"${tls}, auth: { enabled: false } }\n` +
      `server: { listen_address: 127.0.0.1, port: 0${tls} }\n`,
  );
  const started = startServer(["-rag", "-http", "-config", folder.configFile], { descriptors });
  // the start looks at the database
  (await database.accept()).close();
  await using server = await started;
  const urls = () => [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url = ""]) => url);
  await waitUntil("both listen", () => urls().length === 2);
  const caCerts = [await Deno.readTextFile(authority.certFile)];
  const targetAt = (url: string, alive: string): Target => ({
    alive,
    connect: async () => {
      if (scheme === "http") return await openRawConnection(url);
      const port = Number(new URL(url).port);
      const options = { hostname: "localhost", port, caCerts, alpnProtocols: ["http/1.1"] };
      return await openRawConnection(await Deno.connectTls(options));
    },
  });
  const [rag = "", tools = ""] = urls();
  const targets = {
    "tool server": targetAt(tools, "/health"),
    "RAG server": targetAt(rag, "/v1/live"),
  };

  // a request that is under way all the time
  using asking = await targets["tool server"].connect();
  await asking.send(get("/ready"));
  const asked = await database.accept();

  // the listeners are the same, but for TLS
  const name = scheme === "http" ? "tool server" : "RAG server";
  const target = targets[name];
  for (const [what, hold] of Object.entries(hostile)) {
    const which = `${name}: each ${what}`;
    const held: Disposable[] = [];
    const holding = (async () => {
      for (let n = 0; n < many; n++) {
        const connection = await hold(target).catch(() => undefined);
        if (connection !== undefined) held.push(connection);
      }
    })();
    await within(60_000, holding, which);
    const fresh = await within(60_000, askOnce(target), which);
    assert.match(fresh, answer, which);
    for (const connection of held) connection[Symbol.dispose]();
  }
  asked.close();
  assert.match(await asking.readUntil("}"), /^HTTP\/1\.1 503 [^]*\}$/);
  assert.equal(await server.stop(), 0);
}

async function askOnce({ alive, connect }: Target): Promise<string> {
  // the server may need this one's place too where clients are many
  for (;;) {
    using connection = await connect();
    await connection.send(get(alive));
    const text = await connection.readUntil("}");
    if (text !== "") return text;
  }
}

async function within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what}: took longer than ${ms} ms`)), ms);
  return await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
