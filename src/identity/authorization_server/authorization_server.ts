import { AsyncLocalStorage } from "node:async_hooks";
import { AppError } from "../../core/app_error.ts";
import { callNode, type NodeCallback } from "../../http/node_callback.ts";
import { readBody } from "../../http/request_body.ts";
import { makeToken } from "../presented_token.ts";
import { createRateLimiter, type RateLimiter, siteOf } from "../rate_limiter.ts";
import type { AuthorizationServerOptions, Picture, Resource } from "./authorization_server_options.ts";
import { createClientDocuments, createRedirectRule, deviceGrant } from "./client_metadata.ts";
import { type Caller, createDevicePages, createInteractionPages } from "./interaction_pages.ts";
import { createPages, type Page } from "./pages.ts";
import { providerConfiguration, separateLogins } from "./provider_configuration.ts";
import { listenToProvider, type OauthEvent } from "./provider_events.ts";
import type { KoaContext, OidcModule, OidcProvider } from "./provider_types.ts";
import { everyScope, scopesOfServer, toolScope } from "../own_scopes.ts";
import { issuerPaths, nameGranted, readRegistration, rewriteParameters } from "./request_parameters.ts";
import { createRefreshTokenValues, createStoreAdapter } from "./store_adapter.ts";

/** The built-in authorization server, ready to answer. */
export type AuthorizationServer = Awaited<ReturnType<typeof createAuthorizationServer>>;

const maxBodyBytes = 48 * 1024;
/** Registrations, and as many beginnings of device logins, that an address may make within an hour. */
const mostAnHour = 60;
/** Logins that an address may begin in a browser within an hour: many people may share it. */
const mostLoginsAnHour = 600;
/** Requests for tokens: a hosted application sends those of all its users from a few addresses. */
const mostTokensAnHour = 6_000;
/** How much more a site with many networks of IPv6 may begin than one of them. */
const siteFactor = 10;
const hourMs = 3_600_000;

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
  [/^\/oauth\/login\/callback$/, "GET", "/oauth/login"],
  [/^\/oauth\/login\/logout$/, "POST", "/oauth/login"],
  [/^\/oauth\/static\/logo$/, "GET", "/oauth/static"],
];

/** A request with what is known of it besides. */
interface OauthRequest {
  readonly request: Request;
  readonly address: string;
  readonly requestId: string;
}

/**
 * An OAuth 2.1 authorization server on `oidc-provider`: authorization code with PKCE, refresh with rotation, device grant,
 * revocation, registration, Client ID Metadata Documents. Access tokens are opaque and looked up in the store.
 */
