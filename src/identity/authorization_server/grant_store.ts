import { AppError } from "../../core/app_error.ts";
import { sha256 } from "../../core/text/sha256.ts";
import { sql, type Statement, type StateRow } from "../../state/engine.ts";
import { currentVersion, endStatements, type State } from "../../state/state.ts";

/**
 * Records of a kind that there may be. Beyond it whoever has the most loses what ends first: a user, or a site where no user
 * is known yet. Of clients one goes that has no grant, if it can be one without a login under way.
 */
const most = {
  Session: 10_000,
  Interaction: 10_000,
  Client: 1_000,
  Grant: 20_000,
  AuthorizationCode: 10_000,
  DeviceCode: 2_000,
  AccessToken: 50_000,
  RefreshToken: 100_000,
} as const;

/** What the provider keeps; its names. */
export type RecordKind = keyof typeof most;

export function isRecordKind(name: string): name is RecordKind {
  return Object.hasOwn(most, name);
}

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
export interface TokenRecord extends Pick<GrantRecord, "username" | "account" | "expiresAt"> {
  readonly grantId: string;
  /** The resource that it is for. */
  readonly audience: string;
  /** As it was granted. Optional: one of an older version may have none. */
  readonly scope?: unknown;
}

export type Payload = Readonly<Record<string, unknown>>;

/** Whom a record is kept for. */
interface KeptFor {
  /** Of a grant: its account, as `accountMark` of `grants.ts`. */
  readonly account?: string | undefined;
  /** Where the request came from, as `siteOf` of `rate_limiter.ts`. */
  readonly site?: string | undefined;
}

/** A record to keep: its kind, its ID, what the provider knows of it, and for how long, in milliseconds. */
export type KeptRecord = readonly [RecordKind, id: string, Payload, lifetimeMs: number, keptFor?: KeptFor];

export type GrantStore = ReturnType<typeof createGrantStore>;

function tokenValues(value: string): Pick<TokenRecord, "audience" | "scope"> {
  const { aud, scope } = JSON.parse(value);
  return { audience: String(aud), scope };
}

/** Those whose ID is no secret; of all others the ID lets somebody in, and its hash is kept. */
const plainIds: ReadonlySet<string> = new Set(["Client", "Grant"]);

/** Of logins at an issuer (`issuer_login/issuer_logins.ts`): each has the id of its grant, and ends with it. */
export const loginKind = "oauth Login";

/** Marks a hash that stands in the place of an ID, where nobody knows that any more. No ID has it. */
const hashMark = "#";

/** How long it is relied on how many records of a kind there are, with those that were kept since. */
const countedForMs = 10_000;

