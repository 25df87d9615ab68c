/** What a server tells clients that want to log in with an issuer (RFC 9728). */
interface ProtectedResourceOptions {
  /** What clients call; where it is absent, the address that a request names, with `path`. */
  readonly resourceUrl: string | undefined;
  /** The path under which the server itself knows what is protected: `/mcp/v1`. */
  readonly path: string;
  /** The built-in one, where its tokens let callers in. */
  readonly authorizationServer?:
    | { readonly issuer: string; readonly scopes: readonly string[] }
    | undefined;
  /** The one whose tokens let callers in, as the configuration has it. */
  readonly identityProvider?: {
    readonly issuer: string;
    readonly required_scopes?: readonly string[] | undefined;
    /** Whether clients, which as a rule take the first issuer, are told of it before the built-in one; true where absent. */
    readonly listed_first?: boolean | undefined;
  } | undefined;
}

/** Where the metadata of a resource without a path is (RFC 9728 section 3.1); of others it is below. */
export const metadataRoute = "/.well-known/oauth-protected-resource";

/** Whether some resource's metadata would be at that path. */
export function isMetadataPath(path: string): boolean {
  return path === metadataRoute || path.startsWith(`${metadataRoute}/`);
}

export type ProtectedResource = ReturnType<typeof createProtectedResource>;

/** The metadata of a protected resource, and how clients that are refused learn of it. */
export function createProtectedResource(options: ProtectedResourceOptions) {
  const { resourceUrl, path, authorizationServer, identityProvider } = options;
  const inOrder = [identityProvider?.issuer, authorizationServer?.issuer].filter((each) =>
    each !== undefined
  );
  const issuers = identityProvider?.listed_first === false ? inOrder.toReversed() : inOrder;
  /** Those that every request needs. */
  const requiredScopes = identityProvider === undefined
    ? authorizationServer?.scopes ?? []
    : identityProvider.required_scopes ?? [];
  const resourceOf = (requestUrl: string) => resourceUrl ?? new URL(requestUrl).origin + path;
  const pathOf = (resource: string) => metadataRoute + new URL(resource).pathname.replace(/\/$/, "");
  const own = metadataRoute + path;

  function metadataUrl(requestUrl: string): string {
    const resource = resourceOf(requestUrl);
    return new URL(resource).origin + pathOf(resource);
  }

  // a proxy may pass on any of them
  const paths = new Set([metadataRoute, own, resourceUrl === undefined ? own : pathOf(resourceUrl)]);

  return {
    /** Answers requests for the metadata; undefined for all others. */
    answer(request: Request): Response | undefined {
      if (!request.url.includes(metadataRoute) || !paths.has(new URL(request.url).pathname)) return undefined;
      if (request.method !== "GET") {
        return Response.json({ error: "Method Not Allowed" }, {
          status: 405,
          headers: { allow: "GET, HEAD" },
        });
      }
      return Response.json({
        resource: resourceOf(request.url),
        authorization_servers: issuers,
        ...(requiredScopes.length > 0 && { scopes_supported: requiredScopes }),
        bearer_methods_supported: ["header"],
        resource_name: "Postern",
      });
    },
    /**
     * Adds the way to the metadata to a refusal (RFC 9728 section 5.1), and to one for want of a good token the scopes to
     * ask for (MCP, Scope Selection Strategy).
     */
    mark(request: Request, response: Response): Response {
      if (response.status !== 401 && response.status !== 403) return response;
      const challenge = response.headers.get("www-authenticate");
      // the built-in authorization server's own endpoints ask for other things
      if (challenge === null || !/^Bearer(?: |$)/.test(challenge)) return response;
      const parameters = [
        ...(challenge === "Bearer" ? [] : [challenge.replace("Bearer ", "")]),
        `resource_metadata="${metadataUrl(request.url)}"`,
        ...(response.status === 401 && requiredScopes.length > 0
          ? [`scope="${requiredScopes.join(" ")}"`]
          : []),
      ];
      response.headers.set("www-authenticate", `Bearer ${parameters.join(", ")}`);
      return response;
    },
  };
}
