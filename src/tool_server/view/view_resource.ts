import type { ResourceSource } from "../resources/resource_registry.ts";
import type { JsonObject } from "../call_context.ts";

const uri = "ui://postern/result";
/** What the page needs of a host: no address to read from, and a border around it (MCP Apps, "UI Resource Format"). */
const uiMeta: JsonObject = {
  ui: {
    csp: { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] },
    prefersBorder: true,
  },
};

/** MCP Apps, the extension of MCP that views are of: what servers and hosts name among their capabilities. */
export const viewExtension = "io.modelcontextprotocol/ui";
/** The only kind of view that the extension has. */
export const viewMimeType = "text/html;profile=mcp-app";

/**
 * Of a tool whose results the page shows (MCP Apps, "Resource Discovery"). It is the same for every client: most transports
 * do not know what a client can do when it asks for the list, hosts keep it from models, and those without views pass over
 * it.
 */
export const viewOfTool: JsonObject = { ui: { resourceUri: uri } };

/** It is the same for as long as the server runs; a host that outlives a restart asks anew after this time. */
const freshness = { ttlMs: 5 * 60_000, cacheScope: "public" } as const;

/** The page that hosts show results in. It holds no data, so whoever may call the server may read it. */
export function viewResource(): ResourceSource {
  return {
    list: () => [{
      uri,
      name: "view",
      title: "Result",
      description: "Shows rows and answers in hosts with MCP Apps; nothing in it for a model to read",
      mimeType: viewMimeType,
      _meta: uiMeta,
    }],
    templates: () => [],
    async read(asked) {
      if (asked !== uri) return undefined;
      // most servers are never asked for it
      const { viewHtml } = await import("./view_html.ts");
      return [{ uri, mimeType: viewMimeType, text: viewHtml, _meta: uiMeta }];
    },
    freshness: () => freshness,
  };
}
