/** A request that is sent over and over. */
export interface LoadRequest {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** Must occur in its first reply, so that a refusal is not measured as an answer; the bodies of all others must be as long. */
  readonly expect: string;
}

export interface LoadOptions {
  readonly url: string;
  /** Each connection sends them one after another and begins at its own place in the list. */
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  /** What ends it: so many requests, so many seconds or a signal, whichever is given. */
  readonly count?: number;
  readonly seconds?: number;
  readonly signal?: AbortSignal;
  /** Between a reply and the next request on a connection; none where absent. */
  readonly pauseMs?: number;
}

export interface LoadResult {
  readonly count: number;
  readonly perSecond: number;
  /** How long each request took, in milliseconds, the shortest first. */
  readonly times: Float64Array;
}

/** Sends POST requests on keep-alive connections, as cheaply as can be: `fetch` would cost more than the servers. */
export async function httpLoad(options: LoadOptions): Promise<LoadResult> {
  const { connections, seconds = Infinity, count = Infinity, signal } = options;
  const started = performance.now();
  const deadline = started + seconds * 1000;
  let left = count;
  const mayGoOn = () => left-- > 0 && performance.now() < deadline && !signal?.aborted;
  const lengths = new Map<Uint8Array, number>();
  const requests = options.requests.map((request) => ({
    ...request,
    bytes: encodeRequest(options.url, request),
  }));
  const times = await Promise.all(
    Array.from({ length: connections }, (_, at) => drive({ ...options, requests, at, mayGoOn, lengths })),
  );
  const all = Float64Array.from(times.flat()).sort();
  return { count: all.length, perSecond: all.length * 1000 / (performance.now() - started), times: all };
}

interface DriveOptions extends Pick<LoadOptions, "url" | "pauseMs"> {
  readonly requests: readonly (LoadRequest & { readonly bytes: Uint8Array })[];
  readonly at: number;
  readonly mayGoOn: () => boolean;
  /** Of the bodies of the replies to the requests that were answered once, in bytes. */
  readonly lengths: Map<Uint8Array, number>;
}

async function drive({ url, requests, at, pauseMs, mayGoOn, lengths }: DriveOptions): Promise<number[]> {
  const { hostname, port } = new URL(url);
  using connection = await Deno.connect({ hostname, port: Number(port) });
  connection.setNoDelay(true);
  const buffer = new Uint8Array(1 << 16);
  const times: number[] = [];
  for (let next = at; mayGoOn(); next++) {
    const request = requests[next % requests.length];
    if (request === undefined) break;
    const started = performance.now();
    await writeAll(connection, request.bytes);
    const length = lengths.get(request.bytes);
    // the first reply is read in full and the others by their status and length
    if (length === undefined) {
      lengths.set(request.bytes, await readFirstReply(connection, buffer, request.expect));
    } else await readReply(connection, buffer, length);
    times.push(performance.now() - started);
    if (pauseMs !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
  return times;
}

/** A request's bytes. */
export function encodeRequest(
  url: string,
  { headers = {}, body }: Pick<LoadRequest, "headers" | "body">,
): Uint8Array {
  const { host, pathname } = new URL(url);
  const lines = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    `content-length: ${new TextEncoder().encode(body).byteLength}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return new TextEncoder().encode(`${lines.join("\r\n")}\r\n\r\n${body}`);
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  let written = 0;
  while (written < bytes.length) written += await connection.write(bytes.subarray(written));
}

// a character is a byte
const decoder = new TextDecoder("latin1");

/** Reads a reply to its end, by its Content-Length or its last chunk; tells the length of its body in bytes. */
async function readFirstReply(connection: Deno.Conn, buffer: Uint8Array, expect: string): Promise<number> {
  let text = "";
  for (;;) {
    text += decoder.decode(await readSome(connection, buffer));
    const end = text.indexOf("\r\n\r\n") + 4;
    if (end < 4) continue;
    const head = text.slice(0, end);
    const isWhole = /^transfer-encoding: chunked/im.test(head)
      ? text.endsWith("\r\n0\r\n\r\n")
      : text.length >= end + Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
    if (!isWhole) continue;
    if (head.startsWith("HTTP/1.1 200") && text.includes(expect)) return text.length - end;
    throw new Error(`unexpected reply: ${text.slice(0, 500)}`);
  }
}

// "200" in "HTTP/1.1 200 OK"
const okStatus = [0x32, 0x30, 0x30];

/** Its head, a few hundred bytes, comes in one piece. */
async function readReply(connection: Deno.Conn, buffer: Uint8Array, bodyLength: number): Promise<void> {
  const first = await readSome(connection, buffer);
  const end = endOfHead(first);
  if (end === -1 || !okStatus.every((byte, index) => first[9 + index] === byte)) {
    throw new Error(`unexpected reply: ${decoder.decode(first.subarray(0, 500))}`);
  }
  let received = first.length - end;
  while (received < bodyLength) received += (await readSome(connection, buffer)).length;
  if (received !== bodyLength) throw new Error(`a body of another length: ${received} for ${bodyLength}`);
}

const [carriageReturn, lineFeed] = [0x0d, 0x0a];

/** Where the body begins; -1 where the head does not end. */
function endOfHead(bytes: Uint8Array): number {
  for (let at = bytes.indexOf(carriageReturn); at !== -1; at = bytes.indexOf(carriageReturn, at + 1)) {
    if (bytes[at + 1] === lineFeed && bytes[at + 2] === carriageReturn) return at + 4;
  }
  return -1;
}

async function readSome(connection: Deno.Conn, buffer: Uint8Array): Promise<Uint8Array> {
  const size = await connection.read(buffer);
  if (size === null) throw new Error("the server closed the connection");
  return buffer.subarray(0, size);
}
