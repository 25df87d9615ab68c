/** A connection on which a test writes HTTP itself. */
export interface RawConnection extends Disposable {
  send(text: string): Promise<void>;
  /** Reads on until what came so far holds `end`, or to the connection's end. */
  readUntil(end: string): Promise<string>;
  /** What comes until the server closes the connection, or resets it. */
  readToEnd(): Promise<string>;
}

/** `connection` is a new one to the server, or is made from its URL, without TLS. */
export async function openRawConnection(server: string | Deno.Conn): Promise<RawConnection> {
  const connection = typeof server === "string" ? await connectTo(server) : server;
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(4096);

  async function read(isEnough: (text: string) => boolean): Promise<string> {
    let text = "";
    while (!isEnough(text)) {
      const length = await connection.read(buffer).catch(() => null);
      if (length === null) break;
      text += decoder.decode(buffer.subarray(0, length), { stream: true });
    }
    return text;
  }

  return {
    async send(text) {
      await connection.write(new TextEncoder().encode(text));
    },
    readUntil: (end) => read((text) => text.includes(end)),
    readToEnd: () => read(() => false),
    [Symbol.dispose]: () => connection.close(),
  };
}

function connectTo(url: string): Promise<Deno.TcpConn> {
  const { hostname, port } = new URL(url);
  return Deno.connect({ hostname, port: Number(port) });
}
