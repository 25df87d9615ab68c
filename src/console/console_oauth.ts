import { Buffer } from "node:buffer";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { AppError } from "../core/app_error.ts";
import { hostOf } from "../http/host_and_origin.ts";
import type { AuthorizationServer } from "../identity/authorization_server/authorization_server.ts";
import { consoleCallback, consoleClientId } from "../identity/authorization_server/provider_configuration.ts";
import { cookieLine, cookieNames, endCookie, type NewCookie, readCookie } from "./console_cookies.ts";
import { redirect } from "./console_replies.ts";

/** A request, from whom it came and by which name the log knows it. */
export interface AskedBy {
  readonly request: Request;
  readonly address: string;
  readonly requestId: string;
}

/** How long a login may take. */
const loginSeconds = 10 * 60;

/**
 * Two tabs may send one refresh token before either has the next: both get the same, since a token that is used twice ends
 * its grant.
 */
const sameRefreshMs = 10_000;

/** A route of the page, and never an address; a browser drops a cookie of more than 4 KiB. */
const routeText = String.raw`\/[\w/%.:!~*'()-]{0,3000}`;
const route = new RegExp(`^${routeText}$`);
/** What the login's cookie holds: the state, the verifier of PKCE, the route to come back to. */
const begunLogin = new RegExp(String.raw`^([\w-]{43})\.([\w-]{43})\.(${routeText})$`);

/** Logs in by the code flow with PKCE at the built-in authorization server, which answers in this process, as its client `postern-console`. */
export function createConsoleOauth(server: AuthorizationServer) {
  const issuer = new URL(server.issuer);
  const callback = consoleCallback(server.issuer);
  // as browsers know it, whichever path of ours they ask
  const path = new URL(".", callback).pathname.replace(/\/$/, "");
  const isHttps = issuer.protocol === "https:";
  const line = ({ request }: Pick<AskedBy, "request">, name: string, cookie: NewCookie) =>
    cookieLine(request, name, { ...cookie, path, isHttps });

  async function post(url: string, fields: Record<string, string>, by: AskedBy): Promise<Response> {
    const body = new URLSearchParams({ client_id: consoleClientId, ...fields });
    const response = await server.handle({ ...by, request: new Request(url, { method: "POST", body }) });
    if (response === undefined) throw new Error("the authorization server does not know its own path");
    const wait = response.headers.get("retry-after");
    if (wait === null) return response;
    throw new AppError("unavailable", "Nobody can log in or out at the moment.", {
      data: { retryAfterSeconds: Number(wait) },
    });
  }

  /** The cookies of the tokens that a code or a refresh token gets; undefined where it is good for none. */
  async function exchange(fields: Record<string, string>, by: AskedBy): Promise<string[] | undefined> {
    const response = await post(server.tokenUrl, fields, by);
    const { access_token: token, refresh_token: refresh, expires_in: seconds } = await response.json();
    if (!response.ok) return undefined;
    return [
      line(by, cookieNames.token, { value: token, maxAgeSeconds: seconds }),
      line(by, cookieNames.refresh, { value: refresh, maxAgeSeconds: server.refreshLifetimeMs / 1_000 }),
    ];
  }

  const refreshes = new Map<string, Promise<string[] | undefined>>();

  function beginRefresh(token: string, by: AskedBy) {
    const begun = exchange({ grant_type: "refresh_token", refresh_token: token }, by);
    refreshes.set(token, begun);
    const forget = () => refreshes.delete(token);
    begun.then((cookies) => cookies ? Deno.unrefTimer(setTimeout(forget, sameRefreshMs)) : forget(), forget);
    return begun;
  }

  return {
    /** Leads to the login page, and back to a route of the console. */
    begin({ request }: AskedBy): Response {
      const { searchParams: params } = new URL(request.url);
      const asked = params.get("from") ?? "/";
      const from = route.test(asked) ? asked : "/";
      // the login's cookie has to come from where the login leads back to; a proxy may always name another host
      if (hostOf(request) !== issuer.host && !params.has("moved")) {
        return redirect(`${new URL("login", callback)}?${new URLSearchParams({ from, moved: "" })}`);
      }
      const [state, verifier] = [randomText(), randomText()];
      const authorization = new URLSearchParams({
        response_type: "code",
        client_id: consoleClientId,
        redirect_uri: callback,
        state,
        code_challenge: createHash("sha256").update(verifier).digest("base64url"),
        code_challenge_method: "S256",
      });
      return redirect(`${server.authorizationUrl}?${authorization}`, [
        line({ request }, cookieNames.login, {
          value: `${state}.${verifier}.${from}`,
          maxAgeSeconds: loginSeconds,
          sameSite: "Lax",
        }),
      ]);
    },
    /** Takes the code that the login led back with, and leads to the console; `console/login.tsx` says why nobody was logged in. */
    async finish(by: AskedBy): Promise<Response> {
      const { searchParams: params } = new URL(by.request.url);
      const begun = begunLogin.exec(readCookie(by.request, cookieNames.login) ?? "");
      const [, state = "", verifier = "", from = ""] = begun ?? [];
      // it ends no other login that has begun
      if (begun === null || !isSame(state, params.get("state") ?? "")) return redirect("./?login=expired");
      const ended = endCookie(by.request, cookieNames.login, path);
      const back = (reason: "denied" | "failed") => redirect(`./?login=${reason}#${from}`, [ended]);
      const code = params.get("code");
      if (code === null) return back(params.get("error") === "access_denied" ? "denied" : "failed");
      const cookies = await exchange({
        grant_type: "authorization_code",
        code,
        redirect_uri: callback,
        code_verifier: verifier,
      }, by).catch((error) => {
        if (!(error instanceof AppError)) throw error;
      });
      return cookies ? redirect(`./#${from}`, [...cookies, ended]) : back("failed");
    },
    /** The cookies of new tokens for the refresh token of the cookie; undefined where it is good for none. */
    async refresh(by: AskedBy): Promise<string[] | undefined> {
      const token = readCookie(by.request, cookieNames.refresh);
      return token === undefined ? undefined : await (refreshes.get(token) ?? beginRefresh(token, by));
    },
    /** Ends the grant of the cookie's refresh token. */
    async revoke(by: AskedBy): Promise<void> {
      const token = readCookie(by.request, cookieNames.refresh);
      if (token !== undefined) await post(server.revocationUrl, { token }, by);
    },
  };
}

function randomText(): string {
  return randomBytes(32).toString("base64url");
}

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
