/** How one client is connected, made of its page in `docs/clients/`. */
export interface Guide {
  readonly id: string;
  readonly title: string;
  readonly blocks: readonly Block[];
}

export type Block =
  | { readonly kind: "heading" | "text"; readonly runs: readonly Run[] }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "list"; readonly isOrdered: boolean; readonly items: readonly (readonly Block[])[] };

export type Run = string | { readonly code: string };

/** The addresses that the pages of the documentation have in place of a server's own. */
const placeholders = {
  mcp: /https?:\/\/(?:localhost:8080|mcp\.example\.com)\/mcp\/v1/g,
  rag: /http:\/\/localhost:8081\/v1/g,
} as const;

/** A text of a guide with this server's addresses in it. */
export function withAddresses(
  text: string,
  addresses: { readonly mcp: string; readonly rag: string },
): string {
  return text.replace(placeholders.mcp, () => addresses.mcp).replace(placeholders.rag, () => addresses.rag)
    // as everywhere else in the console
    .replace(/\$TOKEN\b/g, () => "$POSTERN_TOKEN");
}
