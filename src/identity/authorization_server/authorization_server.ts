import { AsyncLocalStorage } from "node:async_hooks";
import { generateKeyPairSync } from "node:crypto";
import { AppError } from "../../core/app_error.ts";
import type { SharedDeadline } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServedBy } from "../../core/metrics/server_metrics.ts";
import { callNode, type NodeCallback } from "../../http/node_callback.ts";
import { readBody } from "../../http/request_body.ts";
import type { Login } from "../login.ts";
import { createRateLimiter, type RateLimiter } from "../rate_limiter.ts";
import { createClientDocuments, deviceGrant, readClientMetadata } from "./client_metadata.ts";
import type { GrantStore } from "./grant_store.ts";
import type { Accounts } from "./grants.ts";
import { type Caller, createInteractionPages, interactionGone, shownClient } from "./interaction_pages.ts";
import { type Branding, createPages, type Page } from "./pages.ts";
import type { KoaContext, OidcModule, OidcProvider } from "./provider_types.ts";
import { createRedirectRule } from "./redirect_uris.ts";
import { createStoreAdapter } from "./store_adapter.ts";

/** The one scope there is: to act as the user. */
export const oauthScope = "mcp";

/** What happened, for counters, the log and the audit trail. */
export interface OauthEvent {
  readonly event: "register" | "grant" | "refresh" | "deny" | "reuse" | "revoke" | "failed";
  readonly clientId?: string;
  readonly username?: string;
  readonly grantId?: string;
  readonly address?: string;
  readonly requestId?: string;
  /** Of what failed: the error's code. */
  readonly reason?: string;
}

export interface AuthorizationServerOptions {
  /** What clients know this server by (RFC 8414, section 2). */
  readonly issuer: string;
  /** What tokens are for (RFC 8707): the first where a client does not say. */
  readonly resources: readonly Resource[];
  readonly lifetimesMs: {
    readonly accessToken: number;
    readonly refreshToken: number;
    readonly authorizationCode: number;
    readonly deviceCode: number;
  };
  readonly allowRegistration: boolean;
  readonly allowDocuments: boolean;
  readonly allowedRedirectUris: readonly string[];
  /** Origins of web pages that may call this server. */
  readonly allowedOrigins: readonly string[];
  readonly branding: Omit<Branding, "hasLogo" | "hasFavicon" | "staticPath">;
  /** How long an unused grant lasts, for people. */
  readonly refreshLifetimeText: string;
  readonly logo?: Picture | undefined;
  readonly favicon?: Picture | undefined;
  readonly cookieSecrets: readonly string[];
  readonly store: GrantStore;
  readonly accounts: Accounts;
  readonly login: Login;
  /** Counts what failed by address, together with passwords: codes of devices that were not right. */
  readonly limiter: RateLimiter;
  readonly bodyTimeout: SharedDeadline;
  readonly onEvent: (event: OauthEvent) => void;
  readonly logger: Logger;
  readonly documents?: ReturnType<typeof createClientDocuments>;
}

/** A server of this process that takes tokens. */
export interface Resource {
  /** What clients call. */
  readonly address: string;
  readonly server: ServedBy;
}

