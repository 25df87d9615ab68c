import { createServer, type Server, Socket } from "node:net";

/** A relay in front of a server, to be cut and mended. */
export interface SeverableProxy extends AsyncDisposable {
  readonly port: number;
  /** Refuses new connections and resets those that are open. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** From now on, takes connections and never answers. */
  goSilent(): void;
  /** How many connections were made so far. */
  accepted(): number;
}

export async function startSeverableProxy(target: { host: string; port: number }): Promise<SeverableProxy> {
  const sockets = new Set<Socket>();
  let server: Server | undefined;
  let port = 0;
  let isSilent = false;
  let accepted = 0;

  const serve = (client: Socket) => {
    accepted++;
    track(client);
    if (isSilent) return;
    const upstream = track(new Socket().connect(target.port, target.host));
    client.pipe(upstream);
    upstream.pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  };
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const start = async () => {
    const listening = createServer(serve);
    await new Promise<void>((resolve) => listening.listen(port, "127.0.0.1", resolve));
    const address = listening.address();
    if (address === null || typeof address === "string") throw new Error("no port is free");
    port = address.port;
    server = listening;
  };
  const stop = async () => {
    // Deno 2.4 miscounts a server's connections, so the server's own word that all are closed may never come
    server?.close();
    server = undefined;
    const closed = [...sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    for (const socket of sockets) socket.destroy();
    await Promise.all(closed);
  };
  await start();
  return {
    get port() {
      return port;
    },
    start,
    stop,
    goSilent: () => void (isSilent = true),
    accepted: () => accepted,
    [Symbol.asyncDispose]: stop,
  };
}
