import type { Logger } from "../../core/logger.ts";
import { joinLogins, type LoginCounts } from "./lockout.ts";

// the reply goes out first, so that its time does not tell of an account that is there, for which the file is written
const writeDelayMs = 20;
const longestRetryDelayMs = 5_000;

/**
 * Keeps logins until they are written; those that come during a write are written together by the next.
 *
 * @param options.write writes logins, by username; what it resolves with runs at the moment when they leave the queue
 */
export function createLoginQueue({ write, logger }: {
  readonly write: (logins: ReadonlyMap<string, LoginCounts>) => Promise<() => void>;
  readonly logger: Logger;
}) {
  let waiting = new Map<string, LoginCounts>();
  let beingWritten = new Map<string, LoginCounts>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;
  let failedWrites = 0;

  function schedule(delayMs: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void startWriting();
    }, delayMs);
  }
  function startWriting(): Promise<void> {
    // what comes in the meantime waits for the next write
    return writing ??= writeWaiting().finally(() => {
      writing = undefined;
      if (waiting.size === 0) return;
      schedule(failedWrites === 0 ? 0 : Math.min(longestRetryDelayMs, 125 * 2 ** failedWrites));
    });
  }
  async function writeWaiting(): Promise<void> {
    [beingWritten, waiting] = [waiting, new Map()];
    try {
      const written = await write(beingWritten);
      beingWritten = new Map();
      failedWrites = 0;
      written();
    } catch (error) {
      for (const [username, logins] of waiting) add(beingWritten, username, logins);
      [beingWritten, waiting] = [new Map(), beingWritten];
      if (failedWrites++ === 0) {
        logger.error("Cannot record logins in the user file; trying again", { error });
      }
    }
  }

  return {
    /** What is not written yet of an account. */
    of: (username: string) => joinLogins(beingWritten.get(username), waiting.get(username)),
    record(username: string, logins: LoginCounts): void {
      add(waiting, username, logins);
      if (writing === undefined) schedule(writeDelayMs);
    },
    /** Tries once more to write what is left. */
    async close(): Promise<void> {
      await writing;
      if (waiting.size > 0) await startWriting();
      clearTimeout(timer);
    },
  };
}

function add(counts: Map<string, LoginCounts>, username: string, logins: LoginCounts): void {
  counts.set(username, joinLogins(counts.get(username), logins));
}
