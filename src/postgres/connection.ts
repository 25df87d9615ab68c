import pg from "pg";
import { EventEmitter } from "node:events";
import type { Duplex } from "node:stream";
import { AppError } from "../core/app_error.ts";
import {
  createRestartableTimer,
  type RestartableTimer,
  settlesWithin,
  withDeadline,
} from "../core/async/deadline.ts";
import type { Logger } from "../core/logger.ts";
import { guardedSettings } from "./session_setting_kinds.ts";
import { Buffer } from "node:buffer";
import { onAbort, untilAborted } from "../core/async/abort.ts";
import { createRowReader } from "./read/read_rows.ts";
import { sizeText } from "../core/text/units.ts";

// @ts-types="@types/pg"

/** The PostgreSQL driver with its types: all of `src/` has it from here. */
export { pg };

export interface LoginOptions {
  readonly user: string;
  readonly database: string;
  /** Called when the server asks for a password; its rejection fails the login. */
  readonly password: () => Promise<string>;
  /** Opens a stream to a server, encrypted or not, on which nothing of the login was sent. */
  readonly openTransport: (signal: AbortSignal) => Promise<Duplex>;
  /** PostgreSQL's settings that the session begins with, by name. Optional: none where they are set in each transaction. */
  readonly settings?: Readonly<Record<string, string>> | undefined;
  readonly logger: Logger;
}

/** One logged-in connection. */
export interface Connection extends AsyncDisposable {
  readonly client: pg.Client;
  /** Whether the session began with the settings of the login, and no pooler stands between that may change sessions. */
  readonly holdsSettings: boolean;
  /** From the server's BackendKeyData; behind a pooler it is the pooler's, and no backend's. */
  readonly processId: number;
  /** Milliseconds since the login. */
  ageMs(): number;
  /** Whether it is open and unbroken, and neither in a transaction nor waiting for an answer. */
  isReady(): boolean;
  /** Whether the server has yet to answer what it was asked last. */
  awaitsAnswer(): boolean;
  /** Calls back once, when it has closed for whatever reason; at once where it has. */
  onClosed(listener: () => void): void;
  /** Calls back where it breaks or the server ends it, and not where we do. */
  onLost(listener: (error: Error) => void): void;
  /**
   * Bounds what arrives from now on, in bytes; undefined lifts the bound. What crosses it fails the running query with
   * AppError("invalid", …), has the server cancel the statement and closes the connection. Without a bound, the connection
   * breaks where more than 16 MiB come up to a ReadyForQuery message.
   */
  limitBytes(maxBytes: number | undefined): void;
  /** For how long it may run a statement, or be idle. */
  readonly timer: Pick<RestartableTimer, "start" | "stop">;
  /** Has the server cancel what runs now. Resolves when the request can no longer hit a later statement. */
  cancel(): Promise<void>;
  /**
   * Has the server cancel what runs, again and again: a request that reaches it between two messages is lost. Whether
   * `settled` has, or the connection has closed, within `patienceMs`, 2 seconds where absent.
   */
  cancelUntil(settled: Promise<unknown>, patienceMs?: number): Promise<boolean>;
  /**
   * Takes no more queries, has the server cancel what runs, sends Terminate, and resolves with true when the connection
   * has closed; it does not wait long for a server that does not answer. False where the statement could not be ended: its
   * backend may run on. Then the connection closes once the server has answered after all, or by `destroy`.
   */
  end(): Promise<boolean>;
  /** Closes at once; what runs in the server runs on. */
  destroy(): void;
  /** `end`, and `destroy` where that does not succeed. Resolves when the connection has closed. */
  close(): Promise<void>;
  /** Logs in once more, at the same address with the same credentials. @throws as {@linkcode login} */
  openAnother(signal: AbortSignal): Promise<Connection>;
}

/** A login that failed, with whether the server had taken the credentials by then. */
export class LoginError extends Error {
  override readonly name = "LoginError";
  constructor(override readonly cause: unknown, readonly isAuthenticated: boolean) {
    super("login failed", { cause });
  }
}

