import { randomBytes } from "node:crypto";
import { z } from "zod";
import type { RecentCall } from "../calls/recent_calls.ts";
import { AppError } from "../core/app_error.ts";
import { callerKey, type Principal, principalName } from "../core/principal.ts";
import type { Quotas } from "../core/quotas/quotas.ts";
import type { SharedDeadline } from "../core/async/deadline.ts";
import { parseUnambiguous } from "../core/claims.ts";
import { pathOf } from "../http/count_requests.ts";
import { isFromOwnPage } from "../http/host_and_origin.ts";
import type { RouteBindings } from "../http/listener.ts";
import { findExcess, readBody } from "../http/request_body.ts";
import { hasLess, isGranted, isNamedIn, type ScopesByTool, toolOf } from "../identity/access_rules.ts";
import type { Authentication, LogoutReport } from "../identity/authentication.ts";
import type { AuthorizationServer } from "../identity/authorization_server/authorization_server.ts";
import type { Served } from "../identity/front.ts";
import type { LoginResult } from "../identity/login.ts";
import { cookieLine, cookieNames, endCookie, tokenFromCookie } from "./console_cookies.ts";
import { type AskedBy, createConsoleOauth } from "./console_oauth.ts";
import { jsonReply, noContent, redirect, refusal, retryLater } from "./console_replies.ts";
import { type PageFiles, readPageFiles } from "./page_files.ts";

export interface ConsoleOptions {
  readonly serverInfo: { readonly name: string; readonly version: string };
  /** Optional: none where nobody is asked for a token. */
  readonly authentication?: Authentication | undefined;
  /** Whether a token of the caller's own lets them in. */
  readonly takesTokens: boolean;
  /** Optional: none where nobody logs in with OAuth. */
  readonly authorizationServer?: AuthorizationServer | undefined;
  /** Optional: who asks, where a proxy says so; undefined for who cannot be told. */
  readonly callerOf?: ((request: Request, bindings: RouteBindings) => Principal | undefined) | undefined;
  /** What callers may use. */
  readonly quotas: Pick<Quotas, "usage" | "shared">;
  /** Those that calls need, by the tool. Optional: none. */
  readonly scopes?: ScopesByTool;
  /** Users and groups. */
  readonly administrators: readonly string[];
  /** Whether whoever is let in is an administrator. */
  readonly admitsAll?: boolean;
  /** Whether the server has `/mcp/v1`. */
  readonly hasTools: boolean;
  /** Whether a model writes statements for requests in words. */
  readonly hasModel?: boolean;
  /** Answers `/v1/…`. Optional: none where there are no pipelines. */
  readonly documents?: Pick<Served, "answer"> & Partial<Pick<Served, "callerOf">> | undefined;
  /** What clients call, as far as that is known. */
  readonly addresses: { readonly mcp?: string | undefined; readonly rag?: string | undefined };
  /** The latest calls of a caller, by its key; without one, of all. */
  readonly recentCalls: (key?: string) => Promise<readonly RecentCall[]>;
  /** How the server is, for administrators. */
  readonly status: () => Promise<object>;
  readonly bodyTimeout: SharedDeadline;
  /** Optional: told of each session that its user ended. */
  readonly onLogout?: ((report: LogoutReport) => Promise<unknown>) | undefined;
}

/** A request to one of the console's own routes. */
interface Asked extends AskedBy {
  /** Who was let in. Optional: none where nobody was. */
  readonly principal?: Principal | undefined;
}

interface Method {
  readonly caller: "required" | "optional" | "none";
  answer(asked: Asked): Response | Promise<Response>;
}

const folder = "/console/";
const assets = `${folder}assets/`;
const mcp = `${folder}mcp`;
const documentsFolder = `${folder}v1/`;

const maxLoginBytes = 64 * 1024;

/** What goes on to the server's own routes: others have no use there, and some the runtime makes no request of. */
const ownMethods = ["GET", "POST", "DELETE"];