export interface Picture {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The built-in authorization server, ready to answer. */
export type AuthorizationServer = Awaited<ReturnType<typeof createAuthorizationServer>>;

const maxBodyBytes = 48 * 1024;
/** How long a login may take, from the first page to the last. */
const interactionSeconds = 15 * 60;
/** After this a user has to log in again, however often a client refreshed its token. */
const longestGrantSeconds = 365 * 24 * 3_600;
/** Registrations, and as many beginnings of device logins, that an address may make within an hour. */
const mostAnHour = 60;
/** Logins that an address may begin in a browser within an hour: many people may share it. */
const mostLoginsAnHour = 600;
const hourMs = 3_600_000;

const metadataPath = "/.well-known/oauth-authorization-server";

/** Which methods each path takes. What is not here the provider does not get to see. */
const routes: readonly (readonly [pattern: RegExp, method: "GET" | "POST" | "both", route: string])[] = [
  [/^\/oauth\/authorize$/, "GET", "/oauth/authorize"],
  [/^\/oauth\/authorize\/[\w-]+$/, "GET", "/oauth/authorize"],
  [/^\/oauth\/interaction\/[\w-]+$/, "both", "/oauth/interaction"],
  [/^\/oauth\/token$/, "POST", "/oauth/token"],
  [/^\/oauth\/register$/, "POST", "/oauth/register"],
  [/^\/oauth\/revoke$/, "POST", "/oauth/revoke"],
  [/^\/oauth\/device$/, "POST", "/oauth/device"],
  [/^\/oauth\/device\/verify$/, "both", "/oauth/device/verify"],
  [/^\/oauth\/device\/verify\/[\w-]+$/, "GET", "/oauth/device/verify"],
  [/^\/oauth\/static\/(?:logo|favicon)$/, "GET", "/oauth/static"],
];

/** A request with what is known of it besides. */
export interface OauthRequest {
  readonly request: Request;
  readonly address: string;
  readonly requestId: string;
}

/**
 * An OAuth 2.1 authorization server on `oidc-provider`: authorization code with PKCE, refresh with rotation, device grant,
 * revocation, registration, Client ID Metadata Documents. Access tokens are opaque and looked up in the store.
 */
export async function createAuthorizationServer(options: AuthorizationServerOptions) {
  const { issuer, resources, lifetimesMs, store, accounts, login, limiter, onEvent, logger } = options;
  const base = new URL(issuer);
  const prefix = base.pathname.replace(/\/$/, "");
  const isAllowed = createRedirectRule({
    allowed: options.allowedRedirectUris,
    issuer,
    origins: options.allowedOrigins,
  });
  const documents = options.allowDocuments
    ? options.documents ?? createClientDocuments({ isAllowed })
    : undefined;
  const pages = createPages({
    ...options.branding,
    hasLogo: options.logo !== undefined,
    hasFavicon: options.favicon !== undefined,
    staticPath: `${prefix}/oauth/static`,
  });
  const perHour = (maxAttempts: number) =>
    createRateLimiter({ windowMs: hourMs, maxAttempts, now: () => performance.now() });
  const logins = perHour(mostLoginsAnHour);
  const beginnings = new Map([
    ["POST /oauth/register", perHour(mostAnHour)],
    ["POST /oauth/device", perHour(mostAnHour)],
    ["GET /oauth/authorize", logins],
    ["GET /oauth/device/verify", logins],
  ]);
  // what the provider tells of a request comes without our own knowledge of it
  const callers = new Map<string, Caller>();
  // a client is looked up without a request, also by our own pages
  const clientAddress = new AsyncLocalStorage<string>();
  let requestCount = 0;
  const oidc = await loadProvider();
  const provider = new oidc.Provider(issuer, configuration());
  const interactions = createInteractionPages({
    provider,
    pages,
    login,
    accounts,
    origin: base.origin,
    prefix,
    lifetime: options.refreshLifetimeText,
    serverOf: (resource) => ours(resource)?.server,
    onDenied: (clientId) => onEvent({ event: "deny", clientId }),
  });
  provider.use(async (context, next) => {
    try {
      if (await interactions.answer(context, callerOf)) return;
      await next();
      // nobody stays logged in at this server: the next client's request asks for the password again
      if (/^(?:resume|device_resume)$/.test(context.oidc?.route ?? "") && isFinished(context)) {
        await context.oidc.session?.destroy();
      }
    } catch (error) {
      // what gets through the provider's own answers to errors; its framework would print it
      if (!callers.get(context.get(callerHeader))?.signal.aborted) tellFailed(context, error);
      show(context, pages.error(500, errorText({ error: "server_error" })));
    }
  });
  listen(provider);
  const callback: NodeCallback = provider.callback();

  function callerOf(context: KoaContext): Caller {
    const caller = callers.get(context.get(callerHeader));
    if (caller === undefined) throw new AppError("internal", "Cannot tell who sent a form");
    return caller;
  }

  function configuration(): Readonly<Record<string, unknown>> {
    const seconds = (ms: number) => Math.floor(ms / 1_000);
    const resourceServer = {
      scope: oauthScope,
      accessTokenFormat: "opaque",
      accessTokenTTL: seconds(lifetimesMs.accessToken),
    };
    const cookies = { httpOnly: true, sameSite: "lax", signed: true };
    const { InvalidTarget = Error } = oidc.errors;
    return {
      adapter: createStoreAdapter({
        store,
        accounts,
        documents,
        clientAddress: () => clientAddress.getStore() ?? "",
        oidc,
        onReuse: (_kind, grantId) => onEvent({ event: "reuse", grantId }),
      }),
      clientAuthMethods: ["none"],
      clientDefaults: {
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
        id_token_signed_response_alg: "ES256",
      },
      // which web pages may call is decided before (http/host_and_origin)
      clientBasedCORS: () => true,
      claims: {},
      cookies: {
        keys: options.cookieSecrets,
        names: { session: "postern_login", interaction: "postern_interaction", resume: "postern_resume" },
        long: { ...cookies, path: `${prefix}/oauth` },
        short: cookies,
      },
      expiresWithSession: () => false,
      features: {
        devInteractions: { enabled: false },
        dPoP: { enabled: false },
        userinfo: { enabled: false },
        rpInitiatedLogout: { enabled: false },
        pushedAuthorizationRequests: { enabled: false },
        revocation: { enabled: true },
        registration: { enabled: options.allowRegistration, issueRegistrationAccessToken: false },
        deviceFlow: { enabled: true, ...devicePages() },
        resourceIndicators: {
          enabled: true,
          // of several that were asked for together, the first
          defaultResource: (_context: KoaContext, _client: unknown, oneOf?: readonly string[]) =>
            oneOf?.[0] ?? resources[0]?.address,
          useGrantedResource: () => true,
          getResourceServerInfo(_context: KoaContext, resource: string) {
            const audience = ours(resource)?.address;
            if (audience === undefined) throw new InvalidTarget("unknown resource");
            return { ...resourceServer, audience };
          },
        },
      },
      findAccount(_context: KoaContext, username: string) {
        const account = accounts.find(username);
        const isUsable = account !== undefined && (account.enabled || account.disabledReason === "lockout");
        return isUsable ? { accountId: username, claims: () => ({ sub: username }) } : undefined;
      },
      interactions: {
        url: (_context: KoaContext, { uid }: { readonly uid: string }) =>
          `${prefix}/oauth/interaction/${uid}`,
      },
      issueRefreshToken: (_context: KoaContext, client: { grantTypeAllowed(grant: string): boolean }) =>
        client.grantTypeAllowed("refresh_token"),
      // the provider wants a key for ID tokens, of which there are none
      jwks: {
        keys: [generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" })],
      },
      // each authorization is a grant of its own, which its user can be asked about and which ends alone
      async loadExistingGrant({ oidc: { result } }: KoaContext) {
        return result?.consent && await provider.Grant.find(result.consent.grantId);
      },
      pkce: { required: () => true },
      renderError: (
        context: KoaContext,
        out: { readonly error: string; readonly error_description?: string },
      ) => show(context, pages.error(context.status === 500 ? 500 : 400, errorText(out))),
      responseTypes: ["code"],
      rotateRefreshToken: true,
      routes: {
        authorization: "/oauth/authorize",
        code_verification: "/oauth/device/verify",
        device_authorization: "/oauth/device",
        end_session: "/oauth/end_session",
        jwks: "/oauth/jwks",
        registration: "/oauth/register",
        revocation: "/oauth/revoke",
        token: "/oauth/token",
      },
      scopes: [],
      ttl: {
        AccessToken: seconds(lifetimesMs.accessToken),
        AuthorizationCode: seconds(lifetimesMs.authorizationCode),
        DeviceCode: seconds(lifetimesMs.deviceCode),
        RefreshToken: seconds(lifetimesMs.refreshToken),
        Grant: longestGrantSeconds,
        Interaction: interactionSeconds,
        Session: interactionSeconds,
        IdToken: 60,
      },
    };
  }

  /** The resource that a client means; undefined where it is none of ours. */
  function ours(resource: string): Resource | undefined {
    // clients write the same address with and without a slash at its end
    return resources.find(({ address }) => address.replace(/\/$/, "") === resource.replace(/\/$/, ""));
  }

  function devicePages() {
    const action = (context: KoaContext) => context.oidc.urlFor("code_verification");
    const secret = (context: KoaContext) => context.oidc.session?.state?.secret ?? "";
    return {
      mask: "****-****",
      charset: "base-20",
      deviceInfo: () => ({}),
      userCodeInputSource(
        context: KoaContext,
        _form: string,
        _out: unknown,
        error?: Error & { userCode?: string },
      ) {
        const { address } = callerOf(context);
        const { route, session } = context.oidc;
        if (route === "device_resume" && session?.exp === undefined) {
          // there is nothing yet in which the secret of another form could be kept
          if (session !== undefined) session.touched = false;
          return show(context, pages.error(400, interactionGone));
        }
        if (error?.name === "AbortedError") {
          return show(
            context,
            pages.done("Access denied", "The device gets no access. You can close this page."),
          );
        }
        if (error?.name === "NotFoundError") limiter.recordFailed(address);
        const typed = error?.userCode ?? context.query[codeParameter];
        const problem = error &&
          (error.name in codeProblems
            ? "This code is wrong, has expired, or was used. Begin anew on your device."
            : "This did not work. Begin anew on your device.");
        show(
          context,
          pages.deviceCode({
            action: action(context),
            secret: secret(context),
            ...(typeof typed === "string" ? { code: typed.slice(0, 40) } : {}),
            ...(problem === undefined ? {} : { problem }),
          }),
        );
      },
      userCodeConfirmSource(
        context: KoaContext,
        _form: string,
        _client: unknown,
        _info: unknown,
        code: string,
      ) {
        const client = shownClient(context.oidc.client);
        show(
          context,
          pages.deviceConfirmation({ action: action(context), secret: secret(context), code, client }),
        );
      },
      successSource: (context: KoaContext) =>
        show(context, pages.done("Access allowed", "Go back to your device. You can close this page.")),
    };
  }

  function show(context: KoaContext, page: Page): void {
    interactions.show(context, page);
  }

  /** What the provider tells. */
  function listen(provider: OidcProvider): void {
    const told = (name: string, tell: (context: KoaContext, ...rest: readonly unknown[]) => void) =>
      provider.on(name, (...args: readonly unknown[]) => tell(args[0] as KoaContext, ...args.slice(1)));
    const from = (context: KoaContext) => {
      const caller = callers.get(context.get(callerHeader));
      return caller === undefined ? {} : { requestId: caller.requestId, address: caller.address };
    };
    const text = (value: unknown) => typeof value === "string" ? value : undefined;
    told("grant.success", (context) => {
      const { entities, client, params } = context.oidc;
      const { accountId, grantId } = entities["AccessToken"] ?? {};
      onEvent({
        event: params?.["grant_type"] === "refresh_token" ? "refresh" : "grant",
        ...definedOnly({ clientId: client?.clientId, username: text(accountId), grantId: text(grantId) }),
        ...from(context),
      });
    });
    told("grant.error", (context, error) => {
      const { error: code, error_detail: detail } = error as { error?: string; error_detail?: string };
      if (code === "authorization_pending" || code === "slow_down") return;
      const isReuse = detail !== undefined && /already (?:used|consumed)$/.test(detail);
      const grantId = text(context.oidc.entities["RefreshToken"]?.["grantId"]);
      onEvent({
        event: isReuse ? "reuse" : "failed",
        ...definedOnly({ clientId: context.oidc.client?.clientId, grantId, reason: code }),
        ...from(context),
      });
    });
    told(
      "registration_create.success",
      (context, client) =>
        onEvent({ event: "register", clientId: (client as { clientId: string }).clientId, ...from(context) }),
    );
    told("grant.revoked", (context, grantId) => {
      if (context.oidc.route !== "revocation") return;
      onEvent({
        event: "revoke",
        ...definedOnly({ clientId: context.oidc.client?.clientId, grantId: text(grantId) }),
        ...from(context),
      });
    });
    told("server_error", tellFailed);
  }

  function tellFailed(context: KoaContext, error: unknown): void {
    logger.error("The authorization server failed", {
      path: context.path,
      error,
      request: callers.get(context.get(callerHeader))?.requestId,
    });
  }

  const metadata = {
    issuer,
    authorization_endpoint: `${issuer.replace(/\/$/, "")}/oauth/authorize`,
    token_endpoint: `${issuer.replace(/\/$/, "")}/oauth/token`,
    ...(options.allowRegistration
      ? { registration_endpoint: `${issuer.replace(/\/$/, "")}/oauth/register` }
      : {}),
    device_authorization_endpoint: `${issuer.replace(/\/$/, "")}/oauth/device`,
    revocation_endpoint: `${issuer.replace(/\/$/, "")}/oauth/revoke`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", deviceGrant],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    scopes_supported: [oauthScope],
    authorization_response_iss_parameter_supported: true,
    ...(documents === undefined ? {} : { client_id_metadata_document_supported: true }),
  };

  /** Limits how much an address may begin, since others' beginnings end to make room; undefined where it may. */
  function tooMany(method: string, path: string, address: string): Response | undefined {
    const begun = beginnings.get(`${method} ${path}`);
    const limit = begun?.check(address) ?? { limited: false };
    if (!limit.limited) {
      begun?.recordFailed(address);
      return undefined;
    }
    if (method === "POST") return slowDown(limit.retryAfterSeconds);
    const response = pageResponse(
      pages.error(429, "Too many logins were begun from your address. Try again later."),
    );
    response.headers.set("retry-after", String(limit.retryAfterSeconds));
    return response;
  }

  function readRegistration(body: string): string {
    const fields = parseObject(body);
    if (fields === undefined) throw new AppError("invalid", "expected a JSON object");
    const { client_id: _none, ...client } = readClientMetadata("", fields, isAllowed, "refuse");
    return JSON.stringify(client);
  }

  /**
   * What the provider gets in place of a request's parameters: there is one scope, which whoever asks for others gets too
   * (RFC 6749, section 3.3), and the answer stands in the query alone.
   */
  function rewrite(path: string, params: URLSearchParams): URLSearchParams {
    if (path === "/oauth/token") params.delete("scope");
    else if (path === "/oauth/authorize" || path === "/oauth/device") params.set("scope", oauthScope);
    if (params.get("response_mode") !== "query") params.delete("response_mode");
    const code = params.get("user_code");
    if (path === "/oauth/device/verify" && code !== null) params.set(codeParameter, code);
    return params;
  }

  /** Puts the resource that was granted, as it was named then, in place of the one that is asked for; whether there is one. */
  function nameGranted(params: URLSearchParams): boolean {
    const asked = params.getAll("resource").filter((each) => each !== "");
    params.delete("resource");
    const [wanted] = asked.map(ours);
    if (asked.length === 0) return true;
    if (asked.length > 1 || wanted === undefined) return false;
    const granted = grantedBy.flatMap(([parameter, kind]) => {
      const given = params.get(parameter);
      const resource = given === null ? undefined : store.find(kind, given)?.["resource"];
      return resource === undefined ? [] : [resource].flat().map(String);
    });
    const named = granted.find((each) => ours(each) === wanted);
    if (named !== undefined) params.set("resource", named);
    // what nobody knows is refused as such
    return named !== undefined || granted.length === 0;
  }

  async function answer({ request, address, requestId }: OauthRequest, path: string): Promise<Response> {
    const url = new URL(request.url);
    const caller = String(++requestCount);
    const headers: Record<string, string> = { host: base.host, [callerHeader]: caller };
    for (const name of ["accept", "content-type", "cookie", "origin", "authorization"]) {
      const value = request.headers.get(name);
      if (value !== null) headers[name] = value;
    }
    const begins = request.method === "GET" &&
      (path === "/oauth/authorize" || path === "/oauth/device/verify");
    // whoever begins is nobody yet
    if (begins) delete headers["cookie"];
    let body = "";
    let search = url.search;
    if (request.method === "POST") {
      const read = await readBody(request, { maxBytes: maxBodyBytes, timeout: options.bodyTimeout });
      if (read.kind !== "text") {
        return oauthError(
          read.kind === "too_large" ? 413 : 400,
          "invalid_request",
          "the body cannot be read",
        );
      }
      body = read.text;
      if (path === "/oauth/register") body = readRegistration(body);
      else if (path === "/oauth/token" || path === "/oauth/device") {
        const params = rewrite(path, new URLSearchParams(body));
        if (path === "/oauth/token") {
          // before a code or a refresh token is used up
          if (!nameGranted(params)) {
            return oauthError(400, "invalid_target", "this grant is not for that resource");
          }
        }
        body = params.toString();
      } else if (path === "/oauth/device/verify" && limiter.check(address).limited) {
        return pageResponse(
          pages.error(429, "Too many attempts from your address have failed. Try again later."),
        );
      }
    } else if (begins) {
      const params = rewrite(path, url.searchParams);
      params.delete("user_code");
      search = `?${params}`;
    }
    callers.set(caller, { address, requestId, signal: request.signal });
    try {
      const init = {
        method: request.method,
        url: path + search,
        originalUrl: prefix + path + search,
        headers,
        body: new TextEncoder().encode(body),
        address,
        encrypted: base.protocol === "https:",
      };
      return await clientAddress.run(address, () => callNode(callback, init));
    } finally {
      callers.delete(caller);
    }
  }

  function pageResponse(page: Page): Response {
    return new Response(page.html, { status: page.status, headers: interactions.headersOf(page) });
  }

  const isMetadata = (full: string) => full === metadataPath || full === metadataPath + prefix;
  const ownPath = (full: string) =>
    prefix !== "" && full.startsWith(`${prefix}/`) ? full.slice(prefix.length) : full;

  return {
    issuer,
    scopes: [oauthScope],
    /** The route of a path, for counting; undefined where the authorization server has none. */
    routeOf(full: string): string | undefined {
      if (!full.includes("/oauth")) return undefined;
      if (isMetadata(full)) return metadataPath;
      const path = ownPath(full);
      return routes.find(([pattern]) => pattern.test(path))?.[2];
    },
    /** Answers a request to one of the authorization server's paths; undefined for any other. */
    async handle(call: OauthRequest): Promise<Response | undefined> {
      const { method, url } = call.request;
      const full = new URL(url).pathname;
      if (isMetadata(full)) {
        return method === "GET" ? Response.json(metadata) : notAllowed("GET");
      }
      const path = ownPath(full);
      const allowed = routes.find(([pattern]) => pattern.test(path))?.[1];
      if (allowed === undefined) return undefined;
      if (method !== "GET" && method !== "POST" || (allowed !== "both" && allowed !== method)) {
        return notAllowed(allowed === "both" ? "GET, POST" : allowed);
      }
      if (path === "/oauth/static/logo") return pictureResponse(options.logo);
      if (path === "/oauth/static/favicon") return pictureResponse(options.favicon);
      if (path === "/oauth/register" && !options.allowRegistration) return undefined;
      try {
        return tooMany(method, path, call.address) ?? await answer(call, path);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "invalid") throw error;
        const isUri = error.data?.["field"] === "redirect_uris";
        return oauthError(400, isUri ? "invalid_redirect_uri" : "invalid_client_metadata", error.message);
      }
    },
    [Symbol.dispose]() {
      documents?.[Symbol.dispose]();
    },
  };
}

/** What a token is asked for with. */
const grantedBy = [
  ["code", "AuthorizationCode"],
  ["refresh_token", "RefreshToken"],
  ["device_code", "DeviceCode"],
] as const;

/** Names a request within the provider. */
const callerHeader = "x-postern-request";
/** Carries the code that a link to the device page brought. */
const codeParameter = "prefill";
const codeProblems = { NotFoundError: true, ExpiredError: true, AlreadyUsedError: true, NoCodeError: true };

/** Only now: the package takes 100 ms and 20 MB. */
async function loadProvider(): Promise<OidcModule> {
  // the package's own entrance prints that it was not made for this runtime
  const [{ Provider }, errors, interactionPolicy] = await Promise.all([
    import("oidc-provider/lib/provider.js"),
    import("oidc-provider/lib/helpers/errors.js"),
    import("oidc-provider/lib/helpers/interaction_policy/index.js"),
  ]);
  return { Provider, errors, interactionPolicy } as unknown as OidcModule;
}

/** Whether an authorization has come to its end: the browser was sent back to the client, or the device's user was told. */
function isFinished({ oidc: { entities } }: KoaContext): boolean {
  return entities["AuthorizationCode"] !== undefined || entities["DeviceCode"]?.["accountId"] !== undefined;
}

function errorText(
  { error, error_description: description }: { error: string; error_description?: string },
): string {
  switch (error) {
    case "invalid_client":
      return `This server does not know the application that sent you here. ${description ?? ""}`.trim();
    case "invalid_redirect_uri":
      return "The application wants to be called back at an address that it has not registered.";
    case "server_error":
      return "Something went wrong in this server. Try again later.";
    default:
      return description ?? error;
  }
}

function definedOnly<T extends Readonly<Record<string, string | undefined>>>(
  fields: T,
): { readonly [Name in keyof T]?: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    readonly [Name in keyof T]?: string;
  };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? value as Readonly<Record<string, unknown>>
      : undefined;
  } catch {
    return undefined;
  }
}

/** RFC 6749, section 5.2; RFC 7591, section 3.2.2. */
function oauthError(
  status: number,
  error: string,
  description: string,
  headers: Record<string, string> = {},
): Response {
  return Response.json({ error, error_description: description }, {
    status,
    headers: { "cache-control": "no-store", ...headers },
  });
}

function slowDown(retryAfterSeconds: number): Response {
  return oauthError(429, "temporarily_unavailable", "too many requests from your address; try again later", {
    "retry-after": String(retryAfterSeconds),
  });
}

function notAllowed(allow: string): Response {
  return Response.json({ error: "Method Not Allowed" }, { status: 405, headers: { allow } });
}

function pictureResponse(picture: Picture | undefined): Response | undefined {
  return picture &&
    new Response(picture.bytes, {
      headers: {
        "content-type": picture.type,
        "cache-control": "public, max-age=3600",
        "x-content-type-options": "nosniff",
        "content-security-policy": "default-src 'none'; sandbox",
      },
    });
}
