import { AppError } from "../core/app_error.ts";
import { formatAddress, type ListenAddress } from "../core/listen_address.ts";
import type { Logger } from "../core/logger.ts";

export interface ListenerOptions {
  readonly address: ListenAddress;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly handle: (request: Request) => Response | Promise<Response>;
  readonly logger: Logger;
}

/** A server that listens. */
export interface Listener {
  /** With the port that the system chose where 0 was asked for. */
  readonly address: ListenAddress;
  readonly url: string;
  /** Takes no new connections and resolves once the requests under way are answered, or were cut off after `graceMs`. */
  stop(graceMs: number): Promise<void>;
}

/** @throws {AppError} `unavailable` where the address cannot be listened on, `invalid` where TLS files do not fit. */
export function startListener({ address, tls, handle, logger }: ListenerOptions): Listener {
  const abort = new AbortController();
  const server = listen();
  const bound = { hostname: address.hostname, port: server.addr.port };
  const url = `${tls === undefined ? "http" : "https"}://${formatAddress(bound)}`;
  logger.info(`listening on ${url}`);

  function listen() {
    try {
      return Deno.serve({
        hostname: address.hostname,
        port: address.port,
        ...(tls ?? {}),
        signal: abort.signal,
        onListen: () => {},
        onError(error) {
          logger.error("Request failed", { error });
          return new Response('{"error": "Internal Server Error"}', {
            status: 500,
            headers: { "content-type": "application/json" },
          });
        },
      }, handle);
    } catch (error) {
      const inUse = error instanceof Deno.errors.AddrInUse;
      throw new AppError(
        inUse ? "unavailable" : "invalid",
        `Cannot listen on ${formatAddress(address)}: ${
          inUse ? "the address is in use" : (error as Error).message
        }`,
        { cause: error },
      );
    }
  }

  return {
    address: bound,
    url,
    async stop(graceMs) {
      const timer = setTimeout(() => abort.abort(), graceMs);
      await server.shutdown();
      clearTimeout(timer);
    },
  };
}
