import type { Logger } from "../core/logger.ts";

export type OpenConnections = ReturnType<typeof createOpenConnections>;
export type OpenConnection = ReturnType<OpenConnections["add"]>;

const sweepMs = 5_000;
/** From the accept to the headers of the first request, of TLS with its handshake. */
const firstRequestMs = 30_000;
/** Longer than common proxies and clients keep idle connections, so that they do not send into one that closes. */
const idleMs = 180_000;
/** For the reply to arrive before a spent connection closes. */
const spentMs = 1_000;

/** How long a new connection may take for its request, and a client for its next one, whoever else waits. */
const graceMs = 1_000;
/** So many connections stay open however few descriptors are left. */
const leastConnections = 8;

/** For the last of a reply to leave: the runtime does not tell when a client that reads slowly has all of it. */
const settleMs = 3_000;
const pollMs = 50;

/** Descriptors that are left for databases, files and the log, beside so many connections. */
function reserveFor(connections: number): number {
  return Math.min(16 + Math.floor(connections / 8), 128);
}

/**
 * Closes connections without a request under way: those that stay so for too long, and the oldest of them while few file
 * descriptors are left. The runtime's own server bounds none.
 */
export function createOpenConnections(options: {
  readonly logger: Logger;
  /** How many more files could be opened, counted to `atMost`. */
  readonly freeDescriptors?: (atMost: number) => number;
  readonly now?: () => number;
}) {
  const { logger, freeDescriptors = countFreeDescriptors, now = () => performance.now() } = options;
  let count = 0;
  // those without a request under way, the one that has been so longest first
  const idle = new Set<Idle>();
  // how many connections leave the reserve free; there may be room for more, unless the number is exact
  let room = 0;
  let isExact = false;
  // clients that wait for a reply; the runtime waits for silent connections as for theirs
  let replies = 0;
  let lastReply = -Infinity;

  const timer = setInterval(sweep, sweepMs);
  Deno.unrefTimer(timer);

  function sweep(): void {
    const time = now();
    for (const connection of idle) if (time - connection.since > connection.limitMs) close(connection);
    relieve();
  }

  /** To be called where no file descriptor was left for a connection. */
  function relieve(): void {
    room = 0;
    isExact = false;
    makeRoom();
  }

  /** Whether there is room for one more connection. Closes others that have no request under way for it. */
  function makeRoom(): boolean {
    if (count >= room && !isExact) measure();
    const latest = now() - graceMs;
    let closed = 0;
    for (const connection of idle) {
      if (count < room || connection.since > latest) break;
      close(connection);
      closed++;
    }
    if (closed > 0) logger.debug("Few file descriptors are left: idle connections were closed", { closed });
    return count < room;
  }

  function measure(): void {
    const reserve = reserveFor(count);
    const free = freeDescriptors(2 * reserve);
    isExact = free < 2 * reserve;
    room = Math.max(count + free - reserve, leastConnections);
  }

  function close(connection: Idle): void {
    forget(connection);
    tryToClose(connection);
  }

  function forget(connection: Idle): void {
    if (connection.isForgotten) return;
    connection.isForgotten = true;
    idle.delete(connection);
    count--;
  }

  return {
    /** A connection, from its accept to its end. */
    add() {
      const connection: Idle = { since: now(), limitMs: firstRequestMs, isForgotten: false, close: () => {} };
      let underWay = 0;
      count++;

      return {
        /** Its handshake has ended: `close` breaks it from now on. */
        serve(close: () => void): void {
          connection.close = close;
          idle.add(connection);
        },
        beginRequest(): void {
          replies++;
          if (underWay++ === 0) idle.delete(connection);
          if (connection.limitMs === firstRequestMs) connection.limitMs = idleMs;
        },
        /** The whole reply was handed to the runtime, or there will be none. */
        endRequest(): void {
          replies--;
          lastReply = now();
          if (--underWay > 0 || connection.isForgotten) return;
          connection.since = lastReply;
          idle.add(connection);
        },
        /** It is closed once no request is under way: what still comes over it is the rest of a request that was given up. */
        spend: () => void (connection.limitMs = spentMs),
        /** It has ended. */
        leave: () => forget(connection),
      };
    },
    makeRoom,
    relieve,
    /** Resolves once the last reply was complete for a while, or there was none; never once `signal` is aborted. */
    repliesSettled(signal: AbortSignal): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setInterval(() => {
        if (replies === 0 && now() - lastReply >= settleMs) resolve();
      }, pollMs);
      signal.addEventListener("abort", () => clearInterval(timer));
      return promise;
    },
    close: () => clearInterval(timer),
  };
}

interface Idle {
  since: number;
  limitMs: number;
  isForgotten: boolean;
  close: () => void;
}

/** Closes a connection, which may have ended or become a part of another one. */
export function tryToClose(connection: { close(): void }): void {
  try {
    connection.close();
  } catch {
    // it is closed
  }
}

/** Counts by opening files: the executable has no permission to read what the system allows the process. */
function countFreeDescriptors(atMost: number): number {
  const opened: Deno.FsFile[] = [];
  try {
    while (opened.length < atMost) opened.push(Deno.openSync("/dev/null"));
  } catch (error) {
    // where it cannot be told, there are enough
    if (!(error instanceof Error && "code" in error && error.code === "EMFILE")) return atMost;
  } finally {
    for (const file of opened) file.close();
  }
  return opened.length;
}
