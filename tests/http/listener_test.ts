import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { startListener } from "../../src/http/listener.ts";
import { createCertificateAuthority } from "../support/network/certificates.ts";
import { testWithPrograms } from "../support/programs.ts";

testWithPrograms(
  ["openssl"],
  "a certificate is replaced while connections keep coming: none of them is broken off",
  async () => {
    const folder = await Deno.makeTempDir();
    const authority = await createCertificateAuthority(folder, "root");
    const files = await authority.issue({ commonName: "server", subjectAltNames: ["DNS:localhost"] });
    const tls = {
      cert: await Deno.readTextFile(files.certFile),
      key: await Deno.readTextFile(files.keyFile),
    };
    const listener = startListener({
      address: { host: "127.0.0.1", port: 0 },
      tls,
      handle: () => new Response(),
      logger: silentLogger,
    });
    const connections: Deno.Conn[] = [];
    let brokenOff = 0;
    async function connect(): Promise<void> {
      try {
        const connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.address.port });
        connections.push(connection);
        await connection.read(new Uint8Array(1));
      } catch (error) {
        if (error instanceof Deno.errors.ConnectionReset) brokenOff++;
      }
    }
    const clients: Promise<void>[] = [];
    const coming = setInterval(() => clients.push(connect(), connect()), 1);
    try {
      for (let round = 0; round < 3; round++) {
        const before = clients.length;
        while (clients.length < before + 20) await new Promise((resolve) => setTimeout(resolve, 1));
        await listener.replaceCertificate(tls);
      }
    } finally {
      clearInterval(coming);
      await new Promise((resolve) => setTimeout(resolve, 100));
      for (const connection of connections) connection.close();
      await Promise.all(clients);
      await listener.stop(5_000, () => {});
      await Deno.remove(folder, { recursive: true });
    }
    assert.equal(brokenOff, 0);
  },
);

Deno.test("clients that break off before they are accepted hold up nobody", async () => {
  const { listen } = Deno;
  let left = 10_000;
  // as the runtime says of a connection that was reset while it waited
  const broken = () => Object.assign(new Error("Transport endpoint is not connected"), { code: "ENOTCONN" });
  Object.defineProperty(Deno, "listen", {
    ...Object.getOwnPropertyDescriptor(Deno, "listen"),
    value: (options: Deno.TcpListenOptions) => {
      const listener = listen(options);
      const accept = listener.accept.bind(listener);
      listener.accept = () => left-- > 0 ? Promise.reject(broken()) : accept();
      return listener;
    },
  });
  try {
    const listener = startListener({
      address: { host: "127.0.0.1", port: 0 },
      handle: () => new Response("here"),
      logger: silentLogger,
    });
    // a pause for each of them would take a quarter of an hour
    const response = await fetch(listener.url, { signal: AbortSignal.timeout(20_000) });
    assert.equal(await response.text(), "here");
    assert.ok(left < 0);
    await listener.stop(5_000, () => {});
  } finally {
    Object.defineProperty(Deno, "listen", {
      ...Object.getOwnPropertyDescriptor(Deno, "listen"),
      value: listen,
    });
  }
});
