import { join } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { AppError } from "../../core/app_error.ts";
import {
  checkSqliteFile,
  inTransaction,
  openSqliteFile,
  type SqliteLayout,
} from "../../core/files/sqlite_file.ts";
import type { Logger } from "../../core/logger.ts";
import { sha256 } from "../../core/text/sha256.ts";

/** The authorization server's file in `data_dir`: clients, grants and what was given out for them. */
export const grantFile = (dataDir: string): string => join(dataDir, "oauth.sqlite");

const layout: SqliteLayout = {
  kind: "list of grants",
  version: 1,
  // `id` is a hash where the value itself lets somebody in; `payload` never holds that value
  tables: `
    CREATE TABLE records (
      kind TEXT NOT NULL,
      id TEXT NOT NULL,
      payload TEXT NOT NULL,
      grant_id TEXT,
      client_id TEXT,
      username TEXT,
      account TEXT,
      uid TEXT,
      user_code TEXT,
      created_at INTEGER NOT NULL,
      used_at INTEGER,
      expires_at INTEGER NOT NULL,
      PRIMARY KEY (kind, id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX records_by_grant ON records (grant_id) WHERE grant_id IS NOT NULL;
    CREATE INDEX records_by_client ON records (client_id) WHERE client_id IS NOT NULL;
    CREATE INDEX records_by_user ON records (username) WHERE username IS NOT NULL;
    CREATE INDEX records_by_uid ON records (uid) WHERE uid IS NOT NULL;
    CREATE INDEX records_by_user_code ON records (user_code) WHERE user_code IS NOT NULL;
    CREATE INDEX records_by_end ON records (expires_at);
    CREATE INDEX records_by_kind ON records (kind, expires_at)`,
  probes: [
    "SELECT kind, id, payload, grant_id, client_id, username, account, uid, user_code, created_at, used_at, expires_at FROM records LIMIT 0",
  ],
  // a refresh token that was given out must not be unknown after a power cut, nor the one before it be good again
  synchronous: "FULL",
  longestWaitMs: 1_000,
};

/** @throws {AppError} as openGrantStore; one that does not exist yet can be made */
export const checkGrantFile = (path: string): Promise<void> => checkSqliteFile(path, layout);

/** What the provider keeps; its names. */
export type RecordKind =
  | "Session"
  | "Interaction"
  | "Client"
  | "Grant"
  | "AuthorizationCode"
  | "DeviceCode"
  | "AccessToken"
  | "RefreshToken";

/**
 * Records of a kind that there may be. Beyond it whoever has the most loses what ends first: a user, or a site where no user
 * is known yet. Of clients one goes that has no grant, if it can be one without a login under way.
 */
const most: Readonly<Record<RecordKind, number>> = {
  Session: 10_000,
  Interaction: 10_000,
  Client: 1_000,
  Grant: 20_000,
  AuthorizationCode: 10_000,
  DeviceCode: 2_000,
  AccessToken: 50_000,
  RefreshToken: 100_000,
};

/** Of a grant; beyond it the oldest go, of refresh tokens those that were used. */
const mostOfGrant: Readonly<Partial<Record<RecordKind, number>>> = { AccessToken: 20, RefreshToken: 5 };
/** What goes at once to make room, as a share of what there may be: to find it takes a look at all. */
const shareAtOnce = 0.01;
/** Of a user; beyond it the oldest grants end. */
const mostGrantsOfUser = 100;

/** How long a client that has registered is kept without being used, and after it was used last; at least with its tokens. */
const unusedClientMs = 24 * 3_600_000;
const usedClientMs = 90 * 24 * 3_600_000;
/** How long a grant is kept before something was given out for it. */
const newGrantMs = 15 * 60_000;

const sweptAtOnce = 1_000;

/** A grant: that a user let a client act for them. */
export interface GrantRecord {
  readonly id: string;
  readonly clientId: string;
  readonly username: string;
  /** What tells the account from what became of it; see `accountMark` of `grants.ts`. */
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly usedAt: number | null;
  readonly expiresAt: number;
}

