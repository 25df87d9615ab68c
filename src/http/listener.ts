import { AppError } from "../core/app_error.ts";
import { formatListenAddress, type ListenAddress } from "../core/listen_address.ts";
import type { Logger } from "../core/logger.ts";
import { createRepliesUnderWay } from "./replies_under_way.ts";
import { serveTls, type TlsPair, type TlsServer } from "./tls_server.ts";

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

/** Between the end of a listener that failed and the next attempt. */
const relistenMs = 1_000;

/** For the last of a reply to leave: the runtime does not tell when a client that reads slowly has all of it. */
const settleMs = 3_000;

/** @throws {AppError} `unavailable` where the address cannot be listened on, `invalid` where TLS files do not fit. */
export function startListener(options: ListenerOptions): Listener {
  const { address, tls, logger } = options;
  const replies = waitsForSilentConnections(tls !== undefined)
    ? createRepliesUnderWay({ settleMs })
    : undefined;
  const answer: Deno.ServeHandler<Deno.NetAddr> = (request, info) => {
    replies?.add(info.completed);
    const asGet = request.method === "HEAD" ? new Request(request, { method: "GET" }) : request;
    return options.handle(asGet, info.remoteAddr.hostname);
  };
  let pair = tls;
  let server = serve(options, pair, answer, address);
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
      server = serve(options, pair, answer, bound);
      keepUp();
    } catch (error) {
      logger.error("Cannot listen again; the next attempt follows", { error });
      setTimeout(relisten, relistenMs);
    }
  }

  return {
    address: bound,
    url,
    async replaceCertificate(next) {
      if (!("replaceCertificate" in server)) throw new TypeError("it serves no TLS");
      await server.replaceCertificate(next);
      pair = next;
    },
    async stop(graceMs, cutOff) {
      isStopping = true;
      const waiting = new AbortController();
      const closed = server.shutdown().catch(() => {});
      const finished = replies === undefined
        ? closed
        : Promise.race([closed, replies.settled(waiting.signal)]);
      if (!await within(graceMs, finished)) {
        logger.warn("Some requests did not finish in time and are cut off");
        cutOff();
        await within(cutOffMs, finished);
      }
      waiting.abort();
    },
  };
}

/**
 * Whether a shutdown of the runtime's waits for connections that no request has come over yet, as browsers and pools open
 * them in advance: until 2.7 for all of them (https://github.com/denoland/deno/pull/31959), and for those that have not
 * begun with TLS still.
 */
function waitsForSilentConnections(isTls: boolean): boolean {
  const [major = 0, minor = 0] = Deno.version.deno.split(".").map(Number);
  return isTls || (major === 2 && minor < 7);
}

function serve(
  { logger }: ListenerOptions,
  tls: TlsPair | undefined,
  answer: Deno.ServeHandler<Deno.NetAddr>,
  address: ListenAddress,
): TlsServer | Deno.HttpServer<Deno.NetAddr> {
  const onError = (error: unknown) => {
    logger.error("Request failed", { error });
    return Response.json({ error: "Internal Server Error" }, { status: 500 });
  };
  try {
    if (tls !== undefined) return serveTls({ address, tls, answer, onError, logger });
    const { host, port } = address;
    return Deno.serve({ hostname: host || "0.0.0.0", port, onListen: () => {}, onError }, answer);
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
