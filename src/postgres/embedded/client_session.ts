import { startTimer } from "../../core/async/deadline.ts";
import type { Queue } from "../../core/async/queue.ts";
import type { Logger } from "../../core/logger.ts";
import type { ClientStream, PacketInbox } from "./client_stream.ts";
import { executeAll, type PgliteBackend } from "./pglite_instance.ts";
import {
  BackendError,
  cancelledByUser,
  encode,
  errorIn,
  errorResponse,
  message,
  messagesIn,
  ProtocolError,
  queryMessage,
  readTexts,
  readyForQuery,
  type TransactionStatus,
} from "./wire_protocol.ts";
import { quoteIdentifier, quoteLiteral } from "../sql_text.ts";

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
    const bounds = { signal: interrupt.signal, timeoutMs: timeoutMs(bytes) };
    const ready = await backend.execute(bytes, { send, ...bounds });
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
    const bounds = { signal: interrupt.signal, timeoutMs: options.statementTimeoutMs };
    await executeAll(backend, settings.enterMessages(), bounds);
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
    const reason = "terminating connection due to idle-in-transaction timeout";
    const stopTimer = startTimer(options.statementTimeoutMs, () => {
      stream.send(errorResponse("FATAL", "25P03", reason));
      stream.hangUp();
    });
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
      if (error instanceof BackendError && error.severity === "FATAL") return;
      logger.warn("cannot roll back a client's transaction", { reason: String(error) });
    });
  }

  function quietly() {
    return { send: () => Promise.resolve(), signal: neverAborts, timeoutMs: options.statementTimeoutMs };
  }

  function timeoutMs(messages: Uint8Array): number {
    const own = settings.statementTimeoutMs(messages) || Infinity;
    const shortest = Math.min(options.statementTimeoutMs || Infinity, own);
    return shortest === Infinity ? 0 : shortest;
  }

  return {
    serve,
    /** Stops the statement that runs or waits; nothing happens where there is none. */
    cancel: (): void => interrupt.abort(cancelledByUser()),
  };
}

function fatalResponse(error: unknown, logger: Logger): Uint8Array {
  if (error instanceof BackendError) return errorResponse("FATAL", error.sqlState, error.message);
  if (error instanceof ProtocolError) return errorResponse("FATAL", "08P01", error.message);
  const reason = String(error);
  logger.error("a session of the embedded database ended with an unexpected error", { reason });
  return errorResponse("FATAL", "XX000", "internal error");
}

/** Messages up to the first that the client waits for an answer to. */
interface MessageBatch {
  readonly bytes: Uint8Array;
  /** After `flush` the extended query goes on; ReadyForQuery ends the answer to the other two. */
  readonly endsWith: "query" | "sync" | "flush";
}

/** What ends a batch, by the type of its last message: a query or a function call, Sync, Flush. */
const ends = new Map<string, MessageBatch["endsWith"]>(
  [["Q", "query"], ["F", "query"], ["S", "sync"], ["H", "flush"]],
);

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
    if (next === undefined || next.type === "X") {
      inbox.end();
      return undefined;
    }
    const { type, bytes } = next;
    if (type === "Q" || type === "E") parts.push(bytes, noCopyData);
    else if ("FSHPBDC".includes(type)) parts.push(bytes);
    else if (!"dcf".includes(type)) throw new ProtocolError(`invalid frontend message type ${bytes[0]}`);
    const endsWith = ends.get(type);
    if (endsWith !== undefined) return { bytes: encode(...parts), endsWith };
  }
}

const maxReplayBytes = 64 * 1024;

/**
 * What a client set for its session. The one backend session is reset whenever another client gets it, so the settings
 * are made again each time that this client has it: those of the startup packet, and each SET outside of a transaction.
 *
 * @param startup the startup packet's parameters, `user` among them
 */
