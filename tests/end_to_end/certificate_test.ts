import assert from "node:assert/strict";
import { connect, type TLSSocket } from "node:tls";
import { createCertificateAuthority } from "../support/network/certificates.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { startServer } from "../support/server_process.ts";
import { waitUntil } from "../support/wait_until.ts";
import { testWithPrograms } from "../support/programs.ts";

const config = (part: "http" | "server", port: number) =>
  part === "http"
    ? `http: { enabled: true, address: "127.0.0.1:${port}", tls: { enabled: true, cert_file: server.crt, key_file: server.key } }\ndatabases: []\n`
    : `server: { listen_address: 127.0.0.1, port: ${port}, tls: { enabled: true, cert_file: server.crt, key_file: server.key } }\n`;

interface Connection {
  readonly serial: string;
  send(text: string): void;
  received(): string;
  /** Sends a request and waits for its whole reply. */
  ask(path: string): Promise<void>;
  close(): void;
}

/** One connection that stays open. */
async function open(port: number, ca: string): Promise<Connection> {
  const socket: TLSSocket = connect({ host: "127.0.0.1", port, ca, servername: "localhost" });
  let received = "";
  let failed: Error | undefined;
  socket.on("data", (bytes) => received += bytes);
  await new Promise<void>((resolve, reject) => socket.on("error", reject).on("secureConnect", resolve));
  socket.on("error", (error) => failed = error);
  const { serialNumber } = socket.getPeerCertificate();
  return {
    serial: serialNumber,
    send: (text) => void socket.write(text),
    received: () => received,
    async ask(path) {
      received = "";
      socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
      await waitUntil(
        `a reply to ${path} (${failed?.message})`,
        () => /^HTTP\/1.1 200 [^]*\}$/.test(received),
      );
    },
    close: () => socket.destroy(),
  };
}

for (const part of ["http", "server"] as const) {
  testWithPrograms(
    ["openssl"],
    `${part}.tls: a new certificate serves new connections, and those that are open go on`,
    async () => {
      await using folder = await createConfigFolder(config(part, 0));
      const authority = await createCertificateAuthority(folder.path, "root");
      const ca = await Deno.readTextFile(authority.certFile);
      const pairs = await Promise.all(["one", "two"].map(async (commonName) => {
        const files = await authority.issue({
          commonName,
          subjectAltNames: ["DNS:localhost", "IP:127.0.0.1"],
        });
        return { cert: await Deno.readTextFile(files.certFile), key: await Deno.readTextFile(files.keyFile) };
      }));
      const put = async (name: string, text = "") => {
        await Deno.writeTextFile(`${folder.path}/new`, text);
        await Deno.rename(`${folder.path}/new`, `${folder.path}/${name}`);
      };
      await put("server.crt", pairs[0]?.cert);
      await put("server.key", pairs[0]?.key);
      await using server = await startServer([
        part === "http" ? "-http" : "-rag",
        "-config",
        folder.configFile,
      ]);
      const port = Number(new URL(server.url).port);
      const health = part === "http" ? "/health" : "/v1/openapi.json";
      const count = (text: string) => server.stderr().split(text).length - 1;

      const idle = await open(port, ca);
      await idle.ask(health);
      const half = await open(port, ca);
      half.send(`POST /nowhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nab`);

      // the pair is not one as long as the key is the old one
      await put("server.crt", pairs[1]?.cert);
      await waitUntil("the mismatch is logged", () => count("Failed to reload the certificate") === 1);
      assert.match(
        server.stderr(),
        /server\.crt and \S+server\.key; the current one stays in force.*the key belongs to another certificate/,
      );
      const between = await open(port, ca);
      between.close();
      await put("server.key", pairs[1]?.key);
      await waitUntil("the new pair is in force", () => count("Reloaded the certificate") === 1);
      const fresh = await open(port, ca);
      await fresh.ask(health);
      await idle.ask(health);
      half.send("cd");
      await waitUntil("the request under way is answered", () => /^HTTP\/1.1 4\d\d /.test(half.received()));
      if (idle.serial !== undefined) {
        assert.equal(between.serial, idle.serial);
        assert.notEqual(fresh.serial, idle.serial);
      }

      // half of a file, and no file
      await put("server.crt", pairs[0]?.cert.slice(0, 300));
      await waitUntil(
        "the cut is logged",
        () => /a certificate in it is cut off or damaged/.test(server.stderr()),
      );
      await Deno.remove(`${folder.path}/server.crt`);
      await waitUntil("the loss is logged", () => /server\.crt: there is no such file/.test(server.stderr()));
      await idle.ask(health);

      // who connects meanwhile gets through, but for one who is just then at the door (docs/operations.md)
      let connected = 0;
      let brokenOff = 0;
      let goOn = true;
      const clients = Array.from({ length: 3 }, async () => {
        while (goOn) {
          const client = await open(port, ca).catch(() => undefined);
          if (client === undefined) {
            brokenOff++;
            continue;
          }
          await client.ask(health);
          client.close();
          connected++;
        }
      });
      for (let round = 0; round < 6; round++) {
        const before = count("Reloaded the certificate");
        await put("server.key", pairs[round % 2]?.key);
        await put("server.crt", pairs[round % 2]?.cert);
        await waitUntil("the pair is in force", () => count("Reloaded the certificate") > before);
      }
      goOn = false;
      await Promise.all(clients);
      assert.ok(connected > 6);
      assert.ok(brokenOff <= 6, `${brokenOff} connections broken off in 6 changes`);
      await idle.ask(health);
      idle.close();
      half.close();
      fresh.close();
      assert.equal(await server.stop(), 0);
    },
  );
}

testWithPrograms(["openssl"], "a port that another server has is taken, with TLS too", async () => {
  await using folder = await createConfigFolder(config("http", 0));
  const authority = await createCertificateAuthority(folder.path, "root");
  const files = await authority.issue({ commonName: "server", subjectAltNames: ["DNS:localhost"] });
  assert.equal(files.certFile, `${folder.path}/server.crt`);
  await using first = await startServer(["-http", "-config", folder.configFile]);
  await folder.write(config("http", Number(new URL(first.url).port)));
  await assert.rejects(startServer(["-http", "-config", folder.configFile]), /the address is in use/);
});
