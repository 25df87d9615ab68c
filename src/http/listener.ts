import { AppError } from "../core/app_error.ts";
import { settlesWithin } from "../core/async/deadline.ts";
import { formatListenAddress, type ListenAddress } from "../core/listen_address.ts";
import type { Logger } from "../core/logger.ts";
import { type HttpServer, serveHttp, type TlsPair } from "./http_server.ts";

/** What the listener tells the routes of a request besides the request itself. */
export interface RouteBindings {
  /** The address of the network peer. */
  readonly peer: string;
}

export interface ListenerOptions {
  readonly address: ListenAddress;
  readonly tls?: TlsPair;
  /**
   * `peer` is the address of the network peer, without its port. HEAD comes as GET: of the reply to it the runtime sends
   * the headers, the body's length among them (RFC 9110, section 9.3.2).
   */
  readonly handle: (request: Request, peer: string) => Response | Promise<Response>;
  readonly logger: Logger;
}

/** A server that listens. */
export interface Listener {
  /** With the port that the system chose where 0 was asked for. */
  readonly address: ListenAddress;
  readonly url: string;
  /**
   * Gives new connections another certificate; those that are open go on.
   * @throws {Error} where the pair does not fit, or there was none before; what was there then stays
   */
  replaceCertificate(tls: TlsPair): Promise<void>;
  /**
   * Takes no new connections and resolves once the requests under way are answered, whoever still holds an idle connection;
   * the end of the process closes those. After `graceMs` it calls `cutOff`, which has what still runs end, and shortly after
   * that resolves whatever still holds on: to break a connection while the runtime waits for it ends the process with an
   * error of the runtime's.
   */
  stop(graceMs: number, cutOff: () => void): Promise<void>;
}

const cutOffMs = 1_000;

/** @throws {AppError} `unavailable` where the address cannot be listened on, `invalid` where TLS files do not fit. */
export function startListener(options: ListenerOptions): Listener {
  const { address, tls, logger } = options;
  const answer: Deno.ServeHandler<Deno.NetAddr> = (request, info) => {
    const asGet = request.method === "HEAD" ? new Request(request, { method: "GET" }) : request;
    return options.handle(asGet, info.remoteAddr.hostname);
  };
  const server = serve(options, answer);
  const bound = { host: address.host, port: server.addr.port };
  const url = `${tls === undefined ? "http" : "https"}://${formatListenAddress(bound)}`;
  logger.info(`listening on ${url}`);

  return {
    address: bound,
    url,
    replaceCertificate: server.replaceCertificate,
    async stop(graceMs, cutOff) {
      const waiting = new AbortController();
      const finished = server.shutdown(waiting.signal).catch(() => {});
      if (!await settlesWithin(graceMs, finished)) {
        logger.warn("Some requests did not finish in time and are cut off");
        cutOff();
        await settlesWithin(cutOffMs, finished);
      }
      waiting.abort();
    },
  };
}

function serve(
  { address, tls, logger }: ListenerOptions,
  answer: Deno.ServeHandler<Deno.NetAddr>,
): HttpServer {
  const onError = (error: unknown) => {
    logger.error("Request failed", { error });
    return Response.json({ error: "Internal Server Error" }, { status: 500 });
  };
  try {
    return serveHttp({ address, tls, answer, onError, logger });
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
