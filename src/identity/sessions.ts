import { randomBytes, randomUUID } from "node:crypto";
import { sha256 } from "../core/sha256.ts";
import { digestOfHash, isPresented, type PresentedToken, type Session } from "./authenticator.ts";
import type { UserRecord } from "./users/user_file.ts";

export interface NewSession extends Session {
  /** Standard Base64 of 32 random bytes. Only its hash is kept. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The sessions of users who logged in, several per user, in memory alone. */
export type Sessions = ReturnType<typeof createSessions>;

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

export function createSessions(options: SessionsOptions) {
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
  /** Ends all sessions of a user. */
  function endUser(username: string): void {
    for (const session of [...byUser.get(username) ?? []]) end(session);
  }
  /** Ends what has expired; it also happens by itself. */
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
    start(username: string, accountSince?: number): NewSession {
      const token = randomBytes(32).toString("base64");
      const key = sha256(token);
      const expiresAt = now() + lifetimeMs;
      const session = seen({ id: randomUUID(), username, accountSince });
      add({ ...session, key, digest: digestOfHash(key), expiresAt });
      return { ...session, token, expiresAt };
    },
    /** The session of a token; undefined where none has it or it has expired. */
    find(presented: PresentedToken | undefined, nowMs: number): Session | undefined {
      if (presented === undefined) return undefined;
      const session = byDigest.get(presented.hash);
      if (!isPresented(session?.digest, presented) || session === undefined) return undefined;
      if (session.expiresAt > nowMs) return seen(session);
      end(session);
      return undefined;
    },
    /** Ends a session; one that has ended already does no harm. */
    end: (id: string) => end(byId.get(id)),
    endUser,
    /**
     * Ends the sessions of users who are gone or whom an administrator disabled. A lockout leaves them open, as anyone
     * who knows a name can cause one.
     */
    reconcile(users: { find(username: string): UserRecord | undefined }): void {
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

function seen(
  { id, username, accountSince }: { id: string; username: string; accountSince?: number | undefined },
): Session {
  return { id, username, ...(accountSince === undefined ? {} : { accountSince }) };
}