export interface ClientRecord {
  readonly id: string;
  readonly name: string | null;
  /** Null where a document describes it, or its registration has ended. */
  readonly registeredAt: number | null;
  readonly redirectUris: readonly string[];
}

/** What an access token stands for. */
export interface TokenRecord {
  readonly grantId: string;
  readonly username: string;
  /** The resource that it is for. */
  readonly audience: string;
  readonly expiresAt: number;
}

type Payload = Readonly<Record<string, unknown>>;

/** Whom a record is kept for. */
interface KeptFor {
  /** Of a grant: its account, as `accountMark` of `grants.ts`. */
  readonly account?: string | undefined;
  /** Where the request came from, as `siteOf` of `rate_limiter.ts`. */
  readonly site?: string | undefined;
}

export type GrantStore = ReturnType<typeof openGrantStore>;

/** Those whose ID is no secret; of all others the ID lets somebody in, and its hash is kept. */
const plainIds: ReadonlySet<string> = new Set(["Client", "Grant"]);

/** Marks a hash that stands in the place of an ID, where nobody knows that any more. No ID has it. */
const hashMark = "#";

/**
 * Opens the file of clients and grants, which it makes where it is missing. Several processes may have it open: an
 * administrator's command changes it while a server runs.
 *
 * @throws {AppError} as openSqliteFile
 */
