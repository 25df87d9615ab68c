import { startTimer } from "../../core/async/deadline.ts";
import type { Queue } from "../../core/async/queue.ts";
import type { Logger } from "../../core/logger.ts";
import type { ClientStream, PacketInbox } from "./client_stream.ts";
import type { PgliteBackend } from "./pglite_backend.ts";
import { executeAll } from "./pglite_instance.ts";
import { createSessionSettings } from "./session_settings.ts";
import {
  BackendError,
  cancelledByUser,
  encode,
  errorIn,
  errorResponse,
  message,
  ProtocolError,
  queryMessage,
  readyForQuery,
  type TransactionStatus,
} from "./wire_protocol.ts";

interface ClientSessionOptions {
  readonly stream: ClientStream;
  /** The startup packet's. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly backend: PgliteBackend;
  /** The client at its head has the backend. */
  readonly queue: Queue;
  /** The bound of one statement, and of the time between two in a transaction; 0: none. */
  readonly statementTimeoutMs: number;
  readonly logger: Logger;
}

/** Ends whatever an extended query or a transaction left open. */
const abandonMessages = encode(message("S"), queryMessage("ROLLBACK"));
/** Takes a new backend session to where a failed statement leaves a transaction. */
const failedTransactionMessages = encode(queryMessage("BEGIN"), queryMessage("a statement was stopped"));
/** A statement whose client is gone is stopped once it wrote so much; a small rest costs less than a new start. */
const maxUnreadBytes = 1024 * 1024;
const neverAborts = new AbortController().signal;

/**
 * A client whose startup packet was answered. It has the backend from its first message until it is idle again, so that
 * no other client's statement gets into a transaction or between the steps of an extended query.
 */
export function createClientSession(options: ClientSessionOptions) {
  const { stream, backend, queue, logger } = options;
  const settings = createSessionSettings(options.parameters);
  const occupant = {};
  let status: TransactionStatus = "I";
  let midQuery = false;
  let skipsToSync = false;
  let interrupt = new AbortController();

  /** Reads and answers until the client ends the session, is gone, or had a fatal error. */
  async function serve(): Promise<void> {
    try {
      for (let batch = await readBatch(stream.inbox); batch; batch = await readBatch(stream.inbox)) {
        await answer(batch);
      }
    } catch (error) {
      await stream.send(fatalResponse(error, logger));
    } finally {
      stream.hangUp();
    }
  }

  async function answer(batch: MessageBatch): Promise<void> {
    if (skipsToSync) return skip(batch);
    interrupt = new AbortController();
    const entered = queue.enter(AbortSignal.any([interrupt.signal, stream.gone]));
    const leave = await entered.catch(() => undefined);
    if (leave === undefined) return report(cancelledByUser(), batch);
    try {
      await holdBackend(batch);
    } finally {
      if (status !== "I" || midQuery) await abandon();
      leave();
    }
  }

  async function holdBackend(first: MessageBatch): Promise<void> {
    for (let batch: MessageBatch | undefined = first; batch; batch = await readWithinTransaction()) {
      if (skipsToSync) await skip(batch);
      else await run(batch).catch((error) => recover(error, batch));
      if (status === "I" && !midQuery) return;
    }
  }

  async function run({ bytes, endsWith }: MessageBatch): Promise<void> {
    await enter();
    const alone = status === "I" && endsWith !== "flush";
    let failed = false;
    let unread = 0;
    const send = (chunk: Uint8Array) => {
      failed ||= errorIn(chunk) !== undefined;
      if (stream.gone.aborted) unread += chunk.length;
      if (unread > maxUnreadBytes) interrupt.abort(cancelledByUser());
      return stream.send(chunk);
    };
    midQuery = true;
    const ready = await backend.execute(bytes, {
      send,
      signal: interrupt.signal,
      timeoutMs: timeoutMs(bytes),
    });
    if (!failed) settings.noteExecuted(bytes, alone);
    if (endsWith === "flush") return;
    midQuery = false;
    status = ready ?? "I";
    if (status === "I") settings.noteTransactionEnd();
  }

  /** Gives the backend session this client's settings. */
  async function enter(): Promise<void> {
    interrupt = new AbortController();
    if (backend.occupant === occupant) return;
    backend.occupant = undefined;
    await executeAll(backend, settings.enterMessages(), {
      signal: interrupt.signal,
      timeoutMs: options.statementTimeoutMs,
    });
    backend.occupant = occupant;
  }

  /** The backend was started anew: the client sees what a server shows it when a statement fails. */
  async function recover(error: unknown, batch: MessageBatch): Promise<void> {
    if (!(error instanceof BackendError) || error.severity === "FATAL") throw error;
    const inTransaction = status !== "I";
    status = "I";
    midQuery = false;
    settings.noteTransactionEnd();
    if (inTransaction) {
      await enter();
      await backend.execute(failedTransactionMessages, quietly());
      status = "E";
    }
    await report(error, batch);
  }

  async function report(error: BackendError, { endsWith }: MessageBatch): Promise<void> {
    await stream.send(errorResponse("ERROR", error.sqlState, error.message));
    if (endsWith === "flush") skipsToSync = true;
    else await stream.send(readyForQuery(status));
  }

  async function skip({ endsWith }: MessageBatch): Promise<void> {
    if (endsWith !== "sync") return;
    skipsToSync = false;
    await stream.send(readyForQuery(status));
  }

  async function readWithinTransaction(): Promise<MessageBatch | undefined> {
    const { statementTimeoutMs } = options;
    const expire = () => {
      stream.send(
        errorResponse("FATAL", "25P03", "terminating connection due to idle-in-transaction timeout"),
      );
      stream.hangUp();
    };
    const stopTimer = startTimer(statementTimeoutMs, expire);
    try {
      return await readBatch(stream.inbox);
    } finally {
      stopTimer();
    }
  }

  async function abandon(): Promise<void> {
    status = "I";
    midQuery = false;
    await backend.execute(abandonMessages, quietly()).catch((error) => {
      const isShutdown = error instanceof BackendError && error.severity === "FATAL";
      if (!isShutdown) {
        logger.warn("cannot roll back a client's transaction", { reason: String(error) });
      }
    });
  }

  function quietly() {
    return { send: () => Promise.resolve(), signal: neverAborts, timeoutMs: options.statementTimeoutMs };
  }

  function timeoutMs(messages: Uint8Array): number {
    const bounds = [options.statementTimeoutMs, settings.statementTimeoutMs(messages) ?? 0].filter((bound) =>
      bound > 0
    );
    return bounds.length === 0 ? 0 : Math.min(...bounds);
  }

  /** Stops the statement that runs or waits; nothing happens where there is none. */
  function cancel(): void {
    interrupt.abort(cancelledByUser());
  }

  return { serve, cancel };
}

