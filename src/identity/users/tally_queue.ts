import type { Logger } from "../../core/logger.ts";
import { joinTallies, type LoginTally, noLogins } from "./login_tally.ts";

/** Gathers logins until they are written, those of the meantime in one go. */
export interface TallyQueue {
  /** What is not written yet of an account. */
  of(username: string): LoginTally;
  record(username: string, add: (tally: LoginTally) => LoginTally): void;
  /** Tries once more to write what is left. */
  close(): Promise<void>;
}

export interface TallyQueueOptions {
  /** Writes tallies; what it resolves with runs at the moment when they leave the queue. */
  readonly write: (tallies: ReadonlyMap<string, LoginTally>) => Promise<() => void>;
  readonly logger: Logger;
}

// a reply goes out before, so that the work for an account that is there does not show in the reply's time
const writeDelayMs = 20;
const longestRetryDelayMs = 5_000;

export function createTallyQueue({ write, logger }: TallyQueueOptions): TallyQueue {
  let waiting = new Map<string, LoginTally>();
  let beingWritten = new Map<string, LoginTally>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> | undefined;
  let failures = 0;

  function schedule(delayMs: number): void {
    timer ??= setTimeout(() => {
      timer = undefined;
      void startWriting();
    }, delayMs);
  }
  function startWriting(): Promise<void> {
    // what came in the meantime waits for the next turn
    return writing ??= writeWaiting().finally(() => {
      writing = undefined;
      if (waiting.size > 0) schedule(failures === 0 ? 0 : Math.min(longestRetryDelayMs, 125 * 2 ** failures));
    });
  }
  async function writeWaiting(): Promise<void> {
    [beingWritten, waiting] = [waiting, new Map()];
    try {
      const written = await write(beingWritten);
      beingWritten = new Map();
      failures = 0;
      written();
    } catch (error) {
      waiting = joinAll(beingWritten, waiting);
      beingWritten = new Map();
      if (failures++ === 0) logger.error("Cannot note logins in the user file; trying again", { error });
    }
  }

  return {
    of: (username) => joinTallies(beingWritten.get(username) ?? noLogins, waiting.get(username) ?? noLogins),
    record(username, add) {
      waiting.set(username, add(waiting.get(username) ?? noLogins));
      if (writing === undefined) schedule(writeDelayMs);
    },
    async close() {
      await writing;
      if (waiting.size > 0) await startWriting();
      clearTimeout(timer);
    },
  };
}

function joinAll(
  earlier: ReadonlyMap<string, LoginTally>,
  later: ReadonlyMap<string, LoginTally>,
): Map<string, LoginTally> {
  const joined = new Map(earlier);
  for (const [username, tally] of later) {
    joined.set(username, joinTallies(joined.get(username) ?? noLogins, tally));
  }
  return joined;
}
