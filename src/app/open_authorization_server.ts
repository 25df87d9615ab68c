import { defined } from "../core/defined.ts";
import { extname } from "node:path";
import type { AuditTrail } from "../audit/audit_trail.ts";
import type { Config } from "../config/mod.ts";
import { AppError } from "../core/app_error.ts";
import { createSharedDeadline } from "../core/async/deadline.ts";
import { readRegularBytes } from "../core/files/read_regular_file.ts";
import type { ServerMetrics } from "../core/metrics/server_metrics.ts";
import type { Principal } from "../core/principal.ts";
import { bodyTimeoutMs } from "../http/request_body.ts";
import { createAuthorizationServer } from "../identity/authorization_server/authorization_server.ts";
import type {
  AuthorizationServerOptions,
  Picture,
  Resource,
} from "../identity/authorization_server/authorization_server_options.ts";
import type { OauthEvent } from "../identity/authorization_server/provider_events.ts";
import { keepCookieKeys } from "../identity/authorization_server/cookie_keys.ts";
import { createGrantStore } from "../identity/authorization_server/grant_store.ts";
import { createGrants } from "../identity/authorization_server/grants.ts";
import type { UserDirectory } from "../identity/users/user_directory.ts";
import type { State } from "../state/state.ts";

type Oauth = Config["http"]["auth"]["oauth"];

type SharedOptions = Pick<
  AuthorizationServerOptions,
  "issuer" | "toolNames" | "allowedOrigins" | "hasConsole" | "login" | "limiter" | "logger"
>;

export interface OpenAuthorizationServerOptions extends SharedOptions {
  readonly oauth: Oauth;
  readonly state: State;
  /** Whether other servers have user files of their own. */
  readonly sharesLogins: boolean;
  /** What tokens are for: the addresses of the tool server and, where it takes them, of the RAG server. */
  readonly resources: readonly Resource[];
  readonly users: UserDirectory;
  readonly audit: AuditTrail | undefined;
  readonly metrics: ServerMetrics;
}

export type OpenAuthorizationServer = Awaited<ReturnType<typeof openAuthorizationServer>>;

/** Opens the built-in authorization server. @throws {AppError} where the logo cannot be used */
export async function openAuthorizationServer(options: OpenAuthorizationServerOptions) {
  const { issuer, oauth, state, users, login, limiter, metrics, logger } = options;
  using opening = new DisposableStack();
  const cookieKeys = opening.use(await keepCookieKeys({ state, logger }));
  const store = createGrantStore(state);
  const listeners: ((principal: Principal) => void)[] = [];
  const onEvent = (event: OauthEvent) => tell(event, options);
  const issuerLogin = oauth.login &&
    (await import("./open_issuer.ts")).openIssuerLogin(oauth.login, { ...options, store, onEvent });
  const grants = opening.use(createGrants({
    store,
    accounts: users,
    requireCurrent: state.requireCurrent,
    othersDecide: options.sharesLogins,
    logins: issuerLogin?.logins,
    onEnded: (caller) =>
      listeners.forEach((listener) => listener("kind" in caller ? caller : { kind: "session", ...caller })),
  }));
  // where the state does not answer yet, the next change of accounts does it
  await grants.reconcile().then(grants.look).catch(() => {});
  opening.defer(metrics.oauthGrants.collect(() => [{ labels: [], value: grants.size }]));
  const bodyTimeout = createSharedDeadline(bodyTimeoutMs);
  opening.defer(bodyTimeout.close);
  const { login_page: page } = oauth;
  const server = opening.use(
    await createAuthorizationServer({
      issuer,
      resources: options.resources,
      ...defined({ toolNames: options.toolNames }),
      lifetimesMs: {
        accessToken: oauth.access_token_lifetime,
        refreshToken: oauth.refresh_token_lifetime,
        authorizationCode: oauth.authorization_code_lifetime,
        deviceCode: oauth.device_code_lifetime,
      },
      allowRegistration: oauth.allow_dynamic_registration,
      allowDocuments: oauth.allow_client_id_metadata_documents,
      allowedRedirectUris: oauth.allowed_redirect_uris,
      allowedOrigins: options.allowedOrigins,
      hasConsole: options.hasConsole,
      branding: { title: page.title, message: page.message, colour: page.primary_colour },
      refreshLifetimeText: durationText(oauth.refresh_token_lifetime),
      logo: await readLogo(oauth),
      learn: state.isShared ? state.catchUp : undefined,
      cookieKeys,
      store,
      accounts: users,
      login,
      limiter,
      bodyTimeout,
      issuerLogin,
      onEvent,
      logger,
    }),
  );
  logger.info(`OAuth authorization server enabled, issuer ${issuer}`);
  const stack = opening.move();
  return {
    server,
    grants,
    /** Tells from now on of each grant that ends. */
    onEnded: (listener: (principal: Principal) => void) => void listeners.push(listener),
    [Symbol.dispose]: () => stack.dispose(),
  };
}

const imageTypes: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** @throws {AppError} where it cannot be used */
export async function readLogo({ login_page: { logo_file: path } }: Oauth): Promise<Picture | undefined> {
  const setting = "http.auth.oauth.login_page.logo_file";
  if (path === undefined) return undefined;
  const type = imageTypes[extname(path).toLowerCase()] ?? "application/octet-stream";
  try {
    return { type, bytes: Uint8Array.from(await readRegularBytes(path)) };
  } catch (cause) {
    if (cause instanceof AppError) throw new AppError(cause.code, `${setting}: ${cause.message}`, { cause });
    const reason = cause instanceof Deno.errors.NotFound ? "it does not exist" : "it cannot be read";
    throw new AppError("invalid", `${setting}: Cannot read ${path}: ${reason}`, { cause });
  }
}

function durationText(ms: number): string {
  const units = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1_000]] as const;
  const [name, unitMs] = units.find(([, unit]) => ms >= unit && ms % unit === 0) ?? ["second", 1_000];
  const count = Math.round(ms / unitMs);
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** Counts an event, and writes it to the log and the audit trail. */
function tell(event: OauthEvent, { audit, metrics, logger }: OpenAuthorizationServerOptions): void {
  const { event: operation, clientId, username, grantId, address, requestId, reason } = event;
  metrics.oauthEvents.of(operation).add();
  if (operation === "reuse") {
    logger.warn("A code or refresh token was used twice: its grant has ended", {
      client: clientId,
      user: username,
      grant: grantId,
      address,
    });
  } else if (operation === "failed") {
    logger.debug("A request for a token was refused", { client: clientId, reason, address });
    return;
  }
  audit?.record({
    event: "oauth",
    operation,
    outcome: /^(?:reuse|deny|login_failed)$/.test(operation) ? "refused" : "ok",
    ...(grantId === undefined ? {} : { principal: `session:${grantId}` }),
    ...defined({ user: username, client: clientId, address, reason, request: requestId }),
  });
}
