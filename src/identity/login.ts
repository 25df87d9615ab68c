import { AppError } from "../core/app_error.ts";
import { costOf, dummyHash, isPossiblePassword } from "./users/password_hash.ts";
import type { Comparison, PasswordHasher } from "./users/password_hasher.ts";
import type { NewSession, Sessions } from "./sessions.ts";
import type { UserDirectory } from "./users/user_directory.ts";
import type { UserRecord } from "./users/user_file.ts";

/** Counts the failed logins of client addresses. */
export interface LoginLimiter {
  /** Whether an address has spent its attempts; whole seconds until the next one is allowed. */
  check(
    address: string,
  ): { readonly limited: false } | { readonly limited: true; readonly retryAfterSeconds: number };
  recordFailure(address: string): void;
}

export interface LoginRequest {
  readonly username: string;
  readonly password: string;
  /** The client's address, by which its failures are counted. */
  readonly address: string;
  /** Aborts when the client has gone; a login that waits is then given up. */
  readonly signal: AbortSignal;
}

/** What a caller may know. Every kind of failure is the same, and takes the same time. */
export type LoginOutcome =
  /** `sessionToken` is standard Base64 of 32 random bytes, `expiresAt` in milliseconds since 1970. */
  | { readonly kind: "success"; readonly sessionToken: string; readonly expiresAt: number }
  | { readonly kind: "failed" }
  | { readonly kind: "rate_limited"; readonly retryAfterSeconds: number }
  | { readonly kind: "busy"; readonly retryAfterSeconds: number };

/** What an audit may know besides. */
export interface LoginReport {
  readonly username: string;
  readonly address: string;
  readonly outcome: LoginOutcome["kind"];
  /** Of a failure. */
  readonly reason?: "unknown_user" | "wrong_password" | "locked" | "disabled";
  /** Of a success. */
  readonly sessionId?: string;
}

export interface Login {
  /** @throws the signal's reason where it aborts while the login waits */
  authenticate(request: LoginRequest): Promise<LoginOutcome>;
}

export interface LoginOptions {
  readonly users: UserDirectory;
  readonly passwords: PasswordHasher;
  readonly sessions: Sessions;
  readonly limiter: LoginLimiter;
  /** Told of each login, just before its outcome is. */
  readonly onLogin?: (report: LoginReport) => void;
}

type Verdict =
  | { readonly outcome: Extract<LoginOutcome, { kind: "rate_limited" | "busy" }> }
  | { readonly session: NewSession }
  | { readonly reason: NonNullable<LoginReport["reason"]> };

/** Logs users in: limits by address, compares the password, counts what failed, opens a session. */
export function createLogin(options: LoginOptions): Login {
  const { users, passwords, sessions, limiter, onLogin } = options;

  function limited(address: string) {
    const verdict = limiter.check(address);
    if (!verdict.limited) return undefined;
    return { outcome: { kind: "rate_limited", retryAfterSeconds: verdict.retryAfterSeconds } } as const;
  }

  async function decide(request: LoginRequest): Promise<Verdict> {
    const { username, address } = request;
    const before = limited(address);
    if (before !== undefined) return before;
    const hash = users.find(username)?.passwordHash;
    const comparison = await compare(request, hash);
    if (typeof comparison !== "string") return { outcome: comparison };
    // as many comparisons as there are threads run at once: their outcomes count, and are told, one after the other
    const after = limited(address);
    if (after !== undefined) return after;
    if (comparison === "not_admitted") return { outcome: { kind: "busy", retryAfterSeconds: 1 } };
    const user = users.find(username);
    const reason = refusal(user, comparison === "match" && user?.passwordHash === hash);
    if (reason === undefined) {
      users.recordSuccess(username);
      return { session: sessions.start(username, user?.createdAt ?? undefined) };
    }
    limiter.recordFailure(address);
    users.recordFailure(username);
    return { reason };
  }

  async function compare(
    { password, address, signal }: LoginRequest,
    hash: string | undefined,
  ): Promise<Comparison | Extract<LoginOutcome, { kind: "busy" }>> {
    const possible = isPossiblePassword(password);
    const totalCost = Math.max(users.highestCost, hash === undefined ? 0 : costOf(hash));
    const compared = hash !== undefined && possible
      ? { password, hash }
      : { password: "", hash: dummyHash(totalCost) };
    try {
      const admit = () => !limiter.check(address).limited;
      return await passwords.compare({ ...compared, totalCost, admit, signal });
    } catch (error) {
      const seconds = error instanceof AppError ? error.data?.retryAfterSeconds : undefined;
      if (typeof seconds !== "number") throw error;
      return { kind: "busy", retryAfterSeconds: seconds };
    }
  }

  return {
    async authenticate(request) {
      const { username, address } = request;
      const verdict = await decide(request);
      if ("outcome" in verdict) {
        onLogin?.({ username, address, outcome: verdict.outcome.kind });
        return verdict.outcome;
      }
      if ("reason" in verdict) {
        onLogin?.({ username, address, outcome: "failed", reason: verdict.reason });
        return { kind: "failed" };
      }
      const { id, token, expiresAt } = verdict.session;
      onLogin?.({ username, address, outcome: "success", sessionId: id });
      return { kind: "success", sessionToken: token, expiresAt };
    },
  };
}

function refusal(user: UserRecord | undefined, matches: boolean): LoginReport["reason"] {
  if (user === undefined) return "unknown_user";
  if (!user.enabled) return user.disabledReason === "lockout" ? "locked" : "disabled";
  return matches ? undefined : "wrong_password";
}