/** A server's routes with those of the console: its page, its sessions, and the server's own routes below `/console/`. */
export function withConsole(inner: Served, options: ConsoleOptions): Served {
  const { authentication, authorizationServer, documents, hasTools, scopes = {} } = options;
  const allScopes = [...authentication?.requiredScopes ?? [], ...Object.values(scopes).flat()];
  const oauth = authorizationServer && createConsoleOauth(authorizationServer);
  const toPage: Method = { caller: "none", answer: () => redirect("console/") };
  const routes: Readonly<Record<string, Partial<Record<string, Method>>>> = {
    "/": { GET: toPage },
    "/console": { GET: toPage },
    [folder]: { GET: { caller: "none", answer: showPage } },
    [`${folder}session`]: {
      GET: { caller: "optional", answer: describeSession },
      POST: { caller: "none", answer: logIn },
      DELETE: { caller: "optional", answer: logOut },
    },
    [`${folder}session/refresh`]: { POST: { caller: "none", answer: refresh } },
    [`${folder}login`]: { GET: { caller: "none", answer: (asked) => oauth?.begin(asked) ?? nothing() } },
    [`${folder}callback`]: { GET: { caller: "none", answer: (asked) => oauth?.finish(asked) ?? nothing() } },
    [`${folder}calls`]: { GET: ofCaller(listCalls) },
    [`${folder}usage`]: { GET: ofCaller(describeUsage) },
    [`${folder}server`]: { GET: ofCaller(describeServer) },
  };
  let files: Promise<PageFiles> | undefined;

  function pageFiles(): Promise<PageFiles> {
    if (files === undefined) (files = readPageFiles()).catch(() => files = undefined);
    return files;
  }

  async function showPage(): Promise<Response> {
    const { html } = await pageFiles();
    const nonce = randomBytes(16).toString("base64");
    const policy = `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
      "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    return new Response(html.replaceAll("NONCE", nonce), {
      headers: {
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-store",
        "content-security-policy": policy,
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      },
    });
  }

  function isAdministrator(principal: Principal): boolean {
    return principal.kind === "local" || options.admitsAll === true ||
      isNamedIn(options.administrators, principal) && !hasLess(principal, allScopes);
  }

  function describeSession({ request, principal }: Asked): Response {
    const { name, version } = options.serverInfo;
    return jsonReply({
      server: { name, version },
      parts: { tools: hasTools, documents: documents !== undefined, model: options.hasModel === true },
      login: {
        oauth: oauth !== undefined,
        accounts: authentication?.login?.hasAccounts === true,
        tokens: authentication !== undefined && options.takesTokens,
      },
      addresses: options.addresses,
      caller: principal && {
        kind: principal.kind,
        name: (principal.kind === "issuer" ? principal.name : undefined) ?? principalName(principal),
        isAdministrator: isAdministrator(principal),
        hasSession: authentication !== undefined && tokenFromCookie(request) !== undefined,
      },
    });
  }

  async function logIn({ request, address, requestId }: Asked): Promise<Response> {
    const login = authentication?.login;
    if (login === undefined) return nothing();
    const body = await readBody(request, { maxBytes: maxLoginBytes, timeout: options.bodyTimeout });
    if (body.kind === "too_large") return refusal(413, "the body is larger than 64 KiB");
    const credentials = body.kind === "text" ? readCredentials(body.text) : undefined;
    if (credentials === undefined) return refusal(400, 'expected {"username": TEXT, "password": TEXT}');
    const { signal } = request;
    const result = await login.authenticate({ ...credentials, address, requestId, signal });
    if (result.kind !== "success") return loginRefusal(result);
    const maxAgeSeconds = (result.expiresAt - Date.now()) / 1_000;
    return noContent([
      cookieLine(request, cookieNames.token, { value: result.sessionToken, maxAgeSeconds }),
      endCookie(request, cookieNames.refresh),
    ]);
  }

  async function refresh(asked: Asked): Promise<Response> {
    const cookies = await oauth?.refresh(asked);
    return cookies === undefined ? refusal(401, "Log in again.") : noContent(cookies);
  }

  async function logOut(asked: Asked): Promise<Response> {
    const { request, principal, address, requestId } = asked;
    await oauth?.revoke(asked);
    if (principal?.kind === "session" && authentication?.endSession !== undefined) {
      await authentication.endSession(principal.id);
      await options.onLogout?.({ session: principal, address, requestId });
    }
    const all = Object.values(cookieNames);
    return noContent(all.map((name) => endCookie(request, name)));
  }

  async function listCalls(principal: Principal, { url }: Request): Promise<Response> {
    const ofAll = new URL(url).searchParams.get("of") === "all";
    // of other tokens and sessions of the caller's too
    if (ofAll ? !isAdministrator(principal) : hasLess(principal, allScopes)) return forbidden();
    const calls = await options.recentCalls(ofAll ? undefined : callerKey(principal));
    return jsonReply({ calls: ofAll ? calls : calls.map(({ caller: _own, ...call }) => call) });
  }

  function describeUsage(principal: Principal): Response {
    if (!isGranted(principal, toolOf("usage", scopes))) return refusal(403, "The token may not call usage.");
    return jsonReply({ limits: options.quotas.usage(principal), shared: options.quotas.shared() });
  }

  async function describeServer(principal: Principal): Promise<Response> {
    return isAdministrator(principal) ? jsonReply(await options.status()) : forbidden();
  }

  /** The console's part of a request's path; undefined for what is not the console's. */
  function placeOf({ url, method }: Pick<Request, "url" | "method">): string | undefined {
    if (method !== "GET" && !url.includes(folder)) return undefined;
    const path = pathOf(url);
    return path.startsWith(folder) || (method === "GET" && path in routes) ? path : undefined;
  }

  function authorizationOf(request: Request): string | undefined {
    const token = placeOf(request)?.startsWith(folder) ? tokenFromCookie(request) : undefined;
    return token && `Bearer ${token}`;
  }

  /** A client may name any method, `constructor` too; a path begins with a slash. */
  function methodOf(path: string, name: string): Method | undefined {
    return Object.hasOwn(routes[path] ?? {}, name) ? routes[path]?.[name] : undefined;
  }

  /** The route of the server's own that a path stands for. */
  function ownRouteOf(path: string) {
    if (path === mcp && hasTools) return { of: inner, path: "/mcp/v1" };
    const isOfDocuments = path.startsWith(documentsFolder) && documents !== undefined;
    return isOfDocuments ? { of: documents, path: path.slice(folder.length - 1) } : undefined;
  }

  /** The same request at one of the server's own routes. */
  function movedTo(path: string, request: Request): Request {
    const url = new URL(request.url);
    url.pathname = path;
    const moved = new Request(url, request);
    const authorization = authorizationOf(request);
    if (authorization !== undefined) moved.headers.set("authorization", authorization);
    return moved;
  }

  async function answer(request: Request, bindings: RouteBindings): Promise<Response> {
    const path = placeOf(request);
    if (path === undefined) return await inner.answer(request, bindings);
    const own = ownRouteOf(path);
    if (own !== undefined) {
      if (!ownMethods.includes(request.method)) return wrongMethod(ownMethods);
      return await own.of.answer(movedTo(own.path, request), bindings);
    }
    if (path.startsWith(assets) && request.method === "GET") {
      const { assetReply } = await pageFiles();
      return assetReply(path.slice(assets.length), request.headers.get("accept-encoding")) ?? nothing();
    }
    const methods = routes[path];
    if (methods === undefined) return nothing();
    const method = methodOf(path, request.method);
    if (method === undefined) return wrongMethod(Object.keys(methods));
    // what changes something counts only from the console's page; and no other reads what is told, of other callers too
    if ((request.method !== "GET" || request.headers.has("origin")) && !isFromOwnPage(request)) {
      return refusal(403, "expected a request of the console's own page, with Sec-Fetch-Site or Origin");
    }
    const principal = options.callerOf === undefined
      ? bindings.principal
      : options.callerOf(request, bindings);
    const { addressOf, requestId } = bindings;
    try {
      return await method.answer({ request, principal, address: addressOf(), requestId });
    } catch (error) {
      const seconds = error instanceof AppError ? error.data?.retryAfterSeconds : undefined;
      // nobody receives it
      if (request.signal.aborted) return new Response(null, { status: 499 });
      if (typeof seconds !== "number") throw error;
      return retryLater(503, (error as AppError).message, seconds);
    }
  }

  return {
    ...inner,
    routeOf(path) {
      if (Object.hasOwn(routes, path) || path === mcp) return path;
      if (path.startsWith(assets)) return `${assets}{name}`;
      if (path.startsWith(documentsFolder)) return `${documentsFolder}{path}`;
      return inner.routeOf(path);
    },
    callerOf(request) {
      const path = placeOf(request);
      if (path === undefined) return inner.callerOf(request);
      const { method } = request;
      const own = ownRouteOf(path);
      if (own) return own.of.callerOf?.({ url: `http://host${own.path}`, method }) ?? "required";
      return methodOf(path, method)?.caller ?? "none";
    },
    authorizationOf,
    refuse(why, request, bindings) {
      const path = placeOf(request);
      // who is not let in may still log in by a call of a tool
      if (path === undefined || path === mcp) return inner.refuse(why, request, bindings);
      if (why.kind === "unauthorized") return unauthorized();
      if (why.kind === "unavailable") return retryLater(503, why.message, why.retryAfterSeconds);
      if (why.kind === "insufficient_scope") return refusal(403, why.missing);
      return inner.refuse(why, request, bindings);
    },
    answer,
  };
}

