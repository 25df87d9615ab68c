import { createLogger } from "../../../src/core/logger.ts";
import { createIssuer, type IssuerOptions } from "../../../src/identity/issuer/issuer.ts";
import type { Principal } from "../../../src/core/principal.ts";
import { startTokenIssuer, testAudience, type TokenIssuer } from "../../support/token_issuer.ts";
import { waitUntil } from "../../support/wait_until.ts";

export interface IssuerFixture extends AsyncDisposable {
  readonly server: TokenIssuer;
  /** What was refused, and why. */
  readonly refusals: string[];
  readonly log: string[];
  /** Adds to both clocks. */
  pass(ms: number): void;
  authenticate(token: string, address?: string): Promise<Principal | undefined>;
  /** Why a token is refused; undefined where it lets somebody in. */
  refusalOf(token: string, address?: string): Promise<string | undefined>;
}

/** An issuer over HTTP, and what verifies its tokens; its keys have been read, unless nobody is to wait for that. */
export async function createIssuerFixture(
  changes: Partial<IssuerOptions> = {},
  { server, waits = true }: { server?: TokenIssuer; waits?: boolean } = {},
): Promise<IssuerFixture> {
  const started = server ?? await startTokenIssuer();
  const refusals: string[] = [];
  const log: string[] = [];
  let passedMs = 0;
  const issuer = createIssuer({
    issuer: started.issuer,
    audience: testAudience,
    algorithms: ["RS256", "PS256", "ES256", "EdDSA"],
    types: ["at+jwt"],
    usernameClaim: "preferred_username",
    onRefusal: (reason) => refusals.push(reason),
    onRequest: () => {},
    now: () => Date.now() + passedMs,
    elapsedMs: () => performance.now() + passedMs,
    logger: createLogger({ level: "debug", format: "text", write: (line) => void log.push(line) }),
    ...changes,
  });
  if (waits) await waitUntil("the keys were read", () => log.some((line) => line.includes("Read the keys")));
  const authenticate = async (token: string, address = "192.0.2.1") =>
    await issuer.authenticate(token, () => address);
  return {
    server: started,
    refusals,
    log,
    pass: (ms) => void (passedMs += ms),
    authenticate,
    async refusalOf(token, address) {
      refusals.length = 0;
      const principal = await authenticate(token, address).catch((error) => error.message);
      if (typeof principal === "string") return `${refusals.join()}: ${principal}`;
      return principal === undefined ? refusals.join() : undefined;
    },
    async [Symbol.asyncDispose]() {
      await issuer[Symbol.asyncDispose]();
      await started[Symbol.asyncDispose]();
    },
  };
}
