import { AppError } from "../core/app_error.ts";
import { settlesWithin, sleep } from "../core/async/deadline.ts";
import { formatListenAddress, type ListenAddress } from "../core/address.ts";
import type { LogFields, Logger } from "../core/logger.ts";
import type { Principal } from "../core/principal.ts";
import type { Span } from "../core/tracing.ts";
import { discardRest, endConnection, refuseFraming } from "./request_body.ts";
import { createRequestIds, requestIdHeader } from "./request_id.ts";
import { createOpenConnections, type OpenConnection, tryToClose } from "./open_connections.ts";

/** A certificate with those that are sent after it, and its private key; PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

/** What there is to know of a request besides the request itself. */
export interface RouteBindings {
  /** The address of the network peer. */
  readonly peer: string;
  /** The client's address, which is not the peer's behind a proxy that is trusted. */
  addressOf: () => string;
  /** As the client sent it. */
  readonly method: string;
  /** Names the request in the log, the audit trail and the reply's X-Request-Id. */
  readonly requestId: string;
  /** Who was let in; noted by the routes. */
  principal?: Principal;
  /** What the access log tells of the request besides; noted by the routes, of names that the server knows. */
  logFields?: LogFields;
  /** Optional; none where it is not traced; noted by `trace_requests`. */
  span?: Span;
}

export interface ListenerOptions {
  readonly address: ListenAddress;
  readonly tls?: TlsPair;
  /** Optional: whether other processes listen on the same port, and the system shares the connections out. */
  readonly sharesPort?: boolean;
  /**
   * HEAD comes as GET: of the reply to it the runtime sends
   * the headers, the body's length among them (RFC 9110, section 9.3.2).
   */
  readonly handle: (request: Request, bindings: RouteBindings) => Response | Promise<Response>;
  /** How the log says where it listens, before the URL. Optional; the default is `listening on`. */
  readonly announcement?: string;
  readonly logger: Logger;
}

/** How long requests under way may take to end when a server stops, in milliseconds. */
export const stopGraceMs = 10_000;

/** How long what was cut off may take to end. */
const cutOffMs = 1_000;

/** How long a server may take to stop, in milliseconds. */
export const stopWithinMs = stopGraceMs + cutOffMs;

/**
 * Holds a port that nobody else listens on, the system's choice for port 0, until it is disposed of.
 * @throws AppError as startListener
 */
export function holdPort(address: ListenAddress): Disposable & { readonly port: number } {
  try {
    // without `reusePort`: the system would let two servers share a port that both say may be shared
    const listener = Deno.listen(socketOptions(address));
    return { port: addressOf(listener).port, [Symbol.dispose]: () => listener.close() };
  } catch (cause) {
    throw cannotListen(address, cause);
  }
}

/**
 * Serves HTTP, with TLS HTTPS, and bounds its connections (`open_connections`).
 *
 * @throws AppError `unavailable` where the address cannot be listened on, `invalid` where TLS files do not fit
 */
