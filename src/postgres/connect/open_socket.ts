import { lookup, type LookupAddress } from "node:dns";
import { connect, type Socket } from "node:net";
import { canonicalIpAddress } from "../../core/address.ts";
import type { DatabaseHost } from "../database_options.ts";
import { untilAborted } from "../../core/async/abort.ts";

/** One address of a host. */
export type SocketAddress =
  | { readonly kind: "tcp"; readonly address: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

const keepAliveDelayMs = 30_000;

/** All addresses of a host, in the resolver's order. */
export async function resolveHost(
  { host, port }: DatabaseHost,
  signal: AbortSignal,
): Promise<SocketAddress[]> {
  if (host.startsWith("/")) return [{ kind: "unix", path: `${host}/.s.PGSQL.${port}` }];
  if (canonicalIpAddress(host) !== undefined) return [{ kind: "tcp", address: host, port }];
  const found = await untilAborted(lookUp(host), signal);
  return found.map(({ address }) => ({ kind: "tcp", address, port }));
}

// of Deno 2.4, node:dns/promises warns on standard error of a module of its own that is deprecated
function lookUp(host: string): Promise<LookupAddress[]> {
  const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
  lookup(host, { all: true }, (error, addresses) => error ? reject(error) : resolve(addresses));
  return promise;
}

/** Opens a socket, with keepalive and without Nagle's delay. Rejects with the signal's reason when that aborts. */
export function openSocket(address: SocketAddress, signal: AbortSignal): Promise<Socket> {
  const socket = address.kind === "unix"
    ? connect({ path: address.path })
    : connect({ host: address.address, port: address.port, noDelay: true });
  const connected = new Promise<Socket>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      // an error while nobody listens must not end the process; who reads or writes next learns of it
      socket.on("error", () => {});
      if (address.kind === "tcp") socket.setKeepAlive(true, keepAliveDelayMs);
      resolve(socket);
    });
  });
  return untilAborted(connected, signal).catch((error) => {
    // a socket that connects after all, or fails once more, has nobody left to hear of it
    socket.on("error", () => {});
    socket.destroy();
    throw error;
  });
}