function fatalResponse(error: unknown, logger: Logger): Uint8Array {
  if (error instanceof BackendError) return errorResponse("FATAL", error.sqlState, error.message);
  if (error instanceof ProtocolError) return errorResponse("FATAL", "08P01", error.message);
  logger.error("a session of the embedded database ended with an unexpected error", {
    reason: String(error),
  });
  return errorResponse("FATAL", "XX000", "internal error");
}

/** Messages up to the first that the client waits for an answer to. */
interface MessageBatch {
  readonly bytes: Uint8Array;
  /** After `flush` the extended query goes on; ReadyForQuery ends the answer to the other two. */
  readonly endsWith: "query" | "sync" | "flush";
}

/**
 * At the end of its input PGlite assumes that the client has died, and exits. A COPY … FROM STDIN therefore gets the
 * reply that there is no data. A server ignores CopyFail where no COPY is under way (manual, "COPY Operations").
 */
const noCopyData = message("f", "the embedded database does not accept data from the client");

/** The next batch; undefined where the client ended the session or is gone. @throws ProtocolError */
async function readBatch(inbox: PacketInbox): Promise<MessageBatch | undefined> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const next = await inbox.readMessage();
    switch (next?.type) {
      case undefined:
      case "X":
        inbox.end();
        return undefined;
      case "Q":
        return { bytes: encode(...parts, next.bytes, noCopyData), endsWith: "query" };
      case "F":
        return { bytes: encode(...parts, next.bytes), endsWith: "query" };
      case "S":
        return { bytes: encode(...parts, next.bytes), endsWith: "sync" };
      case "H":
        return { bytes: encode(...parts, next.bytes), endsWith: "flush" };
      case "E":
        parts.push(next.bytes, noCopyData);
        break;
      case "P":
      case "B":
      case "D":
      case "C":
        parts.push(next.bytes);
        break;
      case "d":
      case "c":
      case "f":
        break;
      default:
        throw new ProtocolError(`invalid frontend message type ${next?.bytes[0]}`);
    }
  }
}
