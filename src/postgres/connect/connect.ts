import type { Duplex } from "node:stream";
import type { Logger } from "../../core/logger.ts";
import {
  cannotConnectNow,
  connectError,
  type ConnectFailure,
  connectFailure,
  PasswordMissing,
} from "./connect_failure.ts";
import { type Connection, login } from "../connection.ts";
import type { DatabaseHost, DatabaseOptions } from "../database_options.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { resolveHost } from "./open_socket.ts";
import { findPassword } from "./pass_file.ts";
import { readPasswordFile } from "./password_file.ts";
import { type SessionKind, sessionPasses } from "./session_kind.ts";
import { loadTlsSettings, type TlsSettings } from "./tls_settings.ts";
import { type ConnectOutcome, tryAddress } from "./try_address.ts";

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
  const password = await ownPassword(options);
  const failures: ConnectFailure[] = [];
  for (const wanted of sessionPasses(options.targetSessionAttrs)) {
    for (const host of options.hosts) {
      const outcome = await tryHost(options, host, { tls, own: password, wanted, signal, logger });
      if ("connection" in outcome) return outcome.connection;
      signal.throwIfAborted();
      const { stage, reason, sqlState } = outcome.failure;
      logger.debug("database host failed", { host: host.host, port: host.port, stage, reason, sqlState });
      failures.push(outcome.failure);
      if (stage === "tls" || stage === "login" && sqlState !== cannotConnectNow) {
        throw connectError(options, failures);
      }
    }
  }
  throw connectError(options, failures);
}

async function tryHost(
  options: DatabaseOptions,
  { host, port }: DatabaseHost,
  context: ConnectContext & {
    readonly tls: TlsSettings;
    /** The password that the options give. */
    readonly own: string | undefined;
    readonly wanted: SessionKind;
  },
): Promise<ConnectOutcome> {
  const { tls, own, wanted, signal, logger } = context;
  const password = () =>
    own === undefined ? findInPassFile(options, { host, port }, logger) : Promise.resolve(own);
  let outcome: ConnectOutcome = { failure: connectFailure(new Error("the host has no address")) };
  try {
    const addresses = await withDeadline(
      options.connectTimeoutMs,
      signal,
      (inner) => resolveHost({ host, port }, inner),
    );
    for (const address of addresses) {
      outcome = await tryAddress({ options, address, host, tls, password, wanted, logger }, signal);
      if ("connection" in outcome || outcome.failure.stage !== "network") break;
      signal.throwIfAborted();
    }
    return outcome;
  } catch (error) {
    return { failure: connectFailure(error) };
  }
}

/** As in libpq, an empty password is none. A file is read even where the server asks for no password: it should be there. */
async function ownPassword({ name, password, passwordFile }: DatabaseOptions): Promise<string | undefined> {
  if (password !== undefined && password !== "") return password;
  return passwordFile === undefined ? undefined : await readPasswordFile(passwordFile, name);
}

async function findInPassFile(
  options: DatabaseOptions,
  { host, port }: DatabaseHost,
  logger: Logger,
): Promise<string> {
  const { passFile, database, user } = options;
  const found = passFile === undefined
    ? undefined
    : await findPassword(passFile, { host, port, database, user }, logger);
  if (found === undefined || found === "") throw new PasswordMissing(user);
  return found;
}

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
    throw connectError(options, [connectFailure(error)]);
  }
}
