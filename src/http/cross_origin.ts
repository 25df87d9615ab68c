/** Lets web pages of the allowed origins read the answers (Fetch Standard, CORS protocol); others were refused before. */
export interface CrossOrigin {
  /** The answer to a preflight request; undefined for any other request. */
  preflight(request: Request): Response | undefined;
  /** Marks an answer as readable for the page that asked, where it is of an allowed origin. */
  mark(request: Request, response: Response): Response;
}

const allowedHeaders =
  "authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name";
const exposedHeaders = "retry-after, www-authenticate, mcp-session-id";
const maxAgeSeconds = "600";

export function createCrossOrigin(allowedOrigins: readonly string[]): CrossOrigin {
  const allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));

  function originOf(request: Request): string | undefined {
    const origin = request.headers.get("origin");
    return origin !== null && allowed.has(origin.toLowerCase()) ? origin : undefined;
  }

  return {
    preflight(request) {
      const origin = originOf(request);
      if (request.method !== "OPTIONS" || origin === undefined) return undefined;
      if (!request.headers.has("access-control-request-method")) return undefined;
      return new Response(null, {
        status: 204,
        headers: {
          "access-control-allow-origin": origin,
          "access-control-allow-methods": "POST, GET",
          "access-control-allow-headers": allowedHeaders,
          "access-control-max-age": maxAgeSeconds,
          vary: "Origin",
        },
      });
    },
    mark(request, response) {
      const origin = allowed.size === 0 ? undefined : originOf(request);
      if (origin === undefined) return response;
      response.headers.set("access-control-allow-origin", origin);
      response.headers.set("access-control-expose-headers", exposedHeaders);
      response.headers.append("vary", "Origin");
      return response;
    },
  };
}
