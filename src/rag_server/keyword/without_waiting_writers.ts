import { sleep } from "../../core/async/sleep.ts";
import { sqlStateOf } from "./sql_session.ts";

const lockNotAvailable = "55P03";
const attempts = 300;
const pauseMs = 1_000;

/**
 * Tries `work`, which takes locks that writers hold and gives up waiting for them at once or soon, until it gets them.
 * Whoever waits for a strong lock makes all later writers wait too; between tries they go ahead.
 *
 * @throws what `work` throws for other reasons, or at the last of many tries; the signal's reason once it has aborted
 */
export async function withoutWaitingWriters<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1;; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (sqlStateOf(error) !== lockNotAvailable || attempt === attempts) throw error;
      await sleep(pauseMs, signal);
    }
  }
}
