import { ProviderError } from "../provider_error.ts";

/** What servers with OpenAI's interface call the longest answer: the newer name is for thoughts and text together. */
export type TokenLimitName = "max_tokens" | "max_completion_tokens";

/** Finds out which name a server takes. */
export interface TokenLimitNames {
  /**
   * Sends a request, and once more under the other name where the server asks for that. Where it refuses both, the first
   * refusal is thrown.
   */
  send<T>(request: (name: TokenLimitName) => Promise<T>): Promise<T>;
  /** As `send`, where the refusal comes before the first item. */
  stream<T>(request: (name: TokenLimitName) => AsyncIterable<T>): AsyncGenerator<T, void, undefined>;
}

/** @param first the name to begin with; the one that a server asked for and then took is kept */
export function createTokenLimitNames(first: TokenLimitName): TokenLimitNames {
  let current = first;
  return {
    async send(request) {
      const name = current;
      let refusal: unknown;
      try {
        return await request(name);
      } catch (thrown) {
        if (!asksForOther(thrown, name)) throw thrown;
        refusal = thrown;
      }
      try {
        const result = await request(otherThan(name));
        current = otherThan(name);
        return result;
      } catch (thrown) {
        throw isRefusal(thrown) ? refusal : thrown;
      }
    },
    async *stream(request) {
      const name = current;
      let hasItem = false;
      let refusal: unknown;
      try {
        for await (const item of request(name)) {
          hasItem = true;
          yield item;
        }
        return;
      } catch (thrown) {
        if (hasItem || !asksForOther(thrown, name)) throw thrown;
        refusal = thrown;
      }
      try {
        for await (const item of request(otherThan(name))) {
          hasItem = true;
          current = otherThan(name);
          yield item;
        }
      } catch (thrown) {
        throw !hasItem && isRefusal(thrown) ? refusal : thrown;
      }
    },
  };
}

function otherThan(name: TokenLimitName): TokenLimitName {
  return name === "max_tokens" ? "max_completion_tokens" : "max_tokens";
}

function isRefusal(thrown: unknown): thrown is ProviderError {
  return thrown instanceof ProviderError && thrown.fault === "invalid_request";
}

/** Some servers name the parameter that they want, others only say that they do not know the one that they got. */
function asksForOther(thrown: unknown, name: TokenLimitName): boolean {
  if (!isRefusal(thrown)) return false;
  const { detail } = thrown;
  // the number is refused then, whatever it is called
  if (/\b(?:too (?:large|high|long|big)|maximum|at most|exceed\w*)\b/i.test(detail)) return false;
  return new RegExp(`\\b${otherThan(name)}\\b`).test(detail) ||
    (new RegExp(`\\b${name}\\b`).test(detail) &&
      /\b(?:un(?:known|supported|recognized|expected)|not (?:supported|permitted|allowed)|extra)/i.test(
        detail,
      ));
}
