export interface RawRequest {
  readonly method?: string;
  readonly path: string;
  /** Host among them where it is not the server's own; an empty text leaves it out. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends the body in chunks, without its length. */
  readonly chunked?: boolean;
}

export interface RawReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** One request as it is written here, headers that fetch() keeps to itself among them, on a connection of its own. */
export async function rawExchange(url: string, request: RawRequest): Promise<RawReply> {
  const { hostname, port, host } = new URL(url);
  const { method = "GET", path, body = "", chunked = false } = request;
  const bytes = new TextEncoder().encode(body);
  const size = chunked ? { "transfer-encoding": "chunked" } : { "content-length": String(bytes.length) };
  const headers = { host, connection: "close", ...(body === "" ? {} : size), ...request.headers };
  const head = Object.entries(headers).filter(([, value]) => value !== "").map(([name, value]) =>
    `${name}: ${value}\r\n`
  );
  using connection = await Deno.connect({ hostname, port: Number(port) });
  const sending = send(connection, [
    new TextEncoder().encode(`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n`),
    ...(chunked ? chunksOf(bytes) : [bytes]),
  ]);
  const reply = await readAll(connection);
  await sending;
  const [start = "", ...rest] = reply.split("\r\n\r\n");
  const [status = "", ...lines] = start.split("\r\n");
  return {
    status: Number(status.split(" ")[1]),
    headers: new Headers(
      lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
    ),
    text: rest.join("\r\n\r\n"),
  };
}

function chunksOf(bytes: Uint8Array): Uint8Array[] {
  const encoder = new TextEncoder();
  return [encoder.encode(`${bytes.length.toString(16)}\r\n`), bytes, encoder.encode("\r\n0\r\n\r\n")];
}

/** Until the server has heard enough: it may answer, and close, before all of a body is there. */
async function send(connection: Deno.Conn, parts: readonly Uint8Array[]): Promise<void> {
  try {
    for (const part of parts) {
      for (let sent = 0; sent < part.length;) sent += await connection.write(part.subarray(sent));
    }
  } catch {
    return;
  }
}

async function readAll(connection: Deno.Conn): Promise<string> {
  const decoder = new TextDecoder();
  const buffer = new Uint8Array(65_536);
  let text = "";
  for (;;) {
    const length = await connection.read(buffer).catch(() => null);
    if (length === null) return text;
    text += decoder.decode(buffer.subarray(0, length), { stream: true });
  }
}
