import { AppError } from "../core/app_error.ts";
import { formatListenAddress, type ListenAddress } from "../core/listen_address.ts";
import type { Logger } from "../core/logger.ts";

export interface ListenerOptions {
  readonly address: ListenAddress;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** `peer` is the address of the network peer, without its port. */
  readonly handle: (request: Request, peer: string) => Response | Promise<Response>;
  readonly logger: Logger;
}

/** A server that listens. */
export interface Listener {
  /** With the port that the system chose where 0 was asked for. */
  readonly address: ListenAddress;
  readonly url: string;
  /**
   * Takes no new connections and resolves once the requests under way are answered. After `graceMs` it calls
   * `cutOff`, which has what still runs end, and shortly after that resolves whatever still holds on: to break a connection
   * while the runtime waits for it ends the process with an error of the runtime's.
   */
  stop(graceMs: number, cutOff: () => void): Promise<void>;
}

const cutOffMs = 1_000;

/** Between the end of a listener that failed and the next attempt. */
const relistenMs = 1_000;

/** @throws {AppError} `unavailable` where the address cannot be listened on, `invalid` where TLS files do not fit. */
export function startListener(options: ListenerOptions): Listener {
  const { address, tls, logger } = options;
  let server = serve(options, address);
  const bound = { host: address.host, port: server.addr.port };
  const url = `${tls === undefined ? "http" : "https"}://${formatListenAddress(bound)}`;
  let isStopping = false;
  keepUp();
  logger.info(`listening on ${url}`);

  /** A listener ends when the process has no file descriptor left for a connection, which is no reason for all to end. */
  function keepUp(): void {
    server.finished.catch((error) => {
      if (isStopping) return;
      logger.error("The listener failed; listening again", { error });
      setTimeout(relisten, relistenMs);
    });
  }

  function relisten(): void {
    if (isStopping) return;
    try {
      server = serve(options, bound);
      keepUp();
    } catch (error) {
      logger.error("Cannot listen again; the next attempt follows", { error });
      setTimeout(relisten, relistenMs);
    }
  }

  return {
    address: bound,
    url,
    async stop(graceMs, cutOff) {
      isStopping = true;
      const finished = server.shutdown().catch(() => {});
      if (await within(graceMs, finished)) return;
      cutOff();
      await within(cutOffMs, finished);
    },
  };
}

function serve({ tls, handle, logger }: ListenerOptions, address: ListenAddress) {
  try {
    return Deno.serve({
      hostname: address.host || "0.0.0.0",
      port: address.port,
      ...(tls ?? {}),
      onListen: () => {},
      onError(error) {
        logger.error("Request failed", { error });
        return Response.json({ error: "Internal Server Error" }, { status: 500 });
      },
    }, (request, { remoteAddr }) => handle(request, remoteAddr.hostname));
  } catch (error) {
    const inUse = error instanceof Deno.errors.AddrInUse;
    throw new AppError(
      inUse ? "unavailable" : "invalid",
      `Cannot listen on ${formatListenAddress(address)}: ${
        inUse ? "the address is in use" : (error as Error).message
      }`,
      { cause: error },
    );
  }
}

async function within(ms: number, work: Promise<void>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), ms);
  const finished = await Promise.race([work.then(() => true), late]);
  clearTimeout(timer);
  return finished;
}