/** How long a server may take to close after a Terminate message. */
const terminateMs = 1_000;
const cancelTimeoutMs = 10_000;

/** For how long a server is asked to cancel, and the pause between two requests. */
const defaultPatienceMs = 2_000;
const cancelPauseMs = 100;

/** What a server may send in a login, and in answer to a statement that nobody bounds: no honest one sends nearly as much. */
const mostUnbounded = 16 * 1_048_576;

/** How much is still read of an answer that nobody wants any more, so that the server can come to its end. */
const maxUnwantedBytes = 64 * 1_048_576;

/**
 * Opens a transport and logs in on it.
 *
 * @throws what the transport throws; {@linkcode LoginError} after that, but the signal's reason once it has aborted
 */
export async function login(options: LoginOptions, signal: AbortSignal): Promise<Connection> {
  try {
    return await logIn(options, signal);
  } catch (error) {
    if (options.settings === undefined || !isRefusedSetting(error)) throw error;
    return await logIn({ ...options, settings: undefined }, signal);
  }
}

/** Whether a pooler, such as PgBouncer, knows no settings of its own servers at the start of a session. */
function isRefusedSetting(error: unknown): boolean {
  const { cause } = error instanceof LoginError ? error : {};
  return cause instanceof pg.DatabaseError && /startup parameter/.test(cause.message);
}

async function logIn(options: LoginOptions, signal: AbortSignal): Promise<Connection> {
  const stream = await options.openTransport(signal);
  let isAuthenticated = false;
  let sent = "";
  const password = async () => sent = await options.password();
  const client = createClient(stream, { ...options, password });
  client.connection.once("authenticationOk", () => isAuthenticated = true);
  using _aborting = onAbort(signal, () => void stream.destroy());
  try {
    signal.throwIfAborted();
    const connection = createConnection(client, stream, options);
    await client.connect();
    await connection.findPooler();
    return connection;
  } catch (error) {
    stream.destroy();
    signal.throwIfAborted();
    throw new LoginError(withoutPassword(error, sent), isAuthenticated);
  }
}

/** Some server may quote what it was sent. */
function withoutPassword(error: unknown, password: string): unknown {
  if (password.length < 4 || !(error instanceof Error) || !error.message.includes(password)) return error;
  const hide = (text = "") => text.replaceAll(password, "[password]");
  return Object.assign(error, { message: hide(error.message), stack: hide(error.stack) });
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
  readRowsApart(client.connection);
  // in place of the driver's own, which would have settings from the environment
  const startup = {
    user,
    database,
    application_name: "postern",
    ...guardedSettings,
    ...options.settings,
  };
  return Object.assign(client, { getStartupConf: () => startup });
}

/** Has the driver's parser read all messages but rows. */
function readRowsApart(connection: pg.Connection): void {
  const attachParser: (stream: EventEmitter) => void = Reflect.get(connection, "attachListeners").bind(
    connection,
  );
  const attachListeners = (stream: Duplex) => {
    const others = new EventEmitter();
    attachParser(others);
    const read = createRowReader({
      onRow: (fields, length) => connection.emit("dataRow", { name: "dataRow", fields, length }),
      onOthers: (messages) => others.emit("data", messages),
    });
    stream.on("data", (part) => {
      try {
        read(part);
      } catch (cause) {
        // thrown out of here, it would end the process; the stream tells the driver
        breakOff(stream, cause);
      }
    });
  };
  Object.assign(connection, { attachListeners });
}

/** Closes the connection of a server that cannot be understood. */
function breakOff(stream: Duplex, cause: unknown): void {
  const error = new Error("the server does not keep to PostgreSQL's protocol", { cause });
  stream.destroy(Object.assign(error, { code: "EPROTO" }));
}

// the driver connects the stream that it is given and sets its options; ours is connected and has them
function presentAsUnconnected(stream: Duplex): Duplex {
  return Object.assign(stream, {
    connect: () => queueMicrotask(() => stream.emit("connect")),
    setNoDelay: () => {},
    setKeepAlive: () => {},
  });
}

