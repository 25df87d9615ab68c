import type { Duplex } from "node:stream";
import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import { sendCancelRequest } from "./cancel_request.ts";
import { pg } from "./driver.ts";

/** Opens a stream to a server, encrypted or not, on which nothing of the login was sent. */
export type OpenTransport = (signal: AbortSignal) => Promise<Duplex>;

export interface LoginOptions {
  readonly user: string;
  readonly database: string;
  /** Called when the server asks for a password; its rejection fails the login. */
  readonly password: () => Promise<string>;
  readonly openTransport: OpenTransport;
  readonly logger: Logger;
}

/** One logged-in connection. */
export interface Connection {
  readonly client: pg.Client;
  /** Whether it is open, and neither in a transaction nor waiting for an answer. */
  isReady(): boolean;
  /** Calls back once, when it has closed for whatever reason; at once where it has. */
  onClosed(listener: () => void): void;
  /** Calls back where it breaks or the server ends it, and not where we do. */
  onLost(listener: (error: Error) => void): void;
  /**
   * Bounds what arrives from now on, in bytes; undefined lifts the bound. What crosses it fails the running query with
   * AppError("invalid", …), closes the connection and has the server cancel the statement.
   */
  limitBytes(maxBytes: number | undefined): void;
  /** Has the server cancel what runs now. Resolves when the request can no longer hit a later statement. */
  cancel(): Promise<void>;
  /** Says goodbye, and resolves when the connection has closed; not waiting long for a server that does not answer. */
  close(): Promise<void>;
}

/** A login that failed, with whether the server had taken the credentials by then. */
export class LoginError extends Error {
  override readonly name = "LoginError";
  constructor(override readonly cause: unknown, readonly isAuthenticated: boolean) {
    super("login failed", { cause });
  }
}

const goodbyeMs = 1_000;
const cancelTimeoutMs = 10_000;

/**
 * Opens a transport and logs in on it.
 *
 * @throws what the transport throws; {@linkcode LoginError} after that, but the signal's reason once it has aborted
 */
export async function login(options: LoginOptions, signal: AbortSignal): Promise<Connection> {
  const stream = await options.openTransport(signal);
  let isAuthenticated = false;
  const client = createClient(stream, options);
  client.connection.once("authenticationOk", () => isAuthenticated = true);
  const abort = () => stream.destroy();
  signal.addEventListener("abort", abort, { once: true });
  try {
    signal.throwIfAborted();
    const connection = createConnection(client, stream, options);
    await client.connect();
    return connection;
  } catch (error) {
    stream.destroy();
    signal.throwIfAborted();
    throw new LoginError(error, isAuthenticated);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function createClient(stream: Duplex, options: LoginOptions): pg.Client {
  const { user, database, password } = options;
  const client = new pg.Client({
    user,
    database,
    password,
    ssl: false,
    stream: () => presentAsUnconnected(stream),
  });
  // the guard reads SQL as the server does only while backslashes in plain literals are literal; written here because
  // the driver would add settings from the environment
  const startup = {
    user,
    database,
    application_name: "postern",
    client_encoding: "UTF8",
    standard_conforming_strings: "on",
  };
  return Object.assign(client, { getStartupConf: () => startup });
}

// the driver connects the stream that it is given and sets its options; ours is connected and has them
function presentAsUnconnected(stream: Duplex): Duplex {
  return Object.assign(stream, {
    connect: () => queueMicrotask(() => stream.emit("connect")),
    setNoDelay: () => {},
    setKeepAlive: () => {},
  });
}

function createConnection(client: pg.Client, stream: Duplex, options: LoginOptions): Connection {
  const { logger, openTransport } = options;
  let isClosed = false;
  let isCancelled = false;
  const closed = new Promise<void>((resolve) => stream.once("close", resolve)).then(() =>
    void (isClosed = true)
  );
  const lost: ((error: Error) => void)[] = [];
  client.on("error", (error) => {
    logger.debug("database connection lost", { error });
    // what exceeds a bound is ended by us
    if (!(error instanceof AppError)) { for (const listener of lost) listener(error); }
  });
  const awaitsAnswer = () => Reflect.get(client, "readyForQuery") !== true;

  async function cancel(): Promise<void> {
    isCancelled = true;
    const processId = Number(Reflect.get(client, "processID"));
    const secretKey = Number(Reflect.get(client, "secretKey"));
    await sendCancelRequest({ openTransport, processId, secretKey, timeoutMs: cancelTimeoutMs });
  }

  // a server may take long to notice that nobody reads what it computes
  async function cancelForgotten(): Promise<void> {
    if (!isCancelled) await cancel().catch((error) => logger.debug("cancel request failed", { error }));
  }

  function exceeded(maxBytes: number): void {
    // through the driver: it would still deliver the chunk that crossed the bound
    client.connection.emit(
      "error",
      new AppError("invalid", `Cannot read result: it exceeds ${maxBytes} bytes`),
    );
    stream.destroy();
    void cancelForgotten();
  }

  return {
    client,
    isReady: () => !isClosed && !awaitsAnswer() && client.getTransactionStatus() === "I",
    onClosed: (listener) => void closed.then(listener),
    onLost: (listener) => void lost.push(listener),
    limitBytes: meterBytes(stream, exceeded),
    cancel,
    async close() {
      const timer = setTimeout(() => stream.destroy(), goodbyeMs);
      if (!isClosed && awaitsAnswer()) await Promise.race([cancelForgotten(), closed]);
      client.end().catch(() => {});
      await closed;
      clearTimeout(timer);
    },
  };
}

function meterBytes(
  stream: Duplex,
  exceeded: (maxBytes: number) => void,
): (maxBytes: number | undefined) => void {
  let bound: number | undefined;
  let received = 0;
  // before the driver's own listener, so a crossing is known before the chunk is parsed
  stream.on("data", (chunk: Uint8Array) => {
    received += chunk.byteLength;
    if (bound === undefined || received <= bound) return;
    const crossed = bound;
    bound = undefined;
    exceeded(crossed);
  });
  return (maxBytes) => {
    bound = maxBytes;
    received = 0;
  };
}
