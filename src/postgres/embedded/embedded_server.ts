import { randomInt } from "node:crypto";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { AppError } from "../../core/app_error.ts";
import { createQueue } from "../../core/async/queue.ts";
import { lockWithin } from "../../core/files/file_lock.ts";
import type { Logger } from "../../core/logger.ts";
import { createClientSession } from "./client_session.ts";
import { ClientStream } from "./client_stream.ts";
import { createPgliteBackend } from "./pglite_instance.ts";
import {
  encode,
  errorResponse,
  message,
  ProtocolError,
  readInt32,
  readTexts,
  readyForQuery,
  shuttingDown,
  startupCodes,
} from "./wire_protocol.ts";

export interface EmbeddedServerOptions {
  /** `memory`, or a directory for the data, made where it is missing. */
  readonly dataDir: "memory" | string;
  /** What `createSnapshot()` gave: a new database starts from it in a fraction of the time. */
  readonly snapshot?: Uint8Array;
  /** Makes the SQL that fills a new database, run by the superuser `postgres`: in memory, at each start. */
  readonly prepare?: () => readonly string[] | Promise<readonly string[]>;
  /** The bound of one statement, and of the time between two in a transaction; 0: none. */
  readonly statementTimeoutMs: number;
  readonly logger: Logger;
}

/** PostgreSQL inside of this process. */
export type EmbeddedServer = Awaited<ReturnType<typeof createEmbeddedServer>>;

/** The one database that there is. */
export const embeddedDatabaseName = "postgres";

/**
 * Starts PGlite in a worker behind a front that speaks the wire protocol with any number of clients. They take turns,
 * a transaction at a time; COPY from the client and settings made inside of a committed transaction do not work.
 *
 * The engine restarts when a statement breaks it, or does not react to a stop within five seconds. Data in memory is
 * then as `prepare` left it. Other clients lose nothing, because none of them can be in a transaction.
 *
 * @throws AppError `unavailable` where the database doesn't start, `conflict` where another server has the directory
 */
export async function createEmbeddedServer(options: EmbeddedServerOptions) {
  const { dataDir, snapshot, prepare = () => [], statementTimeoutMs, logger } = options;
  logger.info("starting an embedded PostgreSQL, which takes a few seconds");
  const unlock = dataDir === "memory" ? () => {} : await lockDirectory(dataDir);
  const backend = await createPgliteBackend({ dataDir, snapshot, prepare }, logger).catch((error) => {
    unlock();
    throw error;
  });
  const queue = createQueue();
  const streams = new Set<ClientStream>();
  const cancels = new Map<number, { secret: number; cancel: () => void }>();
  let lastProcessId = 0;

  async function serve(stream: ClientStream): Promise<void> {
    const startup = await readStartup(stream);
    if (startup.kind === "unsupported") throw new ProtocolError("unsupported frontend protocol");
    if (startup.kind === "cancel") {
      const target = cancels.get(startup.processId);
      if (target?.secret === startup.secret) target.cancel();
    }
    if (startup.kind === "session") await serveSession(stream, startup.parameters);
  }

  async function serveSession(stream: ClientStream, parameters: ReadonlyMap<string, string>): Promise<void> {
    const user = parameters.get("user") ?? "";
    const database = parameters.get("database") ?? user;
    if (database !== embeddedDatabaseName) {
      return stream.send(errorResponse("FATAL", "3D000", `database "${database}" does not exist`));
    }
    const session = createClientSession({ stream, parameters, backend, queue, statementTimeoutMs, logger });
    const [processId, secret] = [++lastProcessId, randomInt(2 ** 31)];
    cancels.set(processId, { secret, cancel: session.cancel });
    try {
      await stream.send(encode(
        message("R", 0),
        backend.parameters,
        message("S", "session_authorization", user),
        message("K", processId, secret),
        readyForQuery("I"),
      ));
      await session.serve();
    } finally {
      cancels.delete(processId);
    }
  }

  function openStream(): ClientStream {
    const stream = new ClientStream();
    streams.add(stream);
    stream.once("close", () => streams.delete(stream));
    serve(stream)
      .catch((error) =>
        stream.send(errorResponse("FATAL", "08P01", error instanceof Error ? error.message : ""))
      )
      .finally(() => stream.hangUp());
    return stream;
  }

  async function close(): Promise<void> {
    const { sqlState, message: text } = shuttingDown();
    for (const stream of streams) {
      stream.send(errorResponse("FATAL", sqlState, text));
      stream.hangUp();
    }
    await backend.close();
    unlock();
  }

  let closing: Promise<void> | undefined;
  const closeOnce = () => closing ??= close();
  return {
    /** A new connection's client end; it has what a driver calls on a socket. Any user that is a role, no password. */
    openStream: (): Duplex => openStream(),
    close: closeOnce,
    [Symbol.asyncDispose]: closeOnce,
  };
}

type Startup =
  | { readonly kind: "session"; readonly parameters: ReadonlyMap<string, string> }
  | { readonly kind: "cancel"; readonly processId: number; readonly secret: number }
  | { readonly kind: "unsupported" }
  | { readonly kind: "gone" };

/** Reads what a client opens with; encryption is declined (manual, "Message Flow", "Start-up"). */
async function readStartup(stream: ClientStream): Promise<Startup> {
  for (;;) {
    const packet = await stream.inbox.readStartup();
    if (packet === undefined) return { kind: "gone" };
    const code = readInt32(packet, 0);
    if (code === startupCodes.ssl || code === startupCodes.gssEncryption) {
      await stream.send(new Uint8Array(["N".charCodeAt(0)]));
    } else if (code === startupCodes.cancel && packet.length >= 12) {
      return { kind: "cancel", processId: readInt32(packet, 4), secret: readInt32(packet, 8) };
    } else if (code >> 16 === startupCodes.protocol3) {
      return { kind: "session", parameters: parametersIn(packet.subarray(4)) };
    } else {
      return { kind: "unsupported" };
    }
  }
}

function parametersIn(body: Uint8Array): Map<string, string> {
  const texts = readTexts(body, 1000);
  const parameters = new Map<string, string>();
  for (let index = 0; index + 1 < texts.length; index += 2) {
    const name = texts[index] ?? "";
    if (name !== "") parameters.set(name, texts[index + 1] ?? "");
  }
  return parameters;
}

/** Long enough for a predecessor that is shutting down. */
const longestWaitMs = 3000;

/**
 * Makes the directory where it is missing and keeps other servers out of it: PGlite itself lets two write to one
 * directory, which ruins the data. The lock is the operating system's, so it ends with the process however that ends.
 * Returns the function that gives it back.
 *
 * @throws AppError `conflict` where another server has it, `unavailable` where it cannot be made or written
 */
async function lockDirectory(directory: string): Promise<() => void> {
  const cannotOpen = `Cannot open the embedded database ${directory}`;
  let file: Deno.FsFile;
  try {
    await Deno.mkdir(directory, { recursive: true, mode: 0o700 });
    file = await Deno.open(join(directory, "postern.lock"), { create: true, write: true, mode: 0o600 });
  } catch (cause) {
    const reason = "this user cannot make the folder, or write to it";
    throw new AppError("unavailable", `${cannotOpen}: ${reason}`, { cause });
  }
  if (!await lockWithin(file, "exclusive", longestWaitMs)) {
    throw new AppError("conflict", `${cannotOpen}: another server has it open`);
  }
  return () => file.close();
}
