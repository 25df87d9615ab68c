import { createServer, Socket } from "node:net";
import { waitUntil } from "../wait_until.ts";

/** A relay in front of a server that takes its time, as a long way and TLS do. */
export interface SlowRelay extends AsyncDisposable {
  readonly port: number;
}

/**
 * `connectMs` is what each new connection takes. `requestMs` is what all that the client sends on the first connection
 * takes more.
 */
export async function startSlowRelay(
  target: URL,
  { connectMs = 0, requestMs = 0 }: { connectMs?: number; requestMs?: number },
): Promise<SlowRelay> {
  const clients = new Set<Socket>();
  let accepted = 0;
  const server = createServer((client) => {
    const sendMs = accepted++ === 0 ? requestMs : 0;
    clients.add(client);
    client.on("error", () => {});
    const timer = setTimeout(() => {
      const upstream = new Socket().connect(Number(target.port || "5432"), target.hostname);
      upstream.on("error", () => {});
      client.on("data", (chunk) => void setTimeout(() => upstream.write(chunk), sendMs));
      client.on("end", () => void setTimeout(() => upstream.end(), sendMs));
      upstream.pipe(client);
      upstream.on("close", () => client.destroy());
      client.on("close", () => void setTimeout(() => upstream.destroy(), sendMs));
    }, connectMs);
    client.on("close", () => {
      clearTimeout(timer);
      clients.delete(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return {
    port: address.port,
    async [Symbol.asyncDispose]() {
      server.close();
      await waitUntil("the relay's connections are closed", () => clients.size === 0);
      // what is still on its way
      await new Promise((resolve) => setTimeout(resolve, requestMs));
    },
  };
}
