import { Buffer } from "node:buffer";
import { createServer, type Server, Socket } from "node:net";

/**
 * A relay in front of a server that tells clients other process ids than the server's, as poolers do. Requests to cancel
 * name one of those, and so reach nothing: a statement that waits is one that cannot be stopped.
 */
export interface PoolerProxy extends AsyncDisposable {
  readonly port: number;
  /** Connections that are open now. */
  open(): number;
  /** Closes the connection that was opened first, of those that are open. */
  cutFirst(): void;
}

export async function startPoolerProxy(target: { host: string; port: number }): Promise<PoolerProxy> {
  const clients = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = new Socket().connect(target.port, target.host);
    for (const socket of [client, upstream]) socket.on("error", () => {});
    clients.add(client);
    client.pipe(upstream);
    upstream.on(
      "data",
      (chunk) => client.write(typeof chunk === "string" ? chunk : withOtherProcessId(chunk)),
    );
    upstream.on("close", () => client.destroy());
    client.on("close", () => {
      clients.delete(client);
      upstream.destroy();
    });
  });
  const port = await listen(server);
  return {
    port,
    open: () => clients.size,
    cutFirst: () => void [...clients][0]?.destroy(),
    async [Symbol.asyncDispose]() {
      server.close();
      const closed = [...clients].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
      for (const socket of clients) socket.destroy();
      await Promise.all(closed);
    },
  };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

const backendKeyData = Buffer.from([0x4b, 0, 0, 0, 12]);

function withOtherProcessId(chunk: Buffer): Buffer {
  const at = chunk.indexOf(backendKeyData);
  if (at === -1) return chunk;
  const changed = Buffer.from(chunk);
  const processId = changed.readInt32BE(at + 5);
  changed.writeInt32BE(processId + 1_000_000_000, at + 5);
  return changed;
}
