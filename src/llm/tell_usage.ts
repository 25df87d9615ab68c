import { countTokens } from "../text/token_count.ts";
import { noUsage, type OnUsage, type Usage } from "./provider.ts";

/** The answer that a request brought, as far as it came. */
interface AnswerSoFar {
  readonly text: string;
  readonly isWhole: boolean;
}

/** Tells what a request used by the provider's own counts, 0 where it gave none. */
export type TellUsage = (usage: Usage, answer?: AnswerSoFar) => void;

/**
 * Who is told what a request used. The provider's listener is told the provider's own counts, as its bill will have them.
 * The caller's, which quotas count by, is told an estimate where the provider gave none: some never count, most count at
 * the end of an answer, and a caller who leaves before that has cost what it has cost.
 *
 * @param prompt the texts that were sent; asked only for an estimate
 */
export function usageTeller(
  ofProvider: OnUsage | undefined,
  ofCaller: OnUsage | undefined,
  prompt: () => readonly string[],
): TellUsage {
  return (usage, { text, isWhole } = { text: "", isWhole: true }) => {
    ofProvider?.(usage);
    if (ofCaller === undefined) return;
    const { promptTokens, completionTokens } = usage;
    const isCounted = isWhole && completionTokens > 0;
    ofCaller({
      ...usage,
      promptTokens: promptTokens > 0
        ? promptTokens
        : prompt().reduce((sum, part) => sum + countTokens(part), 0),
      completionTokens: isCounted ? completionTokens : Math.max(completionTokens, countTokens(text)),
    });
  };
}

/**
 * Sends a request whose reply comes in one piece, and tells what it used, also where its caller leaves before the reply.
 *
 * @param send is given what to tell of each reply
 * @throws what `send` throws; the signal's reason where nothing was sent
 */
export async function tellThoughLeft<T>(
  tell: TellUsage,
  signal: AbortSignal,
  send: (tell: TellUsage) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  let isTold = false;
  try {
    return await send((usage, answer) => {
      isTold = true;
      tell(usage, answer);
    });
  } catch (thrown) {
    if (signal.aborted && !isTold) tell(noUsage);
    throw thrown;
  }
}
