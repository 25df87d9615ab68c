import type { Logger } from "../../core/logger.ts";
import { type ConnectFailure, connectFailure } from "./connect_failure.ts";
import { type Connection, login } from "../connection.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { withDeadline } from "../../core/async/deadline.ts";
import { openSocket, type SocketAddress } from "./open_socket.ts";
import { isSessionOfKind, type SessionKind, sessionMismatch } from "./session_kind.ts";
import { type Encryption, encryptionPlan } from "./ssl_mode.ts";
import { nameInRefusal, startTls, TlsError } from "./start_tls.ts";
import type { TlsSettings } from "./tls_settings.ts";

export type ConnectOutcome =
  | { readonly connection: Connection }
  | { readonly failure: ConnectFailure };

/** What all attempts at one address share. */
export interface AddressAttempt {
  readonly options: DatabaseOptions;
  readonly address: SocketAddress;
  /** As configured: what the server's certificate is checked against. */
  readonly host: string;
  readonly tls: TlsSettings;
  readonly password: () => Promise<string>;
  readonly wanted: SessionKind;
  readonly logger: Logger;
}

/** Tries one address within `connectTimeoutMs`, encrypted and plain as the SSL mode has it. */
export async function tryAddress(attempt: AddressAttempt, signal: AbortSignal): Promise<ConnectOutcome> {
  const { options, address } = attempt;
  const plan = encryptionPlan(options.sslMode, address.kind === "unix");
  return await withDeadline(options.connectTimeoutMs, signal, async (inner) => {
    const first = await tryEncryption(attempt, plan.first, inner);
    if ("connection" in first || plan.retry === undefined || !isWorthRetry(first, plan.retry)) return first;
    const second = await tryEncryption(attempt, plan.retry, inner);
    return "connection" in second || saysMore(second.failure) ? second : first;
  });
}

interface FailedAttempt {
  readonly failure: ConnectFailure;
  /** What it came to. */
  readonly encryption: Encryption;
}

type AttemptOutcome = { readonly connection: Connection } | FailedAttempt;

// libpq answers these with its second attempt
function isWorthRetry({ failure, encryption }: FailedAttempt, retry: Encryption): boolean {
  if (encryption === retry) return false;
  return failure.stage === "tls" || failure.sqlState !== undefined && !failure.isAuthenticated;
}

// 28000 in a second attempt tells no more than that the server does not want that kind of encryption
function saysMore(failure: ConnectFailure): boolean {
  return failure.sqlState !== undefined && failure.sqlState !== "28000";
}

async function tryEncryption(
  attempt: AddressAttempt,
  encryption: Encryption,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  const first = await tryLogin(attempt, encryption, attempt.host, signal);
  if ("connection" in first || attempt.tls.verification !== "chain") return first;
  const acceptedName = nameInRefusal(first.failure.cause);
  return acceptedName === undefined ? first : await tryLogin(attempt, encryption, acceptedName, signal);
}

async function tryLogin(
  attempt: AddressAttempt,
  wanted: Encryption,
  serverName: string,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  // what the first stream settles on holds for a cancel request's too
  let encryption = wanted;
  const onOffered = () => void (encryption = "required");
  const openTransport = async (streamSignal: AbortSignal) => {
    const socket = await openSocket(attempt.address, streamSignal);
    if (encryption === "none") return socket;
    const secure = await startTls(
      socket,
      { host: serverName, settings: attempt.tls, onOffered },
      streamSignal,
    );
    if (secure !== undefined) return secure;
    if (encryption === "preferred") {
      encryption = "none";
      return socket;
    }
    socket.destroy();
    throw new TlsError("the server does not support it");
  };
  try {
    const { options: { user, database }, password, logger } = attempt;
    const connection = await login({ user, database, password, openTransport, logger }, signal);
    return await requireSession(connection, attempt.wanted, signal) ??
      { failure: sessionFailure(attempt.wanted), encryption };
  } catch (error) {
    return { failure: connectFailure(error), encryption };
  }
}

async function requireSession(
  connection: Connection,
  wanted: SessionKind,
  signal: AbortSignal,
): Promise<{ readonly connection: Connection } | undefined> {
  const close = () => void connection.close();
  signal.addEventListener("abort", close, { once: true });
  try {
    if (await isSessionOfKind(connection.client, wanted)) return { connection };
    await connection.close();
    return undefined;
  } catch (error) {
    close();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

function sessionFailure(wanted: SessionKind): ConnectFailure {
  return { stage: "session", reason: sessionMismatch[wanted], isAuthenticated: true, cause: undefined };
}