export function startListener(options: ListenerOptions) {
  const { address, tls, sharesPort = false, handle, announcement = "listening on", logger } = options;
  const nameRequest = createRequestIds();

  const server = openServer({
    address,
    tls,
    sharesPort,
    async answer(request, peer) {
      const { method } = request;
      const requestId = nameRequest(request);
      const asGet = method === "HEAD" ? new Request(request, { method: "GET" }) : request;
      let response: Response;
      try {
        response = refuseFraming(request.headers) ??
          await handle(asGet, { peer, addressOf: () => peer, method, requestId });
      } catch (error) {
        logger.error("Request failed", { request: requestId, error });
        response = Response.json({ error: "Internal Server Error" }, { status: 500 });
      }
      response.headers.set(requestIdHeader, requestId);
      endConnection(request.headers, response.headers);
      await discardRest(request);
      if (runtimeCompresses && request.headers.has("accept-encoding")) keepAsItIs(response.headers);
      return response;
    },
    onError(error) {
      logger.error("Request failed", { error });
      return Response.json({ error: "Internal Server Error" }, { status: 500 });
    },
    logger,
  });
  const bound = { host: address.host, port: server.addr.port };
  const url = `${tls === undefined ? "http" : "https"}://${formatListenAddress(bound)}`;
  logger.info(`${announcement} ${url}`);

  return {
    /** With the port that the system chose where 0 was asked for. */
    address: bound,
    url,
    replaceCertificate: server.replaceCertificate,
    /**
     * Takes no new connections and resolves once the requests under way are answered. Idle connections stay open until
     * the process ends: to break one while the runtime waits for it ends the process with an error of the runtime's.
     * After `graceMs` it calls `cutOff`, which ends what still runs, and shortly after that it resolves in any case.
     */
    async stop(graceMs: number, cutOff: () => void): Promise<void> {
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

// Deno before 2.9 compresses what its list of types has, on the thread that answers all requests, unless the reply may not be
// transformed (RFC 9111, section 5.2.2.6); from 2.9 on it does so only where it is asked
const runtimeCompresses = Number(Deno.version.deno.split(".")[1]) < 9;

function keepAsItIs(headers: Headers): void {
  // its list does not have these
  if (headers.get("content-type") === "text/event-stream") return;
  const others = headers.get("cache-control");
  headers.set("cache-control", others === null ? "no-transform" : `${others}, no-transform`);
}

/** Between an accept that failed, for example for want of file descriptors, and the next. */
const acceptAgainMs = 100;
/**
 * A listener that closes breaks the connections that wait in it. So one that is replaced closes when it has just been
 * found empty, when none has come for `quietMs`, or after `longestRetirementMs` at the latest.
 */
const quietMs = 50;
const longestRetirementMs = 2_000;

interface HttpServerOptions extends Pick<ListenerOptions, "address" | "logger"> {
  readonly tls: TlsPair | undefined;
  readonly sharesPort: boolean;
  readonly answer: (request: Request, peer: string) => Promise<Response>;
  readonly onError: (error: unknown) => Response;
}

interface HttpServer {
  readonly addr: Deno.NetAddr;
  /**
   * Gives new connections another certificate, all of them once this has resolved; those that are open go on, and none is
   * refused meanwhile. Not called again before it has resolved.
   *
   * @throws the runtime's error where the pair does not fit; the certificate then stays
   */
  replaceCertificate(tls: TlsPair): Promise<void>;
  /**
   * Takes no new connections and resolves once the requests under way are answered, even where idle connections are open.
   * Where `signal` aborts first it may never resolve.
   */
  shutdown(signal: AbortSignal): Promise<void>;
}

function openServer(options: HttpServerOptions): HttpServer {
  const { address } = options;
  const serveConnection = runtimesServeConnection();
  try {
    return serveConnection === undefined
      ? openRuntimesServer(options)
      : serveOverConnections(serveConnection, options);
  } catch (cause) {
    throw cause instanceof AppError ? cause : cannotListen(address, cause);
  }
}

function cannotListen(address: ListenAddress, cause: unknown): AppError {
  const inUse = cause instanceof Deno.errors.AddrInUse;
  const reason = inUse ? "the address is in use" : (cause as Error).message;
  return new AppError(
    inUse ? "unavailable" : "invalid",
    `Cannot listen on ${formatListenAddress(address)}: ${reason}`,
    { cause },
  );
}

/**
 * The runtime's own server does not bound its connections, keeps its certificate until it ends, and closes idle connections
 * when it ends. So its parts are put together here: a listener for each certificate, and the runtime's HTTP server on each
 * connection. A new listener opens beside the old one before that closes (SO_REUSEPORT).
 */
function serveOverConnections(serve: ServeConnection, options: HttpServerOptions): HttpServer {
  const { address, sharesPort, answer, onError, logger } = options;
  const open = createOpenConnections({ logger });
  const servers = new Set<Deno.HttpServer<Deno.NetAddr>>();
  let isShut = false;
  // the one that replaces it shares the port with it
  if (options.tls !== undefined && !sharesPort && address.port !== 0) holdPort(address)[Symbol.dispose]();
  let current = openListener(address, options.tls);
  const addr = addressOf(current.listener);

  function openListener(address: ListenAddress, tls: TlsPair | undefined): OpenListener {
    const opened: OpenListener = {
      listener: listen(address, tls, sharesPort),
      accepted: 0,
      isRetiring: false,
      isClosed: false,
    };
    void acceptFrom(opened);
    return opened;
  }

  async function acceptFrom(from: OpenListener): Promise<void> {
    while (!from.isClosed) {
      if (!open.makeRoom()) {
        // those who come meanwhile wait in the system's queue
        await sleep(acceptAgainMs);
        continue;
      }
      try {
        const next = from.listener.accept();
        // right after a connection accept() shows whether another one waits
        if (from.isRetiring && from.accepted > 0 && !await isHere(next)) {
          close(from);
          // one that comes at this very moment is served
          return void next.then(keep, () => {});
        }
        const connection = await next;
        from.accepted++;
        void keep(connection);
      } catch (error) {
        if (from.isClosed) return;
        logger.debug("A connection could not be accepted", { error });
        // the client has broken it off while it waited: the others are not to wait for that
        if (isOfOneConnection(error)) continue;
        open.relieve();
        await sleep(acceptAgainMs);
      }
    }
  }

  async function keep(connection: Deno.TcpConn | Deno.TlsConn): Promise<void> {
    const record = open.add();
    try {
      // the runtime holds a connection until its handshake has ended: closed earlier, it would stay open
      if ("handshake" in connection) await connection.handshake();
      if (!isShut) return serveOver(connection, record);
      record.leave();
      connection.close();
    } catch (error) {
      record.leave();
      logger.debug("A connection failed before it was served", { error });
      tryToClose(connection);
    }
  }

  function serveOver(connection: Deno.Conn, record: OpenConnection): void {
    let cancel = () => {};
    const peer = hostOf(connection.remoteAddr);
    const answerAndCount: Deno.ServeHandler<Deno.NetAddr> = async (request, info) => {
      record.beginRequest();
      info.completed.then(record.endRequest, record.endRequest);
      const response = await answer(request, peer);
      // the rest of its body may keep coming
      if (response.status === 408) record.spend();
      return response;
    };
    const signal = { addEventListener: (_type: "abort", listener: () => void) => void (cancel = listener) };
    const server = serve(connection, signal, answerAndCount, onError, () => {});
    record.serve(cancel);
    servers.add(server);
    // a client that breaks its connection off is no fault of ours
    server.finished.catch(() => {}).finally(() => {
      servers.delete(server);
      record.leave();
    });
  }

  async function retire(old: OpenListener): Promise<void> {
    const latest = performance.now() + longestRetirementMs;
    old.isRetiring = true;
    let before: number;
    do {
      before = old.accepted;
      await sleep(quietMs);
      // what has come while the process was busy is accepted now
      await sleep(0);
    } while (before !== old.accepted && !old.isClosed && performance.now() < latest && !isShut);
    close(old);
    // its socket closes with the accept() that the runtime still has of it
    await sleep(0);
  }

  function close(opened: OpenListener): void {
    if (opened.isClosed) return;
    opened.isClosed = true;
    opened.listener.close();
  }

  return {
    addr,
    async replaceCertificate(tls) {
      const before = current;
      current = openListener({ host: address.host, port: addr.port }, tls);
      await retire(before);
    },
    async shutdown(signal) {
      isShut = true;
      close(current);
      open.close();
      const closed = Array.from(servers, (server) => server.shutdown().catch(() => {}));
      await Promise.race([Promise.all(closed), open.repliesSettled(signal)]);
    },
  };
}

interface OpenListener {
  readonly listener: Deno.Listener<Deno.TcpConn | Deno.TlsConn>;
  accepted: number;
  /** Another one is open beside it. */
  isRetiring: boolean;
  isClosed: boolean;
}

/** Whether an accept() failed for the connection that it took, and not for want of file descriptors or memory. */
function isOfOneConnection(error: unknown): boolean {
  const { code } = error as { code?: unknown };
  return code === "ENOTCONN" || code === "ECONNABORTED" || code === "ECONNRESET" || code === "EPROTO" ||
    error instanceof Deno.errors.NotConnected || error instanceof Deno.errors.ConnectionAborted ||
    error instanceof Deno.errors.ConnectionReset;
}

/** Whether an accept() that has just been called got its connection at once. */
async function isHere(accepted: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settle = () => isSettled = true;
  accepted.then(settle, settle);
  for (let tick = 0; tick < 10 && !isSettled; tick++) await Promise.resolve();
  return isSettled;
}

function listen(
  address: ListenAddress,
  tls: TlsPair | undefined,
  sharesPort: boolean,
): Deno.Listener<Deno.TcpConn | Deno.TlsConn> {
  if (tls === undefined) return Deno.listen({ ...socketOptions(address), reusePort: sharesPort });
  const options = {
    ...socketOptions(address),
    reusePort: true,
    alpnProtocols: ["h2", "http/1.1"],
    cert: tls.cert,
    key: tls.key,
  };
  return Deno.listenTls(options);
}

function socketOptions({ host, port }: ListenAddress): { hostname: string; port: number } {
  return { hostname: host || "0.0.0.0", port };
}

function hostOf(address: Deno.Addr): string {
  if (!("hostname" in address)) throw new TypeError("expected a TCP connection");
  return address.hostname;
}

function addressOf({ addr }: Pick<Deno.Listener, "addr">): Deno.NetAddr {
  // until Deno 2.5 the transport is missing
  if (!("port" in addr && "hostname" in addr)) throw new TypeError("expected a TCP listener");
  return { transport: "tcp", hostname: addr.hostname, port: addr.port };
}

type ServeConnection = (
  connection: Deno.Conn,
  /** Its listener breaks the connection; throws where that has ended already. */
  signal: { addEventListener(type: "abort", listener: () => void): void },
  handler: Deno.ServeHandler<Deno.NetAddr>,
  onError: (error: unknown) => Response,
  onListen: () => void,
) => Deno.HttpServer<Deno.NetAddr>;

/** What `Deno.serve` is made of. It has no public name; undefined where a runtime does not have it. */
function runtimesServeConnection(): ServeConnection | undefined {
  const internals: unknown = Reflect.get(Deno, Reflect.get(Deno, "internal"));
  if (typeof internals !== "object" || internals === null) return undefined;
  const found: unknown = Reflect.get(internals, "serveHttpOnConnection");
  return isServeConnection(found) ? found : undefined;
}

function isServeConnection(value: unknown): value is ServeConnection {
  return typeof value === "function";
}

function openRuntimesServer(
  { address, tls, sharesPort, answer, onError }: HttpServerOptions,
): HttpServer {
  const server = Deno.serve(
    { ...socketOptions(address), ...tls, reusePort: sharesPort, onListen: () => {}, onError },
    (request, info) => answer(request, info.remoteAddr.hostname),
  );
  return {
    addr: server.addr,
    shutdown: () => server.shutdown(),
    replaceCertificate() {
      return Promise.reject(
        new TypeError("this runtime reads certificates only at the start; restart the server"),
      );
    },
  };
}