export function openGrantStore(options: {
  readonly path: string;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly logger: Logger;
}) {
  const { path, now, logger } = options;
  const database = openSqliteFile(path, layout);
  const statements = prepareStatements(database);
  let isClosed = false;

  const keyOf = (kind: string, id: string) => {
    if (plainIds.has(kind)) return id;
    return id.startsWith(hashMark) ? id.slice(hashMark.length) : sha256(id);
  };

  /** A record's payload with its ID as far as it is known. */
  function payloadOf(row: Record<string, unknown> | undefined, id?: string): Payload | undefined {
    if (row === undefined) return undefined;
    const { owner: _owner, ...payload }: Record<string, unknown> = JSON.parse(String(row["payload"]));
    if (row["kind"] !== "Client") payload["jti"] = id ?? `${hashMark}${row["id"]}`;
    if (row["used_at"] !== null && row["kind"] !== "Grant" && row["kind"] !== "Client") {
      payload["consumed"] = Math.floor(Number(row["used_at"]) / 1000);
    }
    return payload;
  }

  function endGrant(grantId: string): boolean {
    statements.endOfGrant.run(grantId);
    return Number(statements.end.run("Grant", grantId).changes) > 0;
  }

  function makeRoom(kind: RecordKind): void {
    if (Number(statements.count.get(kind)?.["count"]) < most[kind]) return;
    if (kind !== "Client") {
      for (const { id } of statements.surplus.all(kind, Math.ceil(most[kind] * shareAtOnce))) {
        if (kind === "Grant") endGrant(String(id));
        else statements.end.run(kind, id ?? null);
      }
      return;
    }
    if (Number(statements.endIdleClient.run().changes) > 0) return;
    throw new AppError("overloaded", "Cannot register the client: there are too many clients");
  }

  function keep(
    kind: RecordKind,
    id: string,
    payload: Payload,
    lifetimeMs: number,
    { account, site }: KeptFor = {},
  ): void {
    const { jti: _jti, userCode, consumed: _consumed, ...rest } = payload;
    const text = (value: unknown) => typeof value === "string" ? value : null;
    const time = now();
    const username = text(rest["accountId"]);
    const owner = username === null && site !== undefined ? { owner: `site:${site}` } : {};
    const clientId = text(rest["clientId"]);
    const grantId = kind === "Grant" ? null : text(rest["grantId"]);
    // another request may have ended the grant since this one found it: nothing more is given out for it
    if (grantId !== null && statements.find.get("Grant", grantId) === undefined) {
      throw new AppError("not_found", "the grant has ended");
    }
    const key = keyOf(kind, id);
    const isNew = statements.find.get(kind, key) === undefined;
    if (isNew) makeRoom(kind);
    const expiresAt = time + (kind === "Grant" ? Math.min(newGrantMs, lifetimeMs) : lifetimeMs);
    statements.upsert.run({
      kind,
      id: key,
      payload: JSON.stringify({ ...rest, ...owner }),
      grant_id: grantId,
      client_id: clientId ?? (kind === "Client" ? key : askingClient(rest)),
      username,
      account: account ?? null,
      uid: text(rest["uid"]),
      user_code: typeof userCode === "string" ? sha256(userCode) : null,
      created_at: time,
      expires_at: expiresAt,
    });
    if (grantId !== null) statements.extendGrant.run(expiresAt, time, grantId);
    const mostTokens = mostOfGrant[kind];
    if (mostTokens !== undefined) statements.trimTokens.run(kind, grantId, kind, grantId, mostTokens);
    if (kind === "Grant" && isNew) trimGrants(username);
    if (clientId !== null && grantId !== null) {
      statements.touchClient.run(time, Math.max(time + usedClientMs, expiresAt), username, clientId);
    }
  }

  function trimGrants(username: string | null): void {
    for (const row of statements.oldGrants.all(username, mostGrantsOfUser)) endGrant(String(row["id"]));
  }

  /** @throws {AppError} `unavailable` where the file cannot be written, or another process holds it */
  function change<T>(work: () => T): T {
    try {
      return inTransaction(database, work);
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      throw new AppError(
        "unavailable",
        `Cannot write ${path}: ${cause instanceof Error ? cause.message : cause}`,
        {
          cause,
        },
      );
    }
  }

  return {
    /**
     * @throws {AppError} `not_found` where the record's grant has ended, `unavailable` where the file cannot be written
     */
    keep: (kind: RecordKind, id: string, payload: Payload, lifetimeMs: number, keptFor?: KeptFor) =>
      change(() => keep(kind, id, payload, lifetimeMs, keptFor)),
    /** Keeps a client that has registered. @throws {AppError} `overloaded` where there are too many with grants */
    keepClient: (id: string, metadata: Payload, site?: string) =>
      change(() => keep("Client", id, metadata, unusedClientMs, { site })),
    find: (kind: RecordKind, id: string): Payload | undefined => {
      if (id.startsWith(hashMark)) return undefined;
      return payloadOf(statements.find.get(kind, keyOf(kind, id)), id);
    },
    /** As find(), of what the provider itself has read before. */
    findByMark: (kind: RecordKind, mark: string): Payload | undefined =>
      payloadOf(statements.find.get(kind, keyOf(kind, mark))),
    findByUid: (uid: string): Payload | undefined => payloadOf(statements.findByUid.get(uid)),
    findByUserCode: (userCode: string): Payload | undefined => {
      const payload = payloadOf(statements.findByUserCode.get(sha256(userCode)));
      return payload && { ...payload, userCode };
    },
    end: (kind: RecordKind, id: string): boolean =>
      change(() =>
        kind === "Grant" ? endGrant(id) : Number(statements.end.run(kind, keyOf(kind, id)).changes) > 0
      ),
    /** Marks what may be used once; false where that has happened before. */
    use: (kind: RecordKind, id: string): boolean =>
      change(() => Number(statements.use.run(now(), kind, keyOf(kind, id)).changes) > 0),
    /** Ends a grant with everything that was given out for it. */
    endGrant: (grantId: string): boolean => change(() => endGrant(grantId)),
    /** @param hash of the token, in 64 hex digits */
    token(hash: string, nowMs: number): TokenRecord | undefined {
      const row = statements.token.get(hash, nowMs);
      return row && {
        grantId: String(row["grant_id"]),
        username: String(row["username"]),
        audience: String(row["audience"]),
        expiresAt: Number(row["expires_at"]),
      };
    },
    /** Whether a grant is there. */
    hasGrant: (grantId: string): boolean => statements.find.get("Grant", grantId) !== undefined,
    grants: (): GrantRecord[] => statements.grants.all().map(asGrant),
    grantCount: (): number => Number(statements.count.get("Grant")?.["count"]),
    /** Those that registered, and those that a document describes and that have grants. */
    clients(): ClientRecord[] {
      const registered = statements.clients.all().map(asClient);
      const known = new Set(registered.map(({ id }) => id));
      const others = new Set(statements.grants.all().map((row) => String(row["client_id"])));
      return [
        ...registered,
        ...[...others].filter((id) => !known.has(id)).map((id) => ({
          id,
          name: null,
          registeredAt: null,
          redirectUris: [],
        })),
      ];
    },
    /** Removes a client, and ends its grants. @returns how many grants ended; undefined where there is no such client */
    endClient: (clientId: string): number | undefined =>
      change(() => {
        const ended = Number(statements.grantsOfClient.get(clientId)?.["count"]);
        const removed = Number(statements.endOfClient.run(clientId).changes);
        return removed === 0 ? undefined : ended;
      }),
    /** Ends what has expired. */
    sweep(): void {
      try {
        change(() => statements.sweep.run(now(), sweptAtOnce));
      } catch (error) {
        logger.warn("Cannot end what has expired of the authorization server's grants; trying again later", {
          error,
        });
      }
    },
    [Symbol.dispose]() {
      if (isClosed) return;
      isClosed = true;
      database.close();
    },
  };
}

