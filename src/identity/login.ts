import { AppError } from "../core/app_error.ts";
import { defined } from "../core/defined.ts";
import { addressGroup, type RateLimiter } from "./rate_limiter.ts";
import type { NewSession, Sessions } from "./sessions.ts";
import {
  type Comparison,
  costOf,
  dummyHash,
  isPossiblePassword,
  type PasswordHasher,
} from "./users/password_hashing.ts";
import type { UserDirectory } from "./users/user_directory.ts";
import type { UserRecord } from "./users/user_file.ts";

export interface LoginRequest {
  readonly username: string;
  readonly password: string;
  /** The client's address, by which its failed logins are counted. */
  readonly address: string;
  /** Names the request that it came with. */
  readonly requestId?: string;
  /** Aborts when the client has gone; a login that waits is then given up. */
  readonly signal: AbortSignal;
}

/** What a caller may know. Every kind of `failed` is the same, and takes the same time. */
export type LoginResult =
  /** `sessionToken` is standard Base64 of 32 random bytes, `expiresAt` in milliseconds since 1970. */
  | { readonly kind: "success"; readonly sessionToken: string; readonly expiresAt: number }
  | { readonly kind: "failed" }
  | NotTried;

/** As LoginResult, of a login that opens no session. */
export type VerifyResult =
  | { readonly kind: "verified"; readonly account: UserRecord }
  | Exclude<LoginResult, { kind: "success" }>;

/** Whether the password is right is not told; `unavailable`: what servers share does not answer. */
type NotTried = {
  readonly kind: "rate_limited" | "busy" | "unavailable";
  readonly retryAfterSeconds: number;
};

/** What an audit may know besides. */
export interface LoginReport extends Pick<LoginRequest, "username" | "address" | "requestId"> {
  readonly result: LoginResult["kind"];
  /** Of one that failed. */
  readonly reason?: "unknown_user" | "wrong_password" | "locked" | "disabled";
  /** Of a success that opened a session. */
  readonly sessionId?: string;
  /** Where the password was typed, if not in `authenticate_user`. */
  readonly via?: "oauth";
}

export interface LoginOptions {
  readonly users: UserDirectory;
  readonly passwords: PasswordHasher;
  readonly sessions: Sessions;
  readonly limiter: RateLimiter;
  /** Optional: learns what failed at other processes until now. */
  readonly learn?: (() => Promise<void>) | undefined;
  /** Told of each login, just before the caller gets its result, which waits for it. */
  readonly onLogin?: (report: LoginReport) => void | Promise<unknown>;
}

export type Login = ReturnType<typeof createLogin>;

