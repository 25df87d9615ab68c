import { createServer, Socket } from "node:net";

/** A relay in front of PostgreSQL that counts what a client waits for. */
export interface CountingRelay extends AsyncDisposable {
  readonly port: number;
  /** Round trips so far: Sync and Query messages, each of which has an answer of its own. */
  roundTrips(): number;
}

/** Reads the frontend messages of PostgreSQL's protocol, version 3.0, without TLS. */
export async function startCountingRelay(target: URL): Promise<CountingRelay> {
  const sockets = new Set<Socket>();
  let count = 0;
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((client) => {
    const upstream = track(new Socket().connect(Number(target.port || "5432"), target.hostname));
    track(client).on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
    upstream.pipe(client);
    let rest = new Uint8Array();
    // the first message has no type
    let typeBytes = 0;
    client.on("data", (chunk: Uint8Array) => {
      upstream.write(chunk);
      rest = Uint8Array.from([...rest, ...chunk]);
      while (rest.length >= typeBytes + 4) {
        const end = typeBytes + new DataView(rest.buffer).getUint32(typeBytes);
        if (rest.length < end) break;
        if (typeBytes === 1 && "SQ".includes(String.fromCharCode(rest[0] ?? 0))) count++;
        rest = rest.slice(end);
        typeBytes = 1;
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return {
    port: address.port,
    roundTrips: () => count,
    [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      return Promise.resolve();
    },
  };
}
