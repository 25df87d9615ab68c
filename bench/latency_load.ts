import { encodeRequest } from "./http_load.ts";

export interface LatencyLoadOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly connections: number;
  /** Between an answer and the next request on a connection, so that the load leaves the server time to spare. */
  readonly pauseMs: number;
  /** Ends the load. */
  readonly signal: AbortSignal;
  /** Must occur in every reply. */
  readonly expect: string;
}

/** Sends one request over and over on keep-alive connections; how long each took, in milliseconds, in no order. */
export async function latencyLoad(options: LatencyLoadOptions): Promise<number[]> {
  const times = await Promise.all(Array.from({ length: options.connections }, () => drive(options)));
  return times.flat();
}

async function drive({ url, headers, body, pauseMs, signal, expect }: LatencyLoadOptions): Promise<number[]> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  connection.setNoDelay(true);
  const request = encodeRequest({ url, headers, body });
  const buffer = new Uint8Array(1 << 16);
  const times: number[] = [];
  while (!signal.aborted) {
    const started = performance.now();
    // it is shorter than what a socket takes at once
    await connection.write(request);
    const reply = await readReply(connection, buffer);
    times.push(performance.now() - started);
    if (!reply.startsWith("HTTP/1.1 200") || !reply.includes(expect)) {
      throw new Error(`unexpected reply: ${reply.slice(0, 500)}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return times;
}

// decoded as Latin-1, so that a character is a byte of Content-Length
const decoder = new TextDecoder("latin1");

async function readReply(connection: Deno.Conn, buffer: Uint8Array): Promise<string> {
  let text = "";
  for (;;) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error("the server closed the connection");
    text += decoder.decode(buffer.subarray(0, size));
    const end = text.indexOf("\r\n\r\n");
    if (end < 0) continue;
    const length = Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
    if (text.length - end - 4 >= length) return text;
  }
}
