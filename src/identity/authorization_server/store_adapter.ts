import { AppError } from "../../core/app_error.ts";
import type { AuthorizationServerOptions } from "./authorization_server_options.ts";
import { type ClientDocuments, isDocumentAddress } from "./client_metadata.ts";
import { isRecordKind, type KeptRecord, type Payload, type RecordKind } from "./grant_store.ts";
import { accountMark, issuerMark } from "./grants.ts";
import { siteOf } from "../rate_limiter.ts";
import type { OidcModule } from "./provider_types.ts";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import { tokenPrefix } from "../presented_token.ts";
import type { CookieKeys } from "./cookie_keys.ts";

interface StoreAdapterOptions extends Pick<AuthorizationServerOptions, "store" | "accounts" | "issuerLogin"> {
  readonly refreshTokens: RefreshTokenValues;
  /** Optional: none where documents do not describe clients. */
  readonly documents: ClientDocuments | undefined;
  /** Of the client whose request is being answered. */
  readonly clientAddress: () => string;
  /** Told when somebody uses a refresh token again that the store has forgotten. */
  readonly onReuse: (grant: { readonly grantId: string; readonly username: string }) => void;
  readonly oidc: OidcModule;
}

/** How the provider reaches the store: its adapter of one kind of record. */
export function createStoreAdapter(options: StoreAdapterOptions) {
  const { store, accounts, refreshTokens, documents, onReuse, oidc: { errors, Provider } } = options;

  /** Client ID Metadata Documents are fetched here, since the provider's own fetch has no guard on Deno. */
  async function findDocument(clientId: string): Promise<Payload | undefined> {
    if (documents === undefined || !isDocumentAddress(clientId)) return undefined;
    try {
      return { ...await documents.find(clientId, options.clientAddress()) };
    } catch (error) {
      if (error instanceof AppError) throw refusal(error, "invalid_client");
      throw error;
    }
  }

  function refusal(error: AppError, code: string): Error {
    const { CustomOIDCProviderError = Error } = errors;
    return new CustomOIDCProviderError(
      error.code === "overloaded" ? "temporarily_unavailable" : code,
      error.message,
    );
  }

  function markOf(payload: Payload): string {
    const username = String(payload["accountId"]);
    if (options.issuerLogin?.logins.covers(username)) return issuerMark;
    const account = accounts.find(username);
    const { AccessDenied = Error } = errors;
    if (account === undefined) throw new AccessDenied("the account is gone");
    return accountMark(account);
  }

  /** Of a refresh token that was used so long ago that the store has forgotten it: its second use ends the grant too. */
  async function endForgotten(value: string): Promise<void> {
    const grantId = refreshTokens.grantOf(value);
    const grant = grantId === undefined ? undefined : await store.find("Grant", grantId);
    if (grantId !== undefined && await store.endGrant(grantId)) {
      onReuse({ grantId, username: String(grant?.["accountId"] ?? "") });
    }
  }

  /** By the requests that use a refresh token. */
  const refreshes = new WeakMap<object, { readonly used: string; readonly given: KeptRecord[] }>();

  async function refuseUsed(kind: RecordKind, id: string): Promise<never> {
    const { InvalidGrant = Error } = errors;
    const used = await store.find(kind, id);
    if (used === undefined) throw new InvalidGrant("its grant has ended");
    await store.endGrant(String(used["grantId"]));
    // the provider tells with its refusal whose it was
    Provider.ctx?.oidc.entity(kind, used);
    throw new InvalidGrant("already used");
  }

  return (name: string) => {
    if (!isRecordKind(name)) throw new AppError("internal", `Cannot keep records of the kind ${name}`);
    const kind = name;
    return {
      async upsert(id: string, payload: Payload, lifetimeSeconds: number | undefined) {
        try {
          const site = siteOf(options.clientAddress());
          if (kind === "Client") return await store.keepClient(id, payload, site);
          const record: KeptRecord = [
            kind,
            id,
            kind === "Interaction" ? withoutCookie(payload) : payload,
            (lifetimeSeconds ?? 0) * 1_000,
            kind === "Grant" ? { account: markOf(payload), site } : { site },
          ];
          const refresh = Provider.ctx && refreshes.get(Provider.ctx);
          if (refresh === undefined) return await store.keep(...record);
          refresh.given.push(record);
          // the provider makes the access token last
          if (kind === "AccessToken" && !await store.refresh(refresh.used, refresh.given)) {
            await refuseUsed("RefreshToken", refresh.used);
          }
        } catch (error) {
          // what may do later is no refusal
          if (!(error instanceof AppError) || error.data?.retryAfterSeconds !== undefined) throw error;
          throw refusal(error, error.code === "not_found" ? "invalid_grant" : "server_error");
        }
      },
      async find(id: string): Promise<Payload | undefined> {
        // a device code found by its user code is known only as a hash
        if (kind === "DeviceCode" && Provider.ctx?.oidc.route === "device_resume") {
          return await store.findByMark(kind, id);
        }
        const found = await store.find(kind, id);
        // the provider refuses a code that was used before it notes whose it was, which is told with the refusal
        if (found?.["consumed"] !== undefined) Provider.ctx?.oidc.entity(kind, found);
        if (found !== undefined) return found;
        if (kind === "RefreshToken" && Provider.ctx?.oidc.route === "token") await endForgotten(id);
        return kind === "Client" ? await findDocument(id) : undefined;
      },
      findByUid: (uid: string) => store.findByUid(uid),
      findByUserCode: (userCode: string) => store.findByUserCode(userCode),
      destroy: (id: string) => store.end(kind, id),
      revokeByGrantId: (grantId: string) => store.endGrant(grantId),
      /** Of two that use a code or a refresh token at the same time, one is refused, and the grant ends. */
      async consume(id: string) {
        if (kind === "RefreshToken" && Provider.ctx !== undefined) {
          // it is used with what is given out for it: a state that goes away in between would leave its client with neither
          refreshes.set(Provider.ctx, { used: id, given: [] });
        } else if (!await store.use(kind, id)) await refuseUsed(kind, id);
      },
    };
  };
}

