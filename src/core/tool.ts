import type { Logger } from "./logger.ts";
import type { Principal } from "./principal.ts";

/** What a call carries besides its arguments. */
export interface CallContext {
  readonly principal: Principal;
  /** Aborts when the client disconnects or cancels. */
  readonly signal: AbortSignal;
  /** Bound to the request's id. */
  readonly logger: Logger;
  /** The client's address; absent where there is no network between. */
  readonly address?: string;
}

export interface JsonSchema {
  readonly type?: string;
  readonly [key: string]: unknown;
}

/** MCP's hints to a client about what a tool does. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool as `tools/list` shows it. */
export interface ToolDescription {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: ToolAnnotations;
}

/** The outcome of a tool that ran; `isError` marks one that failed, with a text that a model can act on. */
export interface ToolResult {
  readonly content: readonly { readonly type: "text"; readonly text: string }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}