/** What tells of whoever was let in. */
function ofCaller(answer: (principal: Principal, request: Request) => ReturnType<Method["answer"]>): Method {
  return {
    caller: "required",
    answer: ({ principal, request }) => principal ? answer(principal, request) : unauthorized(),
  };
}

const credentials = z.object({ username: z.string(), password: z.string() });

function readCredentials(text: string): z.output<typeof credentials> | undefined {
  try {
    return findExcess(text) === undefined ? credentials.safeParse(parseUnambiguous(text)).data : undefined;
  } catch {
    return undefined;
  }
}

const refusedLogins = {
  rate_limited: [429, "Too many logins from your address have failed."],
  busy: [503, "Too many logins are waiting."],
  unavailable: [503, "Nobody can log in at the moment."],
} as const;

function loginRefusal(result: Exclude<LoginResult, { kind: "success" }>): Response {
  if (result.kind === "failed") {
    return refusal(401, "User name or password is wrong, or the account is locked.");
  }
  const [status, error] = refusedLogins[result.kind];
  return retryLater(status, error, result.retryAfterSeconds);
}

function unauthorized(): Response {
  return refusal(401, "Log in first.", { "www-authenticate": "Bearer" });
}

function forbidden(): Response {
  return refusal(403, "This is for administrators: console.administrators.");
}

function wrongMethod(expected: readonly string[]): Response {
  return refusal(405, `expected ${expected.join(" or ")}`, { allow: expected.join(", ") });
}

function nothing(): Response {
  return refusal(404, "There is nothing at this path.");
}
