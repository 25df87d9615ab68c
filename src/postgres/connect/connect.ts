import type { Duplex } from "node:stream";
import { withDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { type Connection, login } from "../connection.ts";
import { type DatabaseHost, type DatabaseOptions, startSettings } from "../database_options.ts";
import { type AttemptError, attemptError, cannotConnectNow, connectError } from "./connect_error.ts";
import { readPasswords } from "./passwords.ts";
import { loadTlsSettings, nameInRefusal, startTls, TlsError, type TlsSettings } from "./tls.ts";
import {
  type Encryption,
  encryptionPlan,
  type SessionKind,
  sessionMismatch,
  sessionPasses,
} from "./connection_kinds.ts";
import { lookup, type LookupAddress } from "node:dns";
import { connect as connectSocket, type Socket } from "node:net";
import { canonicalIpAddress } from "../../core/address.ts";
import { onAbort, untilAborted } from "../../core/async/abort.ts";

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
      const result = await tryHost({ options, tls, password, wanted, logger }, host, signal);
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
  attempt: Omit<AddressAttempt, "address" | "host">,
  host: DatabaseHost,
  signal: AbortSignal,
): Promise<ConnectResult> {
  const { connectTimeoutMs } = attempt.options;
  let result: ConnectResult = { error: attemptError(new Error("the host has no address")) };
  try {
    const addresses = await withDeadline(connectTimeoutMs, signal, (inner) => resolveHost(host, inner));
    for (const address of addresses) {
      result = await tryAddress({ ...attempt, address, host: host.host }, signal);
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

type ConnectResult =
  | { readonly connection: Connection }
  | { readonly error: AttemptError };

/** One address of a host. */
type SocketAddress = { readonly path: string } | { readonly host: string; readonly port: number };

/** What all attempts at one address share. */
interface AddressAttempt {
  readonly options: DatabaseOptions;
  readonly address: SocketAddress;
  /** As configured: what the server's certificate is checked against. */
  readonly host: string;
  readonly tls: TlsSettings;
  readonly password: () => Promise<string>;
  readonly wanted: SessionKind;
  readonly logger: Logger;
}

const keepAliveDelayMs = 30_000;

/** All addresses of a host, in the resolver's order. */
async function resolveHost(
  { host, port }: DatabaseHost,
  signal: AbortSignal,
): Promise<SocketAddress[]> {
  if (host.startsWith("/")) return [{ path: `${host}/.s.PGSQL.${port}` }];
  if (canonicalIpAddress(host) !== undefined) return [{ host, port }];
  const found = await untilAborted(lookUp(host), signal);
  return found.map(({ address }) => ({ host: address, port }));
}

// of Deno 2.4, node:dns/promises warns on standard error of a module of its own that is deprecated
function lookUp(host: string): Promise<LookupAddress[]> {
  const { promise, resolve, reject } = Promise.withResolvers<LookupAddress[]>();
  lookup(host, { all: true }, (error, addresses) => error ? reject(error) : resolve(addresses));
  return promise;
}

/** Tries one address within `connectTimeoutMs`, encrypted and plain as the SSL mode has it. */
async function tryAddress(attempt: AddressAttempt, signal: AbortSignal): Promise<ConnectResult> {
  const { options, address } = attempt;
  const plan = encryptionPlan(options.sslMode, "path" in address);
  return await withDeadline(options.connectTimeoutMs, signal, async (inner) => {
    const first = await tryEncryption(attempt, plan.first, inner);
    if ("connection" in first || plan.retry === undefined || !isWorthRetry(first, plan.retry)) return first;
    const second = await tryEncryption(attempt, plan.retry, inner);
    return "connection" in second || saysMore(second.error) ? second : first;
  });
}

interface FailedAttempt {
  readonly error: AttemptError;
  /** What the attempt used in the end: `preferred` becomes one of the others. */
  readonly encryption: Encryption;
}

type AttemptResult = { readonly connection: Connection } | FailedAttempt;

// libpq answers these with its second attempt
function isWorthRetry({ error, encryption }: FailedAttempt, retry: Encryption): boolean {
  if (encryption === retry) return false;
  return error.stage === "tls" || error.sqlState !== undefined && !error.isAuthenticated;
}

// 28000 in a second attempt tells no more than that the server does not want that kind of encryption
function saysMore({ sqlState }: AttemptError): boolean {
  return sqlState !== undefined && sqlState !== "28000";
}

async function tryEncryption(
  attempt: AddressAttempt,
  encryption: Encryption,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const first = await tryLogin(attempt, encryption, attempt.host, signal);
  if ("connection" in first || attempt.tls.verification !== "chain") return first;
  const acceptedName = nameInRefusal(first.error.cause);
  return acceptedName === undefined ? first : await tryLogin(attempt, encryption, acceptedName, signal);
}

async function tryLogin(
  attempt: AddressAttempt,
  wanted: Encryption,
  serverName: string,
  signal: AbortSignal,
): Promise<AttemptResult> {
  const { options, address, tls, password, logger } = attempt;
  const { user, database } = options;
  // what the first stream settles on holds for a cancel request's too
  let encryption = wanted;
  const onOffered = () => void (encryption = "required");
  const openTransport = async (streamSignal: AbortSignal) => {
    const socket = await openSocket(address, streamSignal);
    if (encryption === "none") return socket;
    const secure = await startTls(socket, { host: serverName, settings: tls, onOffered }, streamSignal);
    if (secure !== undefined) return secure;
    if (encryption === "preferred") {
      encryption = "none";
      return socket;
    }
    socket.destroy();
    throw new TlsError("the server does not support it");
  };
  try {
    const connection = await login(
      { user, database, password, openTransport, settings: startSettings(options), logger },
      signal,
    );
    const reason = await closeIfMismatched(connection, attempt.wanted, signal);
    if (reason === undefined) return { connection };
    return { error: { stage: "session", reason, isAuthenticated: true, cause: undefined }, encryption };
  } catch (error) {
    return { error: attemptError(error), encryption };
  }
}

/** Opens a socket, with keepalive and without Nagle's delay. Rejects with the signal's reason when that aborts. */
function openSocket(address: SocketAddress, signal: AbortSignal): Promise<Socket> {
  const socket = connectSocket("path" in address ? address : { ...address, noDelay: true });
  const connected = new Promise<Socket>((resolve, reject) => {
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      // an error while nobody listens must not end the process; who reads or writes next learns of it
      socket.on("error", () => {});
      if ("host" in address) socket.setKeepAlive(true, keepAliveDelayMs);
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

/** Closes a connection whose session is not of the kind wanted, and tells why. Asks the server only where it matters. */
async function closeIfMismatched(
  connection: Connection,
  wanted: SessionKind,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (wanted === "any") return undefined;
  const close = () => void connection.close();
  using _aborting = onAbort(signal, close);
  try {
    const { rows } = await connection.client.query<[string, string]>({
      text:
        "SELECT pg_catalog.current_setting('transaction_read_only'), pg_catalog.pg_is_in_recovery()::text",
      rowMode: "array",
    });
    const [isReadOnly, isStandby] = [rows[0]?.[0] === "on", rows[0]?.[1] === "true"];
    const mismatch = sessionMismatch({ isReadOnly, isStandby }, wanted);
    if (mismatch !== undefined) await connection.close();
    return mismatch;
  } catch (error) {
    close();
    signal.throwIfAborted();
    throw error;
  }
}