/** Logs users in: limits by address, compares the password, counts what failed, opens a session. */
export function createLogin(options: LoginOptions) {
  const { users, passwords, sessions, limiter, onLogin = () => {}, learn = () => Promise.resolve() } =
    options;

  function limited(address: string): NotTried | undefined {
    const limit = limiter.check(address);
    return limit.limited ? { kind: "rate_limited", retryAfterSeconds: limit.retryAfterSeconds } : undefined;
  }

  async function decide(
    request: LoginRequest,
  ): Promise<NotTried | { kind: "success"; user: UserRecord } | { kind: "failed"; reason: Reason }> {
    const { username, address } = request;
    const limitedBefore = limited(address);
    if (limitedBefore !== undefined) return limitedBefore;
    const hash = users.find(username)?.passwordHash;
    const comparison = await compare(request, hash);
    if (typeof comparison !== "string") return comparison;
    // comparisons run at once on several threads: their results are counted and told one after the other
    const limitedAfter = limited(address);
    if (limitedAfter !== undefined) return limitedAfter;
    if (comparison === "not_admitted") return busy;
    const user = users.find(username);
    const reason = refusal(user, comparison === "match" && user?.passwordHash === hash);
    if (reason === undefined && user !== undefined) return { kind: "success", user };
    users.recordFailedLogin(username);
    // other processes may have counted more meanwhile: then nobody learns the result
    if (!await limiter.recordFailed(address)) return limited(address) ?? busy;
    return { kind: "failed", reason: reason ?? "unknown_user" };
  }

  async function compare(
    { password, address, signal }: LoginRequest,
    hash: string | undefined,
  ): Promise<Comparison | NotTried> {
    const totalCost = Math.max(users.highestCost, hash === undefined ? 0 : costOf(hash));
    const compared = hash !== undefined && isPossiblePassword(password)
      ? { password, hash }
      : { password: "", hash: dummyHash(totalCost) };
    try {
      const admit = () => !limiter.check(address).limited;
      return await passwords.compare({
        ...compared,
        totalCost,
        address: addressGroup(address),
        admit,
        signal,
      });
    } catch (error) {
      const seconds = error instanceof AppError ? error.data?.retryAfterSeconds : undefined;
      if (typeof seconds !== "number") throw error;
      return { kind: "busy", retryAfterSeconds: seconds };
    }
  }

  /** Lets a user in, unless meanwhile the account has changed or too many attempts have failed at other processes. */
  async function succeed<T>(
    { username, address }: LoginRequest,
    decided: Awaited<ReturnType<typeof decide>>,
    onSuccess: (user: UserRecord) => Promise<Success<T>>,
  ) {
    if (decided.kind !== "success") return decided;
    const success = await onSuccess(decided.user);
    const user = users.find(username);
    const reason = refusal(user, user?.passwordHash === decided.user.passwordHash);
    const refused = limited(address) ?? (reason && { kind: "failed" as const, reason });
    if (refused === undefined) {
      users.recordLogin(username);
      return { kind: "success" as const, success };
    }
    if (success.sessionId !== undefined) sessions.end(success.sessionId);
    return refused;
  }

  async function run<T>(
    request: LoginRequest,
    via: Pick<LoginReport, "via">,
    onSuccess: (user: UserRecord) => Promise<Success<T>>,
  ): Promise<T | Exclude<LoginResult, { kind: "success" }>> {
    const { username, address, requestId } = request;
    const decision = await decide(request).then((decided) => succeed(request, decided, onSuccess))
      .catch((error): NotTried => {
        if (!(error instanceof AppError) || error.code !== "unavailable") throw error;
        const seconds = error.data?.retryAfterSeconds;
        return { kind: "unavailable", retryAfterSeconds: typeof seconds === "number" ? seconds : 1 };
      });
    const named = requestId !== undefined && { requestId };
    const report = { username, address, result: decision.kind, ...named, ...via };
    switch (decision.kind) {
      case "success": {
        const { success: { result, sessionId } } = decision;
        await onLogin({ ...report, ...defined({ sessionId }) });
        return result;
      }
      case "failed":
        await onLogin({ ...report, reason: decision.reason });
        return { kind: "failed" };
      default:
        await onLogin(report);
        return decision;
    }
  }

  return {
    /** Whether anybody has an account. */
    get hasAccounts(): boolean {
      return users.size > 0;
    },
    /** @throws the signal's reason where it aborts while the login waits */
    authenticate(request: LoginRequest): Promise<LoginResult> {
      return run<LoginResult>(request, {}, async ({ username, createdAt }) => {
        const session: NewSession = await sessions.start(username, createdAt ?? undefined);
        const { id: sessionId, token: sessionToken, expiresAt } = session;
        return { result: { kind: "success", sessionToken, expiresAt }, sessionId };
      });
    },
    /** As authenticate(), for the login page: limited, counted and told in the same way, but it opens no session. */
    verify(request: LoginRequest): Promise<VerifyResult> {
      return run<VerifyResult>(
        request,
        { via: "oauth" },
        async (account) => {
          await learn();
          return { result: { kind: "verified", account } };
        },
      );
    },
  };
}

type Reason = NonNullable<LoginReport["reason"]>;

/** What a right password gives. */
interface Success<T> {
  readonly result: T;
  /** Of the session that it opened. */
  readonly sessionId?: string;
}

const busy: NotTried = { kind: "busy", retryAfterSeconds: 1 };

function refusal(user: UserRecord | undefined, matches: boolean): Reason | undefined {
  if (user === undefined) return "unknown_user";
  if (!user.enabled) return user.disabledReason === "lockout" ? "locked" : "disabled";
  return matches ? undefined : "wrong_password";
}
