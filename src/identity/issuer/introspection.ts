import { Buffer } from "node:buffer";
import { AppError } from "../../core/app_error.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { addressGroup, createRateLimiter } from "../rate_limiter.ts";
import { fetchJson, IssuerStatus } from "./fetch_json.ts";

/** How an issuer is asked about a token (RFC 7662). */
export interface IntrospectionOptions {
  /** Where the issuer is asked; it may have to tell that first. */
  readonly endpoint: (signal: AbortSignal) => Promise<string>;
  readonly clientId: string;
  /** File that holds the client's secret; read each time, so that a new secret counts at once. */
  readonly clientSecretFile: string;
  /** Told of each question, with the error where it had no answer. */
  readonly onAnswer: (error?: unknown) => void;
  /** Milliseconds of a clock that does not go back. */
  readonly elapsedMs?: () => number;
}

const mostAtOnce = 32;
/** So that one address cannot take all the room. */
const mostAtOnceOfAddress = 4;
/** What an address may have under way, together with its questions of a minute that let nobody in. */
const mostInVain = 60;
const windowMs = 60_000;

/**
 * Asks an issuer about opaque tokens. A question about a token that then lets nobody in, or that has no answer, costs its
 * address one of 60 a minute, so that nobody makes Postern, or the issuer, work for nothing.
 */
export function createIntrospection(options: IntrospectionOptions) {
  const { endpoint, elapsedMs = () => performance.now() } = options;
  const limiter = createRateLimiter({ windowMs, maxAttempts: mostInVain, now: elapsedMs });
  const underWay: string[] = [];

  /** @throws {AppError} `unavailable` where it may not be asked now */
  function enter(address: string): () => void {
    const group = addressGroup(address);
    const own = underWay.filter((each) => each === group).length;
    const limit = limiter.check(address, own);
    if (limit.limited) {
      throw cannotAsk("too many tokens of this address were asked about in vain", limit.retryAfterSeconds);
    }
    if (own >= mostAtOnceOfAddress) {
      throw cannotAsk("the identity provider is asked about others of this address", 1);
    }
    if (underWay.length >= mostAtOnce) throw cannotAsk("the identity provider is asked about many others", 1);
    underWay.push(group);
    return () => void underWay.splice(underWay.indexOf(group), 1);
  }

  return {
    /**
     * What the issuer says of a token that is active; undefined where it is not.
     * @throws {AppError} `unavailable` where the issuer does not tell; the signal's reason where that aborts
     */
    async ask(
      token: string,
      address: string,
      signal: AbortSignal,
    ): Promise<Readonly<Record<string, unknown>> | undefined> {
      const leave = enter(address);
      try {
        const claims = await introspect(token, options, await endpoint(signal), signal);
        options.onAnswer();
        return claims;
      } catch (error) {
        if (!signal.aborted) options.onAnswer(error);
        limiter.recordFailed(address);
        throw error;
      } finally {
        leave();
      }
    },
    /** The answer let nobody in. */
    refused: limiter.recordFailed,
  };
}

/**
 * One question to an issuer about a token.
 *
 * @returns the answer's fields; undefined where the token is not active
 * @throws {AppError} `unavailable`, or `invalid` where the client's secret cannot be read
 */
export async function introspect(
  token: string,
  { clientId, clientSecretFile }: Pick<IntrospectionOptions, "clientId" | "clientSecretFile">,
  endpoint: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  const secret = await readSecret(clientSecretFile);
  // RFC 6749 section 2.3.1: both are form-encoded first
  const credentials = [clientId, secret].map((text) => String(new URLSearchParams([["", text]])).slice(1));
  const answer = await fetchJson(endpoint, signal, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(credentials.join(":")).toString("base64")}` },
    body: new URLSearchParams({ token, token_type_hint: "access_token" }),
  }).catch((error) => {
    if (!(error instanceof IssuerStatus) || ![400, 401, 403].includes(error.status)) throw error;
    throw new AppError("unavailable", `${error.message}: it refuses client_id or the client's secret`);
  });
  const isAnswer = typeof answer === "object" && answer !== null && "active" in answer &&
    typeof answer.active === "boolean";
  if (!isAnswer) {
    throw new AppError("unavailable", `Cannot use the answer of ${endpoint}: expected a field active`);
  }
  return answer.active ? answer as Readonly<Record<string, unknown>> : undefined;
}

/** @throws {AppError} `unavailable` where there is none */
export async function readSecret(path: string): Promise<string> {
  const text = await readRegularFile(path).catch((cause) => {
    throw new AppError("unavailable", `Cannot read the client's secret in ${path}`, { cause });
  });
  if (text.trim() !== "") return text.trim();
  throw new AppError("unavailable", `Cannot use the client's secret in ${path}: the file is empty`);
}

function cannotAsk(reason: string, retryAfterSeconds: number): AppError {
  return new AppError("unavailable", `Cannot tell who is calling: ${reason}`, {
    data: { retryAfterSeconds },
  });
}