/** The clients and grants of the authorization server, and what was given out for them, in the state. */
export function createGrantStore(state: State) {
  const counts = new Map<RecordKind, { count: number; readonly at: number }>();

  const keyOf = (kind: string, id: string) => {
    if (plainIds.has(kind)) return id;
    return id.startsWith(hashMark) ? id.slice(hashMark.length) : sha256(id);
  };

  /** A record's payload with its ID as far as it is known. */
  function payloadOf(kind: RecordKind, row: StateRow | undefined, id?: string): Payload | undefined {
    if (row === undefined) return undefined;
    const { account: _account, ...payload }: Record<string, unknown> = JSON.parse(String(row["value"]));
    if (kind !== "Client") payload["jti"] = id ?? `${hashMark}${row["id"]}`;
    if (row["used_at"] !== null && kind !== "Grant" && kind !== "Client") {
      payload["consumed"] = Math.floor(Number(row["used_at"]) / 1000);
    }
    return payload;
  }

  async function read(statement: Statement): Promise<readonly StateRow[]> {
    const [rows = []] = await state.read([statement]);
    return rows;
  }

  /** @throws {AppError} `unavailable` where the state cannot be written, or another process holds it */
  async function change(statements: readonly Statement[]): Promise<readonly (readonly StateRow[])[]> {
    try {
      return await state.change(statements, { isTold: true });
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      const reason = cause instanceof Error ? cause.message : cause;
      throw new AppError("unavailable", `Cannot write the grants: ${reason}`, { cause });
    }
  }

  /** @param which a condition on grants, whose parts end with them */
  function endGrants(which: Statement): Statement[] {
    const grants = sql`kind = ${kindOf("Grant")} AND ${which}`;
    return [
      ...endStatements(sql`part_of IN (SELECT id FROM records WHERE ${grants})`, state.now()),
      ...endStatements(grants, state.now()),
    ];
  }

  async function endGrant(grantId: string): Promise<boolean> {
    const rows = await change(endGrants(sql`id = ${grantId}`));
    return (rows.at(-1)?.length ?? 0) > 0;
  }

  /** Statements that make room for one more record, where there are too many of its kind. */
  async function makeRoom(kind: RecordKind): Promise<Statement[]> {
    let known = counts.get(kind);
    if (known === undefined || known.count >= most[kind] || state.now() - known.at > countedForMs) {
      known = { count: await countOf(kind), at: state.now() };
      counts.set(kind, known);
    }
    known.count++;
    if (known.count <= most[kind]) return [];
    if (kind === "Client") return endStatements(idleClient(), state.now());
    const ids = surplus(kind, Math.ceil(most[kind] * shareAtOnce));
    if (kind === "Grant") return endGrants(sql`id IN (${ids})`);
    return endStatements(sql`kind = ${kindOf(kind)} AND id IN (${ids})`, state.now());
  }

  async function countOf(kind: RecordKind): Promise<number> {
    const [row] = await read(sql`SELECT count(*) AS count FROM records WHERE kind = ${kindOf(kind)}`);
    return Number(row?.["count"]);
  }

  /** What it takes to keep a record: statements that make room, and then the record. */
  async function prepare([kind, id, payload, lifetimeMs, { account, site } = {}]: KeptRecord) {
    const { jti: _jti, userCode, consumed: _consumed, ...rest } = payload;
    const time = state.now();
    const username = textOrNull(rest["accountId"]);
    const clientId = textOrNull(rest["clientId"]);
    const grantId = kind === "Grant" ? null : textOrNull(rest["grantId"]);
    const key = keyOf(kind, id);
    const row: Row = {
      kind,
      key,
      grantId,
      alias: typeof userCode === "string" ? sha256(userCode) : textOrNull(rest["uid"]),
      owner: username === null ? site && `site:${site}` : ownerOf(username),
      client: clientId ?? (kind === "Client" ? key : askingClient(rest)),
      value: JSON.stringify({ ...rest, ...(account === undefined ? {} : { account }) }),
      time,
      expiresAt: time + (kind === "Grant" ? Math.min(newGrantMs, lifetimeMs) : lifetimeMs),
    };
    return { row, room: await makeRoom(kind), others: consequences(row, username) };
  }

  async function keep(...record: KeptRecord): Promise<void> {
    const { row, room, others } = await prepare(record);
    const results = await change([...room, upsert(row), ...others]);
    if (results[room.length]?.length === 1) return;
    // another request may have ended the grant since this one found it: nothing more is given out for it
    if (row.kind !== "Client") throw new AppError("not_found", "the grant has ended");
    throw new AppError("overloaded", "Cannot register the client: there are too many clients");
  }

  /** What a record that is kept changes besides. */
  function consequences(
    { kind, grantId, client, time, expiresAt }: Row,
    username: string | null,
  ): Statement[] {
    const mostTokens = mostOfGrant[kind];
    return [
      ...grantId === null ? [] : [
        sql`UPDATE records SET used_at = ${time},
          expires_at = CASE WHEN expires_at > ${expiresAt} THEN expires_at ELSE ${expiresAt} END
          WHERE kind = ${kindOf("Grant")} AND id = ${grantId}`,
        sql`UPDATE records SET expires_at = CASE WHEN expires_at > ${expiresAt} THEN expires_at ELSE ${expiresAt} END
          WHERE kind = ${loginKind} AND id = ${grantId}`,
      ],
      ...grantId === null || mostTokens === undefined ? [] : endStatements(
        sql`kind = ${kindOf(kind)} AND part_of = ${grantId} AND id NOT IN
          (SELECT id FROM records WHERE kind = ${kindOf(kind)} AND part_of = ${grantId}
            ORDER BY used_at IS NOT NULL, created_at DESC, version DESC LIMIT ${mostTokens})`,
        time,
      ),
      ...kind !== "Grant" || username === null ? [] : endGrants(
        sql`id IN (SELECT id FROM
          (SELECT id, row_number() OVER (ORDER BY created_at DESC, version DESC) AS nth FROM records
            WHERE kind = ${kindOf("Grant")} AND owner = ${ownerOf(username)}) AS ranked
          WHERE nth > ${mostGrantsOfUser})`,
      ),
      // from then on it counts as its user's, not as one of whoever registered it
      ...grantId === null || client === null ? [] : [
        sql`UPDATE records SET used_at = ${time}, expires_at = ${Math.max(time + usedClientMs, expiresAt)},
          owner = ${username === null ? null : ownerOf(username)}
          WHERE kind = ${kindOf("Client")} AND id = ${client}`,
      ],
    ];
  }

  const find = async (kind: RecordKind, id: string): Promise<Payload | undefined> => {
    if (id.startsWith(hashMark)) return undefined;
    return payloadOf(kind, await rowOf(kind, id), id);
  };
  const rowOf = async (kind: RecordKind, id: string) =>
    (await read(sql`${select} WHERE kind = ${kindOf(kind)} AND id = ${keyOf(kind, id)}`))[0];
  const findByAlias = async (kind: RecordKind, alias: string) =>
    payloadOf(kind, (await read(sql`${select} WHERE kind = ${kindOf(kind)} AND alias = ${alias}`))[0]);

  const grants = async (): Promise<GrantRecord[]> =>
    (await read(
      sql`SELECT id, client, owner, value, created_at, used_at, expires_at FROM records
        WHERE kind = ${kindOf("Grant")} ORDER BY created_at, version`,
    )).map(asGrant);

  return {
    /**
     * @throws {AppError} `not_found` where the record's grant has ended, `unavailable` where the state cannot be written
     */
    keep,
    /** Keeps a client that has registered. @throws {AppError} `overloaded` where there are too many with grants */
    keepClient: (id: string, metadata: Payload, site?: string) =>
      keep("Client", id, metadata, unusedClientMs, { site }),
    find,
    /** As find(), of what the provider itself has read before. */
    findByMark: async (kind: RecordKind, mark: string) => payloadOf(kind, await rowOf(kind, mark)),
    findByUid: (uid: string) => findByAlias("Session", uid),
    async findByUserCode(userCode: string): Promise<Payload | undefined> {
      const payload = await findByAlias("DeviceCode", sha256(userCode));
      return payload && { ...payload, userCode };
    },
    async end(kind: RecordKind, id: string): Promise<boolean> {
      if (kind === "Grant") return await endGrant(id);
      const which = sql`kind = ${kindOf(kind)} AND id = ${keyOf(kind, id)}`;
      return (await change(endStatements(which, state.now()))).at(-1)?.length === 1;
    },
    /**
     * Uses a refresh token and keeps what is given out for it, all or nothing.
     * @returns false where it was used before, or its grant has ended
     */
    async refresh(used: string, given: readonly KeptRecord[]): Promise<boolean> {
      const token = sql`kind = ${kindOf("RefreshToken")} AND id = ${keyOf("RefreshToken", used)}`;
      const isUsedNow = sql`EXISTS (SELECT 1 FROM records WHERE ${token} AND version = ${currentVersion})`;
      const prepared = await Promise.all(given.map(prepare));
      const kept = await change([
        sql`UPDATE records SET used_at = ${state.now()}, version = ${currentVersion}
          WHERE ${token} AND used_at IS NULL`,
        ...prepared.map(({ row }) => upsert(row, isUsedNow)),
        ...prepared.flatMap(({ room, others }) => [...room, ...others]),
      ]);
      return given.every((_record, at) => kept[1 + at]?.length === 1);
    },
    /** Marks what may be used once; false where that has happened before. */
    async use(kind: RecordKind, id: string): Promise<boolean> {
      const [used] = await change([
        sql`UPDATE records SET used_at = ${state.now()}
          WHERE kind = ${kindOf(kind)} AND id = ${keyOf(kind, id)} AND used_at IS NULL RETURNING used_at`,
      ]);
      return used?.length === 1;
    },
    /** Ends a grant with everything that was given out for it. */
    endGrant,
    /** As endGrant(), of several. @returns how many there were */
    endGrantsOf: async (ids: readonly string[]): Promise<number> =>
      (await change(endGrants(sql`id IN (${ids})`))).at(-1)?.length ?? 0,
    /** What access tokens stand for, by their hashes in 64 hex digits; those that stand for nothing are left out. */
    async tokens(hashes: readonly string[], nowMs: number): Promise<ReadonlyMap<string, TokenRecord>> {
      const rows = await read(
        sql`SELECT token.id, token.part_of, token.owner, token.value, token.expires_at, let_in.value AS grant_value
          FROM records AS token JOIN records AS let_in ON let_in.kind = ${
          kindOf("Grant")
        } AND let_in.id = token.part_of
          WHERE token.kind = ${
          kindOf("AccessToken")
        } AND token.id IN (${hashes}) AND token.expires_at > ${nowMs}`,
      );
      return new Map(rows.map((row) => [String(row["id"]), {
        ...tokenValues(String(row["value"])),
        grantId: String(row["part_of"]),
        username: nameOf(row["owner"]),
        account: String(JSON.parse(String(row["grant_value"]))["account"]),
        expiresAt: Number(row["expires_at"]),
      }]));
    },
    /** Those of the grants that there are. */
    async present(grantIds: readonly string[]): Promise<ReadonlySet<string>> {
      const rows = await read(
        sql`SELECT id FROM records
          WHERE kind = ${kindOf("Grant")} AND id IN (${grantIds}) AND expires_at > ${state.now()}`,
      );
      return new Set(rows.map(({ id }) => String(id)));
    },
    /** Tells of each grant and access token that ends; undefined: any may have. */
    onEnded(listener: (id: string | undefined) => void): void {
      for (const kind of ["Grant", "AccessToken"] as const) state.onEnded(kindOf(kind), listener);
    },
    grants,
    grantCount: () => countOf("Grant"),
    /** Those that registered, and those that a document describes and that have grants. */
    async clients(): Promise<ClientRecord[]> {
      const rows = await read(
        sql`SELECT id, value, created_at FROM records WHERE kind = ${
          kindOf("Client")
        } ORDER BY created_at, version`,
      );
      const registered = rows.map(asClient);
      const known = new Set(registered.map(({ id }) => id));
      const others = new Set((await grants()).map(({ clientId }) => clientId));
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
    async endClient(clientId: string): Promise<number | undefined> {
      const ofGrants = endGrants(sql`client = ${clientId}`);
      const rows = await change([...ofGrants, ...endStatements(sql`client = ${clientId}`, state.now())]);
      const ended = rows[ofGrants.length - 1]?.length ?? 0;
      return ended + (rows.at(-1)?.length ?? 0) === 0 ? undefined : ended;
    },
  };
}

/** As the state has it. */
const kindOf = (kind: RecordKind): string => `oauth ${kind}`;
/** Whose share a record is of. */
export const ownerOf = (username: string): string => `user:${username}`;
const nameOf = (owner: unknown): string => String(owner).replace(/^user:/, "");
const textOrNull = (value: unknown): string | null => typeof value === "string" ? value : null;

interface Row {
  readonly kind: RecordKind;
  readonly key: string;
  readonly grantId: string | null;
  readonly alias: string | null;
  readonly owner: string | undefined;
  readonly client: string | null;
  readonly value: string;
  readonly time: number;
  readonly expiresAt: number;
}

const select = sql`SELECT id, value, used_at FROM records`;

/**
 * Keeps a record unless its grant has ended, it is one client too many, or a condition does not hold; what a later save leaves
 * out stays as it was.
 */
function upsert(
  { kind, key, grantId, alias, owner, client, value, time, expiresAt }: Row,
  condition = sql`1 = 1`,
): Statement {
  const hasGrant = grantId === null
    ? sql`1 = 1`
    : sql`EXISTS (SELECT 1 FROM records WHERE kind = ${kindOf("Grant")} AND id = ${grantId})`;
  const hasRoom = kind === "Client"
    ? sql`((SELECT count(*) FROM records WHERE kind = ${kindOf(kind)} AND id <> ${key}) < ${most[kind]})`
    : sql`1 = 1`;
  const lastsLonger = kind === "Grant" ? sql`records.expires_at > excluded.expires_at` : sql`1 = 0`;
  return sql`INSERT INTO records
      (kind, id, alias, part_of, owner, client, value, created_at, expires_at, version)
    SELECT ${kindOf(kind)}, ${key}, ${alias}, ${grantId}, ${owner ?? null}, ${client}, ${value}, ${time},
      ${expiresAt}, ${currentVersion}
    WHERE ${hasGrant} AND ${hasRoom} AND ${condition}
    ON CONFLICT (kind, id) DO UPDATE SET value = excluded.value, part_of = excluded.part_of,
      client = excluded.client, owner = coalesce(excluded.owner, records.owner),
      alias = coalesce(excluded.alias, records.alias), version = excluded.version,
      expires_at = CASE WHEN ${lastsLonger} THEN records.expires_at ELSE excluded.expires_at END
    RETURNING id`;
}

/** Of all owners alike what they have beyond what the others have. */
function surplus(kind: RecordKind, count: number): Statement {
  return sql`SELECT id FROM (
      SELECT id, expires_at, row_number() OVER (PARTITION BY coalesce(owner, id) ORDER BY expires_at DESC) AS nth
        FROM records WHERE kind = ${kindOf(kind)}) AS ranked
    ORDER BY nth DESC, expires_at LIMIT ${count}`;
}

/** A condition that the one client fulfils which is missed least: it has no grant, and if it can be no login under way. */
function idleClient(): Statement {
  const has = (kinds: readonly RecordKind[]) =>
    sql`EXISTS (SELECT 1 FROM records AS other
      WHERE other.client = records.id AND other.kind IN (${kinds.map(kindOf)}))`;
  return sql`kind = ${kindOf("Client")} AND id IN (SELECT id FROM (
      SELECT idle.*, row_number() OVER
          (PARTITION BY owner ORDER BY is_asking DESC, is_used DESC, seen_at DESC) AS nth
        FROM (SELECT id, coalesce(owner, id) AS owner, used_at IS NOT NULL AS is_used,
            coalesce(used_at, created_at) AS seen_at, ${has(["Interaction", "DeviceCode"])} AS is_asking
          FROM records WHERE kind = ${kindOf("Client")} AND NOT ${has(["Grant"])}) AS idle) AS ranked
    ORDER BY nth DESC, is_asking, is_used, seen_at LIMIT 1)`;
}

/** The client that a login is for. */
function askingClient({ params }: Payload): string | null {
  const { client_id: id } = typeof params === "object" && params !== null
    ? params as Readonly<Record<string, unknown>>
    : {};
  return textOrNull(id);
}

function asGrant(row: StateRow): GrantRecord {
  const { account } = JSON.parse(String(row["value"]));
  return {
    id: String(row["id"]),
    clientId: String(row["client"]),
    username: nameOf(row["owner"]),
    account: String(account),
    createdAt: Number(row["created_at"]),
    usedAt: row["used_at"] === null ? null : Number(row["used_at"]),
    expiresAt: Number(row["expires_at"]),
  };
}

function asClient(row: StateRow): ClientRecord {
  const { client_name: name, redirect_uris: uris } = JSON.parse(String(row["value"])) as Record<
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
