/** What no cache keeps, and nobody takes for another type. */
const always = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** Of `Set-Cookie`. */
type Cookies = readonly string[];

function withCookies(status: number, headers: Readonly<Record<string, string>>, cookies: Cookies): Response {
  const response = new Response(null, { status, headers: { ...always, ...headers } });
  for (const line of cookies) response.headers.append("set-cookie", line);
  return response;
}

export function jsonReply(value: unknown): Response {
  return Response.json(value, { headers: always });
}

/** @param error a sentence for people */
export function refusal(
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  return Response.json({ error }, { status, headers: { ...always, ...headers } });
}

export function retryLater(status: 429 | 503, error: string, seconds: number): Response {
  return refusal(status, error, { "retry-after": String(seconds) });
}

export function noContent(cookies: Cookies): Response {
  return withCookies(204, {}, cookies);
}

/** @param to relative to the request's path, or an address of this server's */
export function redirect(to: string, cookies: Cookies = []): Response {
  return withCookies(302, { location: to }, cookies);
}
