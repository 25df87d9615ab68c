import { isFromOwnPage, namesLoopback } from "../http/host_and_origin.ts";

/** What the console's cookies hold: a token of the caller, what renews it, and a login that has begun. */
export const cookieNames = {
  token: "postern_console",
  refresh: "postern_console_refresh",
  login: "postern_console_login",
} as const;

/**
 * Undefined for a cookie that is not there, and for several of one name: the server sets one, so another is of a page that
 * may set cookies for this host, such as of its parent domain.
 */
export function readCookie({ headers }: Request, name: string): string | undefined {
  const pairs = headers.get("cookie")?.split(/; */) ?? [];
  const [pair, other] = pairs.filter((pair) => pair.startsWith(`${name}=`));
  return other === undefined ? pair?.slice(name.length + 1) || undefined : undefined;
}

export interface NewCookie {
  /** Empty to end it. */
  readonly value: string;
  readonly maxAgeSeconds: number;
  /** Optional: without it, the folder of the request's path, as the browser knows that behind a proxy. */
  readonly path?: string | undefined;
  readonly sameSite?: "Strict" | "Lax";
  /** Whether the browser is known to come over HTTPS, whatever Host says: a proxy may name this machine there. */
  readonly isHttps?: boolean;
}

/** A `Set-Cookie` line: no script reads it, and it goes over HTTPS alone, but for this machine. */
export function cookieLine(
  request: Request,
  name: string,
  { value, maxAgeSeconds, path, sameSite = "Strict", isHttps = comesFromHttps(request) }: NewCookie,
): string {
  return [
    `${name}=${value}`,
    `Max-Age=${Math.max(0, Math.floor(maxAgeSeconds))}`,
    ...(path === undefined ? [] : [`Path=${path}`]),
    "HttpOnly",
    `SameSite=${sameSite}`,
    ...(namesLoopback(request) && !isHttps ? [] : ["Secure"]),
  ].join("; ");
}

const comesFromHttps = ({ headers }: Request) => headers.get("origin")?.startsWith("https:");

/** The line that ends a cookie. */
export function endCookie(request: Request, name: string, path?: string) {
  return cookieLine(request, name, { value: "", maxAgeSeconds: 0, path });
}

/**
 * The caller's token from a cookie, where no header has one. What changes something counts only from a page of ours: forms
 * of other pages on this host, on another port, have the cookie too.
 */
export function tokenFromCookie(request: Request): string | undefined {
  if (request.headers.has("authorization")) return undefined;
  const token = readCookie(request, cookieNames.token);
  return token === undefined || request.method === "GET" || isFromOwnPage(request) ? token : undefined;
}
