export type JsonObject = Readonly<Record<string, unknown>>;

interface TextContent {
  readonly type: "text";
  readonly text: string;
}

/** A picture, in base64. */
interface ImageContent {
  readonly type: "image";
  readonly data: string;
  readonly mimeType: string;
}

/** Where more about a result stands: clients read it with `resources/read`. */
export interface ResourceLink {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
}

/** What a tool's result is made of (MCP, ContentBlock). */
export type ToolContent = TextContent | ResourceLink;

/** What a prompt's message holds. */
export type PromptContent = ToolContent | ImageContent;
