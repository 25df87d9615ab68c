import { pause } from "../../core/share_the_thread.ts";

/** A few milliseconds of reading text. */
const charactersPerTurn = 8192;

/**
 * Lets long work on texts share its thread: the function returned is told how many characters come next, and every so
 * often waits for whatever else is due. It throws the signal's reason once the signal is aborted.
 */
export function createTurns(signal: AbortSignal): (characters: number) => Promise<void> {
  let done = 0;
  return async (characters) => {
    signal.throwIfAborted();
    done += characters;
    if (done < charactersPerTurn) return;
    done = 0;
    await pause();
    signal.throwIfAborted();
  };
}
