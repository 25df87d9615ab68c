import { Agent, createServer, request as openRequest } from "node:http";

/** A balancer without stickiness: each request goes to the next server. */
export interface RoundRobin extends AsyncDisposable {
  readonly url: string;
  /** Sends requests to these from now on, in turn. */
  to(urls: readonly string[]): void;
}

export async function startRoundRobin(port = 0): Promise<RoundRobin> {
  let servers: readonly URL[] = [];
  let count = 0;
  const agent = new Agent({ keepAlive: false });
  const proxy = createServer((incoming, outgoing) => {
    const target = servers[count++ % servers.length];
    if (target === undefined) return void outgoing.writeHead(502).end();
    const { method, url: path, headers } = incoming;
    const forwarded = openRequest(
      { agent, host: target.hostname, port: target.port, method, path, headers },
      (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.rawHeaders);
        reply.pipe(outgoing);
      },
    );
    forwarded.on("error", () => outgoing.destroy());
    outgoing.on("close", () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(port, "127.0.0.1", resolve));
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return {
    url: `http://127.0.0.1:${address.port}`,
    to(urls) {
      servers = urls.map((url) => new URL(url));
      count = 0;
    },
    async [Symbol.asyncDispose]() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
