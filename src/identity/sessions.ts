import { randomBytes, randomUUID } from "node:crypto";
import type { Session } from "./authenticator.ts";
import { digestOfHash, isPresented, type PresentedToken } from "./presented_token.ts";
import { mayStay } from "./users/lockout.ts";
import type { AccountSource } from "./users/user_directory.ts";
import { sha256 } from "../core/text/sha256.ts";
import { defined } from "../core/defined.ts";
import { isMap } from "../core/yaml/value_tree.ts";
import type { StateRecord, StateRecords } from "../state/state.ts";

export interface NewSession extends Session {
  /** Standard Base64 of 32 random bytes. Only its hash is kept. */
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The sessions of users who logged in, several per user. */
export type Sessions = ReturnType<typeof createSessions>;

interface SessionsOptions {
  /** The setting `http.auth.session_lifetime` (config/schema/auth.ts). */
  readonly lifetimeMs: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Optional: keeps them, and knows those that began elsewhere; in memory alone without it. */
  readonly kept?: StateRecords | undefined;
  /** Optional: looked at in each call, where other servers have user files of their own, which may differ for a while. */
  readonly accounts?: AccountSource | undefined;
  /** Optional: throws where what is known of sessions may not be relied on. */
  readonly requireCurrent?: () => void;
  /** Optional: learns of sessions that began at other processes; none where there are no others. */
  readonly learn?: (() => Promise<void>) | undefined;
  /** Told of each session that ends, for whatever reason but close(). */
  readonly onEnded?: (session: Session) => void;
  /** Sessions that a user may have at once; a login beyond that ends the oldest. */
  readonly maxPerUser?: number;
}

interface OpenSession {
  readonly session: Session;
  /** Of its token. */
  readonly hash: string;
  readonly digest: Uint8Array;
  readonly expiresAt: number;
}

const sweepEveryMs = 1_000;

export function createSessions(options: SessionsOptions) {
  const { lifetimeMs, now, kept, onEnded = () => {}, requireCurrent = () => {}, maxPerUser = 1_000 } =
    options;
  // in the order of their start
  const byId = new Map<string, OpenSession>();
  const byHash = new Map<string, OpenSession>();
  const byUser = new Map<string, Set<OpenSession>>();

  function add(open: OpenSession): void {
    const { id, username } = open.session;
    const ofUser = byUser.get(username) ?? new Set();
    if (ofUser.size >= maxPerUser) end(ofUser.values().next().value);
    byUser.set(username, ofUser.add(open));
    byId.set(id, open);
    byHash.set(open.hash, open);
  }
  async function end(open: OpenSession | undefined): Promise<boolean> {
    if (open === undefined || !remove(open)) return true;
    const forgotten = kept?.forget(open.session.id);
    onEnded(open.session);
    return await forgotten ?? true;
  }
  function remove(open: OpenSession): boolean {
    if (!byId.delete(open.session.id)) return false;
    byHash.delete(open.hash);
    const { username } = open.session;
    const ofUser = byUser.get(username);
    ofUser?.delete(open);
    if (ofUser?.size === 0) byUser.delete(username);
    return true;
  }
  /** Ends what has expired; it also happens by itself. */
  function sweep(): void {
    const time = now();
    for (const open of byId.values()) if (open.expiresAt <= time) end(open);
  }
  kept?.follow((id, record) => {
    const known = byId.get(id);
    if (record === undefined) {
      // another process has ended it
      if (known !== undefined && remove(known)) onEnded(known.session);
    } else if (known === undefined) {
      // all live equally long, also where the setting was another one when they began
      const open = keptSession(record, now() + lifetimeMs);
      if (open !== undefined) add(open);
    }
  });
  const sweeper = setInterval(sweep, sweepEveryMs);
  Deno.unrefTimer(sweeper);
  const close = () => clearInterval(sweeper);

  return {
    get size() {
      return byId.size;
    },
    /** @throws {AppError} `unavailable`, with `retryAfterSeconds`, where other servers would not know it */
    async start(username: string, accountSince?: number): Promise<NewSession> {
      const token = randomBytes(32).toString("base64");
      const hash = sha256(token);
      const expiresAt = now() + lifetimeMs;
      const since = accountSince === undefined ? {} : { accountSince };
      const session: Session = { id: randomUUID(), username, ...since };
      await kept?.keep({ id: session.id, value: { username, ...since, hash }, expiresAt });
      if (!byId.has(session.id)) add({ session, hash, digest: digestOfHash(hash), expiresAt });
      return { ...session, token, expiresAt };
    },
    /**
     * The session of a token; undefined where none has it or it has expired.
     * @throws {AppError} `unavailable`, with `retryAfterSeconds`, where it may have ended elsewhere long ago
     */
    find(presented: PresentedToken | undefined, nowMs: number): Session | undefined {
      if (presented === undefined) return undefined;
      const open = byHash.get(presented.hash);
      if (!isPresented(open?.digest, presented) || open === undefined) return undefined;
      if (open.expiresAt > nowMs) {
        requireCurrent();
        // another server may have let in whom this one's file does not
        if (options.accounts !== undefined && !isOf(options.accounts, open)) return undefined;
        return open.session;
      }
      end(open);
      return undefined;
    },
    /**
     * Ends a session, in this process at once; one that has ended already does no harm.
     * @returns whether that is kept, so that it stays ended whatever becomes of this process
     */
    end: (id: string) => end(byId.get(id)),
    /**
     * Ends the sessions of users who are gone, also where another account has their name now, or whom an administrator
     * disabled. A lockout leaves them open.
     */
    reconcile(users: AccountSource): void {
      for (const ofUser of [...byUser.values()]) {
        for (const open of [...ofUser]) {
          if (isOf(users, open)) continue;
          // others may have another file for a while: what ends here goes on there
          if (options.accounts === undefined) end(open);
          else onEnded(open.session);
        }
      }
    },
    ...defined({ learn: options.learn }),
    sweep,
    close,
    [Symbol.dispose]: close,
  };
}

/** Whether an account has a session: it is there, no administrator disabled it, and it is the one that logged in. */
function isOf(users: AccountSource, { session: { username, accountSince } }: OpenSession): boolean {
  const user = users.find(username);
  return mayStay(user) && user.createdAt === (accountSince ?? null);
}

/** A session that was kept; undefined where the record is none. */
function keptSession({ id, value, expiresAt }: StateRecord, latestEnd: number): OpenSession | undefined {
  if (!isMap(value)) return undefined;
  const { username, hash, accountSince } = value;
  if (typeof username !== "string" || typeof hash !== "string") return undefined;
  const session: Session = { id, username, ...(typeof accountSince === "number" && { accountSince }) };
  const digest = digestOfHash(hash);
  return { session, hash, digest, expiresAt: Math.min(expiresAt, latestEnd) };
}