export async function createAuthorizationServer(options: AuthorizationServerOptions) {
  const { issuer, resources, store, accounts, login, limiter, onEvent, logger } = options;
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
    staticPath: `${prefix}/oauth/static`,
  });
  const ofHour = { windowMs: hourMs, now: () => performance.now() };
  const perHour = (maxAttempts: number) => [
    createRateLimiter({ ...ofHour, maxAttempts }),
    createRateLimiter({ ...ofHour, maxAttempts: siteFactor * maxAttempts, groupOf: siteOf }),
  ];
  const logins = perHour(mostLoginsAnHour);
  const limiters = new Map<string, readonly RateLimiter[]>([
    ["POST /oauth/register", perHour(mostAnHour)],
    ["POST /oauth/device", perHour(mostAnHour)],
    // nothing that others have goes for it
    ["POST /oauth/token", [createRateLimiter({ ...ofHour, maxAttempts: mostTokensAnHour })]],
    [`POST ${issuerPaths.logout}`, [createRateLimiter({ ...ofHour, maxAttempts: mostTokensAnHour })]],
    ["GET /oauth/authorize", logins],
    ["GET /oauth/device/verify", logins],
  ]);
  // what the provider tells of a request comes without our own knowledge of it; `away`: why it cannot be answered now
  const callers = new Map<string, Caller & { away?: AppError }>();
  // a client is looked up without a request, also by our own pages
  const clientAddress = new AsyncLocalStorage<string>();
  let requestCount = 0;
  const oidc = await loadProvider();
  const refreshTokens = createRefreshTokenValues(options.cookieKeys);
  const devicePages = createDevicePages({
    pages,
    limiter,
    addressOf: (context) => callerOf(context).address,
    show,
  });
  const provider: OidcProvider = new oidc.Provider(
    issuer,
    providerConfiguration(options, {
      oidc,
      prefix,
      adapter: createStoreAdapter({
        store,
        accounts,
        refreshTokens,
        documents,
        issuerLogin: options.issuerLogin,
        clientAddress: () => clientAddress.getStore() ?? "",
        oidc,
        onReuse: (grant) => onEvent({ event: "reuse", ...grant }),
      }),
      devicePages,
      ours,
      findGrant: (id) => provider.Grant.find(id),
      renderError: (context, out) =>
        show(context, pages.error(context.status === 500 ? 500 : 400, errorText(out))),
    }),
  );
  // its framework asks for them with each request
  Object.defineProperty(provider, "keys", { get: () => options.cookieKeys.secrets });
  for (const { prototype } of [provider.AccessToken, provider.AuthorizationCode, provider.DeviceCode]) {
    const settle = prototype.generateTokenId;
    prototype.generateTokenId = function () {
      // it also notes the token's format
      settle.call(this);
      return makeToken();
    };
  }
  provider.RefreshToken.prototype.generateTokenId = function () {
    return refreshTokens.make(this.grantId);
  };
  const interactions = createInteractionPages({
    provider,
    pages,
    login,
    accounts,
    issuerLogin: options.issuerLogin,
    limiter,
    onEvent,
    origin: base.origin,
    prefix,
    lifetime: options.refreshLifetimeText,
    serverOf: (resource) => ours(resource)?.server,
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
  listenToProvider(provider, { from, onEvent, onFailed: tellFailed });
  const callback: NodeCallback = provider.callback();

  function callerOf(context: KoaContext): Caller {
    const caller = callers.get(context.get(callerHeader));
    if (caller === undefined) throw new AppError("internal", "Cannot tell who sent a form");
    return caller;
  }

  /** The resource that a client means; undefined where it is none of ours. */
  function ours(resource: string): Resource | undefined {
    // clients write the same address with and without a slash at its end
    return resources.find(({ address }) => address.replace(/\/$/, "") === resource.replace(/\/$/, ""));
  }

  function show(context: KoaContext, page: Page): void {
    interactions.show(context, page);
  }

  function from(context: KoaContext): Pick<OauthEvent, "requestId" | "address"> {
    const caller = callers.get(context.get(callerHeader));
    return caller === undefined ? {} : { requestId: caller.requestId, address: caller.address };
  }

  function tellFailed(context: KoaContext, error: unknown): void {
    const caller = callers.get(context.get(callerHeader));
    if (caller !== undefined && isAway(error)) return void (caller.away = error);
    logger.error("The authorization server failed", {
      path: context.path,
      error,
      request: caller?.requestId,
    });
  }

  /** Limits how much an address may begin, and how many tokens it may ask for; undefined where it may. */
  function tooMany(method: string, path: string, address: string): Response | undefined {
    const asked = limiters.get(`${method} ${path}`) ?? [];
    const limit = asked.map((limiter) => limiter.check(address)).find(({ limited }) => limited);
    if (limit?.limited !== true) {
      for (const limiter of asked) limiter.recordFailed(address);
      return undefined;
    }
    if (method === "POST") return slowDown(limit.retryAfterSeconds);
    const response = pageResponse(
      pages.error(429, "Too many logins were begun from your address. Try again later."),
    );
    response.headers.set("retry-after", String(limit.retryAfterSeconds));
    return response;
  }

  async function answer({ request, address, requestId }: OauthRequest, path: string): Promise<Response> {
    try {
      await options.learn?.();
      return await answerNow({ request, address, requestId }, path);
    } catch (error) {
      if (!isAway(error)) throw error;
      const response = request.method === "POST" && path !== "/oauth/device/verify"
        ? oauthError(503, "temporarily_unavailable", error.message)
        : pageResponse(pages.error(503, "This server cannot log anybody in at the moment. Try again soon."));
      response.headers.set("retry-after", String(error.data?.retryAfterSeconds ?? 1));
      return response;
    }
  }

  /** @throws {AppError} `unavailable`, with `retryAfterSeconds`, where the state cannot be reached */
  async function answerNow(
    { request, address, requestId }: OauthRequest,
    path: string,
  ): Promise<Response> {
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
      if (path === issuerPaths.logout) {
        const ended = await options.issuerLogin?.endByToken(
          new URLSearchParams(body).get("logout_token") ?? "",
        );
        if (ended !== 0) onEvent({ event: "logout", address, requestId });
        return new Response(null, { headers: { "cache-control": "no-store" } });
      }
      if (path === "/oauth/register") body = readRegistration(body, isAllowed);
      else if (path === "/oauth/token" || path === "/oauth/device") {
        const params = rewriteParameters(path, new URLSearchParams(body));
        if (path === "/oauth/token") {
          // before a code or a refresh token is used up
          if (!await nameGranted(params, { ours, store })) {
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
      const params = rewriteParameters(path, url.searchParams);
      params.delete("user_code");
      search = `?${params}`;
    }
    const sender: Caller & { away?: AppError } = { address, requestId, signal: request.signal };
    callers.set(caller, sender);
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
      const response = await clientAddress.run(address, () => callNode(callback, init));
      if (response.status >= 500 && sender.away !== undefined) throw sender.away;
      return separateLogins(response, prefix + path);
    } finally {
      callers.delete(caller);
    }
  }

  function pageResponse(page: Page): Response {
    return new Response(page.html, { status: page.status, headers: interactions.headersOf(page) });
  }

  /** The cookies that an answer of an issuer is compared with come to its interaction alone. */
  function toInteraction(search: string): Response {
    const uid = options.issuerLogin?.interactionOf(search);
    if (uid === undefined) return pageResponse(interactions.gone);
    const location = `${prefix}/oauth/interaction/${uid}${search}`;
    return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
  }

  const metadata = serverMetadata(options);
  const isMetadata = (full: string) => full === metadataPath || full === metadataPath + prefix;
  const ownPath = (full: string) =>
    prefix !== "" && full.startsWith(`${prefix}/`) ? full.slice(prefix.length) : full;

  return {
    issuer,
    authorizationUrl: metadata.authorization_endpoint,
    tokenUrl: metadata.token_endpoint,
    revocationUrl: metadata.revocation_endpoint,
    refreshLifetimeMs: options.lifetimesMs.refreshToken,
    scopes: scopesOfServer.tool_server,
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
      if (path === "/oauth/register" && !options.allowRegistration) return undefined;
      if (/^\/oauth\/login\//.test(path) && options.issuerLogin === undefined) return undefined;
      if (path === issuerPaths.callback) return toInteraction(new URL(url).search);
      try {
        return tooMany(method, path, call.address) ?? await answer(call, path);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "invalid") throw error;
        const isUri = error.data?.["field"] === "redirect_uris";
        const code = path === issuerPaths.logout ? "invalid_request" : "invalid_client_metadata";
        return oauthError(400, isUri ? "invalid_redirect_uri" : code, error.message);
      }
    },
    [Symbol.dispose]() {
      documents?.[Symbol.dispose]();
    },
  };
}

/** Names a request within the provider. */
const callerHeader = "x-postern-request";
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

/** Whether something failed since the state cannot be reached: the same request may do later. */
function isAway(error: unknown): error is AppError {
  return error instanceof AppError && error.code === "unavailable" &&
    typeof error.data?.retryAfterSeconds === "number";
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

/** Where it stands (RFC 8414, section 3). */
const metadataPath = "/.well-known/oauth-authorization-server";

/** What clients read of the server before they begin (RFC 8414, section 2). */
function serverMetadata(
  { issuer, allowRegistration, allowDocuments, toolNames = [] }: AuthorizationServerOptions,
) {
  const address = (path: string) => `${issuer.replace(/\/$/, "")}/oauth/${path}`;
  return {
    issuer,
    authorization_endpoint: address("authorize"),
    token_endpoint: address("token"),
    ...(allowRegistration ? { registration_endpoint: address("register") } : {}),
    device_authorization_endpoint: address("device"),
    revocation_endpoint: address("revoke"),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", deviceGrant],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    scopes_supported: [everyScope, ...scopesOfServer.tool_server, ...toolNames.map(toolScope)],
    authorization_response_iss_parameter_supported: true,
    ...(allowDocuments ? { client_id_metadata_document_supported: true } : {}),
  };
}
