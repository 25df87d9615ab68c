import type { Duplex } from "node:stream";
import { withDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { type Connection, login } from "../connection.ts";
import type { DatabaseHost, DatabaseOptions } from "../database_options.ts";
import { type AttemptError, attemptError, cannotConnectNow, connectError } from "./connect_error.ts";
import { readPasswords } from "./passwords.ts";
import { loadTlsSettings, type TlsSettings } from "./tls.ts";
import { type ConnectResult, resolveHost, tryAddress } from "./try_address.ts";
import { type SessionKind, sessionPasses } from "./connection_kinds.ts";

interface ConnectContext {
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/**
 * Opens one connection: the hosts in order, each address of a host in the resolver's order, as libpq does. A refused
 * login or a failed handshake ends the search; an address that does not answer, a server that is starting up and a
 * session of another kind do not.
 *
 * @throws {AppError} `unavailable`; the server's SQLSTATE is in `data.sqlState` where it answered. The signal's reason
 * where that aborts
 */
export async function connect(options: DatabaseOptions, context: ConnectContext): Promise<Connection> {
  const { signal } = context;
  signal.throwIfAborted();
  if (options.openStream !== undefined) return await connectEmbedded(options, options.openStream, context);
  const logger = context.logger.with({ database: options.name });
  const tls = await loadTlsSettings(options, logger);
  const startedAt = performance.now();
  const passwordFor = await readPasswords(options, logger);
  const errors: AttemptError[] = [];
  for (const wanted of sessionPasses(options.targetSessionAttrs)) {
    for (const host of options.hosts) {
      const password = () => passwordFor(host);
      const result = await tryHost(options, host, { tls, password, wanted, signal, logger });
      if ("connection" in result) return result.connection;
      signal.throwIfAborted();
      const { stage, reason, sqlState } = result.error;
      logger.debug("database host failed", { host: host.host, port: host.port, stage, reason, sqlState });
      errors.push(result.error);
      if (stage === "tls" || stage === "login" && sqlState !== cannotConnectNow) {
        // one that was kept may have been taken back
        const { passwordIssuer: issuer } = options;
        if (issuer !== undefined && /^28(?:P01|000)$/.test(sqlState ?? "")) {
          const { forgetIssued } = await import("./issued_passwords.ts");
          if (forgetIssued(issuer, startedAt)) return await connect(options, context);
        }
        throw connectError(options, errors);
      }
    }
  }
  throw connectError(options, errors);
}

async function tryHost(
  options: DatabaseOptions,
  host: DatabaseHost,
  { signal, ...context }: ConnectContext & {
    readonly tls: TlsSettings;
    readonly password: () => Promise<string>;
    readonly wanted: SessionKind;
  },
): Promise<ConnectResult> {
  let result: ConnectResult = { error: attemptError(new Error("the host has no address")) };
  try {
    const addresses = await withDeadline(
      options.connectTimeoutMs,
      signal,
      (inner) => resolveHost(host, inner),
    );
    for (const address of addresses) {
      result = await tryAddress({ options, address, host: host.host, ...context }, signal);
      if ("connection" in result || result.error.stage !== "network") break;
      signal.throwIfAborted();
    }
    return result;
  } catch (error) {
    return { error: attemptError(error) };
  }
}

/** Over the embedded server's own socket: no hosts, no TLS, one session of the only kind. */
async function connectEmbedded(
  options: DatabaseOptions,
  openStream: () => Duplex,
  { signal, logger }: ConnectContext,
): Promise<Connection> {
  const { user, database } = options;
  const password = () => Promise.resolve(options.password ?? "");
  // only now, so that a server that takes one connection at a time may throw
  const openTransport = () => Promise.resolve().then(openStream);
  try {
    return await withDeadline(
      options.connectTimeoutMs,
      signal,
      (inner) => login({ user, database, password, openTransport, logger }, inner),
    );
  } catch (error) {
    signal.throwIfAborted();
    throw connectError(options, [attemptError(error)]);
  }
}
