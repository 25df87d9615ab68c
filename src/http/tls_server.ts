import type { ListenAddress } from "../core/listen_address.ts";
import type { Logger } from "../core/logger.ts";

/** A certificate with those that are sent after it, and its private key; PEM. */
export interface TlsPair {
  readonly cert: string;
  readonly key: string;
}

export interface TlsServerOptions {
  readonly address: ListenAddress;
  readonly tls: TlsPair;
  readonly answer: Deno.ServeHandler<Deno.NetAddr>;
  readonly onError: (error: unknown) => Response;
  readonly logger: Logger;
}

/** A server whose certificate can be replaced. */
export interface TlsServer extends Pick<Deno.HttpServer<Deno.NetAddr>, "addr" | "finished" | "shutdown"> {
  /**
   * Gives new connections another certificate, all of them once this has resolved; those that are open go on, and none is
   * refused meanwhile. Not called again before it has resolved.
   *
   * @throws the runtime's error where the pair does not fit; the certificate then stays
   */
  replaceCertificate(tls: TlsPair): Promise<void>;
}

/** Between a failed accept, for want of file descriptors say, and the next. */
const acceptAgainMs = 100;
/**
 * A listener that closes breaks the connections that wait in it. One that is replaced closes when it has just been found
 * empty, when it has had none for so long, and at the latest after so long.
 */
const quietMs = 50;
const longestRetirementMs = 2_000;

/**
 * Serves HTTPS. The runtime's server keeps its certificate until it ends, and when it ends it closes idle connections; so
 * its parts are put together here: a listener for each certificate, and the runtime's HTTP server on each connection. The
 * new listener is open beside the old one before that closes (SO_REUSEPORT).
 *
 * @throws the runtime's error where the address cannot be listened on or the pair does not fit
 */
export function serveTls(options: TlsServerOptions): TlsServer {
  const { address, answer, onError, logger } = options;
  const serveConnection = runtimesServeConnection();
  if (serveConnection === undefined) return serveOneCertificate(options);
  const serve = serveConnection;
  const connections = new Set<Deno.HttpServer<Deno.NetAddr>>();
  const finished = Promise.withResolvers<void>();
  let isShut = false;
  // the system would let two servers share a port that both say may be shared
  if (address.port !== 0) Deno.listen(socketOptions(address)).close();
  let current = openListener(address, options.tls);
  const addr = addressOf(current.listener);

  function openListener(address: ListenAddress, tls: TlsPair): OpenListener {
    const opened: OpenListener = {
      listener: listen(address, tls),
      accepted: 0,
      isRetiring: false,
      isClosed: false,
    };
    void acceptFrom(opened);
    return opened;
  }

  async function acceptFrom(from: OpenListener): Promise<void> {
    while (!from.isClosed) {
      try {
        const next = from.listener.accept();
        // right after a connection it is the system that says whether another one waits
        if (from.isRetiring && from.accepted > 0 && !await isHere(next)) {
          next.catch(() => {});
          close(from);
          return;
        }
        const connection = await next;
        from.accepted++;
        keep(serve(connection, undefined, answer, onError, () => {}));
      } catch (error) {
        if (from.isClosed) return;
        logger.debug("A connection could not be accepted", { error });
        await pause(acceptAgainMs);
      }
    }
  }

  async function retire(old: OpenListener): Promise<void> {
    const latest = performance.now() + longestRetirementMs;
    old.isRetiring = true;
    for (
      let before = -1;
      before !== old.accepted && !old.isClosed && performance.now() < latest && !isShut;
    ) {
      before = old.accepted;
      await pause(quietMs);
      // what has come while the process was busy is accepted now
      await pause(0);
    }
    close(old);
  }

  function close(open: OpenListener): void {
    if (open.isClosed) return;
    open.isClosed = true;
    open.listener.close();
  }

  function keep(connection: Deno.HttpServer<Deno.NetAddr>): void {
    connections.add(connection);
    // a client that breaks its connection off is no fault of ours
    connection.finished.catch(() => {}).finally(() => connections.delete(connection));
  }

  return {
    addr,
    finished: finished.promise,
    async replaceCertificate(tls) {
      const before = current;
      current = openListener({ host: address.host, port: addr.port }, tls);
      await retire(before);
    },
    async shutdown() {
      isShut = true;
      close(current);
      await Promise.all(Array.from(connections, (connection) => connection.shutdown().catch(() => {})));
      finished.resolve();
    },
  };
}

interface OpenListener {
  readonly listener: Deno.TlsListener;
  accepted: number;
  /** Another one is open beside it. */
  isRetiring: boolean;
  isClosed: boolean;
}

/** Whether an accept() that has just been called has had its connection at once. */
async function isHere(accepted: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const settle = () => isSettled = true;
  accepted.then(settle, settle);
  for (let turn = 0; turn < 10 && !isSettled; turn++) await Promise.resolve();
  return isSettled;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function listen(address: ListenAddress, { cert, key }: TlsPair): Deno.TlsListener {
  const options = {
    ...socketOptions(address),
    reusePort: true,
    alpnProtocols: ["h2", "http/1.1"],
    cert,
    key,
  };
  return Deno.listenTls(options);
}

function socketOptions({ host, port }: ListenAddress): { hostname: string; port: number } {
  return { hostname: host || "0.0.0.0", port };
}

function addressOf({ addr }: Deno.TlsListener): Deno.NetAddr {
  // until Deno 2.5 the transport is missing
  if (!("port" in addr)) throw new TypeError("expected a TCP listener");
  return { transport: "tcp", hostname: addr.hostname, port: addr.port };
}

type ServeConnection = (
  connection: Deno.Conn,
  signal: AbortSignal | undefined,
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

function serveOneCertificate({ address, tls, answer, onError }: TlsServerOptions): TlsServer {
  const server = Deno.serve({ ...socketOptions(address), ...tls, onListen: () => {}, onError }, answer);
  return {
    addr: server.addr,
    finished: server.finished,
    shutdown: () => server.shutdown(),
    replaceCertificate() {
      return Promise.reject(new TypeError("this runtime takes a new certificate at the start alone"));
    },
  };
}
