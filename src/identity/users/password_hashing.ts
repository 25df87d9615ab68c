import bcrypt from "bcryptjs";
import { createGate } from "../../core/admission.ts";
import { AppError } from "../../core/app_error.ts";
import { startThread } from "../../core/async/thread.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import { longestPasswordBytes } from "./password_limits.ts";

/** What a new password costs to check: 2^12 rounds of bcrypt's key schedule. */
export const passwordCost = 12;

/** The costs of hashes that are accepted; with a higher one a login would take many seconds. */
const hashCosts = { least: 4, most: 15 } as const;

/**
 * Checks a password that is to be set.
 *
 * @throws AppError `invalid` with the reason
 */
export function checkNewPassword(password: string, minLength: number): void {
  const fault = newPasswordFault(password, minLength);
  if (fault !== undefined) throw new AppError("invalid", `Cannot set the password: ${fault}`);
}

function newPasswordFault(password: string, minLength: number): string | undefined {
  if (password === "") return "it is empty";
  if (password.includes("\0")) return "it holds a NUL character";
  if (!password.isWellFormed()) return "it is not well-formed Unicode";
  const length = [...password].length;
  if (length < minLength) return `it has ${length} characters, and at least ${minLength} are needed`;
  const bytes = byteLength(password);
  if (bytes <= longestPasswordBytes) return undefined;
  return `it has ${bytes} bytes, and bcrypt uses only the first ${longestPasswordBytes}`;
}

/** Whether a password could have been set at all; what could not is never compared, as bcrypt would cut or change it. */
export function isPossiblePassword(password: string): boolean {
  return !password.includes("\0") && password.isWellFormed() && byteLength(password) <= longestPasswordBytes;
}

/** The bcrypt hash of a password, `$2b$12$…`. It takes a quarter of a second, in which nothing else runs here. */
export function hashPassword(password: string): string {
  return bcrypt.hashSync(password, passwordCost);
}

/**
 * Whether a password is the one that a hash was made of. It takes the time of a comparison at `totalCost`, which is at least
 * the hash's own cost, whatever the result: cost c and then each cost from c to n - 1 together take as long as cost n.
 */
export function verifyPassword(password: string, hash: string, totalCost: number): boolean {
  const matches = bcrypt.compareSync(password, hash);
  for (let cost = costOf(hash); cost < totalCost; cost++) bcrypt.compareSync(password, dummyHash(cost));
  return matches;
}

/** A hash that no password has. */
export function dummyHash(cost: number): string {
  // the last character would stand for bits that a real hash never sets
  return `$2b$${String(cost).padStart(2, "0")}$${".".repeat(52)}/`;
}

/** The cost of a bcrypt hash. */
export function costOf(hash: string): number {
  return Number(hash.slice(4, 6));
}

/** Why a text is no bcrypt hash that can be checked; quotes nothing of it but a scheme's name. */
export function passwordHashFault(text: string): string | undefined {
  const expected = "expected a bcrypt hash ($2a$, $2b$ or $2y$)";
  const scheme = /^\$(argon2[a-z]{1,2}|scrypt|y|7|pbkdf2[a-z0-9-]{0,10}|[156]|sha1|apr1|2x?)\$/.exec(text)
    ?.[1];
  if (scheme !== undefined) return `${expected}, got one of the scheme ${scheme}`;
  const match = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/.exec(text);
  if (match === null) return `${expected} of 60 characters`;
  const cost = Number(match[1]);
  if (cost >= hashCosts.least && cost <= hashCosts.most) return undefined;
  return `its cost is ${cost}; expected ${hashCosts.least} to ${hashCosts.most}`;
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

/** The result of a comparison. */
export type Comparison = "match" | "mismatch" | "not_admitted";

/** One comparison; it takes the time of `totalCost`. */
export interface PasswordRequest {
  readonly password: string;
  readonly hash: string;
  readonly totalCost: number;
}

interface ComparisonRequest extends PasswordRequest {
  /** The client's address: comparisons of different ones wait fairly. */
  readonly address: string;
  /** Asked when the comparison is next; where it says no, nothing is compared. */
  readonly admit: () => boolean;
  /** Takes the comparison out of the queue; one that has begun goes on. */
  readonly signal: AbortSignal;
}

/** A comparison that would wait longer is turned away. */
const maxWaitMs = 120_000;

/** Compares passwords on threads of their own, one after the other on each. */
export type PasswordHasher = ReturnType<typeof createPasswordHasher>;

export interface PasswordHasherOptions {
  /** Threads; each is started when it is first needed. */
  readonly workers?: number;
  /** Comparisons of one address that may wait. */
  readonly maxWaiting?: number;
}

export function createPasswordHasher(options: PasswordHasherOptions = {}) {
  const { workers = Math.max(1, navigator.hardwareConcurrency - 1), maxWaiting = 100 } = options;
  const gate = createGate({ places: workers, maxWaiting, maxWaitMs });
  const closing = new AbortController();
  const idle: ReturnType<typeof startPasswords>[] = [];
  const threads = new Set<ReturnType<typeof startPasswords>>();

  async function compareOnThread({ password, hash, totalCost }: PasswordRequest): Promise<Comparison> {
    const thread = idle.pop() ?? startPasswords();
    threads.add(thread);
    try {
      await thread.started;
      const matches = await thread.ask({ password, hash, totalCost });
      idle.push(thread);
      return matches ? "match" : "mismatch";
    } catch (cause) {
      threads.delete(thread);
      thread.close();
      if (closing.signal.aborted) throw stopping();
      throw new AppError("internal", "Cannot check a password: its worker failed", { cause });
    }
  }

  function close(): void {
    closing.abort(stopping());
    for (const thread of threads) thread.close();
    gate[Symbol.dispose]();
  }

  return {
    /**
     * @throws AppError `overloaded` where too many wait already, `unavailable` after close(), both with
     * `retryAfterSeconds`; the signal's reason where it aborts while the comparison waits
     */
    async compare(request: ComparisonRequest): Promise<Comparison> {
      const leave = await gate.enter(request.address, AbortSignal.any([request.signal, closing.signal]));
      if (!request.admit()) {
        leave();
        return "not_admitted";
      }
      try {
        return await compareOnThread(request);
      } finally {
        // whoever waits for this result counts it before the next one is admitted
        void yieldToEventLoop().then(leave);
      }
    },
    close,
    [Symbol.dispose]: close,
  };
}

// all that it needs comes in messages
const startPasswords = () =>
  startThread<PasswordRequest, boolean>(import.meta.resolve("./password_worker.ts"), "none");

function stopping(): AppError {
  return new AppError("unavailable", "Cannot log in: the server is stopping", {
    data: { retryAfterSeconds: 1 },
  });
}