function isGuarded(name: string): name is keyof typeof guardedSettings {
  return Object.hasOwn(guardedSettings, name);
}

function createConnection(
  client: pg.Client,
  stream: Duplex,
  options: LoginOptions,
): Connection & { findPooler(): Promise<void> } {
  const { logger, openTransport } = options;
  const openedAt = performance.now();
  let isClosed = false;
  /** The driver takes no more queries; the stream closes a moment later. */
  let isBroken = false;
  /** The answer that arrives is not read any more. */
  let isUnread = false;
  /** It was closed while the statement ran. */
  let isCutOff = false;
  /** The server was asked to cancel for as long as somebody waited, and did not. */
  let ignoresCancel = false;
  let ended: Promise<boolean> | undefined;
  const timer = createRestartableTimer();
  const closed = new Promise<void>((resolve) => stream.once("close", resolve)).then(() => {
    isClosed = true;
    timer.close();
  });
  const lost: ((error: Error) => void)[] = [];
  client.on("error", (error) => {
    isBroken = true;
    logger.debug("database connection lost", { error });
    // what exceeds a bound is ended by us
    if (!(error instanceof AppError)) { for (const listener of lost) listener(error); }
  });
  const awaitsAnswer = () => isUnread || Reflect.get(client, "readyForQuery") !== true;
  const processId = () => Number(Reflect.get(client, "processID"));
  let holdsSettings = false;
  const changed = new Set<string>();
  // PostgreSQL reports each change of these
  client.connection.on("parameterStatus", ({ parameterName: name, parameterValue: value }) => {
    if (!isGuarded(name)) return;
    if (value === guardedSettings[name]) changed.delete(name);
    else changed.add(name);
  });

  /** Behind a pooler, BackendKeyData is the pooler's own, and the next transaction may get another backend. */
  async function findPooler(): Promise<void> {
    if (options.settings === undefined) return;
    holdsSettings = await backendId() === processId();
  }

  async function backendId(): Promise<number> {
    try {
      const { rows } = await client.query<[string]>({
        text: "SELECT pg_catalog.pg_backend_pid()::text",
        rowMode: "array",
      });
      return Number(rows[0]?.[0]);
    } catch (error) {
      // a busy server takes longer for a session's first statement than a short statement timeout allows
      if (error instanceof pg.DatabaseError && error.code === "57014") return await backendId();
      throw error;
    }
  }

  async function cancel(timeoutMs = cancelTimeoutMs): Promise<void> {
    const secretKey = Number(Reflect.get(client, "secretKey"));
    await sendCancelRequest(openTransport, { processId: processId(), secretKey }, timeoutMs);
  }

  async function cancelUntil(settled: Promise<unknown>, patienceMs = defaultPatienceMs): Promise<boolean> {
    const until = performance.now() + patienceMs;
    const remainingMs = () => Math.max(1, until - performance.now());
    const over = Promise.race([settled, closed]).catch(() => {});
    while (!ignoresCancel) {
      // a request under way is waited for: the process may end right after
      await cancel(remainingMs()).catch((error) => logger.debug("cancel request failed", { error }));
      if (await settlesWithin(Math.min(cancelPauseMs, remainingMs()), over)) return true;
      ignoresCancel = performance.now() >= until;
    }
    return false;
  }

  async function terminate(): Promise<void> {
    client.connection.end();
    if (!await settlesWithin(terminateMs, closed)) stream.destroy();
    await closed;
  }

  async function endOnce(): Promise<boolean> {
    // what the driver does in its own end(), which would also cut off a statement that runs
    Reflect.set(client, "_ending", true);
    if (!isClosed && awaitsAnswer()) {
      const answered = isUnread
        ? endUnread()
        : new Promise((resolve) => client.connection.once("readyForQuery", resolve));
      if (!await cancelUntil(answered)) {
        void answered.then(terminate);
        return false;
      }
    }
    if (!isClosed) await terminate();
    return !isCutOff;
  }

  const meter = meterBytes(stream, exceeded);
  client.connection.on("readyForQuery", meter.endAnswer);

  function exceeded(maxBytes: number | undefined): void {
    if (maxBytes === undefined) {
      return breakOff(stream, new Error(`it sent more than ${sizeText(mostUnbounded)}`));
    }
    isUnread = true;
    // through the driver: it would still deliver the chunk that crossed the bound
    client.connection.emit(
      "error",
      new AppError("invalid", `Cannot read result: it exceeds ${sizeText(maxBytes)}`),
    );
    takeInUnread();
    void end();
  }

  // a server that waits for its client to take in an answer does not look at a request to cancel
  function takeInUnread(): void {
    let bytes = 0;
    stream.removeAllListeners("data");
    stream.on("data", (chunk: Uint8Array) => {
      bytes += chunk.byteLength;
      if (bytes <= maxUnwantedBytes || isCutOff) return;
      isCutOff = true;
      stream.destroy();
    });
  }

  // nobody reads where the answer ends; a server closes when it has come to the Terminate message after it
  async function endUnread(): Promise<void> {
    await cancel(defaultPatienceMs).catch(() => {});
    if (!isClosed) client.connection.end();
    await closed;
  }

  const end = () => ended ??= endOnce();

  async function close(): Promise<void> {
    if (!await end()) stream.destroy();
    await closed;
  }

  return {
    client,
    findPooler,
    get holdsSettings() {
      return holdsSettings;
    },
    get processId() {
      return processId();
    },
    ageMs: () => performance.now() - openedAt,
    isReady: () =>
      !isClosed && !isBroken && ended === undefined && !awaitsAnswer() && changed.size === 0 &&
      client.getTransactionStatus() === "I",
    awaitsAnswer,
    onClosed: (listener) => void closed.then(listener),
    onLost: (listener) => void lost.push(listener),
    limitBytes: meter.limit,
    timer,
    cancel: () => cancel(),
    cancelUntil,
    end,
    destroy: () => void stream.destroy(),
    close,
    [Symbol.asyncDispose]: close,
    openAnother: (signal) => login(options, signal),
  };
}

