import net from "node:net";
import tls from "node:tls";
import { AppError } from "../../core/app_error.ts";

const timeoutMs = 5_000;

/**
 * Asks a server for its health, where nothing else can: an image without a shell has no other program. The certificate is
 * not checked, as by Kubernetes' probes: the server is on this machine, and nothing secret is sent.
 *
 * @param url as in `http://127.0.0.1:8080/health`
 * @throws {AppError} `invalid` for another kind of address, `unavailable` unless the answer is 200 within 5 s
 */
export async function probe(url: string): Promise<void> {
  const parsed = URL.parse(url);
  if (parsed?.protocol !== "http:" && parsed?.protocol !== "https:") {
    throw new AppError(
      "invalid",
      `Cannot probe ${url}: expected an address such as http://127.0.0.1:8080/health`,
    );
  }
  const status = await statusOf(parsed).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError("unavailable", `Cannot probe ${url}: ${reason}`, { cause });
  });
  if (status !== "200") throw new AppError("unavailable", `Cannot probe ${url}: it answers ${status}`);
}

/**
 * The status of the reply. On a socket of its own: fetch() would ask the proxy that the environment names, and Deno 2.4's
 * `node:https` checks certificates whatever it is told.
 */
function statusOf({ protocol, hostname, port, host, pathname, search }: URL): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const address = {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || (protocol === "https:" ? 443 : 80)),
  };
  const socket = protocol === "https:"
    ? tls.connect({ ...address, rejectUnauthorized: false, checkServerIdentity: () => undefined })
    : net.connect(address);
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs / 1_000} s`)), timeoutMs);
  let reply = "";
  socket.on("error", reject);
  socket.on("close", () => reject(new Error("it closed the connection without an answer")));
  socket.on("data", (bytes) => {
    reply += bytes;
    const status = /^HTTP\/1\.\d (\d{3})/.exec(reply)?.[1];
    if (status !== undefined) resolve(status);
    else if (reply.length > 16) reject(new Error("it does not speak HTTP"));
  });
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  return promise.finally(() => {
    clearTimeout(timer);
    socket.destroy();
  });
}
