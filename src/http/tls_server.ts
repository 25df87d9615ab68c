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
   * New connections get another certificate; those that are open go on, and none is refused meanwhile.
   *
   * @throws the runtime's error where the pair does not fit; the certificate then stays
   */
  replaceCertificate(tls: TlsPair): void;
}

/** Between a failed accept, for want of file descriptors say, and the next. */
const acceptAgainMs = 100;

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
  let listener = listen(address, options.tls);
  const addr = addressOf(listener);
  void acceptFrom(listener);

  async function acceptFrom(from: Deno.TlsListener): Promise<void> {
    while (from === listener && !isShut) {
      try {
        keep(serve(await from.accept(), undefined, answer, onError, () => {}));
      } catch (error) {
        if (from !== listener || isShut) return;
        logger.debug("A connection could not be accepted", { error });
        await new Promise((resolve) => setTimeout(resolve, acceptAgainMs));
      }
    }
  }

  function keep(connection: Deno.HttpServer<Deno.NetAddr>): void {
    connections.add(connection);
    // a client that breaks its connection off is no fault of ours
    connection.finished.catch(() => {}).finally(() => connections.delete(connection));
  }

  return {
    addr,
    finished: finished.promise,
    replaceCertificate(tls) {
      const before = listener;
      listener = listen({ host: address.host, port: addr.port }, tls);
      void acceptFrom(listener);
      before.close();
    },
    async shutdown() {
      isShut = true;
      listener.close();
      await Promise.all(Array.from(connections, (connection) => connection.shutdown().catch(() => {})));
      finished.resolve();
    },
  };
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
      throw new TypeError("this runtime takes a new certificate at the start alone");
    },
  };
}
