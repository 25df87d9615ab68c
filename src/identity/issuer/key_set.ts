import { createLocalJWKSet, errors, type JSONWebKeySet, type JWK, type JWTVerifyGetKey } from "jose";
import { AppError } from "../../core/app_error.ts";
import { sleep } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { TokenAlgorithm } from "./issuer_kinds.ts";

interface KeySetOptions {
  readonly issuer: string;
  readonly algorithms: readonly TokenAlgorithm[];
  /** Reads the set from the issuer (RFC 7517 section 5). */
  readonly load: (signal: AbortSignal) => Promise<unknown>;
  /** Told when the keys are others than before. */
  readonly onChanged: () => void;
  /** Told of each attempt to read them. */
  readonly onAttempt: (result: "ok" | "failed") => void;
  readonly logger: Logger;
  /** Milliseconds of a clock that does not go back. */
  readonly elapsedMs?: () => number;
}

/** An unknown key has the set read again at most this often, whoever asks. */
const unknownKeyMs = 60_000;
const refreshMs = 10 * 60_000;
/** After an attempt that failed; twice as long after each further one. */
const firstRetryMs = 2_000;
const longestRetryMs = 60_000;

/**
 * The keys of an issuer. They are read at once, then every 10 minutes and when a token names an unknown one; a set that
 * cannot be read or used leaves the last one in force. Nobody waits for a reading but callers whose key is unknown.
 */
export function createKeySet(options: KeySetOptions) {
  const { issuer, algorithms, load, logger, elapsedMs = () => performance.now() } = options;
  const stop = new AbortController();
  let keys: { readonly text: string; readonly find: JWTVerifyGetKey } | undefined;
  let attemptedAt = -Infinity;
  let attempt: Promise<boolean> | undefined;
  let isReachable: boolean | undefined;

  async function read(): Promise<boolean> {
    attemptedAt = elapsedMs();
    try {
      const set = await load(stop.signal);
      const algorithmsOfKeys = usableAlgorithms(set, algorithms);
      const text = JSON.stringify(set);
      if (text !== keys?.text) {
        keys = { text, find: createLocalJWKSet(set as JSONWebKeySet) };
        options.onChanged();
      }
      if (!isReachable) logger.info("Read the keys of the issuer", { issuer, algorithms: algorithmsOfKeys });
      isReachable = true;
    } catch (error) {
      if (stop.signal.aborted) return false;
      isReachable = false;
      logger.warn(
        keys === undefined
          ? "Cannot read the keys of the issuer; its tokens let nobody in until that succeeds"
          : "Cannot read the keys of the issuer; those that were read last stay in force",
        { issuer, error },
      );
    }
    options.onAttempt(isReachable ? "ok" : "failed");
    return isReachable;
  }

  function readOnce(): Promise<boolean> {
    return attempt ??= read().finally(() => attempt = undefined);
  }

  async function keepFresh(): Promise<void> {
    let retryMs = firstRetryMs;
    while (!stop.signal.aborted) {
      const isRead = await readOnce();
      await sleep(isRead ? refreshMs : retryMs, stop.signal).catch(() => {});
      retryMs = isRead ? firstRetryMs : Math.min(2 * retryMs, longestRetryMs);
    }
  }
  const fresh = keepFresh();

  return {
    /**
     * The key of a token, by its header.
     * @throws {AppError} `unavailable` before the keys could be read for the first time
     * @throws {errors.JOSEError} where no key fits, or several do
     */
    async find(
      ...[header, token]: Parameters<JWTVerifyGetKey>
    ): Promise<Awaited<ReturnType<JWTVerifyGetKey>>> {
      if (keys === undefined) await attempt;
      if (keys === undefined) {
        throw new AppError(
          "unavailable",
          "Cannot tell who is calling: the identity provider's keys could not be read yet",
          {
            data: { retryAfterSeconds: 5 },
          },
        );
      }
      try {
        return await keys.find(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        if (attempt === undefined && elapsedMs() - attemptedAt < unknownKeyMs) throw error;
        await readOnce();
        return await keys.find(header, token);
      }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      stop.abort();
      await fresh;
    },
  };
}

/**
 * Those of the algorithms that a set has a key for.
 * @throws {AppError} `invalid` where there is none, or no set
 */
export function usableAlgorithms(set: unknown, algorithms: readonly TokenAlgorithm[]): TokenAlgorithm[] {
  const keys = (set as { keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys)) throw new AppError("invalid", "Cannot use the issuer's keys: expected a key set");
  const found = algorithms.filter((algorithm) => keys.some((key) => isFor(algorithm, key)));
  if (found.length > 0) return found;
  const reason = `none of the ${keys.length} is for ${algorithms.join(", ")}`;
  throw new AppError("invalid", `Cannot use the issuer's keys: ${reason}`);
}

const keyTypes: Readonly<Record<TokenAlgorithm, Pick<JWK, "kty" | "crv">>> = {
  RS256: { kty: "RSA" },
  PS256: { kty: "RSA" },
  ES256: { kty: "EC", crv: "P-256" },
  EdDSA: { kty: "OKP", crv: "Ed25519" },
};

function isFor(algorithm: TokenAlgorithm, key: JWK | null): boolean {
  const { kty, crv } = keyTypes[algorithm];
  if (key === null || key.kty !== kty || (crv !== undefined && key.crv !== crv)) return false;
  return (key.alg ?? algorithm) === algorithm && (key.use ?? "sig") === "sig";
}
