/// <reference lib="deno.worker" />
import { encodeRequest } from "./http_load.ts";

/** Sends one request on many connections, each as soon as the last is answered, however, until it is told to end. */
export interface Flood {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly connections: number;
}

/** How many replies there were, by status. */
export type FloodCounts = Readonly<Record<string, number>>;

const counts: Record<string, number> = {};
let isOver = false;

self.onmessage = async ({ data }: MessageEvent<Flood | "end">) => {
  if (data === "end") return void (isOver = true);
  await Promise.all(Array.from({ length: data.connections }, () => drive(data)));
  self.postMessage(counts);
  self.close();
};

async function drive(flood: Flood): Promise<void> {
  const { hostname, port } = new URL(flood.url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  connection.setNoDelay(true);
  const request = encodeRequest(flood.url, flood);
  const buffer = new Uint8Array(1 << 16);
  while (!isOver) {
    await connection.write(request);
    const status = await readReply(connection, buffer);
    counts[status] = (counts[status] ?? 0) + 1;
  }
}

// a character is a byte of Content-Length
const decoder = new TextDecoder("latin1");

/** Reads one reply that has a Content-Length. @returns its status */
async function readReply(connection: Deno.Conn, buffer: Uint8Array): Promise<string> {
  let received = 0;
  let head = "";
  for (;;) {
    const size = await connection.read(buffer);
    if (size === null) throw new Error("the server closed the connection");
    received += size;
    if (!head.includes("\r\n\r\n")) head += decoder.decode(buffer.subarray(0, size));
    const end = head.indexOf("\r\n\r\n") + 4;
    const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    if (end >= 4 && received >= end + length) return head.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length);
  }
}
