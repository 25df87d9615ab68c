/**
 * The revisions of MCP that bare JSON-RPC answers, the newest first. Those after it need an envelope in each request, which
 * the SDK's transports read: they settle every revision that they know by themselves.
 */
const bareVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/**
 * The revision that `initialize` is answered with over bare JSON-RPC: the one asked for where it is known, else the newest
 * (MCP, Lifecycle, "Version Negotiation").
 */
export function versionFor(asked: unknown): string {
  return bareVersions.find((version) => version === asked) ?? bareVersions[0];
}

/**
 * Whether a request asks for the Streamable HTTP transport rather than for bare JSON-RPC: its client takes event streams,
 * or speaks a revision whose requests have an envelope. What else names a revision is answered as bare JSON-RPC, which
 * is the same in all of them.
 */
export function wantsStreamableHttp(headers: Headers): boolean {
  return (headers.get("accept") ?? "").includes("text/event-stream") ||
    revisionWithEnvelope.test(headers.get("mcp-protocol-version") ?? "");
}

// 2026-07-28 and later
const revisionWithEnvelope = /^20(2[6-9]|[3-9]\d)-/;