/** The login page's cookie stands in no record but as a hash. */
function withoutCookie(payload: Payload): Payload {
  const { session, ...rest } = payload;
  if (typeof session !== "object" || session === null) return payload;
  const { cookie: _cookie, ...kept } = session as Record<string, unknown>;
  return { ...rest, session: kept };
}

const pattern = new RegExp(String.raw`^(${tokenPrefix}([\w-]+)\.[\w-]+)\.([\w-]+)$`);
const randomByteCount = 32;
/** Enough of the signature: whoever guesses one can end a grant, and do nothing else. */
const signatureByteCount = 16;

/**
 * Refresh tokens that tell which grant they were given out for, `pst_GRANT.RANDOM.SIGNATURE`. So the second use of one
 * ends its grant (RFC 9700, section 4.14.2) when the store has forgotten it long ago, and the store need not keep all that
 * were used.
 *
 * @param keys those of the cookies: the first signs, and all are accepted
 */
export function createRefreshTokenValues(keys: Pick<CookieKeys, "secrets">) {
  const sign = (secret: string, text: string) =>
    createHmac("sha256", secret).update(`refresh token\0${text}`).digest().subarray(0, signatureByteCount)
      .toString("base64url");
  return {
    make(grantId: string): string {
      const text = `${tokenPrefix}${grantId}.${randomBytes(randomByteCount).toString("base64url")}`;
      return `${text}.${sign(keys.secrets[0] ?? "", text)}`;
    },
    /** The grant that a token was given out for; undefined for a text that is no token of this server. */
    grantOf(value: string): string | undefined {
      const [, text = "", grantId, given = ""] = pattern.exec(value) ?? [];
      // as texts, since several stand for the same bytes (RFC 4648 section 3.5)
      const isOurs = (secret: string) => {
        const signature = sign(secret, text);
        return given.length === signature.length &&
          timingSafeEqual(Buffer.from(given), Buffer.from(signature));
      };
      return keys.secrets.some(isOurs) ? grantId : undefined;
    },
  };
}

type RefreshTokenValues = ReturnType<typeof createRefreshTokenValues>;