/** @param exceeded called once, with the bound that was crossed; undefined where none was set */
function meterBytes(stream: Duplex, exceeded: (maxBytes: number | undefined) => void) {
  let bound: number | undefined;
  let received = 0;
  let isCrossed = false;
  // before the driver's own listener, so a crossing is known before the chunk is parsed
  stream.on("data", (chunk: Uint8Array) => {
    received += chunk.byteLength;
    if (isCrossed || received <= (bound ?? mostUnbounded)) return;
    isCrossed = true;
    exceeded(bound);
  });
  return {
    limit(maxBytes: number | undefined): void {
      bound = maxBytes;
      received = 0;
    },
    /** A bound that was set is for an answer in several parts. */
    endAnswer(): void {
      if (bound === undefined) received = 0;
    },
  };
}

const cancelRequestCode = 80877102;

/**
 * Asks a server, over a connection of its own, to cancel what one of its processes runs (PostgreSQL manual, "Canceling
 * Requests in Progress"). Resolves when the server has closed that connection: by then it has sent its signal.
 *
 * @throws {AppError} `unavailable` where the server cannot be reached or does not close in time
 */
async function sendCancelRequest(
  openTransport: (signal: AbortSignal) => Promise<Duplex>,
  { processId, secretKey }: { readonly processId: number; readonly secretKey: number },
  timeoutMs: number,
): Promise<void> {
  const message = Buffer.alloc(16);
  [message.length, cancelRequestCode, processId, secretKey].forEach((value, at) =>
    message.writeInt32BE(value, 4 * at)
  );
  try {
    await withDeadline(timeoutMs, undefined, async (signal) => {
      const stream = await openTransport(signal);
      const closed = new Promise<void>((resolve, reject) => {
        stream.once("error", reject);
        stream.once("close", resolve);
      });
      stream.resume();
      stream.write(message);
      await untilAborted(closed, signal).finally(() => stream.destroy());
    });
  } catch (cause) {
    throw new AppError("unavailable", "Cannot cancel the statement: the database does not answer", { cause });
  }
}
