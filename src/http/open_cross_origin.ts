import type { CrossOrigin } from "./cross_origin.ts";

const allowedHeaders = "Content-Type, Authorization, Accept, Cache-Control, Last-Event-ID, X-Requested-With";
const exposedHeaders = "Link, X-Request-Id";
const maxAgeSeconds = "600";

/**
 * Lets web pages of the allowed origins, or with `*` of all, read the answers (Fetch Standard, CORS protocol). Requests
 * of other pages are answered too: there is nothing here that a browser alone could reach.
 */
export function createOpenCrossOrigin(allowedOrigins: readonly string[]): CrossOrigin {
  const isOpen = allowedOrigins.includes("*");
  const allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));

  function allow(request: Request, headers: Headers): boolean {
    // what is stored for one origin must not be served to another
    headers.append("vary", "Origin");
    const origin = request.headers.get("origin");
    const isAllowed = isOpen || (origin !== null && allowed.has(origin.toLowerCase()));
    if (isAllowed) headers.set("access-control-allow-origin", isOpen ? "*" : origin ?? "");
    return isAllowed;
  }

  return {
    preflight(request) {
      if (request.method !== "OPTIONS") return undefined;
      if (!request.headers.has("origin") || !request.headers.has("access-control-request-method")) {
        return undefined;
      }
      const headers = new Headers();
      if (allow(request, headers)) {
        headers.set("access-control-allow-methods", "GET, HEAD, POST");
        headers.set("access-control-allow-headers", allowedHeaders);
        headers.set("access-control-max-age", maxAgeSeconds);
      }
      return new Response(null, { status: 204, headers });
    },
    mark(request, response) {
      if (allow(request, response.headers)) {
        response.headers.set("access-control-expose-headers", exposedHeaders);
      }
      return response;
    },
  };
}
