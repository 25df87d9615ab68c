interface Rules {
  readonly methods: string;
  readonly requestHeaders: string;
  readonly replyHeaders: string;
  /** Whether requests of other pages are answered too; where not, they were refused before. */
  readonly answersOthers: boolean;
}

const maxAgeSeconds = "600";

/** What each of the two servers allows. */
const rulesOf = {
  tool_server: {
    methods: "POST, GET",
    requestHeaders:
      "authorization, content-type, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, x-request-id",
    replyHeaders: "retry-after, www-authenticate, mcp-session-id, x-request-id",
    answersOthers: false,
  },
  // a page gets nothing here that its client could not get without a browser
  rag_server: {
    methods: "GET, HEAD, POST",
    requestHeaders:
      "Content-Type, Authorization, Accept, Cache-Control, Last-Event-ID, X-Request-Id, X-Requested-With",
    replyHeaders: "Link, Retry-After, WWW-Authenticate, X-Request-Id",
    answersOthers: true,
  },
} as const satisfies Readonly<Record<string, Rules>>;

/** The official clients of OpenAI's API say in many headers what they run on. */
const describesClient = /^x-stainless-[a-z\d-]{1,40}$/i;

export type CrossOrigin = ReturnType<typeof createCrossOrigin>;

/**
 * Lets web pages of the allowed origins read the answers of one server (Fetch Standard, CORS protocol).
 *
 * @param allowedOrigins origins such as `https://chat.example.com`, or `*` for all
 */
export function createCrossOrigin(
  name: keyof typeof rulesOf,
  allowedOrigins: readonly string[],
) {
  const { methods, requestHeaders, replyHeaders, answersOthers }: Rules = rulesOf[name];
  const isOpen = allowedOrigins.includes("*");
  const allowed = new Set(allowedOrigins.map((origin) => origin.toLowerCase().replace(/\/$/, "")));
  const marksNone = allowed.size === 0 && !answersOthers;

  /** Whether the page that asks may read the answer. */
  function admit(request: Request, headers: Headers): boolean {
    const origin = request.headers.get("origin");
    const isAllowed = isOpen || (origin !== null && allowed.has(origin.toLowerCase()));
    if (isAllowed) headers.set("access-control-allow-origin", isOpen ? "*" : origin ?? "");
    // what is stored for one origin must not be served to another
    if (isAllowed || answersOthers) headers.append("vary", "Origin");
    return isAllowed;
  }

  return {
    /** The answer to a preflight request; undefined for any other request. */
    preflight(request: Request): Response | undefined {
      if (request.method !== "OPTIONS") return undefined;
      if (!request.headers.has("origin") || !request.headers.has("access-control-request-method")) {
        return undefined;
      }
      const headers = new Headers();
      if (admit(request, headers)) {
        headers.set("access-control-allow-methods", methods);
        const asked = request.headers.get("access-control-request-headers")?.split(",") ?? [];
        const ofClients = asked.map((header) => header.trim()).filter((header) =>
          describesClient.test(header)
        );
        headers.set("access-control-allow-headers", [requestHeaders, ...ofClients].join(", "));
        headers.set("access-control-max-age", maxAgeSeconds);
      } else if (!answersOthers) return undefined;
      return new Response(null, { status: 204, headers });
    },
    /** Marks an answer as readable for the page that asked, where it is of an allowed origin. */
    mark(request: Request, response: Response): Response {
      if (!marksNone && admit(request, response.headers)) {
        response.headers.set("access-control-expose-headers", replyHeaders);
      }
      return response;
    },
  };
}
