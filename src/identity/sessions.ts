import { randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { digestOfHash, hashToken, type PresentedToken } from "./tokens/token_digest.ts";
import type { UserRecord } from "./users/user_file.ts";

/** A user's session as others see it. */
export interface Session {
  readonly id: string;
  readonly username: string;
  /** When the account was made, in milliseconds since 1970. */
  readonly accountSince?: number;
}

export interface NewSession extends Session {
  /** Standard Base64 of 32 random bytes. Only its hash is kept. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The sessions of users who logged in, several per user, in memory alone. */
export interface Sessions {
  readonly size: number;
  start(username: string, accountSince?: number): NewSession;
  /** The session of a token; undefined where none has it or it has expired. */
  find(presented: PresentedToken | undefined, nowMs: number): Session | undefined;
  /** Ends a session; one that has ended already does no harm. */
  end(id: string): void;
  endUser(username: string): void;
  /**
   * Ends the sessions of users who are gone or whom an administrator disabled. A lockout leaves them open, as anyone who
   * knows a name can cause one.
   */
  reconcile(users: { find(username: string): UserRecord | undefined }): void;
  /** Ends what has expired; it also happens by itself. */
  sweep(): void;
  close(): void;
  [Symbol.dispose](): void;
}

export interface SessionsOptions {
  readonly lifetimeMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Told of each session that ends, for whatever reason but close(). */
  readonly onEnded?: (session: Session) => void;
  /** Sessions that a user may have at once; a login beyond that ends the oldest. */
  readonly maxPerUser?: number;
}

interface OpenSession extends Session {
  readonly key: string;
  readonly digest: Uint8Array;
  readonly expiresAt: number;
}

const sweepEveryMs = 1_000;
const noDigest = new Uint8Array(32);

function seen({ id, username, accountSince }: Session): Session {
  return { id, username, ...(accountSince === undefined ? {} : { accountSince }) };
}

export function createSessions(options: SessionsOptions): Sessions {
  const { lifetimeMs, now, onEnded = () => {}, maxPerUser = 1_000 } = options;
  // in the order of their start, which is that of their ends, since all live equally long
  const byId = new Map<string, OpenSession>();
  const byDigest = new Map<string, OpenSession>();
  const byUser = new Map<string, Set<OpenSession>>();

  function add(session: OpenSession): void {
    const ofUser = byUser.get(session.username) ?? new Set();
    if (ofUser.size >= maxPerUser) end(ofUser.values().next().value);
    byUser.set(session.username, ofUser.add(session));
    byId.set(session.id, session);
    byDigest.set(session.key, session);
  }
  function end(session: OpenSession | undefined): void {
    if (session === undefined || !byId.delete(session.id)) return;
    byDigest.delete(session.key);
    const ofUser = byUser.get(session.username);
    ofUser?.delete(session);
    if (ofUser?.size === 0) byUser.delete(session.username);
    onEnded({ id: session.id, username: session.username });
  }
  function endUser(username: string): void {
    for (const session of [...byUser.get(username) ?? []]) end(session);
  }
  function sweep(): void {
    const time = now();
    for (const session of byId.values()) {
      if (session.expiresAt > time) return;
      end(session);
    }
  }
  const sweeper = setInterval(sweep, sweepEveryMs);
  Deno.unrefTimer(sweeper);
  const close = () => clearInterval(sweeper);

  return {
    get size() {
      return byId.size;
    },
    start(username, accountSince) {
      const token = randomBytes(32).toString("base64");
      const key = hashToken(token);
      const expiresAt = now() + lifetimeMs;
      const session = seen({
        id: randomUUID(),
        username,
        ...(accountSince === undefined ? {} : { accountSince }),
      });
      add({ ...session, key, digest: digestOfHash(key), expiresAt });
      return { ...session, token, expiresAt };
    },
    find(presented, nowMs) {
      if (presented === undefined) return undefined;
      const session = byDigest.get(presented.hash);
      if (!timingSafeEqual(session?.digest ?? noDigest, presented.digest) || session === undefined) {
        return undefined;
      }
      if (session.expiresAt > nowMs) return seen(session);
      end(session);
      return undefined;
    },
    end: (id) => end(byId.get(id)),
    endUser,
    reconcile(users) {
      for (const username of [...byUser.keys()]) {
        const user = users.find(username);
        if (user === undefined || (!user.enabled && user.disabledReason !== "lockout")) endUser(username);
      }
    },
    sweep,
    close,
    [Symbol.dispose]: close,
  };
}
