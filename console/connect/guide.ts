/** How one client is connected, made of its page in `docs/clients/`. */
export interface Guide extends Readonly<Record<"id" | "title", string>> {
  readonly nodes: readonly GuideNode[];
}

/** A text, or an element with what stands in it. */
export type GuideNode = string | readonly ["h3" | "p" | "pre" | "code" | "ol" | "ul" | "li", ...GuideNode[]];

/** The addresses that the pages of the documentation have in place of a server's own. */
const placeholders = {
  mcp: /https?:\/\/(?:localhost:8080|mcp\.example\.com)\/mcp\/v1/g,
  rag: /http:\/\/localhost:8081\/v1/g,
} as const;

/** A text of a guide with this server's addresses in it. */
export function withAddresses(text: string, { mcp, rag }: Readonly<Record<"mcp" | "rag", string>>): string {
  return text.replace(placeholders.mcp, () => mcp).replace(placeholders.rag, () => rag)
    // as everywhere else in the console
    .replace(/\$TOKEN\b/g, () => "$POSTERN_TOKEN");
}