function createSessionSettings(startup: ReadonlyMap<string, string>) {
  const user = startup.get("user") ?? "";
  const parameters = runtimeParameters(startup);
  const reset = encode(
    queryMessage("DISCARD ALL"),
    queryMessage(`SET SESSION AUTHORIZATION ${quoteIdentifier(user)}`),
    ...parameters.map(([name, value]) =>
      queryMessage(`SELECT pg_catalog.set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, false)`)
    ),
  );
  let replay = new Uint8Array(0);
  let sessionTimeoutMs = durationMs(new Map(parameters).get("statement_timeout"));
  let transactionTimeoutMs: number | undefined;

  return {
    /** Messages that take the backend session from any client's state to this one's. */
    enterMessages: () => encode(reset, replay),
    /**
     * Takes note of messages that ran without error; `alone`: they began and ended outside of a transaction. Those that
     * begin one themselves set nothing for longer than it lasts.
     */
    noteExecuted(messages: Uint8Array, alone: boolean): void {
      const texts = statementTexts(messages);
      const isOfSession = alone && texts.length > 0 && texts.every((text) => setsSomething.test(text));
      if (isOfSession && replay.length + messages.length <= maxReplayBytes) {
        replay = encode(replay, messages);
      }
      const timeoutMs = timeoutIn(texts);
      if (timeoutMs === undefined) return;
      if (isOfSession) sessionTimeoutMs = timeoutMs;
      else transactionTimeoutMs = timeoutMs;
    },
    noteTransactionEnd(): void {
      transactionTimeoutMs = undefined;
    },
    /**
     * The client's own `statement_timeout` in milliseconds for messages that are about to run, which may set it
     * themselves; undefined where nothing does, 0 for no limit.
     */
    statementTimeoutMs: (messages: Uint8Array): number | undefined =>
      timeoutIn(statementTexts(messages)) ?? transactionTimeoutMs ?? sessionTimeoutMs,
  };
}

const setsSomething = /^\s*(?:set|reset|select\s+(?:pg_catalog\.)?set_config\s*\()/i;

/** The SQL of Query and Parse messages. */
function statementTexts(messages: Uint8Array): string[] {
  return messagesIn(messages).flatMap(({ type, body }) => {
    if (type === "Q") return readTexts(body, 1);
    return type === "P" ? readTexts(body, 2).slice(1) : [];
  });
}

/** Run-time parameters of a startup packet, those in `options` too (manual, "StartupMessage" and libpq's `options`). */
function runtimeParameters(startup: ReadonlyMap<string, string>): [string, string][] {
  const fromOptions = [...(startup.get("options") ?? "").matchAll(/(?:-c\s*|--)([\w.]+)=((?:\\.|\S)*)/g)]
    .map(([, name = "", value = ""]): [string, string] => [name, value.replace(/\\(.)/g, "$1")]);
  const named = [...startup].filter(([name]) =>
    !["user", "database", "options", "replication"].includes(name) && !name.startsWith("_pq_.")
  );
  return [...fromOptions, ...named];
}

/** The last `statement_timeout` that statements set: what others only mention is no setting. */
function timeoutIn(texts: readonly string[]): number | undefined {
  const setting = texts.filter((text) => setsSomething.test(text));
  return durationMs(setting.flatMap((text) => [...text.matchAll(timeoutSet)]).at(-1)?.[1]);
}

const timeoutSet =
  /(?:^\s*set\s+(?:local\s+|session\s+)?statement_timeout\s*(?:=|to\b)|\bset_config\s*\(\s*'statement_timeout'\s*,)\s*'?\s*(\d+\s*[a-z]*)/gi;

const unitsMs: Readonly<Record<string, number>> = {
  us: 0.001,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** PostgreSQL's text of a time; milliseconds where it has no unit. */
function durationMs(text: string | undefined): number | undefined {
  const [, count, unit = ""] = text?.match(/^\s*(\d+)\s*([a-z]*)/i) ?? [];
  if (count === undefined) return undefined;
  return Math.ceil(Number(count) * (unitsMs[unit.toLowerCase()] ?? 1));
}