/** Whose share a record is of. */
const ownerOf = "coalesce('user:' || username, payload ->> 'owner', id)";

type Statements = Readonly<Record<string, StatementSync>>;

function prepareStatements(database: DatabaseSync) {
  const prepare = (sql: string) => database.prepare(sql);
  return {
    // what a later save leaves out stays as it was
    upsert: named(prepare(
      `INSERT INTO records (kind, id, payload, grant_id, client_id, username, account, uid, user_code, created_at, expires_at)
         VALUES (:kind, :id, :payload, :grant_id, :client_id, :username, :account, :uid, :user_code, :created_at, :expires_at)
         ON CONFLICT (kind, id) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id,
           client_id = excluded.client_id, username = excluded.username, account = coalesce(excluded.account, account),
           uid = excluded.uid, user_code = coalesce(excluded.user_code, user_code),
           expires_at = max(excluded.expires_at, CASE kind WHEN 'Grant' THEN records.expires_at ELSE 0 END)`,
    )),
    find: prepare("SELECT kind, id, payload, used_at FROM records WHERE kind = ? AND id = ?"),
    findByUid: prepare("SELECT kind, id, payload, used_at FROM records WHERE uid = ? AND kind = 'Session'"),
    findByUserCode: prepare(
      "SELECT kind, id, payload, used_at FROM records WHERE user_code = ? AND kind = 'DeviceCode'",
    ),
    token: prepare(
      `SELECT grant_id, username, payload ->> 'aud' AS audience, expires_at FROM records
         WHERE kind = 'AccessToken' AND id = ? AND expires_at > ?`,
    ),
    use: prepare("UPDATE records SET used_at = ? WHERE kind = ? AND id = ? AND used_at IS NULL"),
    end: prepare("DELETE FROM records WHERE kind = ? AND id = ?"),
    endOfGrant: prepare("DELETE FROM records WHERE grant_id = ?"),
    endOfClient: prepare("DELETE FROM records WHERE client_id = ?"),
    // of all owners alike what they have beyond what the others have
    surplus: prepare(
      `SELECT id FROM (
           SELECT id, expires_at, row_number() OVER (PARTITION BY ${ownerOf} ORDER BY expires_at DESC) AS nth
             FROM records WHERE kind = ?)
         ORDER BY nth DESC, expires_at LIMIT ?`,
    ),
    endIdleClient: prepare(
      `WITH idle AS (
           SELECT id, ${ownerOf} AS owner, used_at IS NOT NULL AS is_used,
               coalesce(used_at, created_at) AS seen_at, EXISTS (
               SELECT 1 FROM records AS login INDEXED BY records_by_client
                 WHERE login.client_id = records.id AND login.kind IN ('Interaction', 'DeviceCode')) AS is_asking
             FROM records WHERE kind = 'Client' AND NOT EXISTS (
               SELECT 1 FROM records AS let_in INDEXED BY records_by_client WHERE let_in.client_id = records.id AND let_in.kind = 'Grant')),
         ranked AS (
           SELECT *, row_number() OVER (PARTITION BY owner ORDER BY is_asking DESC, is_used DESC, seen_at DESC) AS nth FROM idle)
         DELETE FROM records WHERE kind = 'Client' AND id =
           (SELECT id FROM ranked ORDER BY nth DESC, is_asking, is_used, seen_at LIMIT 1)`,
    ),
    extendGrant: prepare(
      "UPDATE records SET expires_at = max(expires_at, ?), used_at = ? WHERE kind = 'Grant' AND id = ?",
    ),
    // from then on it counts as its user's, not as one of whoever registered it
    touchClient: prepare(
      `UPDATE records SET used_at = ?, expires_at = ?, payload = json_set(payload, '$.owner', 'user:' || ?)
         WHERE kind = 'Client' AND id = ?`,
    ),
    trimTokens: prepare(
      `DELETE FROM records WHERE kind = ? AND grant_id = ? AND id NOT IN
         (SELECT id FROM records WHERE kind = ? AND grant_id = ?
            ORDER BY used_at IS NOT NULL, created_at DESC LIMIT ?)`,
    ),
    oldGrants: prepare(
      "SELECT id FROM records WHERE kind = 'Grant' AND username = ? ORDER BY created_at DESC LIMIT -1 OFFSET ?",
    ),
    grants: prepare("SELECT * FROM records WHERE kind = 'Grant' ORDER BY created_at"),
    grantsOfClient: prepare("SELECT count(*) AS count FROM records WHERE kind = 'Grant' AND client_id = ?"),
    clients: prepare("SELECT id, payload, created_at FROM records WHERE kind = 'Client' ORDER BY created_at"),
    count: prepare("SELECT count(*) AS count FROM records WHERE kind = ?"),
    sweep: prepare(
      "DELETE FROM records WHERE (kind, id) IN (SELECT kind, id FROM records WHERE expires_at <= ? LIMIT ?)",
    ),
  } satisfies Statements;
}

/** The client that a login is for. */
function askingClient({ params }: Payload): string | null {
  const { client_id: id } = typeof params === "object" && params !== null
    ? params as Readonly<Record<string, unknown>>
    : {};
  return typeof id === "string" ? id : null;
}

/** So that names stand without their colon. */
function named(statement: StatementSync): StatementSync {
  statement.setAllowBareNamedParameters(true);
  return statement;
}

function asGrant(row: Record<string, unknown>): GrantRecord {
  return {
    id: String(row["id"]),
    clientId: String(row["client_id"]),
    username: String(row["username"]),
    account: String(row["account"]),
    createdAt: Number(row["created_at"]),
    usedAt: row["used_at"] === null ? null : Number(row["used_at"]),
    expiresAt: Number(row["expires_at"]),
  };
}

function asClient(row: Record<string, unknown>): ClientRecord {
  const { client_name: name, redirect_uris: uris } = JSON.parse(String(row["payload"])) as Record<
    string,
    unknown
  >;
  return {
    id: String(row["id"]),
    name: typeof name === "string" ? name : null,
    registeredAt: Number(row["created_at"]),
    redirectUris: Array.isArray(uris) ? uris.map(String) : [],
  };
}
